//! A failed observation. Not known is not gone: the caller keeps the last state and observes again.

use std::io;

use super::shortage;

#[derive(Debug)]
pub(crate) enum ObserveError {
    /// Processes began or ended during the observation; a later one succeeds.
    NotYet,
    /// The observation itself failed.
    Failed(io::Error),
}

impl ObserveError {
    /// Why it failed, for messages; `None` when it only has to be repeated.
    pub(crate) fn words(&self) -> Option<String> {
        match self {
            Self::NotYet => None,
            Self::Failed(error) => Some(format!(
                "the agent cannot look at processes: {}",
                shortage::words(error)
            )),
        }
    }
}

impl From<io::Error> for ObserveError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}
