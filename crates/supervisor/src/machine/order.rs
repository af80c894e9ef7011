//! `spec.after`: starts wait for what they need, stops wait for the stops of dependents, and a dependency that was started
//! anew restarts its dependents.
//!
//! The machine knows no other process. The runner looks at the others before each step and says in [`Order`] what is
//! missing; when one of them changes, it only makes the machine look again.

use model::event::EventKind;
use model::spec::after;
use model::{Code, FullName, Op, UnixMillis};
use serde::{Deserialize, Serialize};

use super::backoff::Backoff;
use super::restart::emit;
use super::{
    Action, Cause, Context, Depth, FailedAttempts, Phase, Process, Resting, Role, Run, Step,
    Ticket, Work, messages,
};

/// A stop of a process with running dependents waits this long for stops of these, which may arrive one after the other.
const STOPS_ARRIVE_WITHIN_MS: u64 = 500;
/// A process that waits looks again this often, even if nothing tells it to.
const LOOK_AGAIN_MS: u64 = 10_000;

/// What the other processes mean for this one, at the time of a step.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// The dependencies that are not met.
    pub(crate) unmet: Vec<Unmet>,
    pub(crate) dependents: Dependents,
    /// The runs of the met dependencies with which it is restarted.
    pub(crate) runs: Vec<DependencyRun>,
}

/// The order of a process without dependencies and dependents.
pub(crate) static NO_ORDER: Order = Order {
    unmet: Vec::new(),
    dependents: Dependents::None,
    runs: Vec::new(),
};

/// A dependency that is not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unmet {
    /// Its index in `spec.after`.
    pub(crate) index: usize,
    /// What is known instead, such as `backoff` or `2 of 5 hosts`.
    pub(crate) now: String,
}

/// The processes of this host whose `spec.after` names this one with `same_host`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Dependents {
    /// None of them runs.
    #[default]
    None,
    /// One at least runs, and none has a stop under way.
    Running,
    /// These have a stop that is under way or waits.
    Stopping(String),
}

/// Since when a start waits for its dependencies, on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitsSince {
    boot_ms: u64,
    unix: UnixMillis,
}

/// The run of a dependency with which a run was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DependencyRun {
    pub(crate) process: FullName,
    pub(crate) run: Run,
}

impl Order {
    /// Those that a start which has waited since then still waits for, and those whose patience is over.
    fn split(&self, cx: &Context<'_>, since_boot_ms: u64) -> (Vec<&Unmet>, Vec<&Unmet>) {
        self.unmet.iter().partition(|unmet| {
            let dependency = cx.spec.after.get(unmet.index);
            let patience = dependency.and_then(|dependency| dependency.patience);
            patience.is_none_or(|secs| cx.now.boot_ms < since_boot_ms + u64::from(secs) * 1000)
        })
    }
}

impl Process {
    /// Goes on with a start or restart if its dependencies are met, or waits for them.
    pub(super) fn await_needs(&mut self, work: Box<Work>, cx: &Context<'_>, out: &mut Vec<Action>) {
        if let Some(work) = self.wait_for_needs(work, cx, out) {
            self.needs_are_met(work, cx, out);
        }
    }

    /// Begins or goes on to wait; returns the work if there is nothing to wait for.
    fn wait_for_needs(
        &mut self,
        mut work: Box<Work>,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) -> Option<Box<Work>> {
        let since = *work.waits_since.get_or_insert(WaitsSince {
            boot_ms: cx.now.boot_ms,
            unix: cx.now.unix,
        });
        let (waits_for, without) = cx.order.split(cx, since.boot_ms);
        if waits_for.is_empty() {
            work.without = without_words(&without, cx);
            if cx.now.boot_ms > since.boot_ms {
                // The start has its whole time.
                work.began_boot_ms = cx.now.boot_ms;
            }
            return Some(work);
        }
        let waits = waits_for.iter().filter_map(|unmet| {
            let dependency = cx.spec.after.get(unmet.index)?;
            Some((dependency, unmet.now.as_str()))
        });
        let sentence = after::waits_for(waits, since.unix);
        let is_late = cx.now.boot_ms >= work.began_boot_ms + cx.timeout_ms();
        if let Some(ticket) = work.ticket()
            && is_late
        {
            self.needs_timed_out(work.as_mut(), ticket, &sentence, cx, out);
            if work.ticket().is_some() {
                return None;
            }
        }
        self.message = match work.reason.as_str() {
            "" => sentence,
            reason => format!("{sentence}; before: {reason}"),
        };
        work.step = Step::AwaitNeeds;
        self.phase = Phase::Working(work);
        None
    }

