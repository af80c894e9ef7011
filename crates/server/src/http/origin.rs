//! The origin of a browser's request, against cross-site request forgery.
//!
//! A browser sends a cookie with every request to this host, whichever page made the request. A page of another port or of a
//! sibling domain counts as the same site, so `SameSite` does not stop it. A page cannot choose the `Origin` header.

use axum::http::request::Parts;
use axum::http::{Method, header};
use model::Invalid;

use super::listen::OverTls;

/// The longest origin, in bytes: a scheme, the longest host name and a port.
const MAX_LEN: usize = 300;

/// `https://muster.example.com`: scheme, host, and the port where it is not the scheme's own. In lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

impl Origin {
    /// Parses `scheme://host[:port]`, with or without a slash at the end.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        let whole = text.strip_suffix('/').unwrap_or(text);
        match Self::of_url(whole) {
            Some(origin) if origin.1.is_empty() => Ok(origin.0),
            _ => Err(Invalid::new(
                "http_origin",
                format!(
                    "must be like https://muster.example.com or http://10.0.0.1:7100, not {text:?}"
                ),
            )),
        }
    }

    /// The origin of a URL, and the rest of the URL.
    fn of_url(url: &str) -> Option<(Self, &str)> {
        let (scheme, rest) = url.split_once("://")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        Some((Self::new(scheme, authority)?, path))
    }

    fn new(scheme: &str, authority: &str) -> Option<Self> {
        let scheme = scheme.to_ascii_lowercase();
        let own_port = match scheme.as_str() {
            "http" => ":80",
            "https" => ":443",
            _ => return None,
        };
        let authority = authority.to_ascii_lowercase();
        let host = authority.strip_suffix(own_port).unwrap_or(&authority);
        let is_good = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]%".contains(&b);
        let is_good = !host.is_empty() && host.len() <= MAX_LEN && host.bytes().all(is_good);
        is_good.then(|| Self(format!("{scheme}://{host}")))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }
}

/// The origin of the page that made a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestOrigin {
    /// This server, or an origin that its operator allows.
    Own(Origin),
    /// Another one, or one that the browser does not reveal.
    Foreign(String),
    /// `Origin` and `Referer` are absent: no browser sent it.
    Unknown,
}

impl RequestOrigin {
    pub(crate) fn of(parts: &Parts, allowed: &[Origin]) -> Self {
        let headers = &parts.headers;
        let header = headers
            .get(header::ORIGIN)
            .or_else(|| headers.get(header::REFERER));
        let Some(header) = header else {
            return Self::Unknown;
        };
        let header = header.to_str().unwrap_or("(unreadable)");
        match Origin::of_url(header) {
            Some((origin, _)) if own(parts).as_ref() == Some(&origin) => Self::Own(origin),
            Some((origin, _)) if allowed.contains(&origin) => Self::Own(origin),
            _ => Self::Foreign(shortened(header)),
        }
    }
}

/// Whether a request of this method may change something.
pub(crate) fn may_change(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// The origin under which the caller reached this server.
fn own(parts: &Parts) -> Option<Origin> {
    let host = parts.headers.get(header::HOST)?.to_str().ok()?;
    let scheme = match parts.extensions.get::<OverTls>() {
        Some(OverTls) => "https",
        None => "http",
    };
    Origin::new(scheme, host)
}

fn shortened(header: &str) -> String {
    let mut text = header.to_owned();
    model::text::sanitize_line(&mut text, MAX_LEN);
    text
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn from(over_tls: bool, headers: &[(&str, &str)]) -> RequestOrigin {
        let mut request = Request::builder().uri("/api/v1/users");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut parts = request.body(()).unwrap().into_parts().0;
        if over_tls {
            parts.extensions.insert(OverTls);
        }
        let allowed = [Origin::parse("https://Muster.example.com:443/").unwrap()];
        RequestOrigin::of(&parts, &allowed)
    }

    #[test]
    fn only_the_own_scheme_host_and_port_are_own() {
        let host = ("Host", "muster.test:7100");
        let is_own =
            |over_tls, header| matches!(from(over_tls, &[host, header]), RequestOrigin::Own(_));
        assert!(is_own(false, ("Origin", "http://muster.test:7100")));
        assert!(is_own(false, ("Origin", "HTTP://Muster.Test:7100")));
        assert!(is_own(true, ("Origin", "https://muster.test:7100")));
        assert!(is_own(
            false,
            ("Referer", "http://muster.test:7100/docs?x=1")
        ));
        // Behind a proxy, allowed by the operator.
        assert!(is_own(false, ("Origin", "https://muster.example.com")));
        for foreign in [
            ("Origin", "http://muster.test:7101"),
            ("Origin", "http://muster.test"),
            ("Origin", "https://muster.test:7100"),
            ("Origin", "http://evil.muster.test:7100"),
            ("Origin", "http://muster.test:7100.evil.test"),
            ("Origin", "http://muster.test:7100@evil.test"),
            ("Origin", "null"),
            ("Origin", ""),
            ("Origin", "file://muster.test:7100"),
            ("Origin", "http://muster.example.com"),
            ("Referer", "http://evil.test/http://muster.test:7100/"),
        ] {
            assert!(
                matches!(from(false, &[host, foreign]), RequestOrigin::Foreign(_)),
                "{foreign:?}"
            );
        }
        assert_eq!(from(false, &[host]), RequestOrigin::Unknown);
        // The origin counts before the referrer.
        let both = [
            host,
            ("Origin", "null"),
            ("Referer", "http://muster.test:7100/"),
        ];
        assert!(matches!(from(false, &both), RequestOrigin::Foreign(_)));
    }

    #[test]
    fn a_default_port_may_be_left_out() {
        let own = |over_tls, host, origin| {
            matches!(
                from(over_tls, &[("Host", host), ("Origin", origin)]),
                RequestOrigin::Own(_)
            )
        };
        assert!(own(false, "a.test:80", "http://a.test"));
        assert!(own(true, "a.test", "https://a.test:443"));
        assert!(!own(true, "a.test", "http://a.test"));
        assert!(own(false, "[::1]:7100", "http://[::1]:7100"));
    }

    #[test]
    fn an_allowed_origin_is_read_or_refused() {
        assert_eq!(
            Origin::parse(" HTTPS://A.test:443/ ").unwrap().as_str(),
            "https://a.test"
        );
        for bad in [
            "",
            "a.test",
            "ftp://a.test",
            "https://",
            "https://a.test/path",
            "*",
        ] {
            let error = Origin::parse(bad).unwrap_err();
            assert_eq!(error.field, "http_origin", "{bad}");
        }
    }
}
