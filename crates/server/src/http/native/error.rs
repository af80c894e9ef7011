//! Errors of the native API: chooses the status of every refusal.

use api::{ErrorBody, ErrorDetail, MissingRoleDetail};
use axum::Json;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use control::{ControlError, CredentialFault, MissingArea, MissingRole};
use model::expression::ExpressionError;
use model::{Invalid, Reason};

use crate::http::body::BodyError;
use crate::http::credentials::{AuthenticationError, ForeignOrigin};

/// Defines the codes of errors: name in the response, status, and meaning for the reference in docs.
macro_rules! error_codes {
    ($($variant:ident = $name:literal, $status:ident: $meaning:literal;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum ErrorCode {
            $($variant),+
        }

        impl ErrorCode {
            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            fn status(self) -> StatusCode {
                match self {
                    $(Self::$variant => StatusCode::$status),+
                }
            }
        }

        /// Name, status and meaning of each code.
        pub(crate) const ERROR_CODES: &[(&str, StatusCode, &str)] =
            &[$(($name, StatusCode::$status, $meaning)),+];
    };
}

error_codes! {
    Invalid = "invalid", BAD_REQUEST: "the request is invalid; `field` names the field, `character` the place in an expression, `line` and `column` that in a template, `reason` says for programs what is wrong there";
    Unauthenticated = "unauthenticated", UNAUTHORIZED: "no credentials, or wrong ones";
    Forbidden = "forbidden", FORBIDDEN: "the app or the user lacks the role, or a page of another origin sent the request";
    NotFound = "not_found", NOT_FOUND: "there is nothing of that name, or no such path";
    WrongMethod = "wrong_method", METHOD_NOT_ALLOWED: "the path does not take this method";
    TooSlow = "too_slow", REQUEST_TIMEOUT: "the body arrived too slowly";
    Conflict = "conflict", CONFLICT: "it exists already, or the current state does not allow it";
    CountChanged = "count_changed", CONFLICT: "a filter matches another number of processes than `expect_count`; `count` is the number now, and nothing was done";
    TooLarge = "too_large", PAYLOAD_TOO_LARGE: "the body is over 64 MiB";
    NotJson = "not_json", UNSUPPORTED_MEDIA_TYPE: "the body's `Content-Type` is not `application/json`";
    Declined = "declined", UNPROCESSABLE_ENTITY: "the host refused or failed; the message says why";
    TooFast = "too_fast", TOO_MANY_REQUESTS: "over the rate of the app, or too many wrong passwords; `Retry-After` says when";
    Internal = "internal", INTERNAL_SERVER_ERROR: "the server failed to answer: its log says why";
    Busy = "busy", SERVICE_UNAVAILABLE: "a limit of the server or the agent is reached: repeat the request";
    Away = "away", SERVICE_UNAVAILABLE: "the agent that must answer is not connected";
    Unavailable = "unavailable", SERVICE_UNAVAILABLE: "the store is not available; nothing was changed, unless the message says that the outcome is in doubt";
}

/// What is wrong in an expression or a template, and where.
#[derive(Debug, Default)]
struct WrongText {
    character: Option<usize>,
    line: Option<u32>,
    column: Option<u32>,
    reason: Reason,
}

#[derive(Debug)]
pub(crate) struct ApiError {
    code: ErrorCode,
    field: Option<String>,
    message: String,
    count: Option<u64>,
    wrong_text: Option<Box<WrongText>>,
    missing_role: Option<Box<MissingRoleDetail>>,
    retry_after_secs: Option<u64>,
}

impl ApiError {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            field: None,
            message: message.into(),
            count: None,
            wrong_text: None,
            missing_role: None,
            retry_after_secs: None,
        }
    }

    pub(crate) fn no_such_path(path: &str) -> Self {
        let message = format!("there is no API at {path}: see /docs");
        Self::new(ErrorCode::NotFound, message)
    }

    pub(crate) fn not_found(message: String) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    /// A page of another origin made a browser act for its user.
    pub(crate) fn foreign_origin(foreign: &ForeignOrigin) -> Self {
        let message = foreign.to_string();
        Self::new(ErrorCode::Forbidden, message)
    }

    /// Browsers send bodies of other types across origins without a preflight.
    pub(crate) fn not_json() -> Self {
        let message = "Content-Type: must be application/json";
        Self::new(ErrorCode::NotJson, message)
    }

    pub(crate) fn wrong_method(method: &Method, path: &str) -> Self {
        let message = format!("{path} does not take {method}: see /docs");
        Self::new(ErrorCode::WrongMethod, message)
    }

    /// The expression in this field cannot be parsed.
    pub(crate) fn expression(field: impl Into<String>, error: &ExpressionError) -> Self {
        Self {
            field: Some(field.into()),
            wrong_text: Some(Box::new(WrongText {
                character: Some(error.character),
                reason: error.problem.reason(),
                ..WrongText::default()
            })),
            ..Self::new(ErrorCode::Invalid, error.to_string())
        }
    }

    /// The same error, with the field named from one level further out.
    pub(crate) fn within(mut self, outer: &str) -> Self {
        if let Some(field) = self.field.take() {
            self.message = format!("{outer}.{}", self.message);
            self.field = Some(format!("{outer}.{field}"));
        }
        self
    }

    pub(crate) fn busy() -> Self {
        Self {
            retry_after_secs: Some(1),
            ..Self::new(ErrorCode::Busy, "too many requests at a time: try again")
        }
    }

    pub(crate) fn internal() -> Self {
        let message = "the server failed to answer: its log says why";
        Self::new(ErrorCode::Internal, message)
    }
}

