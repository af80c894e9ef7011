//! Inputs and outputs of the machine: plain data. Serialisable types are part of the journal: their new fields need a
//! default.

use std::path::PathBuf;

use model::event::EventKind;
use model::operation::ProcessInspection;
use model::spec::stop::StopSignal;
use model::spec::{Commands, ProbeKind};
use model::status::{Exit, OomMemory};
use model::{Code, Flag, Op, OpId, UnixMillis};
use serde::{Deserialize, Serialize};

/// Now, on both clocks. Waits are measured in milliseconds since the host booted, because that clock goes on through a
/// restart of the agent and does not jump. The wall clock is only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) boot_ms: u64,
    pub(crate) unix: UnixMillis,
}

/// One execution: a pid with the tick at which it began, so that a reused pid is never taken for it. The kernel reuses no
/// pid within one tick (10 ms): it gives out all others first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) pid: i32,
    pub(crate) start: u64,
}

/// How the agent knows a run as the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    /// Through its pid file.
    Daemon,
    /// The start command itself, which did not exit. `main` is the pid that the status shows: the program under the shell.
    Foreground { main: i32 },
}

/// A live run of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LiveRun {
    pub(crate) run: Run,
    pub(crate) form: Form,
    /// When it began, on both clocks.
    pub(crate) since_boot_ms: u64,
    pub(crate) started_at: UnixMillis,
}

impl LiveRun {
    /// The pid that the status shows.
    pub(crate) fn pid(&self) -> i32 {
        match self.form {
            Form::Daemon => self.run.pid,
            Form::Foreground { main } => main,
        }
    }

    pub(super) fn lasted_ms(&self, now: Moment) -> u64 {
        now.boot_ms.saturating_sub(self.since_boot_ms)
    }
}

/// Which command of the spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    Start,
    Stop,
    Restart,
    Reload,
    Kill,
}

impl Role {
    /// Its command in the spec; empty for none.
    pub(crate) fn command(self, commands: &Commands) -> &str {
        match self {
            Self::Start => &commands.start_cmd,
            Self::Stop => &commands.stop_cmd,
            Self::Restart => &commands.restart_cmd,
            Self::Reload => &commands.reload_cmd,
            Self::Kill => &commands.kill_cmd,
        }
    }

    /// The field of the spec that holds it.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::Start => "start_cmd",
            Self::Stop => "stop_cmd",
            Self::Restart => "restart_cmd",
            Self::Reload => "reload_cmd",
            Self::Kill => "kill_cmd",
        }
    }
}

/// Where a command's output goes: a file, so that it outlives the agent, and the offset at which this command began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sink {
    pub(crate) path: PathBuf,
    pub(crate) offset: u64,
    /// A file of the agent, bounded and removed with the run; otherwise the process's log.
    pub(crate) spool: bool,
    /// Why it is not the log that the spec names.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) instead_of_log: String,
}

/// A command that was executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cmd {
    pub(crate) run: Run,
    pub(crate) role: Role,
    pub(crate) text: String,
    pub(crate) began_boot_ms: u64,
    pub(crate) began_at: UnixMillis,
    pub(crate) sink: Sink,
    /// [`model::Spec::launch_digest`] of the spec that it was started with; 0 if not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) launch_digest: u64,
}

pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A command that has ended, or that the agent stopped waiting for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finished {
    pub(crate) cmd: Cmd,
    pub(crate) exit: Option<Exit>,
    pub(crate) ended_boot_ms: u64,
}

/// An operation as the machine keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ticket {
    pub(crate) id: OpId,
    pub(crate) op: Op,
    pub(crate) deadline: UnixMillis,
}

/// What the agent observed on the host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Observation {
    /// The run that the pid file names, if it is this process and lives.
    pub(crate) alive: Option<LiveRun>,
    /// That run belongs to the command under way.
    pub(crate) alive_is_commands: bool,
    /// The command under way itself lives.
    pub(crate) command_lives: bool,
    /// The descendant of the command under way that has the process's name.
    pub(crate) main: Option<i32>,
    /// A process that the command started lives. Only a deep observation finds it.
    pub(crate) starting: bool,
    /// What is wrong with the pid file.
    pub(crate) note: String,
    /// The pid file names a process of the command that has another name, and that began at this time.
    pub(crate) misnamed_since_boot_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Reads the pid file alone.
    Shallow,
    /// Also looks for processes that the command under way started: walks `/proc`.
    Deep,
}

