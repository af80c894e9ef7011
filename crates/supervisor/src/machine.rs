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
//! `backoff` decides the waits between attempts, `stopping` which signals stop a process, `due` when a process needs its next
//! tick, and `tick` what it does then. Counters over time have a file each: `health`, `readiness`, `limits`, `pool`,
//! `schedule`, `drift`.
//!
//! The state is in `process` (a process and its phases), `current_run` (the run that is up) and `work` (an operation on its way);
//! events and actions are in `types`. This file hands each event to the file that is named after what it means.
//!
//! The journal keeps the whole [`Process`] (`record`), so the agent may restart in every phase; `recover` decides how each
//! phase goes on.

mod backoff;
mod current_run;
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
mod process;
mod readiness;
pub(crate) mod record;
mod recover;
mod restart;
mod schedule;
mod shortage;
mod stopping;
#[cfg(test)]
mod tests;
mod tick;
mod types;
mod view;
mod work;

use model::Spec;
use model::spec::Policy;

use current_run::RunFaults;
pub(crate) use current_run::{CurrentRun, RunFacts};
pub(crate) use drift::ConfigFileDigest;
use due::{foreground_at, up_at};
use health::Health;
pub(crate) use limits::{LimitCounters, Usage};
pub(crate) use order::{DependencyRun, Dependents, NO_ORDER, Order, Unmet};
pub(crate) use pool::{Member, Pools, Share, belongs};
use process::{FailedAttempts, Resting, is_none};
pub(crate) use process::{Phase, Process};
pub(crate) use schedule::{Schedule, wall_time};
pub(crate) use types::{
    Action, Boot, Cmd, Depth, Emission, Event, Finished, Form, LiveRun, Moment, Observation,
    OperationEnd, Role, Run, RunEnd, Signal, Sink, Ticket,
};
pub(crate) use view::View;
use work::{Candidate, Failure, Work};
pub(crate) use work::{Cause, Step};

/// How long a process must stay up after SIGHUP before its reload counts as done.
const SETTLE_MS: u64 = 300;
/// Operations that may wait for one process.
pub(crate) const MAX_QUEUE: usize = 64;

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
