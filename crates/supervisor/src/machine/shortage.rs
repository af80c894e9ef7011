//! Shortages and failed observations of the agent: it keeps the last state, says so, and tries again.

use super::backoff::Backoff;
use super::recover::up_or_unseen;
use super::schedule::run_of_schedule;
use super::{
    Action, Cause, Context, FailedAttempts, Failure, Phase, Process, Resting, Step, Work, messages,
};
use model::spec::AutoType;

/// How long the agent waits before it tries again to start a process after a shortage.
const SHORTAGE_WAIT_MS: u64 = 5_000;

impl Process {
    /// The agent or its host lacks what a command needs. That is no failed attempt. An operation ends with the reason;
    /// the agent's own work is tried again.
    pub(super) fn shortage(&mut self, why: String, cx: &Context<'_>, out: &mut Vec<Action>) {
        let launching =
            |step: &Step| matches!(step, Step::Check | Step::Launch(_) | Step::Command { .. });
        let Some(mut work) = self.take_work(launching) else {
            return;
        };
        match work.cause {
            Cause::Operation(_) => {
                work.give_up_command(cx);
                self.close(work, messages::command_failed(why), out);
            }
            Cause::Attempt(_) | Cause::Schedule | Cause::Renewal if !self.is_desired_running() => {
                self.come_to_rest(Resting::Failed, why)
            }
            Cause::Attempt(attempt) => {
                // It begins again with the same number.
                self.attempts.count = attempt.saturating_sub(1);
                let attempt = Backoff::of(cx.spec).attempt_words(attempt);
                let message = format!("{why}; {attempt}");
                self.wait(&message, why, cx);
            }
            Cause::Schedule | Cause::Renewal => self.wait(&why.clone(), why, cx),
            Cause::Unhealthy { .. } => match work.before {
                Some(current) => {
                    self.message = format!("{}; not restarted: {why}", self.message);
                    self.phase = Phase::Up { current };
                }
                None => self.wait(&why.clone(), why, cx),
            },
        }
    }

    fn wait(&mut self, message: &str, reason: String, cx: &Context<'_>) {
        self.message = format!("{message}, next in {}", messages::seconds(SHORTAGE_WAIT_MS));
        self.phase = Phase::Backoff {
            until_boot_ms: cx.now.boot_ms + SHORTAGE_WAIT_MS,
            until: cx.now.unix.plus_millis(SHORTAGE_WAIT_MS as i64),
            reason,
        };
    }

    /// The wait is over. A periodic process begins its scheduled run again.
    pub(super) fn wait_is_over(&mut self, reason: String, cx: &Context<'_>, out: &mut Vec<Action>) {
        match cx.policy().auto_type {
            AutoType::Periodic => self.phase = run_of_schedule(cx, out),
            AutoType::Resident | AutoType::OneShot => self.attempt(reason, cx, out),
        }
    }

    /// An observation gave no result: the state stays, and the next observation is soon. An operation that cannot go on
    /// without it ends, if `why` says that the observation failed.
    pub(super) fn not_observed(
        &mut self,
        why: Option<String>,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let Some(why) = why else {
            return;
        };
        let Phase::Working(work) = &mut self.phase else {
            return;
        };
        let (Some(ticket), Some(failure)) = (work.ticket(), stuck(work, why, cx)) else {
            return;
        };
        let message = messages::quote(&failure.message);
        let ending = messages::failed(ticket, failure, work);
        self.flag = ending.flag.unwrap_or(self.flag);
        self.managed = ending.managed.unwrap_or(self.managed);
        self.phase = up_or_unseen(work.before.take());
        out.push(Action::End(ending));
        self.attempts = FailedAttempts::default();
        self.message = message;
    }
}

/// The failure of an operation that waits for an observation, if it can wait no longer.
fn stuck(work: &Work, why: String, cx: &Context<'_>) -> Option<Failure> {
    let is_late = cx.now.boot_ms >= work.began_boot_ms + cx.timeout_ms();
    match &work.step {
        Step::Close(failure) => Some(failure.clone()),
        Step::Begin => Some(messages::command_failed(why)),
        Step::AwaitUp { .. } | Step::AwaitDown { .. } => {
            is_late.then(|| messages::command_failed(why))
        }
        Step::Check
        | Step::AwaitNeeds
        | Step::AwaitDependents
        | Step::Launch(_)
        | Step::Command { .. }
        | Step::AwaitReady { .. }
        | Step::Settle { .. } => None,
    }
}
