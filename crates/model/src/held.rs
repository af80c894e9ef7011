//! The agent's answer to "which processes do you hold?", for comparison with the registrations of the server.

use serde::{Deserialize, Serialize};

use crate::{Flag, FullName, OpId, UnixMillis};

/// The processes of one agent, and foreign processes behind their pid files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldReport {
    pub processes: Vec<HeldProcess>,
    pub foreign: Vec<ForeignProcess>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldProcess {
    pub process: FullName,
    /// Distinguishes this registration from an earlier one of the same name.
    pub incarnation: u64,
    /// [`crate::digest::definition_hash`] of spec and labels.
    pub definition_hash: u64,
    pub flag: Flag,
    pub managed: bool,
    /// The phase of its state machine, as text for people.
    pub phase: String,
    /// The current run.
    #[serde(default)]
    pub run: Option<HeldRun>,
    /// Operations accepted and not finished.
    #[serde(default)]
    pub operations: Vec<OpId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldRun {
    pub pid: i32,
    pub started_at: UnixMillis,
}

/// A live process that a pid file names although it is not the process that the file belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignProcess {
    /// The owner of the pid file.
    pub process: FullName,
    pub pid_path: String,
    pub pid: i32,
    /// The task name of the foreign process.
    pub program: String,
    /// The user that it runs as; empty if the agent may not see it.
    pub user: String,
}