    fn needs_are_met(&mut self, mut work: Box<Work>, cx: &Context<'_>, out: &mut Vec<Action>) {
        let restarts = work.ticket().is_some_and(|ticket| ticket.op == Op::Restart);
        match work.cause {
            Cause::Attempt(number) => {
                let words = Backoff::of(cx.spec).attempt_words(number);
                self.message = messages::under_way(&words, &work.reason);
            }
            Cause::Renewal => self.message.clone_from(&work.reason),
            // Cleared when the command is launched.
            Cause::Operation(_) | Cause::Schedule | Cause::Unhealthy { .. } => {}
        }
        work.waits_since = None;
        work.dependencies.clone_from(&cx.order.runs);
        let before = work.before.as_ref().map(|before| before.alive);
        match before {
            _ if restarts && !cx.command(Role::Restart).is_empty() => {
                self.launch(work, Role::Restart, out);
            }
            Some(alive) if restarts => self.begin_stopping(work, alive, cx, out),
            Some(_) | None => self.launch(work, Role::Start, out),
        }
    }

    /// An operation has waited as long as it may: it ends, and nothing was started. A managed process goes on waiting.
    fn needs_timed_out(
        &mut self,
        work: &mut Work,
        ticket: Ticket,
        sentence: &str,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let waited = messages::seconds(cx.timeout_ms());
        let what = match work.before {
            Some(_) => "it was not restarted",
            None => "nothing was started",
        };
        let failure =
            messages::command_failed(format!("{what} within {waited} (op_timeout): {sentence}"));
        let message = messages::quote(&failure.message);
        let ending = messages::failed(ticket, failure, work);
        self.flag = ending.flag.unwrap_or(self.flag);
        self.managed = ending.managed.unwrap_or(self.managed);
        out.push(Action::End(ending));
        self.attempts = FailedAttempts::default();
        match work.before.take() {
            Some(current) => {
                self.message = message;
                self.phase = Phase::Up { current };
            }
            None if self.is_kept_running(cx) => {
                self.attempts.count = 1;
                work.cause = Cause::Attempt(1);
                work.operated = true;
                work.reason = format!("{} was not carried out in time", ticket.op);
            }
            None => self.come_to_rest(Resting::Failed, message),
        }
    }

    /// Looks again at what it waits for.
    pub(super) fn look_again(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        let waits = |step: &Step| matches!(step, Step::AwaitNeeds | Step::AwaitDependents);
        let Some(work) = self.take_work(waits) else {
            return;
        };
        if matches!(work.step, Step::AwaitDependents) {
            return self.await_dependents(work, cx, out);
        }
        if let Some(mut work) = self.wait_for_needs(work, cx, out) {
            // It begins again: an operator may have started it by hand meanwhile.
            work.step = Step::Begin;
            self.phase = Phase::Working(work);
            out.push(Action::Observe(Depth::Shallow));
        }
    }

    /// Ends a start operation that waits for its dependencies when a stop or the end of the registration comes after it.
    pub(super) fn yield_to_later(&mut self, out: &mut Vec<Action>) {
        let waiting = self.work().filter(|work| work.step == Step::AwaitNeeds);
        let Some(ticket) = waiting.and_then(Work::ticket) else {
            return;
        };
        let ends = |later: &&Ticket| matches!(later.op, Op::Stop | Op::Kill);
        let by = match (self.queue.iter().find(ends), self.forgetting) {
            (Some(later), _) => format!("a later {}", later.op),
            (None, true) => "the end of its registration".to_owned(),
            (None, false) => return,
        };
        let Some(mut work) = self.take_work(|step| *step == Step::AwaitNeeds) else {
            return;
        };
        let why = format!("ended by {by} while it waited: {}", self.message);
        out.push(Action::End(messages::ending(ticket, Code::TERMINATED, why)));
        self.message.clear();
        self.phase = match work.before.take() {
            Some(current) => Phase::Up { current },
            None => Phase::Down,
        };
    }

    /// Waits until the dependents that are being stopped are down, then stops it.
    pub(super) fn await_dependents(
        &mut self,
        mut work: Box<Work>,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let waited_ms = cx.now.boot_ms.saturating_sub(work.began_boot_ms);
        let is_killed = self.queue.iter().any(|ticket| ticket.op == Op::Kill);
        let waits = match &cx.order.dependents {
            Dependents::None => false,
            Dependents::Running => waited_ms < STOPS_ARRIVE_WITHIN_MS,
            Dependents::Stopping(_) => waited_ms < cx.timeout_ms(),
        };
        if waits && !is_killed && work.before.is_some() {
            if let Dependents::Stopping(names) = &cx.order.dependents {
                self.message = format!("waits for {names} to stop first");
            }
            work.step = Step::AwaitDependents;
            self.phase = Phase::Working(work);
            return;
        }
        work.began_boot_ms = cx.now.boot_ms;
        match work.before.as_ref().map(|before| before.alive) {
            Some(alive) => self.begin_stopping(work, alive, cx, out),
            // It ended meanwhile.
            None => self.stopped(work, cx, out),
        }
    }