impl From<Invalid> for ApiError {
    fn from(invalid: Invalid) -> Self {
        Self {
            field: Some(invalid.field.clone()).filter(|field| !field.is_empty()),
            ..Self::new(ErrorCode::Invalid, invalid.to_string())
        }
    }
}

impl From<AuthenticationError> for ApiError {
    fn from(error: AuthenticationError) -> Self {
        match error {
            AuthenticationError::Refused(error) => error.into(),
            AuthenticationError::Foreign(foreign) => Self::foreign_origin(&foreign),
            AuthenticationError::Missing(_) | AuthenticationError::Unreadable(_) => {
                let message = error.to_string();
                Self::new(ErrorCode::Unauthenticated, message)
            }
        }
    }
}

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        let message = error.to_string();
        match error {
            BodyError::TooLarge => Self::new(ErrorCode::TooLarge, message),
            BodyError::Broken => Self::new(ErrorCode::Invalid, message),
            BodyError::TooSlow => Self::new(ErrorCode::TooSlow, message),
            BodyError::NoMemory => Self {
                retry_after_secs: Some(1),
                ..Self::new(ErrorCode::Busy, message)
            },
        }
    }
}

impl From<ControlError> for ApiError {
    fn from(error: ControlError) -> Self {
        let message = error.to_string();
        match error {
            ControlError::Invalid(invalid) => invalid.into(),
            ControlError::Forbidden(missing) | ControlError::ForbiddenToUser(missing) => Self {
                missing_role: Some(Box::new(missing_role(missing))),
                ..Self::new(ErrorCode::Forbidden, message)
            },
            ControlError::Unauthenticated(fault) => {
                let message = match fault {
                    CredentialFault::NoApp => format!(
                        "{message}: log in (POST /api/v1/login) and send Authorization: Bearer TOKEN, or send \
                         X-Bkapi-App-Code and X-Bkapi-App-Secret"
                    ),
                    _ => message,
                };
                Self::new(ErrorCode::Unauthenticated, message)
            }
            ControlError::JoinTokenRefused(_) => Self::new(ErrorCode::Unauthenticated, message),
            ControlError::NoSuchTask(_) | ControlError::NotFound(_) => {
                Self::new(ErrorCode::NotFound, message)
            }
            ControlError::Declined(_) => Self::new(ErrorCode::Declined, message),
            ControlError::Conflict(_) | ControlError::HostInUse(_) => {
                Self::new(ErrorCode::Conflict, message)
            }
            ControlError::BadTemplate(bad) => Self {
                field: Some(bad.field.to_owned()),
                wrong_text: Some(Box::new(WrongText {
                    character: None,
                    line: bad.line,
                    column: bad.column,
                    reason: bad.reason,
                })),
                ..Self::new(ErrorCode::Invalid, message)
            },
            ControlError::CountChanged { count, .. }
            | ControlError::AgentCountChanged { count, .. }
            | ControlError::HostCountChanged { count, .. } => Self {
                field: Some("expect_count".to_owned()),
                count: Some(count),
                ..Self::new(ErrorCode::CountChanged, message)
            },
            ControlError::TooFast { retry_after_ms, .. }
            | ControlError::TooManyTries { retry_after_ms } => Self {
                retry_after_secs: Some(retry_after_ms.div_ceil(1000).max(1)),
                ..Self::new(ErrorCode::TooFast, message)
            },
            // Without Retry-After: the server does not know when the agent connects again.
            ControlError::Away(_) => Self::new(ErrorCode::Away, message),
            ControlError::Busy(_) => Self {
                retry_after_secs: Some(1),
                ..Self::new(ErrorCode::Busy, message)
            },
            ControlError::Unavailable(cause) => {
                tracing::error!(cause = %crate::http::chain(&cause), "the store refused a request");
                Self {
                    retry_after_secs: Some(1),
                    ..Self::new(ErrorCode::Unavailable, message)
                }
            }
        }
    }
}

fn missing_role(missing: MissingRole) -> MissingRoleDetail {
    let role = missing.role().as_str().into();
    let (namespace, business) = match missing.area {
        MissingArea::Namespace(namespace) => (Some(namespace.into()), None),
        MissingArea::Business(business) => (None, Some(business.0)),
        MissingArea::Everything | MissingArea::Anything | MissingArea::Common => (None, None),
    };
    MissingRoleDetail {
        app: missing.app,
        user: missing.user,
        role,
        namespace,
        business,
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let wrong = self.wrong_text.as_deref();
        let body = ErrorBody {
            error: ErrorDetail {
                code: self.code.name().into(),
                field: self.field,
                character: wrong.and_then(|wrong| wrong.character),
                message: self.message,
                count: self.count,
                line: wrong.and_then(|wrong| wrong.line),
                column: wrong.and_then(|wrong| wrong.column),
                reason: wrong.map(|wrong| wrong.reason.clone().into()),
                missing_role: self.missing_role.map(|missing| *missing),
            },
        };
        let mut response = (self.code.status(), Json(body)).into_response();
        let headers = response.headers_mut();
        if let Some(secs) = self.retry_after_secs {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(secs));
        }
        if self.code == ErrorCode::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
