//! What a look could not find out. Not known is not gone: the caller keeps the last state and looks again.

use std::io;

use super::shortage;

#[derive(Debug)]
pub(crate) enum Unknown {
    /// Processes began or ended during the look; one of the next looks tells.
    Yet,
    /// The look itself failed.
    Failed(io::Error),
}

impl Unknown {
    /// Why the look failed, for people; nothing when it only has to be repeated.
    pub(crate) fn words(&self) -> Option<String> {
        match self {
            Self::Yet => None,
            Self::Failed(error) => Some(format!(
                "the agent cannot look at processes: {}",
                shortage::words(error)
            )),
        }
    }
}

impl From<io::Error> for Unknown {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}
