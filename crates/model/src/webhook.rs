//! Webhooks: HTTP receivers of events.

use serde::{Deserialize, Serialize};

use crate::event::{Event, EventKind};
use crate::selector::LabelSelector;
use crate::{Invalid, Namespace, UnixMillis};

/// The longest URL of a webhook, in bytes.
pub const MAX_URL_LEN: usize = 2048;

/// A receiver of events.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    pub id: String,
    pub url: WebhookUrl,
    /// Only events of these namespaces; None means all.
    pub namespaces: Option<Vec<Namespace>>,
    /// Only events of these kinds; None means all.
    pub kinds: Option<Vec<EventKind>>,
    /// Only events of processes whose labels pass; None means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<LabelSelector>,
    /// Signs requests. Stored in plain text, unlike other secrets, because a hash cannot sign.
    pub secret: String,
    pub created_at: UnixMillis,
}

/// Omits the secret.
impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook")
            .field("id", &self.id)
            .field("url", &self.url)
            .field("namespaces", &self.namespaces)
            .field("kinds", &self.kinds)
            .field("labels", &self.labels)
            .finish_non_exhaustive()
    }
}

impl Webhook {
    /// Whether namespace and kind match. The labels are those of the process, which an event does not have.
    pub fn wants(&self, event: &Event) -> bool {
        let namespace = &event.process.namespace;
        self.namespaces
            .as_ref()
            .is_none_or(|wanted| wanted.contains(namespace))
            && self
                .kinds
                .as_ref()
                .is_none_or(|wanted| wanted.contains(&event.kind))
    }
}

/// `http[s]://HOST[:PORT][/PATH][?QUERY]`, without credentials or a fragment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WebhookUrl {
    text: String,
    /// Where `host[:port]` begins.
    authority_start: usize,
    /// Where `host[:port]` ends.
    authority_end: usize,
    /// Where the host itself ends.
    host_end: usize,
    port: u16,
}

const PLAIN: &str = "http://";
const SECURE: &str = "https://";

