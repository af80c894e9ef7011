//! What goes into the machine and what comes out of it. Plain data; the parts that are kept in the journal say so by
//! being serialisable, and new fields of those must have a default.

use std::path::PathBuf;

use model::event::EventKind;
use model::operation::ProcessInspection;
use model::status::Exit;
use model::{Code, Flag, Op, OpId, UnixMillis};
use serde::{Deserialize, Serialize};

/// Now, on both clocks. Waiting is measured in milliseconds since the host booted: it goes on through a restart of the
/// agent and does not jump. The wall clock is only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) boot_ms: u64,
    pub(crate) unix: UnixMillis,
}

/// One execution: a pid together with the tick at which it began, so that a reused pid is never taken for it. Within one
/// tick, which is 10 ms, no pid comes back: the kernel gives out all others first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) pid: i32,
    pub(crate) start: u64,
}

/// How a run came to be the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    /// Found through its pid file.
    Daemon,
    /// The start command itself, which stayed. `main` is the pid that people see: the program under the shell.
    Foreground { main: i32 },
}

/// A run that is the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Alive {
    pub(crate) run: Run,
    pub(crate) form: Form,
    /// When it began, on both clocks.
    pub(crate) since_boot_ms: u64,
    pub(crate) started_at: UnixMillis,
}

impl Alive {
    /// The pid that people see.
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

/// Where a command's output goes: a file, so that it outlives the agent, and where this command's part begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sink {
    pub(crate) path: PathBuf,
    pub(crate) offset: u64,
    /// A file of our own, bounded and thrown away with the run; otherwise the process's log.
    pub(crate) spool: bool,
    /// Why it is not the log that the spec wants, in words.
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
}

/// A command that is over, or was given up waiting for.
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

/// What a look at the host shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Who the pid file names, if that is our process and alive.
    pub(crate) alive: Option<Alive>,
    /// That one belongs to the command under way.
    pub(crate) alive_is_commands: bool,
    /// The process under the command under way that bears the process's name.
    pub(crate) main: Option<i32>,
    /// Something that the command left behind lives. Only a deep look knows.
    pub(crate) starting: bool,
    /// What is wrong with the pid file, in words.
    pub(crate) note: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// The pid file alone.
    Shallow,
    /// Also what the command under way left behind: walks `/proc`.
    Deep,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// It is held from now on, or held differently.
    Held,
    /// It is to be forgotten and left running.
    Forget,
    /// The agent is here again.
    Recovered(Boot),
    /// There may be an operation to begin.
    Proceed,
    Looked(Look),
    /// A look told nothing: why it failed, if it did; otherwise it only has to be repeated.
    NotLooked(Option<String>),
    /// Whether it can be run at all.
    Checked(Result<(), String>),
    Spawned(Cmd),
    SpawnFailed(String),
    /// The agent or its host lacks descriptors, memory or processes to check or execute a command: which, in words.
    Shortage(String),
    /// A signal to the run that an operation is about was sent.
    Signalled,
    /// A signal to the run that an operation is about could not be sent: why, in words.
    SignalRefused(String),
    /// The pid file of a foreground program could not be written: why, in words.
    PidFileRefused(String),
    /// Its log was too long and was rotated, or why it could not be.
    LogRotated(Result<(), String>),
    /// A run or a command ended; the last line that it wrote, if we know its output.
    Exited(Run, Exit, String),
    /// The program told its version.
    VersionFound(String),
    Inspected(Box<ProcessInspection>),
    /// Of what stays in the foreground, this is the program now; whether the pid file says so already.
    MainIs(i32, bool),
    /// A time of its schedule has come, which people read so.
    Scheduled(String),
    /// `health_cmd` succeeded, or why it did not.
    HealthChecked(Result<(), String>),
    /// The files of `configmap` as they are.
    ConfigRead(Vec<super::Found>),
    /// It has used too much for too long, and this is said of it.
    Sentenced(EventKind, String),
    /// The time that [`super::Process::due`] named has come, or somebody wants it looked at.
    Tick,
}

/// Whether the host has been up ever since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Boot {
    Same,
    /// It has, but more has happened than the journal tells: its end is damaged.
    Damaged,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Signal {
    Terminate,
    HangUp,
}

/// What is to be done. Done in order; each `→` comes back as an event at once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// → `Looked` or `NotLooked`
    Look(Depth),
    /// → `Checked` or `Shortage`
    Check(Role),
    /// → `Spawned`, `SpawnFailed` or `Shortage`. What it runs is in the journal before it runs.
    Spawn(Role),
    /// → `Signalled` or `SignalRefused`
    Signal(Alive, Signal),
    /// → `SignalRefused`, if so. SIGKILL to a run or command and to everything that came from it, until nothing of it lives. The state says
    /// `doomed` until the look that follows.
    Kill(Run),
    /// SIGKILL to whatever earlier runs left behind.
    Sweep,
    /// → `PidFileRefused`, if so
    WritePidFile(i32),
    RemovePidFile(i32),
    /// → `Inspected`, some time later.
    Inspect,
    /// Ask the program for its version.
    FindVersion,
    End(Ending),
    Emit(Emission),
    /// Nothing holds it any more.
    Forgotten,
}

/// How an operation ends; the runner adds what the command wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ending {
    pub(crate) id: OpId,
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) flag: Option<Flag>,
    pub(crate) managed: Option<bool>,
    pub(crate) ran: Option<Finished>,
    /// The command's output is the better message, where there is any.
    pub(crate) output_speaks: bool,
    pub(crate) instance: Option<Box<ProcessInspection>>,
}

/// Something worth an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Emission {
    pub(crate) kind: EventKind,
    pub(crate) reason: String,
    pub(crate) exit: Option<Exit>,
}
