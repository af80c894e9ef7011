//! `health_cmd` and the live probe: counts their failures in a row and restarts unhealthy processes.
//!
//! The agent stops a managed resident process that is unhealthy, kills it if it does not stop, and starts it again. That
//! counts like a run that ended by itself.

use model::event::EventKind;
use model::spec::ProbeAction;
use serde::{Deserialize, Serialize};

use super::restart::emit;
use super::{
    Action, Cause, Context, CurrentRun, Depth, Phase, Process, Resting, RunFacts, Step, Work,
    messages,
};

/// The word for a process whose last checks succeeded.
pub(super) const HEALTHY: &str = "healthy";

/// When a process is unhealthy, and what follows.
pub(super) struct HealthRule {
    /// The field of the spec.
    pub(super) what: &'static str,
    /// How many failures in a row make it unhealthy.
    pub(super) failures: u32,
    /// How many successes in a row make it healthy again.
    pub(super) successes: u32,
    pub(super) action: ProbeAction,
}

/// The fixed rule of `health_cmd`.
const HEALTH_CMD: HealthRule = HealthRule {
    what: "health_cmd",
    failures: 3,
    successes: 1,
    action: ProbeAction::Restart,
};

/// The results of the last checks of the current run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Health {
    failures: u32,
    #[serde(skip_serializing_if = "super::is_none")]
    successes: u32,
    /// Empty unless the process counts as unhealthy.
    sentence: String,
    /// A check of this run has succeeded.
    was_well: bool,
}

impl Health {
    pub(super) fn sentence(&self) -> &str {
        &self.sentence
    }

    /// Takes one check; true when it is the one that makes the process unhealthy.
    fn take(&mut self, result: Result<(), String>, rule: &HealthRule) -> bool {
        // Counted no further than the rule: the message stays the same, so the status does not change.
        match result {
            Ok(()) => {
                self.failures = 0;
                self.successes = rule.successes.min(self.successes + 1);
                if self.successes >= rule.successes {
                    self.sentence.clear();
                    self.was_well = true;
                }
                false
            }
            Err(why) => {
                let was_bad = self.is_bad();
                self.successes = 0;
                self.failures = rule.failures.min(self.failures + 1);
                if self.failures >= rule.failures {
                    let (what, times) = (rule.what, rule.failures);
                    let why = messages::quote(&why);
                    self.sentence =
                        format!("unhealthy: {what} failed {times} times in a row: {why}");
                }
                self.is_bad() && !was_bad
            }
        }
    }

    /// For the status: empty as long as nothing is known.
    pub(crate) fn word(&self) -> &str {
        match self.sentence.as_str() {
            "" if self.was_well => HEALTHY,
            sentence => sentence,
        }
    }

    pub(super) fn is_bad(&self) -> bool {
        !self.sentence.is_empty()
    }
}

impl Process {
    /// Takes the result of a health check of the current run.
    pub(super) fn health_checked(
        &mut self,
        result: Result<(), String>,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        self.take_health(|facts| &mut facts.health, result, &HEALTH_CMD, cx, out);
    }

    /// Counts a result; stops a process that it makes unhealthy, if the rule says so and the agent keeps it running.
    pub(super) fn take_health(
        &mut self,
        of: fn(&mut RunFacts) -> &mut Health,
        result: Result<(), String>,
        rule: &HealthRule,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let is_kept_running = self.is_kept_running(cx);
        let Phase::Up { current } = &mut self.phase else {
            // An operation or an end came in between.
            return;
        };
        let (health, has_failed) = (of(&mut current.facts), result.is_err());
        if health.take(result, rule) && rule.action != ProbeAction::None {
            out.push(emit(EventKind::ProcessUnhealthy, &health.sentence, None));
        }
        if has_failed && health.is_bad() && is_kept_running && rule.action == ProbeAction::Restart {
            let health = std::mem::take(health);
            self.restart_unhealthy(health.sentence, health.was_well, cx, out);
        }
    }

    /// Stops the run, to start the process again.
    pub(super) fn restart_unhealthy(
        &mut self,
        reason: String,
        was_well: bool,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let Phase::Up { current } = &mut self.phase else {
            return;
        };
        let (alive, before) = (current.alive, Some(current.clone()));
        self.message.clone_from(&reason);
        // A run that was never healthy does not clear the count by lasting.
        if was_well {
            self.clear_attempts_if_lasting(alive.lasted_ms(cx.now), cx);
        }
        let since_boot_ms = alive.since_boot_ms;
        let work = Box::new(Work {
            reason,
            before,
            old_run: Some(alive.run),
            ..Work::new(Cause::Unhealthy { since_boot_ms }, cx)
        });
        self.begin_stopping(work, alive, cx, out);
    }

    /// The unhealthy process is down: starts it again.
    pub(super) fn unhealthy_is_down(
        &mut self,
        reason: String,
        since_boot_ms: u64,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let lasted_ms = cx.now.boot_ms.saturating_sub(since_boot_ms);
        match self.is_kept_running(cx) {
            true => self.retry_after(lasted_ms, reason, cx, out),
            false => self.come_to_rest(Resting::Failed, reason),
        }
    }

    /// The unhealthy process does not stop: kills it. If even that fails, it stays as it is.
    pub(super) fn unhealthy_stays(
        &mut self,
        work: Work,
        current: CurrentRun,
        message: &str,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let run = current.alive.run;
        if work.kill_target == Some(run) {
            self.message = format!("{}; it cannot be restarted: {message}", self.message);
            self.phase = Phase::Up { current };
            return;
        }
        self.phase = Phase::Working(Box::new(Work {
            began_boot_ms: cx.now.boot_ms,
            before: Some(current),
            ran: None,
            kill_target: Some(run),
            unsent_signal: None,
            stopping: None,
            step: Step::AwaitDown {
                from_boot_ms: cx.now.boot_ms,
                failed: false,
            },
            ..work
        }));
        out.push(Action::Kill(run));
        out.push(Action::Observe(Depth::Shallow));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_in_a_row_make_it_unhealthy_and_one_success_clears() {
        for (checks, told, shown) in [
            ("..", 0, false),
            ("xx", 0, false),
            ("xxx", 1, true),
            ("xx.xx", 0, false),
            ("xxxxx", 1, true),
            ("xxx.", 1, false),
            ("xxx.xxx", 2, true),
        ] {
            let mut health = Health::default();
            let result = |check: char| match check {
                '.' => Ok(()),
                _ => Err("exited with code 1".to_owned()),
            };
            let n_told = checks
                .chars()
                .filter(|c| health.take(result(*c), &HEALTH_CMD))
                .count();
            assert_eq!(n_told, told, "{checks}");
            assert_eq!(!health.sentence().is_empty(), shown, "{checks}");
        }
    }
}
