//! Errors of the native API: chooses the status of every refusal.

use api::{ErrorBody, ErrorDetail};
use axum::Json;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use control::{ControlError, CredentialFault};
use model::Invalid;
use model::expression::ExpressionError;

use crate::http::body::BodyError;
use crate::http::credentials::{AuthenticationError, ForeignOrigin};

#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    field: Option<String>,
    character: Option<usize>,
    message: String,
    retry_after_secs: Option<u64>,
}

impl ApiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            field: None,
            character: None,
            message: message.into(),
            retry_after_secs: None,
        }
    }

    pub(crate) fn no_such_path(path: &str) -> Self {
        let message = format!("there is no API at {path}: see /docs");
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(crate) fn not_found(message: String) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// A page of another origin made a browser act for its user.
    pub(crate) fn foreign_origin(foreign: &ForeignOrigin) -> Self {
        let message = foreign.to_string();
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// Browsers send bodies of other types across origins without a preflight.
    pub(crate) fn not_json() -> Self {
        let message = "Content-Type: must be application/json";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", message)
    }

    pub(crate) fn wrong_method(method: &Method, path: &str) -> Self {
        let message = format!("{path} does not take {method}: see /docs");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", message)
    }

    /// The expression in this field cannot be parsed.
    pub(crate) fn expression(field: impl Into<String>, error: &ExpressionError) -> Self {
        Self {
            field: Some(field.into()),
            character: Some(error.character),
            ..Self::new(StatusCode::BAD_REQUEST, "invalid", error.to_string())
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
            ..Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                "too many requests at a time: try again",
            )
        }
    }

    pub(crate) fn internal() -> Self {
        let message = "the server failed to answer: its log says why";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }
}

impl From<Invalid> for ApiError {
    fn from(invalid: Invalid) -> Self {
        Self {
            field: Some(invalid.field.clone()).filter(|field| !field.is_empty()),
            ..Self::new(StatusCode::BAD_REQUEST, "invalid", invalid.to_string())
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
                Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", message)
            }
        }
    }
}

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        let message = error.to_string();
        match error {
            BodyError::TooLarge => Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message),
            BodyError::Broken => Self::new(StatusCode::BAD_REQUEST, "invalid", message),
            BodyError::TooSlow => Self::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message),
            BodyError::NoMemory => Self {
                retry_after_secs: Some(1),
                ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
            },
        }
    }
}

impl From<ControlError> for ApiError {
    fn from(error: ControlError) -> Self {
        let message = error.to_string();
        match error {
            ControlError::Invalid(invalid) => invalid.into(),
            ControlError::Forbidden(_) | ControlError::ForbiddenToUser(_) => {
                Self::new(StatusCode::FORBIDDEN, "forbidden", message)
            }
            ControlError::Unauthenticated { fault, .. } => {
                let message = match fault {
                    CredentialFault::Credentials => {
                        "credentials are required: X-Bkapi-Authorization, or a login as \
                        Authorization: Bearer, or as the cookie muster_session"
                            .to_owned()
                    }
                    CredentialFault::App | CredentialFault::User => message,
                };
                Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", message)
            }
            ControlError::NoSuchTask(_) | ControlError::NotFound(_) => {
                Self::new(StatusCode::NOT_FOUND, "not_found", message)
            }
            ControlError::Declined(_) => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "declined", message)
            }
            ControlError::Conflict(_) | ControlError::HostInUse(_) => {
                Self::new(StatusCode::CONFLICT, "conflict", message)
            }
            ControlError::TooFast { retry_after_ms, .. }
            | ControlError::TooManyTries { retry_after_ms } => Self {
                retry_after_secs: Some(retry_after_ms.div_ceil(1000).max(1)),
                ..Self::new(StatusCode::TOO_MANY_REQUESTS, "too_fast", message)
            },
            // Without Retry-After: the server does not know when the agent connects again.
            ControlError::Away(_) => Self::new(StatusCode::SERVICE_UNAVAILABLE, "away", message),
            ControlError::Busy(_) => Self {
                retry_after_secs: Some(1),
                ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
            },
            ControlError::Unavailable(cause) => {
                tracing::error!(cause = %crate::http::chain(&cause), "the store refused a request");
                Self {
                    retry_after_secs: Some(1),
                    ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
                }
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = ErrorBody {
            error: ErrorDetail {
                code: self.code.into(),
                field: self.field,
                character: self.character,
                message: self.message,
            },
        };
        let mut response = (self.status, Json(body)).into_response();
        let headers = response.headers_mut();
        if let Some(secs) = self.retry_after_secs {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(secs));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
