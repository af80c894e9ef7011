//! The envelope's codes: which refusal is which number. The only file of the dialect that chooses them.

use axum::http::Method;
use control::{ControlError, Lacks};
use model::Invalid;
use model::expression::{ExpressionError, TooManyShellPatterns};
use model::scope::ScopeError;

use crate::http::body::BodyError;
use crate::http::credentials::NotKnown;
use crate::http::envelope;

/// A request that is not carried out, as the envelope says it.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub code: i64,
    pub message: String,
}

/// The request breaks a rule; the message names the field.
const INVALID: i64 = 4_100_001;
const NO_SUCH_BUSINESS: i64 = 4_100_002;
/// It exists already, or is over already.
const CONFLICT: i64 = 4_100_009;
const NO_SUCH_JOB: i64 = 4_103_005;
const BAD_EXPRESSION: i64 = 4_111_001;
// As in the other dialects.
const NOT_FOUND: i64 = 1_000_404;
const INTERNAL: i64 = 1_000_500;
const UNAVAILABLE: i64 = 1_000_503;
// ESB's own.
const USER_NOT_AUTHENTICATED: i64 = 1_306_401;
const USER_NOT_ALLOWED: i64 = 1_306_402;
const APP_NOT_ALLOWED: i64 = 1_306_403;
const ARGUMENT_MISSING: i64 = 1_306_406;
const TOO_FAST: i64 = 1_306_429;

impl Refusal {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub(crate) fn internal() -> Self {
        Self::new(INTERNAL, "the server failed to answer: its log says why")
    }

    pub(crate) fn busy() -> Self {
        Self::new(UNAVAILABLE, "too many requests at a time: try again")
    }

    pub(crate) fn no_such_endpoint(path: &str) -> Self {
        Self::new(NOT_FOUND, format!("there is no API at {path}: see /docs"))
    }

    pub(crate) fn wrong_method(method: &Method, path: &str, right: &Method) -> Self {
        Self::new(INVALID, format!("{method} {path}: use {right}"))
    }

    pub(crate) fn no_business() -> Self {
        Self::new(ARGUMENT_MISSING, "bk_biz_id: is required")
    }

    /// What `control` says of a job.
    pub(crate) fn of_job(error: ControlError) -> Self {
        match error {
            ControlError::NotFound(message) => Self::new(NO_SUCH_JOB, message),
            error => error.into(),
        }
    }

    pub(crate) fn no_such_job(id: i64) -> Self {
        let message = format!("job {id} does not exist or is no longer kept");
        Self::new(NO_SUCH_JOB, message)
    }

    pub(crate) fn to_envelope(&self) -> Vec<u8> {
        envelope::refused(self.code, &self.message)
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        Self::new(INVALID, invalid.to_string())
    }
}

impl From<ExpressionError> for Refusal {
    fn from(error: ExpressionError) -> Self {
        Self::new(BAD_EXPRESSION, error.to_string())
    }
}

impl From<TooManyShellPatterns> for Refusal {
    fn from(error: TooManyShellPatterns) -> Self {
        Self::new(BAD_EXPRESSION, error.to_string())
    }
}

impl From<ScopeError> for Refusal {
    fn from(error: ScopeError) -> Self {
        match error {
            ScopeError::Invalid(invalid) => invalid.into(),
            ScopeError::Expression(error) => error.into(),
        }
    }
}

impl From<NotKnown> for Refusal {
    fn from(not_known: NotKnown) -> Self {
        match not_known {
            NotKnown::Refused(error) => error.into(),
            NotKnown::Foreign(foreign) => Self::new(USER_NOT_ALLOWED, foreign.to_string()),
            NotKnown::Missing(_) | NotKnown::Unreadable(_) => {
                Self::new(ARGUMENT_MISSING, not_known.to_string())
            }
        }
    }
}

impl From<BodyError> for Refusal {
    fn from(error: BodyError) -> Self {
        let code = match error {
            BodyError::TooLarge | BodyError::Broken | BodyError::TooSlow => INVALID,
            BodyError::NoRoom => UNAVAILABLE,
        };
        Self::new(code, error.to_string())
    }
}

impl From<ControlError> for Refusal {
    fn from(error: ControlError) -> Self {
        let code = match &error {
            ControlError::Invalid(_) => INVALID,
            ControlError::Forbidden(_) => APP_NOT_ALLOWED,
            ControlError::ForbiddenToUser(_) => USER_NOT_ALLOWED,
            ControlError::Unauthenticated { lacks, .. } => match lacks {
                Lacks::Credentials => ARGUMENT_MISSING,
                Lacks::App => APP_NOT_ALLOWED,
                Lacks::User => USER_NOT_AUTHENTICATED,
            },
            ControlError::NotFound(_) => NO_SUCH_BUSINESS,
            ControlError::NoSuchTask(_) => NOT_FOUND,
            ControlError::Conflict(_) | ControlError::HostInUse(_) | ControlError::Declined(_) => {
                CONFLICT
            }
            ControlError::TooFast { .. } | ControlError::TooManyTries { .. } => TOO_FAST,
            ControlError::Busy(_) | ControlError::Away(_) => UNAVAILABLE,
            ControlError::Unavailable(cause) => {
                tracing::error!(cause = %crate::http::chain(cause), "the store refused a request");
                UNAVAILABLE
            }
        };
        Self::new(code, error.to_string())
    }
}
