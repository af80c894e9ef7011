//! What the BlueKing dialects, GSE and GSEKit, share: how a request is read, why it is refused, and the response envelope.
//!
//! The HTTP status is always 200, because clients raise on any other.

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use control::{ControlError, CredentialFault, MissingRole};
use model::Invalid;
use model::access::{Caller, Permission};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::body::{self, BodyError};
use super::credentials::{self, AuthenticationError};
use super::front::ResponseRecord;
use super::{HttpState, json};

#[derive(Serialize)]
struct Envelope<'a, T> {
    result: bool,
    code: i64,
    message: &'a str,
    data: T,
}

/// Serialises a successful response straight into bytes; `data` may read from the fleet meanwhile.
pub(crate) fn good<T: Serialize>(message: &str, data: T) -> Vec<u8> {
    let envelope = Envelope {
        result: true,
        code: 0,
        message,
        data,
    };
    let mut bytes = Vec::with_capacity(1024);
    serde_json::to_writer(&mut bytes, &envelope).expect("responses have only string keys");
    bytes
}

/// The same with data that is written as JSON already.
pub(crate) fn good_with(message: &str, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    const END: &[u8] = b"null}";
    let mut bytes = good(message, ());
    debug_assert!(bytes.ends_with(END), "data is the last field");
    bytes.truncate(bytes.len() - END.len());
    write(&mut bytes);
    bytes.push(b'}');
    bytes
}

/// A request that is not carried out.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub code: RefusalCode,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusalCode {
    Invalid,
    NotFound,
    Conflict,
    /// The same number in every dialect, or of one dialect only.
    Fixed(i64),
}

/// The codes that differ between the dialects.
#[derive(Debug)]
pub(crate) struct DialectCodes {
    pub invalid: i64,
    pub not_found: i64,
    pub conflict: i64,
}

/// Defines codes together with the list of their meanings.
macro_rules! fixed_codes {
    ($($name:ident = $number:literal: $meaning:literal;)+) => {
        $(const $name: i64 = $number;)+
        /// The codes of every dialect with their meanings, for the reference in docs.
        pub(crate) const FIXED_CODES: &[(i64, &str)] = &[$(($name, $meaning)),+];
    };
}

// Those from 1306401 on are ESB's own.
fixed_codes! {
    NO_SUCH_ENDPOINT = 1_000_404: "unknown path, or unknown task";
    INTERNAL = 1_000_500: "the server failed to answer: its log says why";
    UNAVAILABLE = 1_000_503: "the store is not available, or too many requests at a time; nothing was changed";
    USER_NOT_AUTHENTICATED = 1_306_401: "the user is not logged in, or this app may not name a user";
    USER_NOT_ALLOWED = 1_306_402: "the app has the permission, but this user does not; or a page of another origin sent the user's cookie";
    APP_NOT_ALLOWED = 1_306_403: "unknown app, wrong secret, or the app lacks the permission";
    ARGUMENT_MISSING = 1_306_406: "credentials are missing";
    TOO_FAST = 1_306_429: "too many requests per second";
}

impl Refusal {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self {
            code: RefusalCode::Invalid,
            message: message.into(),
        }
    }

    pub(crate) fn fixed(code: i64, message: impl Into<String>) -> Self {
        Self {
            code: RefusalCode::Fixed(code),
            message: message.into(),
        }
    }

    pub(crate) fn internal() -> Self {
        Self::fixed(INTERNAL, "the server failed to answer: its log says why")
    }

    pub(crate) fn busy() -> Self {
        Self::fixed(UNAVAILABLE, "too many requests at a time: try again")
    }

    pub(crate) fn no_such_endpoint(path: &str) -> Self {
        let message = format!("there is no API at {path}: see /docs");
        Self::fixed(NO_SUCH_ENDPOINT, message)
    }

    pub(crate) fn wrong_method(method: &Method, path: &str, allowed: &str) -> Self {
        Self::invalid(format!("{method} {path}: use {allowed}"))
    }

    pub(crate) fn argument_missing(message: impl Into<String>) -> Self {
        Self::fixed(ARGUMENT_MISSING, message)
    }

    fn number(&self, codes: &DialectCodes) -> i64 {
        match self.code {
            RefusalCode::Invalid => codes.invalid,
            RefusalCode::NotFound => codes.not_found,
            RefusalCode::Conflict => codes.conflict,
            RefusalCode::Fixed(code) => code,
        }
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        Self::invalid(invalid.to_string())
    }
}

impl From<AuthenticationError> for Refusal {
    fn from(error: AuthenticationError) -> Self {
        match error {
            AuthenticationError::Refused(error) => error.into(),
            AuthenticationError::Foreign(foreign) => {
                Self::fixed(USER_NOT_ALLOWED, foreign.to_string())
            }
            AuthenticationError::Missing(_) | AuthenticationError::Unreadable(_) => {
                Self::argument_missing(error.to_string())
            }
        }
    }
}