    /// A dependency runs anew: stops a managed process and starts it again.
    pub(super) fn dependency_restarted(
        &mut self,
        renewed: DependencyRun,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let is_kept_running = self.is_kept_running(cx);
        let Phase::Up { current } = &mut self.phase else {
            // Its next run is started with the new run of the dependency.
            return;
        };
        let reason = format!("restarted because {} was restarted", renewed.process);
        current.facts.note_dependency(renewed);
        // A kill for a limit goes on.
        if !is_kept_running || !current.facts.kill_reason.is_empty() {
            return;
        }
        let alive = current.alive;
        let work = Box::new(Work {
            reason: reason.clone(),
            before: Some(current.clone()),
            old_run: Some(alive.run),
            ..Work::new(Cause::Renewal, cx)
        });
        self.message = reason;
        self.begin_stopping(work, alive, cx, out);
    }

    /// A process whose dependency was restarted is down: starts it again.
    pub(super) fn renew(&mut self, mut work: Box<Work>, cx: &Context<'_>, out: &mut Vec<Action>) {
        if !self.is_kept_running(cx) {
            return self.come_to_rest(Resting::Stopped, String::new());
        }
        self.attempts = FailedAttempts::default();
        work.began_boot_ms = cx.now.boot_ms;
        work.stopping = None;
        work.kill_target = None;
        work.ran = None;
        self.begin_check(work, Role::Start, out);
    }

    /// A start that went on without a dependency says so in the message of the process, too.
    pub(super) fn note_missing(&mut self, work: &Work) {
        if !work.without.is_empty() {
            let parts = [self.message.as_str(), &work.without];
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            self.message = parts.collect::<Vec<_>>().join("; ");
        }
    }

    /// A process whose dependency was restarted is up again.
    pub(super) fn renewed(&mut self, work: &Work, out: &mut Vec<Action>) {
        out.push(emit(EventKind::ProcessRestartSuccess, &work.reason, None));
        self.message.clone_from(&work.reason);
    }

    /// Whether an operation or the agent is about to stop the run: it counts neither as up nor as ready for dependents.
    pub(crate) fn is_going_down(&self) -> bool {
        let stops = |op: Op| matches!(op, Op::Stop | Op::Kill | Op::Restart);
        let own = self.work().is_some_and(|work| match work.cause {
            Cause::Operation(ticket) => stops(ticket.op),
            Cause::Unhealthy { .. } | Cause::Renewal => true,
            Cause::Attempt(_) | Cause::Schedule => false,
        });
        own || self.queue.iter().any(|ticket| stops(ticket.op))
    }

    /// Whether a stop is under way or waits.
    pub(crate) fn is_asked_to_stop(&self) -> bool {
        self.operations().any(|ticket| ticket.op == Op::Stop)
    }

    /// Whether it waits for other processes.
    pub(crate) fn waits_for_others(&self) -> bool {
        self.work()
            .is_some_and(|work| matches!(work.step, Step::AwaitNeeds | Step::AwaitDependents))
    }

    /// Whether a step may begin or end such a wait.
    pub(crate) fn asks_for_order(&self) -> bool {
        matches!(self.phase, Phase::Working(_))
    }

    /// The run of a dependency with which the current run was started, or which it was found with.
    pub(crate) fn run_of_dependency(&self, process: &FullName) -> Option<Run> {
        let dependencies = &self.current()?.facts.dependencies;
        let known = dependencies.iter().find(|known| known.process == *process);
        known.map(|known| known.run)
    }

    /// Takes this run of a dependency for the one with which the current run was started.
    pub(crate) fn assume_dependency(&mut self, found: DependencyRun) {
        if let Some(current) = self.current_mut() {
            current.facts.note_dependency(found);
        }
    }
}

/// When a process that waits for others looks again.
pub(super) fn due(work: &Work, cx: &Context<'_>) -> Option<u64> {
    let now = cx.now.boot_ms;
    let late = Some(work.began_boot_ms + cx.timeout_ms());
    let after = |from: u64, ms: u64| Some(from.saturating_add(ms)).filter(|at| *at > now);
    let again = |from: u64| {
        let rounds = now.saturating_sub(from) / LOOK_AGAIN_MS + 1;
        Some(from + rounds * LOOK_AGAIN_MS)
    };
    match work.waits_since {
        Some(since) => {
            let patience = cx.spec.after.iter().filter_map(|dependency| {
                after(since.boot_ms, u64::from(dependency.patience?) * 1000)
            });
            let late = work.ticket().and(late);
            patience.chain(late).chain(again(since.boot_ms)).min()
        }
        None => {
            let arrived = after(work.began_boot_ms, STOPS_ARRIVE_WITHIN_MS);
            let all = [late, arrived, again(work.began_boot_ms)];
            all.into_iter().flatten().min()
        }
    }
}

/// `started without db/postgres, which was not there after 30 s (patience)`; empty if nothing was missing.
fn without_words(without: &[&Unmet], cx: &Context<'_>) -> String {
    let each = without.iter().filter_map(|unmet| {
        let dependency = cx.spec.after.get(unmet.index)?;
        let (process, secs) = (&dependency.process, dependency.patience?);
        Some(format!(
            "started without waiting any longer for {process} {} {}: {secs} s (patience) are over",
            dependency.when.words(),
            dependency.place.words()
        ))
    });
    each.collect::<Vec<_>>().join("; ")
}
