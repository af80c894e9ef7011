//! Restarts of managed processes: after a run has ended by itself, and after an attempt has failed.

use model::Flag;
use model::event::EventKind;
use model::spec::AutoType;
use model::spec::restart::GiveUp;
use model::status::Exit;

use super::backoff::{Backoff, seed};
use super::messages::{self, seconds};
use super::{
    Action, Cause, Context, CurrentRun, Depth, Emission, FailedAttempts, Finished, Form, LiveRun,
    Phase, Process, Resting, RunEnd, Work,
};

impl Process {
    /// Whether the agent starts it by itself.
    pub(super) fn is_kept_running(&self, cx: &Context<'_>) -> bool {
        let resident = match cx.policy().auto_type {
            AutoType::Resident => true,
            AutoType::Periodic | AutoType::OneShot => false,
        };
        resident && self.is_desired_running()
    }

    /// Managed, and desired running.
    pub(super) fn is_desired_running(&self) -> bool {
        self.managed && self.flag == Flag::Running && !self.forgetting
    }

    /// A run ended, and nothing took its place.
    pub(super) fn crashed(
        &mut self,
        CurrentRun { alive, facts }: CurrentRun,
        end: RunEnd,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let exit = end.exit;
        let lasted_ms = alive.lasted_ms(cx.now);
        let was_killed = !facts.kill_reason.is_empty();
        let oom = end.oom.filter(|_| !was_killed);
        self.note_exit(exit, oom, cx);
        let reason = match was_killed {
            true => facts.kill_reason,
            false => {
                let text = messages::exited(exit, oom, lasted_ms, &end.last_line);
                self.of_run(&text, cx)
            }
        };
        if let Form::Foreground { main } = alive.form {
            out.push(Action::RemovePidFile(main));
        }
        let expected = match cx.policy().auto_type {
            AutoType::Resident => false,
            AutoType::OneShot | AutoType::Periodic => exit.is_success(),
        };
        if expected && cx.policy().auto_type == AutoType::OneShot {
            self.flag = Flag::Stopped;
        }
        // The kill was an event already.
        if !expected && !was_killed {
            out.push(emit(EventKind::ProcessExit, &reason, Some(exit)));
        }
        if !self.is_kept_running(cx) {
            let resting = match cx.policy().auto_type {
                AutoType::OneShot | AutoType::Periodic if expected => Resting::Completed,
                AutoType::OneShot | AutoType::Periodic | AutoType::Resident
                    if was_killed || oom.is_some() || is_failure(exit) =>
                {
                    Resting::Failed
                }
                AutoType::OneShot | AutoType::Periodic | AutoType::Resident => Resting::Stopped,
            };
            self.come_to_rest(resting, reason);
            return;
        }
        // Kill what it left, so that it does not live beside the next run. A daemon may have left processes on purpose.
        let left = match alive.form {
            Form::Foreground { .. } => Some(alive.run),
            Form::Daemon => None,
        };
        out.extend(left.map(Action::Kill));
        self.clear_attempts_if_lasting(lasted_ms, cx);
        self.retry_after(lasted_ms, reason, cx, out);
        if let Phase::Working(work) = &mut self.phase {
            work.kill_target = left;
        }
    }

    /// Clears the count of failed attempts after a run that lasted.
    pub(super) fn clear_attempts_if_lasting(&mut self, lasted_ms: u64, cx: &Context<'_>) {
        if lasted_ms >= Backoff::of(cx.spec).reset_ms {
            self.attempts = FailedAttempts::default();
        }
    }

    /// Starts it again after a run of this length: at once if that lasted.
    pub(super) fn retry_after(
        &mut self,
        lasted_ms: u64,
        reason: String,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let attempt = self.attempts.count + 1;
        let wait_ms = Backoff::of(cx.spec).wait_after_ms(lasted_ms, attempt, seed(cx));
        self.retry(reason, wait_ms, cx, out);
    }

    /// Says for a periodic process that the message is about its last run.
    pub(super) fn of_run(&self, message: &str, cx: &Context<'_>) -> String {
        match cx.policy().auto_type {
            AutoType::Periodic => format!("last run {message}"),
            AutoType::Resident | AutoType::OneShot => message.to_owned(),
        }
    }

    /// An attempt failed.
    pub(super) fn attempt_failed(
        &mut self,
        reason: &str,
        exit: Option<Exit>,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let reason = messages::quote(reason);
        out.push(emit(EventKind::ProcessRestartFailed, &reason, exit));
        if !self.is_kept_running(cx) {
            self.come_to_rest(Resting::Failed, reason);
            return;
        }
        self.retry(reason, self.next_wait_ms(cx), cx, out);
    }

