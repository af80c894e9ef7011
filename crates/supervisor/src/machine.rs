//! One process as a pure state machine: an event and the time go in, actions come out. No I/O, no clock.
//!
//! ```text
//!              Held                  found by its pid file
//!   Unobserved ────► (observe) ──────────────────────────────────────► Up ◄──────────────┐
//!                      │ not running                                  │ ▲               │
//!                      ▼                     found later              │ │ another run   │
//!                    Down ───────────────────────────────────────────►│ │ took over     │
//!                      ▲ not managed, gave up,                exited  │ │               │
//!                      │ one-shot, periodic                           ▼ │               │
//!                      ├──────────────────────────────────────────── Lost (observe)      │
//!                      │                                              │ managed         │
//!                      │                    short run  ┌──────────────┴──────┐ long run │
//!                      │                               ▼                     ▼          │
//!                      │                            Backoff ──── due ───► Working ──────┤
//!                      │                               ▲                 (attempt)      │
//!                      │                               └──── failed ─────────┘          │
//!                      │                                                                │
//!                      └─────────────────────────────────────────────── Working ────────┘
//!                                 from any phase: an operation begins  (operation)
//!
//!   Working:  Begin ─► Check ─► Launch ─► Command ─► AwaitUp ─► Up           start, restart, attempt; with a ready
//!                                                    └─► AwaitReady ─► Up    probe, of operations only
//!             Begin ──────────► Launch ─► Command ─► AwaitDown ─► Down       stop, kill; by signal: Begin ─► AwaitDown
//!             Begin ──────────► Launch ─► Command ─► Settle ─► Up            reload;     by signal: Begin ─► Settle
//!             any ─► Close ─► Up | Down | Backoff                            a failure, after one more observation
//! ```
//!
//! A start waits before `Launch` until what it needs is there (`AwaitNeeds`), and a stop before its signal until its
//! dependents are down (`AwaitDependents`): see `order`.
//!
//! Operations wait in `queue` and run one after the other. Restart attempts, scheduled runs and the stop of an unhealthy
//! process are the agent's own work: an operation that arrives takes over what they have come to. A query changes
//! nothing, so it is no phase.
//!
//! `backoff` decides the waits between attempts, `stopping` which signals stop a process. Counters over time have a file each: `health`, `readiness`, `limits`, `pool`, `schedule`, `drift`.
//!
//! The journal keeps the whole [`Process`] (`record`), so the agent may restart in every phase; `recover` decides how each
//! phase goes on.

mod backoff;
mod drift;
mod due;
mod end;
mod exited;
mod health;
mod limits;
mod messages;
mod observed;
mod operate;
mod order;
mod pool;
mod readiness;
pub(crate) mod record;
mod recover;
mod restart;
mod schedule;
mod shortage;
mod stopping;
#[cfg(test)]
mod tests;
mod types;
mod view;

pub(crate) use view::View;

use std::collections::VecDeque;

use model::spec::{Policy, ProbeKind};
use model::status::{Exit, LastExit, OomMemory};
use model::{Flag, Spec, UnixMillis};
use serde::{Deserialize, Serialize};

pub(crate) use drift::ConfigFileDigest;
use drift::{Drift, WatchedFiles};
use due::{foreground_at, up_at};
use health::Health;
pub(crate) use limits::{LimitCounters, Usage};
pub(crate) use order::{DependencyRun, Dependents, NO_ORDER, Order, Unmet};
pub(crate) use pool::{Member, Pools, Share, belongs};
use readiness::Readiness;
pub(crate) use schedule::{Schedule, wall_time};
pub(crate) use stopping::Stopping;
pub(crate) use types::{
    Action, Boot, Cmd, Depth, Emission, Event, Finished, Form, LiveRun, Moment, Observation,
    OperationEnd, Role, Run, RunEnd, Signal, Sink, Ticket,
};

/// How long a process must stay up after SIGHUP before its reload counts as done.
const SETTLE_MS: u64 = 300;
/// Operations that may wait for one process.
pub(crate) const MAX_QUEUE: usize = 64;

