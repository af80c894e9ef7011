//! How operations and attempts end.

use model::event::EventKind;
use model::operation::ProcessInspection;
use model::spec::AutoType;
use model::status::Exit;
use model::{Flag, Op};

use super::keep::emit;
use super::{
    Action, Alive, Cause, Context, CurrentRun, Depth, Ending, FailedAttempts, Failure, Form, Look,
    Phase, Process, Role, Run, Step, Work, words,
};

impl Process {
    /// The process is up: what `start` was for.
    pub(super) fn started(&mut self, work: &Work, alive: Alive, out: &mut Vec<Action>) {
        self.stays_in_foreground = matches!(alive.form, Form::Foreground { .. });
        self.watched_files.begin_anew();
        match work.cause {
            Cause::Operation(ticket) => {
                self.attempts = FailedAttempts::default();
                let ending = Ending {
                    ran: work.ran.clone(),
                    ..words::success(ticket)
                };
                self.settle_wanted(Flag::Running, true, ending, out);
            }
            Cause::Attempt(attempt) => {
                let message = format!("restarted by attempt {attempt}; before: {}", work.reason);
                out.push(emit(EventKind::ProcessRestartSuccess, &message, None));
                self.message = message;
            }
            Cause::Schedule | Cause::Unhealthy { .. } => self.message.clear(),
        }
        let current = CurrentRun::launched(alive, work.ran.as_ref().map(|ran| &ran.cmd));
        self.phase = Phase::Up { current };
        out.push(Action::FindVersion);
    }

    /// The process is down: what `stop` and `kill` were for, and half of what `restart` is for.
    pub(super) fn stopped(&mut self, mut work: Box<Work>, cx: &Context<'_>, out: &mut Vec<Action>) {
        let in_foreground = work.ended_sink.take().is_some();
        let ticket = match work.cause {
            Cause::Operation(ticket) => ticket,
            Cause::Unhealthy { since_boot_ms } => {
                if in_foreground {
                    out.push(Action::Sweep);
                }
                return self.unhealthy_is_down(work.reason, since_boot_ms, cx, out);
            }
            Cause::Attempt(_) | Cause::Schedule => return self.rest(String::new()),
        };
        // What a daemon leaves behind when it is stopped may be meant to stay: sessions, containers, jobs. A program in the
        // foreground is its whole family, and a kill is meant for all.
        if in_foreground || ticket.op == Op::Kill {
            out.push(Action::Sweep);
        }
        if ticket.op == Op::Restart {
            work.began_boot_ms = cx.now.boot_ms;
            work.doomed = None;
            return self.launch(work, Role::Start, out);
        }
        let ending = Ending {
            ran: work.ran.take(),
            ..words::success(ticket)
        };
        self.settle_wanted(Flag::Stopped, false, ending, out);
        self.rest(String::new());
    }

    /// The process is still there a while after it was told to reload.
    pub(super) fn settled(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        let Some(mut work) = self.take_work(|step| matches!(step, Step::Settle { .. })) else {
            return;
        };
        match (work.cause, work.before.take()) {
            (Cause::Operation(ticket), Some(current)) => {
                out.push(Action::End(Ending {
                    ran: work.ran,
                    ..words::success(ticket)
                }));
                self.phase = Phase::Up { current };
            }
            (
                Cause::Operation(_) | Cause::Attempt(_) | Cause::Schedule | Cause::Unhealthy { .. },
                _,
            ) => {
                self.close(work, words::not_reloaded(cx, "it is gone"), out);
            }
        }
    }

    pub(super) fn inspected(&mut self, instance: Box<ProcessInspection>, out: &mut Vec<Action>) {
        if let Some(ticket) = self.query.take() {
            out.push(Action::End(Ending {
                instance: Some(instance),
                ..words::success(ticket)
            }));
        }
    }

    /// Failed: one more look shows what there is now.
    pub(super) fn close(&mut self, mut work: Box<Work>, failure: Failure, out: &mut Vec<Action>) {
        work.step = Step::Close(failure);
        self.phase = Phase::Working(work);
        out.push(Action::Look(Depth::Shallow));
    }

    pub(super) fn closed(
        &mut self,
        mut work: Work,
        failure: Failure,
        look: &Look,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let current = (work.before.take()).or_else(|| look.alive.map(CurrentRun::adopted));
        let exit = work.ran.as_ref().and_then(|ran| ran.exit);
        let runs_out = match cx.policy().auto_type {
            AutoType::OneShot | AutoType::Periodic => true,
            AutoType::Resident => false,
        };
        if runs_out
            && let Some(ran) = &work.ran
            && ran.cmd.role == Role::Start
        {
            self.last_started_at = ran.cmd.began_at;
        }
        let said = match (&failure.output_speaks, &work.ran) {
            (true, Some(ran)) => {
                let lasted = ran.ended_boot_ms.saturating_sub(ran.cmd.began_boot_ms);
                let exit = ran.exit.unwrap_or(Exit::Unseen);
                let of_process = || words::exited(exit, lasted, &work.last_line);
                match ran.cmd.role {
                    // The command was the process.
                    Role::Start if self.stays_in_foreground || runs_out => of_process(),
                    Role::Start => format!("start_cmd {}", of_process()),
                    role @ (Role::Stop | Role::Restart | Role::Reload | Role::Kill) => {
                        words::command_exited(role, exit, &work.last_line)
                    }
                }
            }
            (true | false, _) => words::quote(&failure.message),
        };
        if current.is_none() && work.doomed.is_none() {
            out.extend(left_behind(&work).map(Action::Kill));
        }
        if let Cause::Operation(ticket) = work.cause {
            let ending = words::failed(ticket, failure, &work);
            self.flag = ending.flag.unwrap_or(self.flag);
            self.managed = ending.managed.unwrap_or(self.managed);
            out.push(Action::End(ending));
            self.attempts = FailedAttempts::default();
        }
        match (work.cause, current) {
            (Cause::Unhealthy { .. }, Some(current)) => {
                self.unhealthy_stays(work, current, &said, cx, out);
            }
            (Cause::Operation(_) | Cause::Attempt(_) | Cause::Schedule, Some(current)) => {
                self.message = said;
                self.phase = Phase::Up { current };
            }
            (Cause::Operation(_), None) if self.is_kept(cx) => {
                let wait_ms = u64::from(cx.policy().start_interval) * 1000;
                self.retry(said, wait_ms.max(1), cx, out);
            }
            (Cause::Operation(_), None) => self.rest(said),
            (Cause::Attempt(_), None) => self.attempt_failed(&said, exit, cx, out),
            (Cause::Schedule, None) => self.scheduled_run_failed(&said, exit, cx, out),
            (Cause::Unhealthy { since_boot_ms }, None) => {
                self.unhealthy_is_down(work.reason, since_boot_ms, cx, out);
            }
        }
    }

    /// What is wanted from now on, and the end of the operation that said so.
    pub(super) fn settle_wanted(
        &mut self,
        flag: Flag,
        managed: bool,
        ending: Ending,
        out: &mut Vec<Action>,
    ) {
        self.flag = flag;
        self.managed = managed;
        self.message.clear();
        out.push(Action::End(Ending {
            flag: Some(flag),
            managed: Some(managed),
            ..ending
        }));
    }
}

/// The command that should have brought it up and did not: what it left may not live on beside the next one.
fn left_behind(work: &Work) -> Option<Run> {
    let ran = work.ran.as_ref()?;
    match ran.cmd.role {
        Role::Start | Role::Restart => Some(ran.cmd.run),
        Role::Stop | Role::Reload | Role::Kill => None,
    }
}
