//! Finds what a caller presents: in headers, cookie or query. What stands in a body is read with the body.

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use control::{ControlError, Credentials};
use model::Invalid;
use model::access::{Action, Area, Caller};
use serde::Deserialize;

use super::HttpState;
use super::front::{RequestId, peer};
use super::json::{self, Scalar};

const AUTHORIZATION: &str = "x-bkapi-authorization";

/// The fields as they stand in a body, in `X-Bkapi-Authorization`, or in the query of a GET.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Presented {
    pub bk_app_code: Scalar,
    pub bk_app_secret: Scalar,
    pub bk_token: Scalar,
    pub bk_username: Scalar,
}

impl From<Presented> for Credentials {
    fn from(presented: Presented) -> Self {
        Self {
            app_code: presented.bk_app_code.into_text(),
            app_secret: presented.bk_app_secret.into_text(),
            token: presented.bk_token.into_text(),
            username: presented.bk_username.into_text(),
        }
    }
}

/// Why it is not known who asks.
#[derive(Debug)]
pub(crate) enum NotKnown {
    /// This field is nowhere.
    Missing(&'static str),
    /// They cannot even be read.
    Unreadable(Invalid),
    Refused(ControlError),
}

impl std::fmt::Display for NotKnown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing(field) => write!(
                f,
                "{field}: is required (in the body, in X-Bkapi-Authorization, or in the query of a GET)"
            ),
            Self::Unreadable(invalid) => invalid.fmt(f),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

/// Who asks in a dialect where an app always names itself. Whoever may see nothing is refused here.
pub(crate) fn authenticate(
    http: &HttpState,
    parts: &Parts,
    in_body: Presented,
) -> Result<Caller, NotKnown> {
    let outside = outside_body(parts).map_err(NotKnown::Unreadable)?;
    let credentials = or(Credentials::from(in_body), outside);
    if credentials.app_code.is_none() {
        return Err(NotKnown::Missing("bk_app_code"));
    }
    if credentials.app_secret.is_none() {
        return Err(NotKnown::Missing("bk_app_secret"));
    }
    let id = parts.extensions.get::<RequestId>();
    let id = id.map_or("", |id| &*id.0);
    let control = &http.control;
    control
        .authenticate(&credentials, peer(&parts.extensions), id)
        .and_then(|caller| {
            control.check(&caller, Action::View, Area::Anything)?;
            Ok(caller)
        })
        .map_err(NotKnown::Refused)
}

/// What is missing in `first` is taken from `second`.
pub(crate) fn or(first: Credentials, second: Credentials) -> Credentials {
    Credentials {
        app_code: first.app_code.or(second.app_code),
        app_secret: first.app_secret.or(second.app_secret),
        token: first.token.or(second.token),
        username: first.username.or(second.username),
    }
}

/// Everything outside of the body: headers before the query, the cookie last.
pub(crate) fn outside_body(parts: &Parts) -> Result<Credentials, Invalid> {
    let mut found = or(
        of_authorization(&parts.headers)?,
        of_headers(&parts.headers),
    );
    if parts.method == Method::GET
        && let Some(query) = parts.uri.query()
        && query.contains("bk_")
    {
        found = or(found, of_query(parts));
    }
    found.token = found.token.or_else(|| cookie(&parts.headers, "bk_token"));
    Ok(found)
}

fn of_authorization(headers: &HeaderMap) -> Result<Credentials, Invalid> {
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Ok(Credentials::default());
    };
    json::read::<Presented>(value.as_bytes())
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
    fn credentials_are_found_wherever_clients_put_them() {
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
        assert_eq!(
            found("/", &[("Cookie", "x=1; bk_token=t; y=2")]),
            four("", "", "t", "")
        );
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
    fn a_header_that_is_no_json_is_named() {
        let error = outside_body(&parts("/", &[("X-Bkapi-Authorization", "{")])).unwrap_err();
        assert_eq!(error.field, "X-Bkapi-Authorization");
        assert!(error.rule.starts_with("is not JSON"));
    }
}
