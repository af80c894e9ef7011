//! Why a request failed, by what the caller can do about it.

use model::{Invalid, TaskId};
use store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The request is wrong; nothing was changed.
    #[error("{0}")]
    Invalid(#[from] Invalid),
    /// The caller may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// The app may do this, but not for this user.
    #[error("{0}")]
    ForbiddenToUser(String),
    /// The credentials are missing or wrong.
    #[error("{message}")]
    Unauthenticated {
        fault: CredentialFault,
        message: String,
    },
    #[error("task {0} does not exist or is no longer kept")]
    NoSuchTask(TaskId),
    /// Something else that was named does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The agent is not connected, or does not answer.
    #[error("{0}")]
    Away(String),
    /// The host refused or failed, and says why.
    #[error("{0}")]
    Declined(String),
    /// It exists already.
    #[error("{0}")]
    Conflict(String),
    /// The host has another agent: an operator can replace it, or it expires.
    #[error("{0}")]
    HostInUse(String),
    /// The app exceeds its rate limit; it may try again after this many milliseconds.
    #[error("app {app} may make {limit} requests per second: try again in {retry_after_ms} ms")]
    TooFast {
        app: String,
        limit: u32,
        retry_after_ms: u64,
    },
    /// Too many failed logins.
    #[error("too many failed logins: try again in {} s", retry_after_ms.div_ceil(1000))]
    TooManyTries { retry_after_ms: u64 },
    /// The server is at a limit; nothing was changed.
    #[error("{0}")]
    Busy(String),
    /// The store failed; a retry may help. Nothing was changed, unless the message says otherwise.
    #[error("{}", unavailable(.0))]
    Unavailable(#[source] StoreError),
}

fn unavailable(error: &StoreError) -> &'static str {
    match error {
        StoreError::InDoubt { .. } => {
            "the store did not say whether the change was written: look before trying again"
        }
        StoreError::Moved { .. }
        | StoreError::TooOld { .. }
        | StoreError::Unsupported { .. }
        | StoreError::UnknownOption { .. }
        | StoreError::TooNew { .. }
        | StoreError::Corrupt { .. }
        | StoreError::Unavailable { .. } => "the store is not available",
    }
}

impl From<StoreError> for ControlError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error)
    }
}

/// Which part of the credentials is missing or wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialFault {
    /// The caller presented none.
    Credentials,
    /// The app is unknown, or its secret is wrong.
    App,
    /// The user is not logged in, or the app may not name one.
    User,
}
