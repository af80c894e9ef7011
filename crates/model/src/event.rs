//! What happened to a process without anybody asking.

use serde::{Deserialize, Serialize};

use crate::status::Exit;
use crate::{FullName, UnixMillis};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A run ended and nobody had asked for it.
    ProcessExit,
    ProcessRestartSuccess,
    ProcessRestartFailed,
    /// Restarting was given up.
    ProcessCancelRestart,
}

impl EventKind {
    pub const ALL: [Self; 4] = [
        Self::ProcessExit,
        Self::ProcessRestartSuccess,
        Self::ProcessRestartFailed,
        Self::ProcessCancelRestart,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProcessExit => "process_exit",
            Self::ProcessRestartSuccess => "process_restart_success",
            Self::ProcessRestartFailed => "process_restart_failed",
            Self::ProcessCancelRestart => "process_cancel_restart",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub at: UnixMillis,
    pub process: FullName,
    pub kind: EventKind,
    /// The sentence that is shown to people.
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
}
