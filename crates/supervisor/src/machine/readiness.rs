//! `spec.probes`: what the results of the probes mean. A start ends when the ready probe succeeds; later results decide
//! between the states ready and running. The live probe counts like `health_cmd`.

use model::event::EventKind;
use model::rare::Rare;
use model::spec::probes::ProbeRule;
use model::spec::{ProbeAction, ProbeKind};
use model::{Flag, Op};
use serde::{Deserialize, Serialize};

use super::health::HealthRule;
use super::recover::up_or_unseen;
use super::restart::emit;
use super::{
    Action, Context, CurrentRun, FailedAttempts, Failure, OperationEnd, Phase, Process, RunFacts,
    Step, Ticket, Work, messages,
};

/// After a restart of the agent a start that waits has at least this long, so that a probe can end.
const AFTER_RECOVERY_MS: u64 = 10_000;
/// The same after a start check that took all the time of the operation.
const LEAST_WAIT_MS: u64 = 1_000;

/// The results of the ready probe of the current run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Readiness {
    /// In a row, up to what the rule asks for.
    successes: u32,
    failures: u32,
    is_ready: bool,
    was_ready: bool,
    /// It failed as often in a row as the rule says, and has not been ready since.
    is_failing: bool,
    /// Why the last probe failed; empty while it is ready, and before the first failure.
    why: String,
}

/// What a result changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    None,
    Ready { was_failing: bool },
    NotReady,
}

impl Readiness {
    pub(super) fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// For the message; empty while it is ready, and before the first failure.
    pub(super) fn sentence(&self) -> String {
        match self.why.as_str() {
            "" => String::new(),
            why => format!("not ready: {why}"),
        }
    }

    /// Takes one result. Counts go no further than the rule asks, so that the journal has nothing to write.
    fn take(&mut self, result: Result<(), String>, rule: &ProbeRule) -> Turn {
        match result {
            Ok(()) => {
                self.failures = 0;
                self.successes = rule.successes().min(self.successes + 1);
                if self.is_ready || self.successes < rule.successes() {
                    return Turn::None;
                }
                self.why.clear();
                (self.is_ready, self.was_ready) = (true, true);
                let was_failing = std::mem::take(&mut self.is_failing);
                Turn::Ready { was_failing }
            }
            Err(why) => {
                self.successes = 0;
                self.failures = rule.failures().min(self.failures + 1);
                let fails = self.failures >= rule.failures();
                self.is_ready &= !fails;
                if !self.is_ready {
                    self.why = messages::quote(&why);
                }
                let begins_to_fail = fails && !self.is_failing;
                self.is_failing |= fails;
                match begins_to_fail {
                    true => Turn::NotReady,
                    false => Turn::None,
                }
            }
        }
    }
}

impl Process {
    /// Takes the result of a probe of the current run.
    pub(super) fn probed(
        &mut self,
        kind: ProbeKind,
        result: Result<(), String>,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        // None when the spec was changed meanwhile.
        let Some(rule) = cx.spec.probes.get(kind) else {
            return;
        };
        if let Some(current) = self.probed_run_mut() {
            current.facts.faults.probe_mut(kind).clear();
        }
        match kind {
            ProbeKind::Ready => self.ready_probed(result, rule, cx, out),
            ProbeKind::Live => {
                let rule = HealthRule {
                    what: kind.field(),
                    failures: rule.failures(),
                    successes: rule.successes(),
                    action: rule.action(kind),
                };
                self.take_health(|facts| &mut facts.live, result, &rule, cx, out);
            }
        }
    }

    /// A probe could not be made: what the probes before it have shown goes on to count.
    pub(super) fn not_probed(&mut self, kind: ProbeKind, why: String) {
        if let Some(current) = self.probed_run_mut() {
            *current.facts.faults.probe_mut(kind) = format!(
                "{} could not be tried: {}",
                kind.field(),
                messages::quote(&why)
            );
        }
    }

