//! `health_cmd`: how often it failed in a row, and what that leads to.
//!
//! A managed resident process that is not healthy is stopped, killed if it does not stop, and started again. That counts
//! like a run that ended by itself.

use model::event::EventKind;
use serde::{Deserialize, Serialize};

use super::keep::emit;
use super::{Action, Cause, Context, CurrentRun, Depth, Phase, Process, Step, Work, words};

/// How many failures in a row make a process unhealthy.
const IN_A_ROW: u32 = 3;

/// What the last checks of the current run came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Health {
    failures: u32,
    /// Empty as long as it does not count as unhealthy.
    sentence: String,
    /// A check of this run has succeeded.
    was_well: bool,
}

impl Health {
    pub(super) fn is_fresh(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn sentence(&self) -> &str {
        &self.sentence
    }

    /// Takes one check; true when it is the one that makes the process unhealthy.
    fn take(&mut self, result: Result<(), String>) -> bool {
        match result {
            Ok(()) => {
                *self = Self {
                    was_well: true,
                    ..Self::default()
                };
                false
            }
            Err(why) => {
                let was_bad = self.is_bad();
                // Counted no further: the same trouble is the same sentence, and tells nobody anything new.
                self.failures = IN_A_ROW.min(self.failures + 1);
                if self.is_bad() {
                    let why = words::quote(&why);
                    self.sentence =
                        format!("unhealthy: health_cmd failed {IN_A_ROW} times in a row: {why}");
                }
                self.is_bad() && !was_bad
            }
        }
    }

    /// For people: empty as long as nothing is known.
    pub(crate) fn word(&self) -> &str {
        match self.sentence.as_str() {
            "" if self.was_well => "healthy",
            sentence => sentence,
        }
    }

    fn is_bad(&self) -> bool {
        self.failures >= IN_A_ROW
    }
}

impl Process {
    /// What a health check of this run came to.
    pub(super) fn health_checked(
        &mut self,
        result: Result<(), String>,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let is_kept = self.is_kept(cx);
        let Phase::Up { current } = &mut self.phase else {
            // An operation or an end came in between.
            return;
        };
        let health = &mut current.facts.health;
        if health.take(result) {
            out.push(emit(EventKind::ProcessUnhealthy, &health.sentence, None));
        }
        if !health.is_bad() || !is_kept {
            return;
        }
        let health = std::mem::take(health);
        let (alive, before) = (current.alive, Some(current.clone()));
        self.message.clone_from(&health.sentence);
        // A run that was never healthy does not clear the count by lasting.
        if health.was_well {
            self.forgive(alive.lasted_ms(cx.now));
        }
        let since_boot_ms = alive.since_boot_ms;
        let work = Box::new(Work {
            reason: health.sentence,
            before,
            old: Some(alive.run),
            ..Work::new(Cause::Unhealthy { since_boot_ms }, cx)
        });
        self.tell_to_stop(work, alive, cx, out);
    }

    /// What was not healthy is gone: it begins anew.
    pub(super) fn unhealthy_is_down(
        &mut self,
        reason: String,
        since_boot_ms: u64,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let lasted_ms = cx.now.boot_ms.saturating_sub(since_boot_ms);
        match self.is_kept(cx) {
            true => self.retry_after(lasted_ms, reason, cx, out),
            false => self.rest(reason),
        }
    }

    /// It would not go by itself: it is killed. Where even that does not help, it stays as it is.
    pub(super) fn unhealthy_stays(
        &mut self,
        work: Work,
        current: CurrentRun,
        said: &str,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let run = current.alive.run;
        if work.doomed == Some(run) {
            self.message = format!("{}; it cannot be restarted: {said}", self.message);
            self.phase = Phase::Up { current };
            return;
        }
        self.phase = Phase::Working(Box::new(Work {
            began_boot_ms: cx.now.boot_ms,
            before: Some(current),
            ran: None,
            doomed: Some(run),
            untold: None,
            step: Step::AwaitDown {
                from_boot_ms: cx.now.boot_ms,
                failed: false,
            },
            ..work
        }));
        out.push(Action::Kill(run));
        out.push(Action::Look(Depth::Shallow));
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
            let n_told = checks.chars().filter(|c| health.take(result(*c))).count();
            assert_eq!(n_told, told, "{checks}");
            assert_eq!(!health.sentence().is_empty(), shown, "{checks}");
        }
    }
}