/// The whole state of one process. What is true of one run only is in the phases that have a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) flag: Flag,
    pub(crate) managed: bool,
    pub(crate) phase: Phase,
    /// The query that is being answered.
    #[serde(default)]
    pub(crate) query: Option<Ticket>,
    #[serde(default)]
    pub(crate) queue: VecDeque<Ticket>,
    #[serde(flatten)]
    pub(crate) attempts: FailedAttempts,
    /// The sentence that the status shows.
    #[serde(default)]
    pub(crate) message: String,
    /// The last run stayed in the foreground, so the next is likely to.
    #[serde(default, rename = "stays")]
    pub(crate) stays_in_foreground: bool,
    #[serde(default, skip_serializing_if = "Drift::is_none")]
    pub(crate) drift: Drift,
    #[serde(default, skip_serializing_if = "WatchedFiles::is_empty")]
    pub(crate) watched_files: WatchedFiles,
    /// As the program last printed it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) version: String,
    /// When the last run began; kept after the run has ended.
    #[serde(default)]
    pub(crate) last_started_at: UnixMillis,
    /// Why it is down, while it is down.
    #[serde(default, skip_serializing_if = "Resting::is_stopped")]
    pub(crate) resting: Resting,
    /// How often the agent has started it by itself since the last operation that did.
    #[serde(default, skip_serializing_if = "is_none")]
    pub(crate) restarts: u32,
    /// How the last run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_exit: Option<LastExit>,
    #[serde(default)]
    pub(crate) forgetting: bool,
    /// The time of a scheduled run that waits for the end of the run before it; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) waiting_run: String,
    /// Until when the times of its schedule are dealt with; `NEVER` while it has none.
    #[serde(default, skip_serializing_if = "schedule::is_never")]
    pub(crate) schedule_seen: UnixMillis,
}

/// What a process that is down has come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Resting {
    /// It was stopped, or never ran.
    #[default]
    Stopped,
    /// It failed, and the agent does not start it again.
    Failed,
    /// It ran to its end, as one-shot and periodic programs do.
    Completed,
}

impl Resting {
    fn is_stopped(&self) -> bool {
        *self == Self::Stopped
    }
}

fn is_none(number: &u32) -> bool {
    *number == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Restart attempts in a row without a run that lasted, and when the first of them began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FailedAttempts {
    #[serde(default, rename = "failures")]
    pub(crate) count: u32,
    #[serde(default, rename = "failing_since")]
    pub(crate) since_boot_ms: Option<u64>,
}

/// The run that is the process now, and what is true of this run only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct CurrentRun {
    pub(crate) alive: LiveRun,
    /// The journal has these beside the phase: see `record`.
    #[serde(skip)]
    pub(crate) facts: RunFacts,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunFacts {
    /// Where it writes, if the agent started it and it stays in the foreground.
    #[serde(default)]
    pub(crate) sink: Option<Sink>,
    #[serde(default, rename = "troubles")]
    pub(crate) faults: RunFaults,
    #[serde(default, skip_serializing_if = "Health::is_fresh")]
    pub(crate) health: Health,
    #[serde(default, skip_serializing_if = "Health::is_fresh")]
    pub(crate) live: Health,
    #[serde(default, skip_serializing_if = "Readiness::is_fresh")]
    pub(crate) ready: Readiness,
    /// Why the agent kills it; empty as long as it does not.
    #[serde(default, rename = "sentence", skip_serializing_if = "String::is_empty")]
    pub(crate) kill_reason: String,
    /// [`Spec::launch_digest`] of the spec that it was started with; 0 if not known.
    #[serde(default, skip_serializing_if = "types::is_zero")]
    pub(crate) launch_digest: u64,
    /// The runs of its dependencies with which it was started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) dependencies: Vec<DependencyRun>,
}

impl RunFacts {
    fn note_dependency(&mut self, found: DependencyRun) {
        self.dependencies
            .retain(|known| known.process != found.process);
        self.dependencies.push(found);
    }
}

impl CurrentRun {
    /// A run that this agent did not start.
    fn adopted(alive: LiveRun) -> Self {
        let facts = RunFacts::default();
        Self { alive, facts }
    }

    /// A run that this command brought up.
    fn launched(alive: LiveRun, cmd: Option<&Cmd>) -> Self {
        let sink = cmd.map(|cmd| &cmd.sink);
        let facts = RunFacts {
            sink: match alive.form {
                Form::Foreground { .. } => sink.cloned(),
                Form::Daemon => None,
            },
            faults: RunFaults {
                log: sink.map_or_else(String::new, |sink| sink.instead_of_log.clone()),
                ..RunFaults::default()
            },
            launch_digest: cmd.map_or(0, |cmd| cmd.launch_digest),
            ..RunFacts::default()
        };
        Self { alive, facts }
    }
}

/// What is wrong around a run that is up, each as a sentence of its status; empty where nothing is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunFaults {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) log: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) pid_file: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) rotation: String,
    /// It is over a limit, and the agent may not kill it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) limit: String,
    /// The last ready probe could not be made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) ready_probe: String,
    /// The last live probe could not be made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) live_probe: String,
}