    fn ready_probed(
        &mut self,
        result: Result<(), String>,
        rule: &ProbeRule,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let is_kept_running = self.is_kept_running(cx);
        let (current, is_starting) = match &mut self.phase {
            Phase::Up { current } => (current, false),
            Phase::Working(work) => match (&work.step, &mut work.before) {
                (Step::AwaitReady { .. }, Some(current)) => (current, true),
                // An operation or an end came in between.
                (_, _) => return,
            },
            Phase::Unobserved | Phase::Down | Phase::Lost { .. } | Phase::Backoff { .. } => return,
        };
        let turn = current.facts.ready.take(result, rule);
        if is_starting {
            // Its operation says how it ended.
            if current.facts.ready.is_ready() {
                self.start_is_ready(out);
            }
            return;
        }
        let action = rule.action(ProbeKind::Ready);
        match (turn, action) {
            (Turn::None, _) | (_, ProbeAction::None) | (Turn::Ready { was_failing: false }, _) => {}
            (Turn::Ready { was_failing: true }, ProbeAction::Event | ProbeAction::Restart) => {
                let reason = "ready: probes.ready succeeds again";
                out.push(emit(EventKind::ProcessReady, reason, None));
            }
            (Turn::NotReady, ProbeAction::Event | ProbeAction::Restart) => {
                let Readiness { why, was_ready, .. } = &*current.facts.ready;
                let times = rule.failures();
                let reason =
                    format!("not ready: probes.ready failed {times} times in a row: {why}");
                let restarts = *was_ready && is_kept_running && action == ProbeAction::Restart;
                out.push(emit(EventKind::ProcessNotReady, &reason, None));
                if restarts {
                    current.facts.ready = Rare::default();
                    self.restart_unhealthy(reason, true, cx, out);
                }
            }
        }
    }

    /// The process of an operation is up: the operation ends when the ready probe has succeeded.
    pub(super) fn await_ready(
        &mut self,
        mut work: Box<Work>,
        current: CurrentRun,
        cx: &Context<'_>,
    ) {
        let until_boot_ms = work.began_boot_ms + cx.timeout_ms();
        work.before = Some(current);
        work.step = Step::AwaitReady {
            until_boot_ms: until_boot_ms.max(cx.now.boot_ms + LEAST_WAIT_MS),
        };
        self.phase = Phase::Working(work);
    }

    /// The start that waits has succeeded, unless its process is being killed.
    fn start_is_ready(&mut self, out: &mut Vec<Action>) {
        if self.is_killed() {
            return;
        }
        if let Some((ticket, work, current)) = self.take_waiting_start() {
            self.start_succeeded(ticket, &work, out);
            self.note_missing(&work);
            self.phase = Phase::Up { current };
        }
    }

    /// The start that waits has taken too long, or makes way for another operation. Its process goes on.
    pub(super) fn start_is_not_ready(
        &mut self,
        until: &str,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let Some((ticket, work, current)) = self.take_waiting_start() else {
            return;
        };
        let failure = match current.facts.kill_reason.as_str() {
            "" => not_ready(&current, work.began_boot_ms, until, cx),
            killed => messages::not_up(cx, killed),
        };
        let ending = messages::failed(ticket, failure, &work);
        self.flag = ending.flag.unwrap_or(self.flag);
        self.managed = ending.managed.unwrap_or(self.managed);
        self.attempts = FailedAttempts::default();
        out.push(Action::End(ending));
        // The status says why it is not ready as long as it is not.
        self.message.clear();
        self.phase = Phase::Up { current };
    }

    /// The start that waits for its ready probe, with its run; the phase is set by the caller.
    fn take_waiting_start(&mut self) -> Option<(Ticket, Work, CurrentRun)> {
        let mut work = self.take_work(|step| matches!(step, Step::AwaitReady { .. }))?;
        match (work.ticket(), work.before.take()) {
            (Some(ticket), Some(current)) => Some((ticket, *work, current)),
            (_, before) => {
                self.phase = up_or_unseen(before);
                None
            }
        }
    }

    /// Whether the agent kills the current run.
    fn is_killed(&self) -> bool {
        (self.current()).is_some_and(|current| !current.facts.kill_reason.is_empty())
    }

    /// A start that waits for its probe makes way for an operation that ends its run.
    pub(super) fn make_way(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        let ends_run = |ticket: &Ticket| matches!(ticket.op, Op::Stop | Op::Kill | Op::Restart);
        if let Phase::Working(work) = &self.phase
            && matches!(work.step, Step::AwaitReady { .. })
            && let Some(next) = self.queue.iter().find(|ticket| ends_run(ticket))
        {
            let until = format!(", when the operation {} came", next.op);
            self.start_is_not_ready(&until, cx, out);
        }
    }

    /// The spec was changed: forgets the results of probes that it does not have any more.
    pub(super) fn keep_probes(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        let probes = &cx.spec.probes;
        if let Some(current) = self.current_mut() {
            for kind in ProbeKind::ALL {
                if probes.get(kind).is_none() {
                    current.facts.faults.probe_mut(kind).clear();
                }
            }
            if probes.ready.is_none() {
                current.facts.ready = Rare::default();
            }
            if probes.live.is_none() {
                current.facts.live = Rare::default();
            }
        }
        if probes.ready.is_none() {
            self.start_is_ready(out);
        }
    }

