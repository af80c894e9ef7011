//! How operations and the agent's own work end.

use model::event::EventKind;
use model::operation::ProcessInspection;
use model::spec::AutoType;
use model::status::Exit;
use model::{Flag, Op};

use super::restart::emit;
use super::{
    Action, Cause, Context, CurrentRun, Depth, FailedAttempts, Failure, Form, LiveRun, Observation,
    OperationEnd, Phase, Process, Resting, Role, Run, Step, Work, messages,
};

impl Process {
    /// The process is up, as `start` and attempts want.
    pub(super) fn started(
        &mut self,
        work: Box<Work>,
        alive: LiveRun,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        self.stays_in_foreground = matches!(alive.form, Form::Foreground { .. });
        self.watched_files.begin_anew();
        self.resting = Resting::Stopped;
        let mut current = CurrentRun::launched(alive, work.ran.as_ref().map(|ran| &ran.cmd));
        (current.facts.dependencies).clone_from(&work.dependencies);
        match work.cause {
            Cause::Operation(_) if cx.spec.probes.ready.is_some() => {
                out.push(Action::FindVersion);
                return self.await_ready(work, current, cx);
            }
            Cause::Operation(ticket) => self.start_succeeded(ticket, &work, out),
            Cause::Attempt(attempt) => {
                let message = format!("restarted by attempt {attempt}; before: {}", work.reason);
                out.push(emit(EventKind::ProcessRestartSuccess, &message, None));
                self.message = message;
            }
            Cause::Renewal => self.renewed(&work, out),
            Cause::Schedule | Cause::Unhealthy { .. } => self.message.clear(),
        }
        self.note_missing(&work);
        self.phase = Phase::Up { current };
        out.push(Action::FindVersion);
    }