impl RunFaults {
    fn probe_mut(&mut self, kind: ProbeKind) -> &mut String {
        match kind {
            ProbeKind::Ready => &mut self.ready_probe,
            ProbeKind::Live => &mut self.live_probe,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    /// The agent has not observed it yet.
    #[serde(rename = "unseen")]
    Unobserved,
    /// Not running, and nothing will change that by itself.
    Down,
    Up {
        #[serde(rename = "alive")]
        current: CurrentRun,
    },
    /// The run has ended; the agent observes whether another took its place.
    Lost {
        #[serde(rename = "alive")]
        current: CurrentRun,
        exit: Exit,
        at_boot_ms: u64,
        last_line: String,
        #[serde(
            default,
            deserialize_with = "record::oom",
            skip_serializing_if = "Option::is_none"
        )]
        oom: Option<OomMemory>,
    },
    /// Waits for its next attempt.
    Backoff {
        until_boot_ms: u64,
        /// The same by the wall clock, which is shown.
        #[serde(default)]
        until: UnixMillis,
        /// Why an attempt is needed, without the wait.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    Working(Box<Work>),
}

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

impl Step {
    /// The command under way, and the run that may become the process.
    fn progress(&self) -> (Option<&Cmd>, Option<Candidate>) {
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
    fn has_started(&self) -> bool {
        match self.progress().0 {
            Some(cmd) => matches!(cmd.role, Role::Start | Role::Restart),
            None => matches!(self, Self::AwaitUp { .. }),
        }
    }
}

/// A run that may become the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Candidate {
    pub(crate) alive: LiveRun,
    pub(crate) first_boot_ms: u64,
    pub(crate) died: Option<Exit>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) code: model::Code,
    pub(crate) message: String,
    /// The command's output is the better message, if there is any.
    #[serde(rename = "output_speaks")]
    pub(crate) prefers_output: bool,
}

#[cfg(test)]
pub(crate) fn tests_spec() -> Spec {
    tests::spec()
}

/// The input of every step beside the event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) now: Moment,
    /// The name within its namespace, for messages.
    pub(crate) name: &'a str,
    pub(crate) spec: &'a Spec,
    /// What the other processes mean for this one.
    pub(crate) order: &'a Order,
}

impl Context<'_> {
    fn policy(&self) -> &Policy {
        &self.spec.monitor_policy
    }

    fn timeout_ms(&self) -> u64 {
        u64::from(self.policy().op_timeout.max(1)) * 1000
    }

    fn start_check_ms(&self) -> u64 {
        u64::from(self.policy().start_check_secs) * 1000
    }

    fn command(&self, role: Role) -> &str {
        role.command(&self.spec.control)
    }
}

impl Process {
    pub(crate) fn new(flag: Flag, managed: bool) -> Self {
        Self {
            flag,
            managed,
            phase: Phase::Unobserved,
            query: None,
            queue: VecDeque::new(),
            attempts: FailedAttempts::default(),
            message: String::new(),
            stays_in_foreground: false,
            drift: Drift::default(),
            watched_files: WatchedFiles::default(),
            version: String::new(),
            last_started_at: UnixMillis::NEVER,
            resting: Resting::default(),
            restarts: 0,
            last_exit: None,
            forgetting: false,
            waiting_run: String::new(),
            schedule_seen: UnixMillis::NEVER,
        }
    }

    /// A new registration under the same name: the desired state is replaced, the observed state stays.
    pub(crate) fn register_anew(&mut self, flag: Flag, managed: bool) {
        self.flag = flag;
        self.managed = managed;
        self.attempts = FailedAttempts::default();
        self.resting = Resting::Stopped;
        self.restarts = 0;
        self.last_exit = None;
        match self.phase {
            Phase::Down | Phase::Lost { .. } | Phase::Backoff { .. } => {
                self.phase = Phase::Unobserved;
                self.message.clear();
            }
            Phase::Unobserved | Phase::Up { .. } | Phase::Working(_) => {}
        }
    }