    /// The run that is probed, and whether a start waits for its ready probe.
    pub(crate) fn probed_run(&self) -> Option<(&CurrentRun, bool)> {
        match &self.phase {
            Phase::Up { current } => Some((current, false)),
            Phase::Working(work) => match (&work.step, &work.before) {
                (Step::AwaitReady { .. }, Some(current)) => Some((current, true)),
                (_, _) => None,
            },
            Phase::Unobserved | Phase::Down | Phase::Lost { .. } | Phase::Backoff { .. } => None,
        }
    }

    fn probed_run_mut(&mut self) -> Option<&mut CurrentRun> {
        self.probed_run()?;
        self.current_mut()
    }

    /// The agent was restarted: a start that waits has time for another probe.
    pub(super) fn ready_wait_goes_on(&mut self, cx: &Context<'_>) {
        if let Phase::Working(work) = &mut self.phase
            && let Step::AwaitReady { until_boot_ms } = &mut work.step
        {
            *until_boot_ms = (*until_boot_ms).max(cx.now.boot_ms + AFTER_RECOVERY_MS);
        }
    }

    /// A start has succeeded.
    pub(super) fn start_succeeded(&mut self, ticket: Ticket, work: &Work, out: &mut Vec<Action>) {
        self.attempts = FailedAttempts::default();
        let ending = OperationEnd {
            ran: work.ran.clone(),
            warning: work.without.clone(),
            ..messages::success(ticket)
        };
        self.set_desired(Flag::Running, true, ending, out);
    }
}

/// A start whose process runs, and has not been ready since the start began.
fn not_ready(current: &CurrentRun, began_boot_ms: u64, until: &str, cx: &Context<'_>) -> Failure {
    let RunFacts { ready, faults, .. } = &current.facts;
    let why = match (faults.ready_probe.as_str(), ready.why.as_str()) {
        ("", "") => "no probe has failed, and not enough of them succeeded",
        ("", why) | (why, _) => why,
    };
    messages::check_failed(format!(
        "start process ({}) failed: it runs as pid {}, but was not ready after {}{until}: {why}",
        cx.name,
        current.alive.pid(),
        messages::seconds(cx.now.boot_ms.saturating_sub(began_boot_ms)),
    ))
}

#[cfg(test)]
mod tests {
    use model::spec::probes::ProbeTarget;

    use super::*;

    fn rule(successes: u32, failures: u32) -> ProbeRule {
        ProbeRule {
            target: ProbeTarget::Exec("true".into()),
            interval: None,
            timeout: None,
            successes: Some(successes),
            failures: Some(failures),
            delay: None,
            action: None,
        }
    }

    /// `.` is a success, `x` a failure; `R` and `N` are the turns.
    fn turns(checks: &str, rule: &ProbeRule) -> (String, Readiness) {
        let mut readiness = Readiness::default();
        let turns = checks.chars().map(|check| {
            let result = match check {
                '.' => Ok(()),
                _ => Err("refused".to_owned()),
            };
            match readiness.take(result, rule) {
                Turn::None => '-',
                Turn::Ready { was_failing: false } => 'r',
                Turn::Ready { was_failing: true } => 'R',
                Turn::NotReady => 'N',
            }
        });
        let turns = turns.collect();
        (turns, readiness)
    }

    #[test]
    fn successes_and_failures_in_a_row_decide() {
        for (successes, failures, checks, expected, is_ready) in [
            (1, 3, ".", "r", true),
            (1, 3, "..", "r-", true),
            (2, 3, "..", "-r", true),
            (2, 3, ".x.x", "----", false),
            (1, 3, ".xx", "r--", true),
            (1, 3, ".xxx", "r--N", false),
            (1, 3, ".xxxx", "r--N-", false),
            (1, 3, ".xxx.", "r--NR", true),
            (1, 3, ".xx.xx", "r-----", true),
            (1, 3, "xxx", "--N", false),
            (1, 3, "xxxxxx.", "--N---R", true),
            (2, 1, "x.x..", "N---R", true),
            (1, 1, ".x.x", "rNRN", false),
        ] {
            let (turns, readiness) = turns(checks, &rule(successes, failures));
            assert_eq!(turns, expected, "{checks}");
            assert_eq!(readiness.is_ready(), is_ready, "{checks}");
            assert_eq!(readiness.sentence().is_empty(), is_ready, "{checks}");
        }
    }

    #[test]
    fn more_of_the_same_result_changes_nothing_that_is_journalled() {
        for checks in ["....", ".xxxx", "xxxx"] {
            let (_, once) = turns(checks, &rule(2, 2));
            let longer = format!("{checks}{}", checks.chars().last().unwrap());
            assert_eq!(turns(&longer, &rule(2, 2)).1, once, "{checks}");
        }
    }
}
