//! Finds a caller's credentials in headers, cookie or query, and authenticates. Dialects read those in a body.

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use control::{ControlError, Credentials};
use model::Invalid;
use model::access::{AccessArea, Caller, Permission};
use serde::Deserialize;

use super::HttpState;
use super::front::{RequestId, peer};
use super::json::{self, Scalar};
use super::listen::OverTls;
use super::origin::{RequestOrigin, may_change};

const AUTHORIZATION: &str = "x-bkapi-authorization";
/// The cookie of a login in the native API, where there is no TLS.
pub(crate) const COOKIE: &str = "muster_session";
/// The same with TLS: browsers accept it from this host only.
pub(crate) const SECURE_COOKIE: &str = "__Host-muster_session";
/// The cookie of a login in the GSE dialects; their clients know it by this name.
const GSE_COOKIE: &str = "bk_token";

/// The credentials in a body, in `X-Bkapi-Authorization`, or in the query of a GET.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CredentialFields {
    pub bk_app_code: Scalar,
    pub bk_app_secret: Scalar,
    pub bk_token: Scalar,
    pub bk_username: Scalar,
}

impl From<CredentialFields> for Credentials {
    fn from(fields: CredentialFields) -> Self {
        Self {
            app_code: fields.bk_app_code.into_text(),
            app_secret: fields.bk_app_secret.into_text(),
            token: fields.bk_token.into_text(),
            username: fields.bk_username.into_text(),
            app_alone: false,
        }
    }
}

/// Why a request has no authenticated caller.
#[derive(Debug)]
pub(crate) enum AuthenticationError {
    Missing(&'static str),
    Unreadable(Invalid),
    /// A page of another origin made a browser send the cookie.
    Foreign(ForeignOrigin),
    Refused(ControlError),
}

impl std::fmt::Display for AuthenticationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing(field) => write!(
                f,
                "{field}: is required (in the body, in X-Bkapi-Authorization, or in the query of a GET)"
            ),
            Self::Unreadable(invalid) => invalid.fmt(f),
            Self::Foreign(foreign) => foreign.fmt(f),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

/// Authenticates a caller in a dialect whose requests always name an app. Refuses a caller that may see nothing.
pub(crate) fn authenticate(
    http: &HttpState,
    parts: &Parts,
    in_body: CredentialFields,
) -> Result<Caller, AuthenticationError> {
    let outside = outside_body(parts).map_err(AuthenticationError::Unreadable)?;
    let mut credentials = or(Credentials::from(in_body), outside);
    if credentials.token.is_none() {
        credentials.token = cookie(&parts.headers, GSE_COOKIE);
        if credentials.token.is_some() {
            // Browsers do not name an app by themselves; so an SDK that sends no origin may pass on a cookie.
            check_origin(http, parts, IfUnknown::Allow).map_err(AuthenticationError::Foreign)?;
        }
    }
    if credentials.app_code.is_none() {
        return Err(AuthenticationError::Missing("bk_app_code"));
    }
    if credentials.app_secret.is_none() {
        return Err(AuthenticationError::Missing("bk_app_secret"));
    }
    let id = parts.extensions.get::<RequestId>();
    let id = id.map_or("", |id| &*id.0);
    let control = &http.control;
    control
        .access()
        .authenticate(&credentials, peer(&parts.extensions), id)
        .and_then(|caller| {
            control
                .access()
                .check(&caller, Permission::View, AccessArea::Anything)?;
            Ok(caller)
        })
        .map_err(AuthenticationError::Refused)
}

/// The credentials of a native request: in headers, the query of a GET, the cookie of a login. An app needs no user here.
pub(crate) fn native(http: &HttpState, parts: &Parts) -> Result<Credentials, AuthenticationError> {
    let mut credentials = Credentials {
        app_alone: true,
        ..outside_body(parts).map_err(AuthenticationError::Unreadable)?
    };
    if credentials.token.is_none() {
        credentials.token = session_cookie(parts);
        if credentials.token.is_some() {
            let if_unknown = match credentials.app_code {
                Some(_) => IfUnknown::Allow,
                None => IfUnknown::Refuse,
            };
            check_origin(http, parts, if_unknown).map_err(AuthenticationError::Foreign)?;
        }
    }
    Ok(credentials)
}

/// Refuses a request that changes something with a cookie and does not come from a page of this server.
#[derive(Debug)]
pub(crate) struct ForeignOrigin {
    /// None: the request has neither `Origin` nor `Referer`.
    origin: Option<String>,
}

impl std::fmt::Display for ForeignOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.origin {
            Some(origin) => write!(
                f,
                "origin: a page of {origin} may not act with a cookie here; behind a proxy, start the server with --http-origin"
            ),
            None => f.write_str(
                "origin: a request with a cookie alone needs an Origin or Referer of this server; programs use Authorization: Bearer",
            ),
        }
    }
}

