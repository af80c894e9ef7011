//! Supervises the processes of one host: starts, stops, watches and restarts them. Knows nothing of the network.
//!
//! The path of an operation: [`Request`] → the process's pure state machine (`machine`) → actions → `os` → events → the
//! machine again → [`Notice`]. What must survive the agent is in the journal before it is done.
//!
//! [`Supervisor::open`] reads the journal of an earlier agent; [`Supervisor::run`] is the one long-lived task that owns
//! every process. Its end, however it comes, touches no process.

#![cfg_attr(
    fake_os,
    allow(
        dead_code,
        reason = "the fake host does not use everything that the real one does"
    )
)]

mod headline;
mod journal;
mod machine;
mod os;
mod runner;
mod supervisor;

pub use os::config_file::{AllowedPaths, ConfigFileError, ConfigFiles};
pub use os::host_check;
pub use os::kernel::missing_features;
pub use os::other_process::OtherProcess;
pub use os::ourselves;
pub use os::tail::{FileChange, Log, LogRead, ReadUntil};
#[cfg(fake_os)]
pub use os::{host, trace};
pub use supervisor::{
    ControlGroups, DEFAULT_OUTPUT_MAX, DEFAULT_OUTPUT_RUNS, Options, Supervisor, SupervisorError,
};

use std::sync::Arc;
use std::time::Duration;

use model::event::Event;
use model::figures::FigureSeries;
use model::group::ProcessGroup;
use model::held::HeldReport;
use model::run_history::RunRecord;
use model::spec::Probe;
use model::spec::after::{Place, When};
use model::{
    Flag, FullName, Labels, LinePattern, Namespace, Op, OpId, Outcome, Spec, Status, UnixMillis,
};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

/// A request of the agent to the supervisor.
#[derive(Debug)]
pub enum Request {
    /// Hold this process. For an incarnation that is held already, only the spec is replaced.
    Hold(Registration),
    /// Forget this process and leave it running, after its operations under way have ended.
    Forget(FullName),
    /// Replaces the process groups of a namespace.
    Groups(Namespace, Vec<ProcessGroup>),
    /// What dependencies on other hosts have come to; replaces what was said before.
    Dependencies(Vec<DependencyAnswer>),
    /// Run an operation. Idempotent by id.
    Operate(Operation),
    /// The server has these results: the journal may drop them.
    AcknowledgeResults(Vec<OpId>),
    /// The server has every event up to this number.
    AcknowledgeEvents(u64),
    /// Report what is held.
    Held(oneshot::Sender<HeldReport>),
    /// The figures of a process over the last hour; none if it is not held.
    Figures(FullName, oneshot::Sender<Option<FigureSeries>>),
    /// The last runs of a process, oldest first; none if it is not held.
    Runs(FullName, oneshot::Sender<Option<Vec<RunRecord>>>),
    /// Open the output of a process.
    Logs(LogRequest, oneshot::Sender<Result<Log, LogError>>),
}

/// What a dependency on other hosts has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DependencyAnswer {
    pub process: FullName,
    pub when: When,
    pub place: Place,
    /// Why it is not met, in a few words; none if it is.
    pub unmet: Option<String>,
}

/// Which output to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRequest {
    pub process: FullName,
    pub run: WhichRun,
    /// Only what was written within this time, and perhaps up to a minute more.
    pub since: Option<Duration>,
    /// Only lines that match.
    pub pattern: Option<LinePattern>,
    pub tail_lines: u32,
    pub until: ReadUntil,
    /// Only runs after this one: the reader has seen it.
    pub after_run: Option<u32>,
}

/// Which run of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhichRun {
    /// The current one, or the last one of a process that does not run.
    #[default]
    Current,
    /// The one before that.
    Previous,
    /// The one with this number in the history.
    Numbered(u32),
}

/// Why there is no output to read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    #[error("the agent does not hold {0}")]
    NotHeld(FullName),
    /// There may be output later.
    #[error("{0}")]
    Unavailable(String),
}

/// A process to hold. The journal keeps it: new fields need a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Registration {
    pub name: FullName,
    pub incarnation: u64,
    pub spec: Arc<Spec>,
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Opaque; the agent reports it to the server with what it holds.
    #[serde(default)]
    pub definition_hash: u64,
    /// Flag and managed are used only for an incarnation that is not held yet.
    pub flag: Flag,
    pub managed: bool,
    #[serde(default)]
    pub registered_at: UnixMillis,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    pub id: OpId,
    pub process: FullName,
    pub op: Op,
    /// How to find the process if it is not held.
    pub probe: Option<Probe>,
    /// An operation that has not begun by then never begins.
    pub deadline: UnixMillis,
}

/// A report of the supervisor to the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// The status of a process changed.
    Status(FullName, Arc<Status>),
    /// An operation ended. Its result is in the journal already.
    Ended(OpId, Outcome),
    /// A process event with its number. It is in the journal already.
    Event(u64, Event),
}

/// What the journal of an earlier agent holds.
#[derive(Debug, Default)]
pub struct Recovered {
    pub held: Vec<Registration>,
    /// Operations accepted and not ended: they go on.
    pub under_way: Vec<OpId>,
    /// Results that the server has not acknowledged.
    pub results: Vec<(OpId, Outcome)>,
    pub events: Vec<(u64, Event)>,
}
