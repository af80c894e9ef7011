//! What an agent really holds, as it says itself when it is asked.

use serde::{Deserialize, Serialize};

use crate::{Flag, FullName, OpId, UnixMillis};

/// Everything that one agent holds, and what stands in its way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldReport {
    pub processes: Vec<HeldProcess>,
    pub foreign: Vec<ForeignProcess>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldProcess {
    pub process: FullName,
    /// Tells this registration from an earlier one of the same name.
    pub incarnation: u64,
    /// [`crate::digest::definition_hash`] of spec and labels.
    pub definition_hash: u64,
    pub flag: Flag,
    pub managed: bool,
    /// What is going on with it, in words.
    pub phase: String,
    /// The run that is the process now.
    #[serde(default)]
    pub run: Option<HeldRun>,
    /// Operations taken and not ended.
    #[serde(default)]
    pub operations: Vec<OpId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldRun {
    pub pid: i32,
    pub started_at: UnixMillis,
}

/// A live process that a pid file names and that is not the process which the file belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignProcess {
    /// Whose pid file it is.
    pub process: FullName,
    pub pid_path: String,
    pub pid: i32,
    /// The task name of who is there instead.
    pub program: String,
    /// Whom it runs as, where that can be seen.
    pub user: String,
}