/// What to do with a request without `Origin` and `Referer`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum IfUnknown {
    Allow,
    Refuse,
}

/// Refuses a request that may change something and comes from a page of another origin.
pub(crate) fn check_origin(
    http: &HttpState,
    parts: &Parts,
    if_unknown: IfUnknown,
) -> Result<(), ForeignOrigin> {
    if !may_change(&parts.method) {
        return Ok(());
    }
    match (RequestOrigin::of(parts, &http.origins), if_unknown) {
        (RequestOrigin::Own(_), _) | (RequestOrigin::Unknown, IfUnknown::Allow) => Ok(()),
        (RequestOrigin::Unknown, IfUnknown::Refuse) => Err(ForeignOrigin { origin: None }),
        (RequestOrigin::Foreign(origin), _) => Err(ForeignOrigin {
            origin: Some(origin),
        }),
    }
}

/// Whether to mark a cookie as `Secure`: on a connection with TLS, or behind a proxy that terminates it.
pub(crate) fn is_secure(http: &HttpState, parts: &Parts) -> bool {
    parts.extensions.get::<OverTls>().is_some()
        || matches!(RequestOrigin::of(parts, &http.origins), RequestOrigin::Own(origin) if origin.is_https())
}

/// The login in a cookie. Over TLS only the prefixed one counts, which another host cannot have set.
fn session_cookie(parts: &Parts) -> Option<String> {
    let secure = cookie(&parts.headers, SECURE_COOKIE);
    match parts.extensions.get::<OverTls>() {
        Some(OverTls) => secure,
        None => secure.or_else(|| cookie(&parts.headers, COOKIE)),
    }
}

/// Fills the gaps of `first` from `second`.
pub(crate) fn or(first: Credentials, second: Credentials) -> Credentials {
    Credentials {
        app_code: first.app_code.or(second.app_code),
        app_secret: first.app_secret.or(second.app_secret),
        token: first.token.or(second.token),
        username: first.username.or(second.username),
        app_alone: false,
    }
}

/// Headers first, then the query of a GET; no cookies.
fn outside_body(parts: &Parts) -> Result<Credentials, Invalid> {
    let mut credentials = or(
        of_authorization(&parts.headers)?,
        of_headers(&parts.headers),
    );
    if parts.method == Method::GET
        && let Some(query) = parts.uri.query()
        && query.contains("bk_")
    {
        credentials = or(credentials, of_query(parts));
    }
    Ok(credentials)
}

fn of_authorization(headers: &HeaderMap) -> Result<Credentials, Invalid> {
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Ok(Credentials::default());
    };
    json::read::<CredentialFields>(value.as_bytes())
        .map(Credentials::from)
        .map_err(|error| match error.field.as_str() {
            "body" => Invalid::new("X-Bkapi-Authorization", error.rule),
            _ => error.within("X-Bkapi-Authorization"),
        })
}