/// An input of the machine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// It was registered, or its registration changed.
    Held,
    /// Forget it and leave it running.
    Forget,
    /// The agent was restarted.
    Recovered(Boot),
    /// An operation may be waiting.
    Proceed,
    Observed(Observation),
    /// An observation gave no result: why it failed; `None` if it only has to be repeated.
    NotObserved(Option<String>),
    /// Whether the spec can be run on this host.
    Checked(Result<(), String>),
    Spawned(Cmd),
    SpawnFailed(String),
    /// The agent or its host lacks descriptors, memory or processes to check or execute a command.
    Shortage(String),
    /// The signal of the operation was sent.
    Signalled,
    /// The signal of the operation could not be sent.
    SignalRefused(String),
    /// The pid file of a foreground program could not be written.
    PidFileRefused(String),
    /// Its log was rotated, or why that failed.
    LogRotated(Result<(), String>),
    /// A run or a command ended.
    Exited(Run, RunEnd),
    /// `version_cmd` printed a version.
    VersionFound(String),
    Inspected(Box<ProcessInspection>),
    /// The pid of the program under a foreground run; whether the pid file names it already.
    MainIs(i32, bool),
    /// Its schedule is due, at this time as it is shown.
    Scheduled(String),
    /// `health_cmd` succeeded, or why it did not.
    HealthChecked(Result<(), String>),
    /// A probe of `spec.probes` succeeded, or why it did not.
    Probed(ProbeKind, Result<(), String>),
    /// The agent or its host lacks what a probe needs: it says nothing about the process.
    NotProbed(ProbeKind, String),
    /// The files of `configmap` as they are on the host.
    ConfigRead(Vec<super::ConfigFileDigest>),
    /// It was over a limit for too long, with the reason.
    OverLimit(EventKind, String),
    /// A dependency has a new run, and its dependents are to be restarted with it.
    DependencyRestarted(super::DependencyRun),
    /// The time of [`super::Process::due`] has come, or the runner wants an observation.
    Tick,
}

/// How a run or a command ended, as far as the runner knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunEnd {
    pub(crate) exit: Exit,
    /// The line of its output that names the error.
    pub(crate) last_line: String,
    /// The kernel's memory killer ended it, and nothing else explains the end: its memory then.
    pub(crate) oom: Option<OomMemory>,
}

impl From<Exit> for RunEnd {
    fn from(exit: Exit) -> Self {
        Self {
            exit,
            last_line: String::new(),
            oom: None,
        }
    }
}

/// What the journal is worth after a restart of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Boot {
    /// The host has not rebooted since.
    Same,
    /// The host has not rebooted. The end of the journal is torn, and what was lost is that the start under way was carried
    /// out: its process runs.
    StartLost,
    /// The host has not rebooted, but the end of the journal is damaged, so more has happened than it tells.
    Damaged,
    /// The host has rebooted.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Signal {
    /// SIGTERM, as a stop without `spec.stop` sends it.
    Terminate,
    HangUp,
    /// A signal of `spec.stop`.
    Stop(StopSignal),
}

/// An output of the machine. The runner does them in order; each `→` is an event that it feeds back at once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// → `Observed` or `NotObserved`
    Observe(Depth),
    /// → `Checked` or `Shortage`
    Check(Role),
    /// → `Spawned`, `SpawnFailed` or `Shortage`. The command is in the journal before it is executed.
    Spawn(Role),
    /// → `Signalled` or `SignalRefused`
    Signal(LiveRun, Signal),
    /// → `SignalRefused`, if so. SIGKILL to a run or command and to its family, until none of it lives. `Work::kill_target`
    /// names it until the next observation.
    Kill(Run),
    /// SIGKILL to everything that earlier runs started.
    Sweep,
    /// → `PidFileRefused`, if so
    WritePidFile(i32),
    RemovePidFile(i32),
    /// → `Inspected`, later.
    Inspect,
    /// → `VersionFound`, later. Runs `version_cmd`.
    FindVersion,
    End(OperationEnd),
    Emit(Emission),
    /// Drop the process.
    Forgotten,
}

/// How an operation ended; the runner adds the command's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OperationEnd {
    pub(crate) id: OpId,
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) flag: Option<Flag>,
    pub(crate) managed: Option<bool>,
    pub(crate) ran: Option<Finished>,
    /// The command's output is the better message, if there is any.
    pub(crate) prefers_output: bool,
    /// What its caller should know although it succeeded; empty for nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) warning: String,
    pub(crate) instance: Option<Box<ProcessInspection>>,
}

/// An event for the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Emission {
    pub(crate) kind: EventKind,
    pub(crate) reason: String,
    pub(crate) exit: Option<Exit>,
}
