//! The last runs of a process, as its agent keeps them.

use serde::{Deserialize, Serialize};

use crate::UnixMillis;
use crate::status::LastExit;

/// How many runs an agent remembers of each process, with or without their output.
pub const MAX_RUNS: usize = 100;

/// One run of a process: from its start command on, also if that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecord {
    /// Counts up by one with each run.
    pub number: u32,
    pub began: UnixMillis,
    /// None while it goes on, and if the agent did not see how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<LastExit>,
    /// It goes on.
    pub is_current: bool,
    /// How many bytes of its output are kept; none if none are any more, or if it writes into its log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// The log that it writes into, as long as the agent knows where in it; else empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub log_path: String,
}