impl From<BodyError> for Refusal {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge | BodyError::Broken | BodyError::TooSlow => {
                Self::invalid(error.to_string())
            }
            BodyError::NoMemory => Self::fixed(UNAVAILABLE, error.to_string()),
        }
    }
}

impl From<ControlError> for Refusal {
    fn from(error: ControlError) -> Self {
        use RefusalCode::{Conflict, Fixed, Invalid, NotFound};
        let code = match &error {
            ControlError::Invalid(_) | ControlError::BadTemplate(_) => Invalid,
            ControlError::Forbidden(_) => Fixed(APP_NOT_ALLOWED),
            ControlError::ForbiddenToUser(_) => Fixed(USER_NOT_ALLOWED),
            ControlError::Unauthenticated(fault) => Fixed(match fault {
                CredentialFault::NoApp | CredentialFault::NoSecret => ARGUMENT_MISSING,
                CredentialFault::App(_) => APP_NOT_ALLOWED,
                CredentialFault::Login
                | CredentialFault::NotTrusted(_)
                | CredentialFault::NoUser
                | CredentialFault::NoLogin
                | CredentialFault::Password
                | CredentialFault::Code => USER_NOT_AUTHENTICATED,
            }),
            ControlError::JoinTokenRefused(_) => Fixed(ARGUMENT_MISSING),
            ControlError::NoSuchTask(_) => Fixed(NO_SUCH_ENDPOINT),
            ControlError::NotFound(_) => NotFound,
            ControlError::Conflict(_)
            | ControlError::CountChanged { .. }
            | ControlError::AgentCountChanged { .. }
            | ControlError::HostCountChanged { .. }
            | ControlError::HostInUse(_)
            | ControlError::Declined(_) => Conflict,
            ControlError::TooFast { .. } | ControlError::TooManyTries { .. } => Fixed(TOO_FAST),
            ControlError::Busy(_) | ControlError::Away(_) => Fixed(UNAVAILABLE),
            ControlError::Unavailable(cause) => {
                tracing::error!(cause = %super::chain(cause), "the store refused a request");
                Fixed(UNAVAILABLE)
            }
        };
        let message = match &error {
            ControlError::Forbidden(missing) | ControlError::ForbiddenToUser(missing) => {
                missing_role(missing)
            }
            ControlError::Unauthenticated(fault) => credential_fault(fault),
            error => error.to_string(),
        };
        Self { code, message }
    }
}

/// The text of a refusal in these dialects, which their clients know.
fn missing_role(missing: &MissingRole) -> String {
    let area = missing.area.as_area();
    let what = match missing.permission {
        Permission::View => format!("see {area}"),
        Permission::Operate => format!("operate {area}"),
        Permission::Manage => "manage apps, users, tokens, webhooks and hosts".to_owned(),
    };
    let (who, name) = match missing.is_of_app() {
        true => ("app", &missing.app),
        false => ("user", &missing.user),
    };
    let (name, role) = (name.as_deref().unwrap_or_default(), missing.role().as_str());
    format!("{who} {name:?} may not {what}: that takes the role of {role} there")
}

/// The same for missing and wrong credentials.
fn credential_fault(fault: &CredentialFault) -> String {
    match fault {
        CredentialFault::NoApp => "bk_app_code: is required".to_owned(),
        CredentialFault::NoSecret => "bk_app_secret: is required".to_owned(),
        CredentialFault::App(code) => {
            format!("app {code:?} is unknown or its bk_app_secret is wrong")
        }
        CredentialFault::Login => "bk_token: is no login, or has expired".to_owned(),
        CredentialFault::NotTrusted(code) => {
            format!("bk_username: app {code:?} may not name a user; it needs a bk_token")
        }
        CredentialFault::NoUser => "one of bk_token and bk_username is required".to_owned(),
        CredentialFault::NoLogin | CredentialFault::Password | CredentialFault::Code => {
            fault.to_string()
        }
    }
}

/// Authenticates the caller, then reads the body.
pub(crate) async fn read<R: DeserializeOwned>(
    http: &HttpState,
    parts: &Parts,
    body: Body,
    record: &mut ResponseRecord,
) -> Result<(Caller, R), Refusal> {
    let body = body::collect(body, http).await?;
    // Only the credentials of the body are parsed before the caller is authenticated.
    let caller = credentials::authenticate(http, parts, json::read(&body)?)?;
    record.app.clone_from(&caller.app);
    record.user.clone_from(&caller.user);
    Ok((caller, json::read(&body)?))
}

pub(crate) fn respond(
    mut record: ResponseRecord,
    codes: &DialectCodes,
    answered: Result<Vec<u8>, Refusal>,
) -> Response {
    let body = answered.unwrap_or_else(|refusal| {
        record.code = refusal.number(codes);
        let envelope = Envelope {
            result: false,
            code: record.code,
            message: &refusal.message,
            data: (),
        };
        serde_json::to_vec(&envelope).expect("a refusal has only string keys")
    });
    let mut response = ([(header::CONTENT_TYPE, "application/json")], body).into_response();
    response.extensions_mut().insert(record);
    response
}