fn of_headers(headers: &HeaderMap) -> Credentials {
    Credentials {
        app_code: text(headers, "x-bkapi-app-code"),
        app_secret: text(headers, "x-bkapi-app-secret"),
        token: bearer(headers),
        username: text(headers, "x-bkapi-user-name"),
        app_alone: false,
    }
}

fn of_query(parts: &Parts) -> Credentials {
    let Ok(pairs) = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri) else {
        return Credentials::default();
    };
    let find = |name: &str| {
        let pair = pairs
            .iter()
            .find(|(key, value)| key == name && !value.is_empty());
        pair.map(|(_, value)| value.clone())
    };
    Credentials {
        app_code: find("bk_app_code"),
        app_secret: find("bk_app_secret"),
        token: find("bk_token"),
        username: find("bk_username"),
        app_alone: false,
    }
}

/// `Authorization: Bearer TOKEN`, where the token is a login.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.to_owned())
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?;
    let value = std::str::from_utf8(value.as_bytes()).ok()?.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(header::COOKIE).into_iter();
    let mut pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(key, value)| *key == name && !value.is_empty())
        .map(|(_, value)| value.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn parts(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn found(uri: &str, headers: &[(&str, &str)]) -> (String, String, String, String) {
        let found = outside_body(&parts(uri, headers)).unwrap();
        (
            found.app_code.unwrap_or_default(),
            found.app_secret.unwrap_or_default(),
            found.token.unwrap_or_default(),
            found.username.unwrap_or_default(),
        )
    }

    fn four(a: &str, b: &str, c: &str, d: &str) -> (String, String, String, String) {
        (a.into(), b.into(), c.into(), d.into())
    }

    #[test]
    fn credentials_are_found_in_headers_and_query() {
        let json =
            r#"{"bk_app_code":"a","bk_app_secret":"s","bk_username":"u","access_token":"x"}"#;
        assert_eq!(
            found("/", &[("X-Bkapi-Authorization", json)]),
            four("a", "s", "", "u")
        );
        let apart = [
            ("X-Bkapi-App-Code", "a"),
            ("X-Bkapi-App-Secret", "s"),
            ("X-Bkapi-User-Name", "u"),
        ];
        assert_eq!(found("/", &apart), four("a", "s", "", "u"));
        assert_eq!(
            found("/?bk_app_code=a&bk_app_secret=s%2B&bk_token=t", &[]),
            four("a", "s+", "t", "")
        );
        let cookies = parts("/", &[("Cookie", "x=1; bk_token=t; y=2")]);
        assert_eq!(cookie(&cookies.headers, "bk_token"), Some("t".to_owned()));
        assert_eq!(
            found("/", &[("Authorization", "Bearer t")]),
            four("", "", "t", "")
        );
        assert_eq!(
            found("/", &[("Authorization", "Basic t")]),
            four("", "", "", "")
        );
    }

    #[test]
    fn over_tls_only_the_prefixed_cookie_is_a_login() {
        let both = [("Cookie", "muster_session=a; __Host-muster_session=b")];
        let mut parts = parts("/", &both);
        assert_eq!(session_cookie(&parts), Some("b".to_owned()));
        parts.extensions.insert(OverTls);
        assert_eq!(session_cookie(&parts), Some("b".to_owned()));
        let plain = "muster_session=a; bk_token=c".parse().unwrap();
        parts.headers.insert("Cookie", plain);
        assert_eq!(session_cookie(&parts), None);
        parts.extensions.remove::<OverTls>();
        assert_eq!(session_cookie(&parts), Some("a".to_owned()));
    }

    #[test]
    fn an_authorization_header_that_is_not_json_is_named() {
        let error = outside_body(&parts("/", &[("X-Bkapi-Authorization", "{")])).unwrap_err();
        assert_eq!(error.field, "X-Bkapi-Authorization");
        assert!(error.rule.starts_with("is not JSON"));
    }
}
