//! What the status and the runner need to know of a process.

use std::borrow::Cow;

use model::{Op, ProcessState, State, UnixMillis};

use super::health::HEALTHY;
use super::{
    Cause, Cmd, Health, LiveRun, Phase, Process, Resting, Role, Run, RunFaults, Sink, Step, Work,
    as_foreground_run,
};

/// The part of the status that the machine decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View<'a> {
    pub(crate) state: State,
    pub(crate) process_state: ProcessState,
    /// When the next attempt is due; `NEVER` for none.
    pub(crate) next_at: UnixMillis,
    pub(crate) pid: i32,
    /// When the run began, or, while it is down, when the last one did.
    pub(crate) started_at: UnixMillis,
    pub(crate) message: Cow<'a, str>,
}

impl Process {
    /// The runs and commands whose exits the machine must hear of.
    pub(crate) fn watched(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = self.current().iter().map(|run| run.alive.run).collect();
        if let Some(work) = self.work() {
            let (cmd, candidate) = work.step.progress();
            let candidate = candidate.filter(|candidate| candidate.died.is_none());
            runs.extend(cmd.map(|cmd| cmd.run));
            runs.extend(candidate.map(|candidate| candidate.alive.run));
            runs.sort_by_key(|run| run.pid);
            runs.dedup();
        }
        runs
    }

    /// The command whose descendants a deep observation looks for.
    pub(crate) fn root(&self) -> Option<Run> {
        match &self.phase {
            Phase::Unobserved | Phase::Down | Phase::Up { .. } | Phase::Backoff { .. } => None,
            Phase::Lost { current, .. } => Some(current.alive.run),
            Phase::Working(work) => {
                let ran = work.ran.as_ref().map(|ran| &ran.cmd);
                work.step.progress().0.or(ran).map(|cmd| cmd.run)
            }
        }
    }

    /// The run that the status shows: the current one, or the one that is coming up.
    pub(crate) fn alive(&self) -> Option<LiveRun> {
        let comes_up = self.work().and_then(|work| {
            let (cmd, candidate) = work.step.progress();
            let candidate = candidate.filter(|candidate| candidate.died.is_none());
            match cmd {
                Some(cmd) => candidate
                    // The command may be only the launcher of the process, whatever its name.
                    .filter(|candidate| {
                        let is_command = candidate.alive.run == cmd.run;
                        !is_command || candidate.is_shown || self.stays_in_foreground
                    })
                    .map(|candidate| candidate.alive)
                    .or_else(|| self.stays_again(cmd)),
                None => candidate.map(|candidate| candidate.alive),
            }
        });
        comes_up.or(self.current().map(|current| current.alive))
    }

    /// Whether a run without a pid file may exist: it stays in the foreground, or was about to start.
    pub(crate) fn may_have_started(&self) -> bool {
        let is_starting = |work: &Work| matches!(work.step, Step::Check | Step::Launch(_));
        self.work().is_some_and(is_starting) || self.stays_in_foreground
    }

    /// The start command of a foreground program is the process from its first moment.
    fn stays_again(&self, cmd: &Cmd) -> Option<LiveRun> {
        match cmd.role {
            Role::Start | Role::Restart if self.stays_in_foreground => {
                Some(as_foreground_run(cmd, cmd.run.pid))
            }
            Role::Start | Role::Restart | Role::Stop | Role::Reload | Role::Kill => None,
        }
    }

    /// The state as the native API shows it; the runner adds the schedule.
    fn process_state(&self) -> ProcessState {
        let current = self.current().map(|current| current.alive.run);
        match self.alive() {
            Some(alive) if Some(alive.run) != current => return ProcessState::Starting,
            Some(_) => {
                let work = self.work();
                if work.is_some_and(|work| matches!(work.step, Step::AwaitReady { .. })) {
                    return ProcessState::Starting;
                }
                let facts = self.current().map(|run| &run.facts);
                let is_unhealthy = match work.map(|work| work.cause) {
                    Some(Cause::Unhealthy { .. }) => true,
                    Some(
                        Cause::Operation(_) | Cause::Attempt(_) | Cause::Schedule | Cause::Renewal,
                    )
                    | None => {
                        facts.is_some_and(|facts| facts.health.is_bad() || facts.live.is_bad())
                    }
                };
                let is_ready = facts.is_some_and(|facts| facts.ready.is_ready());
                return match (is_unhealthy, is_ready) {
                    (true, _) => ProcessState::Unhealthy,
                    (false, true) => ProcessState::Ready,
                    (false, false) => ProcessState::Running,
                };
            }
            None => {}
        }
        match &self.phase {
            Phase::Unobserved => ProcessState::Unknown,
            Phase::Backoff { .. } => ProcessState::Backoff,
            // It may have been the launcher of the program.
            Phase::Up { .. } | Phase::Lost { .. } => ProcessState::Starting,
            Phase::Working(work) if work.brings_up() => ProcessState::Starting,
            Phase::Down | Phase::Working(_) => match self.resting {
                Resting::Stopped => ProcessState::Stopped,
                Resting::Failed => ProcessState::Failed,
                Resting::Completed => ProcessState::Completed,
            },
        }
    }

