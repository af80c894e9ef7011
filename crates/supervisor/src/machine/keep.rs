//! Managed: what happens when a run ends that nobody had asked to end, and when an attempt to restart it fails.

use model::Flag;
use model::event::EventKind;
use model::spec::AutoType;
use model::status::Exit;

use super::words::{self, seconds};
use super::{
    Action, Alive, Cause, Context, CurrentRun, Depth, Emission, FailedAttempts, Finished, Form,
    Phase, Process, Work,
};

/// A run of this length clears the count of failed attempts.
const LASTING_MS: u64 = 60_000;

impl Process {
    /// Whether the agent is to bring it up by itself.
    pub(super) fn is_kept(&self, cx: &Context<'_>) -> bool {
        let resident = match cx.policy().auto_type {
            AutoType::Resident => true,
            AutoType::Periodic | AutoType::OneShot => false,
        };
        resident && self.is_wanted()
    }

    /// Managed, and wanted running.
    pub(super) fn is_wanted(&self) -> bool {
        self.managed && self.flag == Flag::Running && !self.forgetting
    }

    /// A run ended, and nothing took its place.
    pub(super) fn crashed(
        &mut self,
        CurrentRun { alive, facts }: CurrentRun,
        exit: Exit,
        last_line: &str,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let lasted_ms = alive.lasted_ms(cx.now);
        let was_killed = !facts.kill_reason.is_empty();
        let reason = match was_killed {
            true => facts.kill_reason,
            false => self.of_run(&words::exited(exit, lasted_ms, last_line), cx),
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
        // Why it was killed was told already.
        if !expected && !was_killed {
            out.push(emit(EventKind::ProcessExit, &reason, Some(exit)));
        }
        if !self.is_kept(cx) {
            self.rest(reason);
            return;
        }
        // What it left may not live on beside the next one. Of a daemon nobody knows what it meant to leave.
        let left = match alive.form {
            Form::Foreground { .. } => Some(alive.run),
            Form::Daemon => None,
        };
        out.extend(left.map(Action::Kill));
        self.forgive(lasted_ms);
        self.retry_after(lasted_ms, reason, cx, out);
        if let Phase::Working(work) = &mut self.phase {
            work.doomed = left;
        }
    }

    /// A run that lasted clears the count.
    pub(super) fn forgive(&mut self, lasted_ms: u64) {
        if lasted_ms >= LASTING_MS {
            self.attempts = FailedAttempts::default();
        }
    }

    /// Brings it up after a run of this length: at once after one that lasted.
    pub(super) fn retry_after(
        &mut self,
        lasted_ms: u64,
        reason: String,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let interval_ms = u64::from(cx.policy().start_interval) * 1000;
        match lasted_ms >= interval_ms {
            true => self.retry(reason, 0, cx, out),
            false => self.retry(reason, interval_ms, cx, out),
        }
    }

    /// Of a program that runs again and again, people want to know that this was the last time.
    pub(super) fn of_run(&self, said: &str, cx: &Context<'_>) -> String {
        match cx.policy().auto_type {
            AutoType::Periodic => format!("last run {said}"),
            AutoType::Resident | AutoType::OneShot => said.to_owned(),
        }
    }

    /// An attempt did not bring it up.
    pub(super) fn attempt_failed(
        &mut self,
        reason: &str,
        exit: Option<Exit>,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let reason = words::quote(reason);
        out.push(emit(EventKind::ProcessRestartFailed, &reason, exit));
        if !self.is_kept(cx) {
            self.rest(reason);
            return;
        }
        let interval_ms = u64::from(cx.policy().start_interval) * 1000;
        self.retry(reason, interval_ms, cx, out);
    }

    /// Brings it up now, next time, or not any more.
    pub(super) fn retry(
        &mut self,
        reason: String,
        wait_ms: u64,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let retries = cx.policy().start_retries;
        let since = *(self.attempts.since_boot_ms).get_or_insert(cx.now.boot_ms);
        if self.attempts.count >= retries {
            let took = seconds(cx.now.boot_ms.saturating_sub(since));
            let reason = format!(
                "gave up after {retries} attempts in {took} at {}; {reason}",
                cx.now.unix.to_rfc3339()
            );
            out.push(emit(EventKind::ProcessCancelRestart, &reason, None));
            self.rest(reason);
            return;
        }
        let attempt = self.attempts.count + 1;
        if wait_ms == 0 {
            self.attempt(reason, cx, out);
        } else {
            self.message = format!(
                "{reason}; attempt {attempt} of {retries}, next in {}",
                seconds(wait_ms)
            );
            self.phase = Phase::Backoff {
                until_boot_ms: cx.now.boot_ms + wait_ms,
                reason,
            };
        }
    }

    /// Begins an attempt. It looks first: somebody else may have been faster.
    pub(super) fn attempt(&mut self, reason: String, cx: &Context<'_>, out: &mut Vec<Action>) {
        self.attempts.count += 1;
        let number = self.attempts.count;
        self.message = words::under_way(number, cx.policy().start_retries, &reason);
        self.phase = Phase::Working(Box::new(Work {
            reason,
            ..Work::new(Cause::Attempt(number), cx)
        }));
        out.push(Action::Look(Depth::Shallow));
    }

    /// Down, until somebody asks.
    pub(super) fn rest(&mut self, message: String) {
        self.message = message;
        self.attempts = FailedAttempts::default();
        self.phase = Phase::Down;
    }

    /// A run that nobody here started.
    pub(super) fn adopt(&mut self, alive: Alive, out: &mut Vec<Action>) {
        self.message.clear();
        self.stays_in_foreground = false;
        self.watched_files.begin_anew();
        let current = CurrentRun::adopted(alive);
        self.phase = Phase::Up { current };
        out.push(Action::FindVersion);
    }

    /// A program that runs once, or now and then, did so.
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
                out.push(Action::End(super::Ending {
                    flag: Some(flag),
                    managed: Some(true),
                    ran: Some(ran),
                    ..words::success(ticket)
                }));
            }
            Cause::Attempt(_) | Cause::Schedule | Cause::Unhealthy { .. } => {}
        }
        self.rest(self.of_run(&words::exited(exit, lasted_ms, ""), cx));
    }
}

pub(super) fn emit(kind: EventKind, reason: &str, exit: Option<Exit>) -> Action {
    Action::Emit(Emission {
        kind,
        reason: reason.to_owned(),
        exit,
    })
}
