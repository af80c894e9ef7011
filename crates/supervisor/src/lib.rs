//! The keeper: real processes, kept as wanted. Knows nothing of the network.
//!
//! The path of an operation: [`Request`] → the process's pure state machine (`machine`) → actions → `os` → what happened →
//! the machine again → [`Notice`]. What must survive the agent is in the journal before it is done.
//!
//! [`Supervisor::open`] reads what an earlier agent left behind; [`Supervisor::run`] is the one long-lived activity that
//! owns every process. Ending it, in any way, touches no process.

#![cfg_attr(
    fake_os,
    allow(
        dead_code,
        reason = "a pretended host does not need all that a real one does"
    )
)]

mod journal;
mod machine;
mod os;
mod runner;
mod supervisor;

pub use os::config_file::{AllowedPaths, ConfigFileError, ConfigFiles};
pub use os::ourselves;
pub use os::tail::{FileChange, Log, ReadUntil};
#[cfg(fake_os)]
pub use os::{host, trace};
pub use supervisor::{ControlGroups, Options, Supervisor, SupervisorError};

use std::sync::Arc;

use model::event::Event;
use model::group::ProcessGroup;
use model::held::HeldReport;
use model::spec::Probe;
use model::{Flag, FullName, Labels, Namespace, Op, OpId, Outcome, Spec, Status, UnixMillis};
use tokio::sync::oneshot;

/// What the agent asks of the supervisor.
#[derive(Debug)]
pub enum Request {
    /// Hold this process from now on. For an incarnation held already, only the spec is replaced.
    Hold(Registration),
    /// Forget it and leave it running. Operations under way on it end first.
    Forget(FullName),
    /// The process groups of a namespace from now on: all of them.
    Groups(Namespace, Vec<ProcessGroup>),
    /// Run an operation; a repeated id that is still known is not run again.
    Operate(Operation),
    /// The server has these results: their records may go.
    AcknowledgeResults(Vec<OpId>),
    /// The server has every event up to this number.
    AcknowledgeEvents(u64),
    /// Tell what is really held.
    Held(oneshot::Sender<HeldReport>),
    /// Open what a process writes.
    Logs(LogRequest, oneshot::Sender<Result<Log, LogError>>),
}

/// Which output is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRequest {
    pub process: FullName,
    pub tail_lines: u32,
    pub until: ReadUntil,
}

/// Why there is no output to read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    #[error("the agent does not hold {0}")]
    NotHeld(FullName),
    /// There may be some later.
    #[error("{0}")]
    Unavailable(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    pub name: FullName,
    pub incarnation: u64,
    pub spec: Arc<Spec>,
    pub labels: Labels,
    /// Opaque: kept with the process so that the agent can tell the server what it holds.
    pub definition_hash: u64,
    /// Count only for an incarnation that is not held yet.
    pub flag: Flag,
    pub managed: bool,
    pub registered_at: UnixMillis,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    pub id: OpId,
    pub process: FullName,
    pub op: Op,
    /// Where to look when the process is not held.
    pub probe: Option<Probe>,
    /// Not begun by then, it is not begun at all.
    pub deadline: UnixMillis,
}

/// What the supervisor tells the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// The status of a process changed.
    Status(FullName, Status),
    /// An operation ended. Its end is in the journal already.
    Ended(OpId, Outcome),
    /// Something happened by itself. It is in the journal already, with this number.
    Event(u64, Event),
}

/// What an agent that was here before left behind.
#[derive(Debug, Default)]
pub struct Recovered {
    pub held: Vec<Registration>,
    /// Operations taken and not ended: they go on.
    pub under_way: Vec<OpId>,
    /// Ended, and not acknowledged by the server yet.
    pub results: Vec<(OpId, Outcome)>,
    pub events: Vec<(u64, Event)>,
}