impl WebhookUrl {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        let bad = |rule: &str| Err(Invalid::new("url", rule));
        if text.is_empty() {
            return Err(Invalid::required("url"));
        }
        if text.len() > MAX_URL_LEN {
            return bad(&format!("must be at most {MAX_URL_LEN} bytes"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return bad("must not hold blanks, control characters or letters beyond ASCII");
        }
        let schemes = [(PLAIN, 80), (SECURE, 443)].into_iter();
        let mut schemes =
            schemes.filter_map(|(scheme, port)| Some((text.strip_prefix(scheme)?, port)));
        let Some((rest, default_port)) = schemes.next() else {
            return bad("must begin with http:// or https://");
        };
        let authority_start = text.len() - rest.len();
        if rest.contains('#') {
            return bad("must not have a fragment (#)");
        }
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        if authority.contains('@') {
            return bad("must not hold credentials: receivers check the signature");
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(bracketed) => {
                let Some((ip, port)) = bracketed.split_once(']') else {
                    return bad("has a '[' without its ']'");
                };
                if ip.parse::<std::net::Ipv6Addr>().is_err() {
                    return bad("must hold an IPv6 address between the brackets");
                }
                (&authority[..ip.len() + 2], port)
            }
            None => {
                let end = authority.find(':').unwrap_or(authority.len());
                authority.split_at(end)
            }
        };
        let fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
        if host.is_empty() || !(host.starts_with('[') || host.bytes().all(fine)) {
            return bad("must name a host after http:// or https://");
        }
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => Some(default_port),
            None => None,
            Some(digits) => digits.parse().ok().filter(|port| *port != 0),
        };
        let Some(port) = port else {
            return bad("must have a port from 1 to 65535, or none");
        };
        Ok(Self {
            authority_start,
            authority_end: authority_start + authority.len(),
            host_end: authority_start + host.len(),
            text: text.to_owned(),
            port,
        })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// `host[:port]` as it was written.
    pub fn authority(&self) -> &str {
        &self.text[self.authority_start..self.authority_end]
    }

    /// The host to connect to, without brackets.
    pub fn host(&self) -> &str {
        self.text[self.authority_start..self.host_end].trim_matches(['[', ']'])
    }

    /// Whether it uses TLS.
    pub fn is_secure(&self) -> bool {
        self.text.starts_with(SECURE)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Path and query for the request line.
    pub fn target(&self) -> String {
        match &self.text[self.authority_end..] {
            "" => "/".to_owned(),
            query if query.starts_with('?') => format!("/{query}"),
            path => path.to_owned(),
        }
    }
}

impl std::fmt::Display for WebhookUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

string_conversions!(WebhookUrl, WebhookUrl::parse, |url: WebhookUrl| url.text);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_split_into_its_parts() {
        for (text, host, port, authority, target) in [
            ("http://example.org", "example.org", 80, "example.org", "/"),
            ("http://h:8080/a/b?c=d", "h", 8080, "h:8080", "/a/b?c=d"),
            ("http://10.0.0.1?x", "10.0.0.1", 80, "10.0.0.1", "/?x"),
            ("http://[::1]:9/", "::1", 9, "[::1]:9", "/"),
            ("http://[fe80::1]/x", "fe80::1", 80, "[fe80::1]", "/x"),
            (
                "https://example.org/x",
                "example.org",
                443,
                "example.org",
                "/x",
            ),
            ("https://h:8443?y", "h", 8443, "h:8443", "/?y"),
        ] {
            let url = WebhookUrl::parse(text).unwrap();
            assert_eq!(
                (url.host(), url.port(), url.authority(), url.target()),
                (host, port, authority, target.to_owned()),
                "{text}"
            );
            assert_eq!(url.is_secure(), text.starts_with("https"));
            let json = serde_json::to_string(&url).unwrap();
            assert_eq!(serde_json::from_str::<WebhookUrl>(&json).unwrap(), url);
        }
    }

    #[test]
    fn invalid_urls_are_refused() {
        for text in [
            "",
            "example.org",
            "https://",
            "https://:443/",
            "ftp://x",
            "http://",
            "http:///x",
            "http://?x",
            "http://:80/",
            "http://h:0/",
            "http://h:65536/",
            "http://h:/",
            "http://a@h/",
            "http://h/#x",
            "http://[::1",
            "http://[nonsense]/",
            "http://[::1]x/",
            "http://h/a b",
            "http://h/\r\nX: y",
            "http://höst/",
            "http://h\\x/",
        ] {
            assert_eq!(WebhookUrl::parse(text).unwrap_err().field, "url", "{text}");
        }
        assert!(WebhookUrl::parse(&format!("http://h/{}", "x".repeat(MAX_URL_LEN))).is_err());
    }

    #[test]
    fn a_webhook_filters_events() {
        let event = Event {
            at: UnixMillis(1),
            process: "web/nginx".parse().unwrap(),
            kind: EventKind::ProcessExit,
            reason: String::new(),
            exit: None,
            report_id: 0,
        };
        let mut webhook = Webhook {
            id: "w".into(),
            url: WebhookUrl::parse("http://h").unwrap(),
            namespaces: None,
            kinds: None,
            labels: None,
            secret: "hush".into(),
            created_at: UnixMillis(1),
        };
        assert!(webhook.wants(&event));
        assert!(!format!("{webhook:?}").contains("hush"));
        webhook.kinds = Some(vec![EventKind::ConfigDrift]);
        assert!(!webhook.wants(&event));
        webhook.kinds = Some(vec![EventKind::ConfigDrift, EventKind::ProcessExit]);
        webhook.namespaces = Some(vec![Namespace::parse("db").unwrap()]);
        assert!(!webhook.wants(&event));
    }
}