    /// How long the next attempt waits after one that failed.
    pub(super) fn next_wait_ms(&self, cx: &Context<'_>) -> u64 {
        Backoff::of(cx.spec).wait_ms(self.attempts.count + 1, seed(cx))
    }

    /// Starts an attempt now or after a wait, or gives up.
    pub(super) fn retry(
        &mut self,
        reason: String,
        wait_ms: u64,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let backoff = Backoff::of(cx.spec);
        let since = *(self.attempts.since_boot_ms).get_or_insert(cx.now.boot_ms);
        if let GiveUp::After(retries) = backoff.give_up
            && self.attempts.count >= retries
        {
            let took = seconds(cx.now.boot_ms.saturating_sub(since));
            let reason = format!(
                "gave up after {retries} attempts in {took} at {}; {reason}",
                cx.now.unix.to_rfc3339()
            );
            out.push(emit(EventKind::ProcessCancelRestart, &reason, None));
            self.come_to_rest(Resting::Failed, reason);
            return;
        }
        if wait_ms == 0 {
            self.attempt(reason, cx, out);
        } else {
            let attempt = backoff.attempt_words(self.attempts.count + 1);
            self.message = format!("{reason}; {attempt}, next in {}", seconds(wait_ms));
            self.phase = Phase::Backoff {
                until_boot_ms: cx.now.boot_ms + wait_ms,
                until: cx.now.unix.plus_millis(wait_ms as i64),
                reason,
            };
        }
    }

    /// Begins an attempt with an observation: an operator may have started it by hand.
    pub(super) fn attempt(&mut self, reason: String, cx: &Context<'_>, out: &mut Vec<Action>) {
        self.attempts.count = self.attempts.count.saturating_add(1);
        let number = self.attempts.count;
        self.message = messages::under_way(&Backoff::of(cx.spec).attempt_words(number), &reason);
        self.phase = Phase::Working(Box::new(Work {
            reason,
            ..Work::new(Cause::Attempt(number), cx)
        }));
        out.push(Action::Observe(Depth::Shallow));
    }

    /// Down, until an operation or its schedule starts it.
    pub(super) fn come_to_rest(&mut self, resting: Resting, message: String) {
        self.resting = resting;
        self.message = message;
        self.attempts = FailedAttempts::default();
        self.phase = Phase::Down;
    }

    /// A run that the agent did not start becomes the process.
    pub(super) fn adopt(&mut self, alive: LiveRun, out: &mut Vec<Action>) {
        self.message.clear();
        self.resting = Resting::Stopped;
        self.stays_in_foreground = false;
        self.watched_files.begin_anew();
        let current = CurrentRun::adopted(alive);
        self.phase = Phase::Up { current };
        out.push(Action::FindVersion);
    }

    /// A one-shot or periodic program has run to its end.
    pub(super) fn completed(
        &mut self,
        work: &Work,
        ran: Finished,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let lasted_ms = ran.ended_boot_ms.saturating_sub(ran.cmd.began_boot_ms);
        let exit = ran.exit.unwrap_or(Exit::Unseen);
        self.last_started_at = ran.cmd.began_at;
        let flag = match cx.policy().auto_type {
            AutoType::OneShot => Flag::Stopped,
            AutoType::Periodic | AutoType::Resident => Flag::Running,
        };
        self.flag = flag;
        match work.cause {
            Cause::Operation(ticket) => {
                self.managed = true;
                out.push(Action::End(super::OperationEnd {
                    flag: Some(flag),
                    managed: Some(true),
                    ran: Some(ran),
                    ..messages::success(ticket)
                }));
            }
            Cause::Attempt(_) | Cause::Schedule | Cause::Unhealthy { .. } | Cause::Renewal => {}
        }
        self.note_exit(exit, None, cx);
        let message = self.of_run(&messages::exited(exit, None, lasted_ms, ""), cx);
        self.come_to_rest(Resting::Completed, message);
    }
}

/// Whether an end by itself is a failure: not if it exited with 0, if an administrator may have asked it to end, or if how
/// it ended is not known.
fn is_failure(exit: Exit) -> bool {
    match exit {
        Exit::Code(code) => code != 0,
        Exit::Signal(signal) => ![libc::SIGTERM, libc::SIGINT, libc::SIGHUP].contains(&signal),
        Exit::Unseen => false,
    }
}

pub(super) fn emit(kind: EventKind, reason: &str, exit: Option<Exit>) -> Action {
    Action::Emit(Emission {
        kind,
        reason: reason.to_owned(),
        exit,
    })
}
