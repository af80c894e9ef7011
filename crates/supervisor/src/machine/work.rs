//! An operation or the agent's own work on its way: why, and how far it has come.

use model::status::Exit;
use serde::{Deserialize, Serialize};

use super::current_run::CurrentRun;
use super::stopping::Stopping;
use super::{
    Action, Cmd, Context, DependencyRun, Finished, LiveRun, Role, Run, Signal, Sink, Ticket, order,
};

/// An operation or an attempt on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) cause: Cause,
    /// `op_timeout` starts here.
    pub(crate) began_boot_ms: u64,
    /// Why the agent does this by itself; empty for operations and schedules.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    /// An operation asked for this attempt, so it is no restart.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) operated: bool,
    /// The run that was there when the work began, as long as it lives.
    pub(crate) before: Option<CurrentRun>,
    /// Where that run wrote, after it has ended: shows that it was in the foreground. In the journal beside the phase.
    #[serde(skip)]
    pub(crate) ended_sink: Option<Sink>,
    /// The same run, also after its end: a restart must bring up another.
    #[serde(rename = "old")]
    pub(crate) old_run: Option<Run>,
    pub(crate) ran: Option<Finished>,
    /// A run or command that is being killed with its family; killed again after a restart of the agent.
    #[serde(default, rename = "doomed")]
    pub(crate) kill_target: Option<Run>,
    /// The signal to send, until it is known to have been sent.
    #[serde(default, rename = "untold", skip_serializing_if = "Option::is_none")]
    pub(crate) unsent_signal: Option<(LiveRun, Signal)>,
    /// How far a stop by `spec.stop` has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stopping: Option<Stopping>,
    /// The last line of the command's output, if it failed.
    #[serde(default)]
    pub(crate) last_line: String,
    /// Since when it waits for its dependencies; none before the first look and after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) waits_since: Option<order::WaitsSince>,
    /// The runs of its dependencies when it was launched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) dependencies: Vec<DependencyRun>,
    /// Which dependencies it was started without; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) without: String,
    pub(crate) step: Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    Operation(Ticket),
    Attempt(u32),
    /// A time of its schedule has come.
    Schedule,
    /// Its health check failed too often: the agent stops it and starts it again. When the run began.
    Unhealthy {
        since_boot_ms: u64,
    },
    /// A dependency was started anew: the agent stops it and starts it again.
    Renewal,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// Waits for an observation.
    Begin,
    /// Waits for the check whether the spec can be run.
    Check,
    /// Waits until its dependencies are met.
    AwaitNeeds,
    /// Waits until the dependents that are being stopped are down.
    AwaitDependents,
    /// About to execute this command; it is not executed yet.
    Launch(Role),
    /// The command was executed and has not ended.
    Command {
        cmd: Cmd,
        #[serde(rename = "seen")]
        candidate: Option<Candidate>,
    },
    /// The command has ended, and the process should come up.
    AwaitUp {
        #[serde(rename = "seen")]
        candidate: Option<Candidate>,
    },
    /// It is up, and its ready probe should succeed.
    AwaitReady { until_boot_ms: u64 },
    /// The process should go down.
    AwaitDown {
        /// Observations count from here.
        from_boot_ms: u64,
        /// The stop command failed.
        failed: bool,
    },
    /// It is reloading, and should still be up then.
    Settle { until_boot_ms: u64 },
    /// The work failed; one more observation decides the next phase.
    Close(Failure),
}

/// A run that may become the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Candidate {
    pub(crate) alive: LiveRun,
    pub(crate) first_boot_ms: u64,
    pub(crate) died: Option<Exit>,
    /// The status shows it although it may be only the launcher of the process: its spec asks for no start check.
    #[serde(default, rename = "shown", skip_serializing_if = "is_false")]
    pub(crate) is_shown: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) code: model::Code,
    pub(crate) message: String,
    /// The command's output is the better message, if there is any.
    #[serde(rename = "output_speaks")]
    pub(crate) prefers_output: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Work {
    /// Takes the command under way for finished, without an exit.
    pub(super) fn give_up_command(&mut self, cx: &Context<'_>) {
        if let Some(cmd) = self.step.progress().0 {
            self.ran = Some(Finished {
                cmd: cmd.clone(),
                exit: None,
                ended_boot_ms: cx.now.boot_ms,
            });
        }
    }

    pub(super) fn new(cause: Cause, cx: &Context<'_>) -> Self {
        Self {
            cause,
            began_boot_ms: cx.now.boot_ms,
            reason: String::new(),
            operated: false,
            before: None,
            ended_sink: None,
            old_run: None,
            ran: None,
            kill_target: None,
            unsent_signal: None,
            stopping: None,
            last_line: String::new(),
            waits_since: None,
            dependencies: Vec::new(),
            without: String::new(),
            step: Step::Begin,
        }
    }

    /// Sends a signal; after a restart the agent sends it if it was not sent.
    pub(super) fn send_signal(&mut self, alive: LiveRun, signal: Signal, out: &mut Vec<Action>) {
        self.unsent_signal = Some((alive, signal));
        out.push(Action::Signal(alive, signal));
    }

    pub(super) fn ticket(&self) -> Option<Ticket> {
        match self.cause {
            Cause::Operation(ticket) => Some(ticket),
            Cause::Attempt(_) | Cause::Schedule | Cause::Unhealthy { .. } | Cause::Renewal => None,
        }
    }
}

impl Step {
    /// The command under way, and the run that may become the process.
    pub(super) fn progress(&self) -> (Option<&Cmd>, Option<Candidate>) {
        match self {
            Self::Command { cmd, candidate } => (Some(cmd), *candidate),
            Self::AwaitUp { candidate } => (None, *candidate),
            Self::Begin
            | Self::Check
            | Self::AwaitNeeds
            | Self::AwaitDependents
            | Self::Launch(_)
            | Self::AwaitReady { .. }
            | Self::AwaitDown { .. }
            | Self::Settle { .. }
            | Self::Close(_) => (None, None),
        }
    }

    /// Whether a start command was executed whose result is not known yet.
    pub(super) fn has_started(&self) -> bool {
        match self.progress().0 {
            Some(cmd) => matches!(cmd.role, Role::Start | Role::Restart),
            None => matches!(self, Self::AwaitUp { .. }),
        }
    }
}