    /// Queues an operation, to begin at the next step; false when the queue is full. The operation must be in the journal
    /// before that step.
    pub(crate) fn accept(&mut self, ticket: Ticket) -> bool {
        let fits = self.queue.len() < MAX_QUEUE;
        if fits {
            self.queue.push_back(ticket);
        }
        fits
    }

    pub(crate) fn step(&mut self, event: Event, cx: &Context<'_>) -> Vec<Action> {
        let mut out = Vec::new();
        match event {
            Event::Held => self.held(cx, &mut out),
            Event::Forget => self.forgetting = true,
            Event::Recovered(boot) => self.recovered(boot, cx, &mut out),
            Event::Proceed => {}
            Event::Observed(observation) => self.observed(&observation, cx, &mut out),
            Event::NotObserved(why) => self.not_observed(why, cx, &mut out),
            Event::Checked(result) => self.checked(result, cx, &mut out),
            Event::Spawned(cmd) => self.spawned(cmd),
            Event::SpawnFailed(why) => self.spawn_failed(why, cx, &mut out),
            Event::Shortage(why) => self.shortage(why, cx, &mut out),
            Event::Signalled => self.signalled(),
            Event::SignalRefused(why) => self.signal_refused(why, &mut out),
            Event::PidFileRefused(why) => {
                if let Some(current) = self.current_mut() {
                    current.facts.faults.pid_file = why;
                }
            }
            Event::LogRotated(result) => {
                if let Some(current) = self.current_mut() {
                    current.facts.faults.rotation = result.err().unwrap_or_default();
                }
            }
            Event::Exited(run, end) => self.exited(run, end, cx, &mut out),
            Event::MainIs(pid, is_named) => self.main_is(pid, is_named, &mut out),
            Event::VersionFound(version) => self.version = version,
            Event::Inspected(instance) => self.inspected(instance, &mut out),
            Event::Scheduled(shown) => self.scheduled(&shown, cx, &mut out),
            Event::HealthChecked(result) => self.health_checked(result, cx, &mut out),
            Event::Probed(kind, result) => self.probed(kind, result, cx, &mut out),
            Event::NotProbed(kind, why) => self.not_probed(kind, why),
            Event::ConfigRead(found) => self.config_read(&found, cx, &mut out),
            Event::OverLimit(kind, sentence) => self.over_limit(kind, sentence, &mut out),
            Event::DependencyRestarted(renewed) => self.dependency_restarted(renewed, cx, &mut out),
            Event::Tick => self.tick(cx, &mut out),
        }
        self.follow_schedule(cx, &mut out);
        self.make_way(cx, &mut out);
        self.next(cx, &mut out);
        if let Some(alive) = self.alive() {
            self.last_started_at = alive.started_at;
        }
        out
    }

    fn held(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        self.forgetting = false;
        self.drift.keep_only(&cx.spec.configmap);
        self.watched_files.keep_only(&cx.spec.configmap);
        self.keep_probes(cx, out);
        match self.phase {
            Phase::Unobserved => out.push(Action::Observe(Depth::Shallow)),
            Phase::Down
            | Phase::Up { .. }
            | Phase::Lost { .. }
            | Phase::Backoff { .. }
            | Phase::Working(_) => {}
        }
    }

    /// The run that the facts and faults of this process are about.
    fn current(&self) -> Option<&CurrentRun> {
        match &self.phase {
            Phase::Up { current } => Some(current),
            Phase::Working(work) => work.before.as_ref(),
            Phase::Unobserved | Phase::Down | Phase::Lost { .. } | Phase::Backoff { .. } => None,
        }
    }

    fn current_mut(&mut self) -> Option<&mut CurrentRun> {
        match &mut self.phase {
            Phase::Up { current } => Some(current),
            Phase::Working(work) => work.before.as_mut(),
            Phase::Unobserved | Phase::Down | Phase::Lost { .. } | Phase::Backoff { .. } => None,
        }
    }

    /// Begins waiting operations; when none is left, ends a process that is to be forgotten.
    fn next(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        self.yield_to_later(out);
        while self.query.is_none() && self.operation().is_none() {
            let Some(ticket) = self.queue.pop_front() else {
                if self.forgetting && !self.is_coming_up() {
                    out.push(Action::Forgotten);
                }
                return;
            };
            self.begin(ticket, cx, out);
        }
    }

