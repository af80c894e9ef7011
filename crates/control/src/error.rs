//! Why a request was not carried out, by what the caller can do about it.

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
    Unauthenticated { lacks: Lacks, message: String },
    #[error("task {0} does not exist or is no longer kept")]
    NoSuchTask(TaskId),
    /// Something else that was named does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The agent that would have to answer is not there, or does not answer.
    #[error("{0}")]
    Away(String),
    /// The host would not or could not do it, and says why.
    #[error("{0}")]
    Declined(String),
    /// It exists already.
    #[error("{0}")]
    Conflict(String),
    /// Another agent speaks for the host; an operator may change that, or time.
    #[error("{0}")]
    HostInUse(String),
    /// The app asks faster than it may; try again after this many milliseconds.
    #[error("app {app} may make {limit} requests per second: try again in {retry_after_ms} ms")]
    TooFast {
        app: String,
        limit: u32,
        retry_after_ms: u64,
    },
    /// Somebody has guessed too often.
    #[error("too many failed logins: try again in {} s", retry_after_ms.div_ceil(1000))]
    TooManyTries { retry_after_ms: u64 },
    /// More is under way than this server takes on; nothing was changed.
    #[error("{0}")]
    Busy(String),
    /// Trying again later may help. Nothing was changed, unless it says otherwise.
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

/// Which part of the credentials is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lacks {
    /// Nothing was presented.
    Credentials,
    /// The app is unknown, or its secret is wrong.
    App,
    /// The user is not logged in, or the app may not name one.
    User,
}
