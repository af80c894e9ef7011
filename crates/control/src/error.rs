//! Why a request failed, by what the caller can do about it.

use model::{Invalid, Reason, TaskId};
use store::StoreError;

use crate::access::MissingRole;

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The request is wrong; nothing was changed.
    #[error("{0}")]
    Invalid(#[from] Invalid),
    /// The caller's app lacks a role.
    #[error("{0}")]
    Forbidden(MissingRole),
    /// The app may do this, but not for this user.
    #[error("{0}")]
    ForbiddenToUser(MissingRole),
    /// The credentials are missing or wrong.
    #[error("{0}")]
    Unauthenticated(CredentialFault),
    /// The join token of an agent that enrols is not valid.
    #[error("{0}")]
    JoinTokenRefused(String),
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
    /// A text is not a template, or cannot be rendered.
    #[error("{0}")]
    BadTemplate(Box<BadTemplate>),
    /// A filter matches another number of processes than the caller expects; nothing was done.
    #[error(
        "expect_count: the filter matches {count} processes now, not {expected}; nothing was done"
    )]
    CountChanged { expected: u64, count: u64 },
    /// The same of agents to upgrade.
    #[error("expect_count: {count} agents would be upgraded now, not {expected}; nothing was done")]
    AgentCountChanged { expected: u64, count: u64 },
    /// The same of hosts to remove.
    #[error("expect_count: {count} hosts would be removed now, not {expected}; nothing was done")]
    HostCountChanged { expected: u64, count: u64 },
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

/// Why a text is not a template, or cannot be rendered.
#[derive(Debug, thiserror::Error)]
#[error("{field}: {message}")]
pub struct BadTemplate {
    /// The field of the request.
    pub field: &'static str,
    /// Line and column are those of the template itself, not of one that it includes.
    pub line: Option<u32>,
    pub column: Option<u32>,
    pub message: String,
    pub reason: Reason,
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
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialFault {
    #[error("the request has no credentials")]
    NoApp,
    #[error("the request names an app but has no app secret")]
    NoSecret,
    /// Its code. The caller does not learn whether the app exists.
    #[error("app {0} is unknown, or the app secret is wrong")]
    App(String),
    #[error("the login has expired or was ended: log in again")]
    Login,
    /// Its code.
    #[error(
        "app {0} is not trusted, so it may not name a user: leave the user name out, or log in as the user"
    )]
    NotTrusted(String),
    /// In a dialect where every request has a user.
    #[error("the request names an app but no user")]
    NoUser,
    #[error("the user is unknown or the password is wrong")]
    Password,
    /// Only a user with a login has a password and logins.
    #[error("the request has no login: log in as the user")]
    NoLogin,
    #[error("the login link was used already, or it is too old: `muster console` makes another")]
    Code,
}

impl CredentialFault {
    /// Whether the caller presented nothing that could be checked.
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::NoApp | Self::NoSecret)
    }
}