    /// The process is down, as `stop` and `kill` want; a `restart` goes on with its start.
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
            Cause::Renewal => {
                if in_foreground {
                    out.push(Action::Sweep);
                }
                return self.renew(work, cx, out);
            }
            Cause::Attempt(_) | Cause::Schedule => {
                return self.come_to_rest(Resting::Stopped, String::new());
            }
        };
        // A daemon that is stopped may leave sessions, containers or jobs on purpose. A foreground program is its whole
        // family, and a kill is meant for all of it.
        if in_foreground || ticket.op == Op::Kill {
            out.push(Action::Sweep);
        }
        if ticket.op == Op::Restart {
            work.stopping = None;
            work.began_boot_ms = cx.now.boot_ms;
            work.kill_target = None;
            return self.await_needs(work, cx, out);
        }
        let ending = OperationEnd {
            warning: work.stop_warning(cx),
            ran: work.ran.take(),
            ..messages::success(ticket)
        };
        self.set_desired(Flag::Stopped, false, ending, out);
        self.come_to_rest(Resting::Stopped, String::new());
    }

    /// The process is still up a while after its reload.
    pub(super) fn settled(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        let Some(mut work) = self.take_work(|step| matches!(step, Step::Settle { .. })) else {
            return;
        };
        match (work.cause, work.before.take()) {
            (Cause::Operation(ticket), Some(current)) => {
                out.push(Action::End(OperationEnd {
                    ran: work.ran,
                    ..messages::success(ticket)
                }));
                self.phase = Phase::Up { current };
            }
            (
                Cause::Operation(_)
                | Cause::Attempt(_)
                | Cause::Schedule
                | Cause::Unhealthy { .. }
                | Cause::Renewal,
                _,
            ) => {
                self.close(work, messages::not_reloaded(cx, "it is gone"), out);
            }
        }
    }

    pub(super) fn inspected(&mut self, instance: Box<ProcessInspection>, out: &mut Vec<Action>) {
        if let Some(ticket) = self.query.take() {
            out.push(Action::End(OperationEnd {
                instance: Some(instance),
                ..messages::success(ticket)
            }));
        }
    }

    /// Fails the work: one more observation decides the next phase.
    pub(super) fn close(&mut self, mut work: Box<Work>, failure: Failure, out: &mut Vec<Action>) {
        work.step = Step::Close(failure);
        self.phase = Phase::Working(work);
        out.push(Action::Observe(Depth::Shallow));
    }

    pub(super) fn closed(
        &mut self,
        mut work: Work,
        failure: Failure,
        observed: &Observation,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let current = (work.before.take()).or_else(|| observed.alive.map(CurrentRun::adopted));
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
        let message = match (&failure.prefers_output, &work.ran) {
            (true, Some(ran)) => {
                let lasted = ran.ended_boot_ms.saturating_sub(ran.cmd.began_boot_ms);
                let exit = ran.exit.unwrap_or(Exit::Unseen);
                let killed = self.last_exit.filter(|last| last.oom);
                let oom = killed.map(|last| last.memory.unwrap_or_default());
                let of_process = || messages::exited(exit, oom, lasted, &work.last_line);
                match ran.cmd.role {
                    // The command itself was the process.
                    Role::Start if self.stays_in_foreground || runs_out => of_process(),
                    Role::Start => format!("start_cmd {}", of_process()),
                    role @ (Role::Stop | Role::Restart | Role::Reload | Role::Kill) => {
                        messages::command_exited(role, exit, &work.last_line)
                    }
                }
            }
            (true | false, _) => messages::quote(&failure.message),
        };
        if current.is_none() && work.kill_target.is_none() {
            out.extend(left_behind(&work).map(Action::Kill));
        }
        if let Cause::Operation(ticket) = work.cause {
            let ending = messages::failed(ticket, failure, &work);
            self.flag = ending.flag.unwrap_or(self.flag);
            self.managed = ending.managed.unwrap_or(self.managed);
            out.push(Action::End(ending));
            self.attempts = FailedAttempts::default();
        }
        match (work.cause, current) {
            (Cause::Unhealthy { .. } | Cause::Renewal, Some(current)) => {
                self.unhealthy_stays(work, current, &message, cx, out);
            }
            (Cause::Operation(_) | Cause::Attempt(_) | Cause::Schedule, Some(current)) => {
                self.message = message;
                self.phase = Phase::Up { current };
            }
            (Cause::Operation(_), None) if self.is_kept_running(cx) => {
                self.retry(message, self.next_wait_ms(cx).max(1), cx, out);
            }
            (Cause::Operation(ticket), None) => {
                let resting = match ticket.op {
                    Op::Start | Op::Restart | Op::Manage => Resting::Failed,
                    // It ended during the reload.
                    Op::Reload if work.old_run.is_some() => Resting::Failed,
                    Op::Reload | Op::Query | Op::Unmanage => self.resting,
                    Op::Stop | Op::Kill => Resting::Stopped,
                };
                self.come_to_rest(resting, message);
            }
            (Cause::Attempt(_) | Cause::Renewal, None) => {
                self.attempt_failed(&message, exit, cx, out)
            }
            (Cause::Schedule, None) => self.scheduled_run_failed(&message, exit, cx, out),
            (Cause::Unhealthy { since_boot_ms }, None) => {
                self.unhealthy_is_down(work.reason, since_boot_ms, cx, out);
            }
        }
    }

    /// Sets the desired state, and ends the operation that asked for it.
    pub(super) fn set_desired(
        &mut self,
        flag: Flag,
        managed: bool,
        ending: OperationEnd,
        out: &mut Vec<Action>,
    ) {
        self.flag = flag;
        self.managed = managed;
        self.message.clear();
        out.push(Action::End(OperationEnd {
            flag: Some(flag),
            managed: Some(managed),
            ..ending
        }));
    }
}

/// A start command that failed: kill what it started, so that no second copy starts beside it.
fn left_behind(work: &Work) -> Option<Run> {
    let ran = work.ran.as_ref()?;
    match ran.cmd.role {
        Role::Start | Role::Restart => Some(ran.cmd.run),
        Role::Stop | Role::Reload | Role::Kill => None,
    }
}