    /// [`model::Spec::launch_digest`] of the current run; 0 if not known.
    pub(crate) fn launch_digest(&self) -> u64 {
        self.current()
            .map_or(0, |current| current.facts.launch_digest)
    }

    /// Takes this digest for that of the current run, unless it is known; true if it was not.
    pub(crate) fn assume_launch_digest(&mut self, digest: u64) -> bool {
        match self.current_mut() {
            Some(current) if current.facts.launch_digest == 0 => {
                current.facts.launch_digest = digest;
                true
            }
            Some(_) | None => false,
        }
    }

    pub(crate) fn view(&self) -> View<'_> {
        let process_state = self.process_state();
        let next_at = match &self.phase {
            Phase::Backoff { until, .. } => *until,
            Phase::Unobserved
            | Phase::Down
            | Phase::Up { .. }
            | Phase::Lost { .. }
            | Phase::Working(_) => UnixMillis::NEVER,
        };
        match self.alive() {
            Some(alive) => View {
                process_state,
                next_at,
                state: State::Running,
                pid: alive.pid(),
                started_at: alive.started_at,
                message: self.message_while_up(alive.run),
            },
            None => View {
                process_state,
                next_at,
                state: match self.phase {
                    Phase::Unobserved => State::Unknown,
                    Phase::Down
                    | Phase::Up { .. }
                    | Phase::Lost { .. }
                    | Phase::Backoff { .. }
                    | Phase::Working(_) => State::Stopped,
                },
                pid: -1,
                started_at: self.last_started_at,
                message: self.message_with(&[]),
            },
        }
    }

    /// The message, with what is wrong around the run.
    fn message_while_up(&self, run: Run) -> Cow<'_, str> {
        let Some(current) = self.current().filter(|current| current.alive.run == run) else {
            return self.message_with(&[]);
        };
        let RunFaults {
            log,
            pid_file,
            rotation,
            limit,
            ready_probe,
            live_probe,
        } = &*current.facts.faults;
        let (health, live) = (&current.facts.health, &current.facts.live);
        let not_ready = current.facts.ready.sentence();
        self.message_with(&[
            health.sentence(),
            live.sentence(),
            live_probe,
            &not_ready,
            ready_probe,
            limit,
            log,
            pid_file,
            rotation,
        ])
    }

    /// What the health checks of the current run have shown; empty as long as nothing is known.
    pub(crate) fn health(&self) -> &str {
        self.current().map_or("", |current| {
            let facts = &current.facts;
            let words = [&*facts.health, &*facts.live].map(Health::word);
            let known = words.into_iter().filter(|word| !word.is_empty());
            // What is wrong comes before what is well.
            known
                .min_by_key(|word| *word == HEALTHY)
                .unwrap_or_default()
        })
    }

    /// The message, with these texts and with what is wrong with its files.
    fn message_with(&self, more: &[&str]) -> Cow<'_, str> {
        let (drift, changed) = (self.drift.sentence(), self.watched_files.sentence());
        if more.iter().all(|part| part.is_empty()) && drift.is_empty() && changed.is_empty() {
            return Cow::Borrowed(&self.message);
        }
        let first = std::iter::once(self.message.as_str());
        let files = [drift.as_str(), changed.as_str()];
        let all = first.chain(more.iter().copied()).chain(files);
        let parts: Vec<&str> = all.filter(|part| !part.is_empty()).collect();
        Cow::Owned(parts.join("; "))
    }

    /// Where the current run writes, or the last one wrote, if the agent started it in the foreground.
    pub(crate) fn run_sink(&self) -> Option<&Sink> {
        match &self.phase {
            Phase::Up { current } | Phase::Lost { current, .. } => current.facts.sink.as_ref(),
            Phase::Working(work) => {
                let before = work.before.as_ref();
                let sink = before.and_then(|before| before.facts.sink.as_ref());
                sink.or(work.ended_sink.as_ref())
            }
            Phase::Unobserved | Phase::Down | Phase::Backoff { .. } => None,
        }
    }

    fn command_under_way(&self) -> Option<&Cmd> {
        self.work().and_then(|work| work.step.progress().0)
    }

    /// Where a run or command writes, or wrote.
    pub(crate) fn sink_of(&self, run: Run) -> Option<&Sink> {
        match self.command_under_way() {
            Some(cmd) if cmd.run == run => Some(&cmd.sink),
            Some(_) | None => self.run_sink(),
        }
    }

    /// Files that must not be deleted yet.
    pub(crate) fn sinks(&self) -> impl Iterator<Item = &Sink> {
        let ran = self.work().and_then(|work| work.ran.as_ref());
        let commands = self.command_under_way().into_iter();
        let commands = commands.chain(ran.map(|ran| &ran.cmd));
        self.run_sink()
            .into_iter()
            .chain(commands.map(|cmd| &cmd.sink))
    }
}

impl Work {
    /// Whether the process is up when it has succeeded.
    fn brings_up(&self) -> bool {
        match self.cause {
            Cause::Operation(ticket) => match ticket.op {
                Op::Start | Op::Restart | Op::Manage => true,
                Op::Stop | Op::Kill | Op::Reload | Op::Query | Op::Unmanage => false,
            },
            Cause::Attempt(_) | Cause::Schedule | Cause::Unhealthy { .. } | Cause::Renewal => true,
        }
    }
}