    /// A start command was executed, and its result is not known yet. A process that is forgotten now could not be found
    /// again: the agent writes the pid file of a foreground program when it is up.
    fn is_coming_up(&self) -> bool {
        self.work().is_some_and(|work| work.step.has_started())
    }

    fn work(&self) -> Option<&Work> {
        match &self.phase {
            Phase::Working(work) => Some(work),
            Phase::Unobserved
            | Phase::Down
            | Phase::Up { .. }
            | Phase::Lost { .. }
            | Phase::Backoff { .. } => None,
        }
    }

    /// The operation under way.
    pub(crate) fn operation(&self) -> Option<Ticket> {
        self.work().and_then(Work::ticket)
    }

    /// Every accepted operation that has not ended, in order.
    pub(crate) fn operations(&self) -> impl Iterator<Item = Ticket> + '_ {
        let current = self.operation().into_iter().chain(self.query);
        current.chain(self.queue.iter().copied())
    }

    fn tick(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        match &mut self.phase {
            Phase::Unobserved | Phase::Down => out.push(Action::Observe(Depth::Shallow)),
            Phase::Up { .. } => {}
            Phase::Lost { .. } => out.push(Action::Observe(Depth::Deep)),
            Phase::Backoff {
                until_boot_ms,
                reason,
                ..
            } if cx.now.boot_ms >= *until_boot_ms => {
                let reason = std::mem::take(reason);
                self.wait_is_over(reason, cx, out);
            }
            Phase::Backoff { .. } => {}
            Phase::Working(work) => {
                let late = cx.now.boot_ms >= work.began_boot_ms + cx.timeout_ms();
                match &work.step {
                    Step::Begin | Step::Close(_) => out.push(Action::Observe(Depth::Shallow)),
                    Step::Check | Step::Launch(_) => {}
                    Step::AwaitNeeds | Step::AwaitDependents => self.look_again(cx, out),
                    Step::Command { .. } if late => self.command_timed_out(cx, out),
                    Step::Command { cmd, .. } => match cmd.role {
                        Role::Start | Role::Restart => out.push(Action::Observe(
                            match cx.now.boot_ms >= foreground_at(cmd, cx) {
                                true => Depth::Deep,
                                false => Depth::Shallow,
                            },
                        )),
                        Role::Stop | Role::Reload | Role::Kill => {}
                    },
                    Step::AwaitUp { .. } => out.push(Action::Observe(Depth::Deep)),
                    Step::AwaitReady { until_boot_ms } if cx.now.boot_ms >= *until_boot_ms => {
                        self.start_is_not_ready(" (op_timeout)", cx, out);
                    }
                    Step::AwaitReady { .. } => {}
                    Step::AwaitDown { .. } => out.push(Action::Observe(Depth::Shallow)),
                    Step::Settle { until_boot_ms } if cx.now.boot_ms >= *until_boot_ms => {
                        self.settled(cx, out);
                    }
                    Step::Settle { .. } => {}
                }
            }
        }
    }
}

impl Work {
    /// Takes the command under way for finished, without an exit.
    fn give_up_command(&mut self, cx: &Context<'_>) {
        if let Some(cmd) = self.step.progress().0 {
            self.ran = Some(Finished {
                cmd: cmd.clone(),
                exit: None,
                ended_boot_ms: cx.now.boot_ms,
            });
        }
    }

    fn new(cause: Cause, cx: &Context<'_>) -> Self {
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
    fn send_signal(&mut self, alive: LiveRun, signal: Signal, out: &mut Vec<Action>) {
        self.unsent_signal = Some((alive, signal));
        out.push(Action::Signal(alive, signal));
    }

    fn ticket(&self) -> Option<Ticket> {
        match self.cause {
            Cause::Operation(ticket) => Some(ticket),
            Cause::Attempt(_) | Cause::Schedule | Cause::Unhealthy { .. } | Cause::Renewal => None,
        }
    }
}

/// The command as the run of a foreground program.
fn as_foreground_run(cmd: &Cmd, main: i32) -> LiveRun {
    LiveRun {
        run: cmd.run,
        form: Form::Foreground { main },
        since_boot_ms: cmd.began_boot_ms,
        started_at: cmd.began_at,
    }
}
