//! Operations: how each begins, up to its command. `end` decides how each ends.

use model::spec::AutoType;
use model::{Code, Flag, Op};

use super::{
    Action, Cause, Cmd, Context, CurrentRun, Depth, FailedAttempts, Form, LiveRun, Observation,
    OperationEnd, Phase, Process, Resting, Role, SETTLE_MS, Signal, Step, Ticket, Work, messages,
};

impl Process {
    pub(super) fn begin(&mut self, ticket: Ticket, cx: &Context<'_>, out: &mut Vec<Action>) {
        if cx.now.unix > ticket.deadline {
            let late = "not begun before its deadline, so not begun at all";
            out.push(Action::End(messages::ending(
                ticket,
                Code::TERMINATED,
                late,
            )));
            return;
        }
        match ticket.op {
            Op::Query => {
                self.query = Some(ticket);
                match self.phase {
                    Phase::Unobserved | Phase::Down | Phase::Backoff { .. } => {
                        out.push(Action::Observe(Depth::Shallow));
                    }
                    // The kernel reports the end of a run.
                    Phase::Up { .. } | Phase::Lost { .. } | Phase::Working(_) => {}
                }
                out.push(Action::Inspect);
            }
            Op::Unmanage => {
                self.managed = false;
                self.let_go();
                out.push(Action::End(OperationEnd {
                    managed: Some(false),
                    ..messages::success(ticket)
                }));
            }
            Op::Start | Op::Stop | Op::Manage | Op::Restart | Op::Reload | Op::Kill => {
                let work = self.take_over(Work::new(Cause::Operation(ticket), cx));
                // An observation that the attempt requested would come before the kill and count as this operation's first:
                // the next run would start beside the one that is being killed.
                out.retain(|action| !matches!(action, Action::Observe(_)));
                out.extend(work.kill_target.map(Action::Kill));
                self.phase = Phase::Working(Box::new(work));
                out.push(Action::Observe(Depth::Shallow));
            }
        }
    }

    /// Begins an operation's work with what the agent's own work has come to. A run that an attempt has brought up is the
    /// process; a command that has brought up nothing yet is killed, so that nothing appears while the operation runs.
    fn take_over(&mut self, mut work: Work) -> Work {
        match std::mem::replace(&mut self.phase, Phase::Unobserved) {
            Phase::Unobserved | Phase::Down | Phase::Backoff { .. } => {}
            Phase::Up { current } => work.before = Some(current),
            Phase::Lost { current, .. } => {
                work.kill_target = match current.alive.form {
                    Form::Foreground { .. } => Some(current.alive.run),
                    Form::Daemon => None,
                };
                work.ended_sink = current.facts.sink;
            }
            Phase::Working(own) => {
                let (cmd, candidate) = match own.step {
                    Step::Command { cmd, candidate } => (Some(cmd), candidate),
                    Step::AwaitUp { candidate } => (own.ran.map(|ran| ran.cmd), candidate),
                    Step::Begin
                    | Step::Check
                    | Step::AwaitNeeds
                    | Step::AwaitDependents
                    | Step::Launch(_)
                    | Step::AwaitReady { .. }
                    | Step::AwaitDown { .. }
                    | Step::Settle { .. }
                    | Step::Close(_) => (None, None),
                };
                let brings_up = |cmd: &Cmd| matches!(cmd.role, Role::Start | Role::Restart);
                work.ended_sink = own.ended_sink;
                work.before = match cmd.as_ref().filter(|cmd| brings_up(cmd)) {
                    Some(cmd) => candidate
                        .filter(|candidate| candidate.died.is_none())
                        .map(|candidate| CurrentRun::launched(candidate.alive, Some(cmd))),
                    None => own.before,
                };
                if work.before.is_none() {
                    work.kill_target = cmd.map(|cmd| cmd.run);
                }
            }
        }
        work.old_run = work.before.as_ref().map(|before| before.alive.run);
        work
    }

    /// Cancels the next attempt. An attempt that has begun goes on, because unmanaging touches no process.
    fn let_go(&mut self) {
        match &self.phase {
            Phase::Backoff { .. } => {
                self.phase = Phase::Down;
                self.resting = Resting::Failed;
                self.message.push_str("; not managed any more");
            }
            Phase::Unobserved
            | Phase::Down
            | Phase::Up { .. }
            | Phase::Lost { .. }
            | Phase::Working(_) => {}
        }
    }

    /// The first observation of an operation or attempt decides its next step.
    pub(super) fn decide(
        &mut self,
        mut work: Box<Work>,
        observed: &Observation,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        // It was killed before this observation.
        let kill_target = work.kill_target.take();
        if work.before.is_none() {
            work.before = observed.alive.map(CurrentRun::adopted);
            work.old_run = observed.alive.map(|alive| alive.run);
        }
        let before = work.before.as_ref().map(|before| before.alive);
        let ticket = match work.cause {
            Cause::Operation(ticket) => ticket,
            Cause::Attempt(_) | Cause::Schedule | Cause::Renewal => match before {
                Some(alive) => return self.adopt(alive, out),
                None => return self.begin_check(work, Role::Start, out),
            },
            Cause::Unhealthy { .. } => match before {
                Some(alive) => return self.begin_stopping(work, alive, cx, out),
                None => return self.stopped(work, cx, out),
            },
        };
        match (ticket.op, before) {
            // What an attempt had begun to start was killed.
            (Op::Stop | Op::Kill, None) if kill_target.is_some() => self.stopped(work, cx, out),
            (Op::Stop | Op::Kill, None) => {
                let message = format!(
                    "no need to stop the process({}) that is not running",
                    cx.name
                );
                let ending = messages::ending(ticket, Code::NOT_RUNNING, message);
                if ticket.op == Op::Kill {
                    out.push(Action::Sweep);
                }
                self.set_desired(Flag::Stopped, false, ending, out);
                self.come_to_rest(Resting::Stopped, String::new());
            }
            (Op::Reload, None) => {
                let failure = messages::not_reloaded(cx, "nothing was executed");
                self.close(work, failure, out);
            }
            // Also when it runs: it is managed from now on, so it must be possible to start it.
            (Op::Start | Op::Manage, _) => self.begin_check(work, Role::Start, out),
            (Op::Restart, _) => match cx.command(Role::Restart).is_empty() {
                true => self.begin_check(work, Role::Start, out),
                false => self.begin_check(work, Role::Restart, out),
            },
            (Op::Stop, Some(_)) => self.await_dependents(work, cx, out),
            (Op::Kill, Some(alive)) => match cx.command(Role::Kill).is_empty() {
                true => {
                    work.step = Step::AwaitDown {
                        from_boot_ms: cx.now.boot_ms,
                        failed: false,
                    };
                    work.kill_target = Some(alive.run);
                    self.phase = Phase::Working(work);
                    out.push(Action::Kill(alive.run));
                    out.push(Action::Observe(Depth::Shallow));
                }
                false => self.launch(work, Role::Kill, out),
            },
            (Op::Reload, Some(alive)) => match cx.command(Role::Reload).is_empty() {
                true => {
                    work.step = Step::Settle {
                        until_boot_ms: cx.now.boot_ms + SETTLE_MS,
                    };
                    work.send_signal(alive, Signal::HangUp, out);
                    self.phase = Phase::Working(work);
                }
                false => self.launch(work, Role::Reload, out),
            },
            (Op::Query | Op::Unmanage, _) => {
                // `begin` never makes work of them.
                self.phase = work
                    .before
                    .map_or(Phase::Down, |current| Phase::Up { current });
                out.push(Action::End(messages::success(ticket)));
            }
        }
    }

    pub(super) fn begin_check(&mut self, mut work: Box<Work>, role: Role, out: &mut Vec<Action>) {
        work.step = Step::Check;
        self.phase = Phase::Working(work);
        out.push(Action::Check(role));
    }

    pub(super) fn launch(&mut self, mut work: Box<Work>, role: Role, out: &mut Vec<Action>) {
        // The message is about the run before; an attempt has set its own.
        match (work.cause, role) {
            (Cause::Operation(_) | Cause::Schedule, Role::Start | Role::Restart) => {
                self.message.clear();
            }
            (Cause::Attempt(_) | Cause::Unhealthy { .. } | Cause::Renewal, _)
            | (_, Role::Stop | Role::Reload | Role::Kill) => {}
        }
        work.step = Step::Launch(role);
        self.phase = Phase::Working(work);
        out.push(Action::Spawn(role));
    }

    pub(super) fn begin_stopping(
        &mut self,
        mut work: Box<Work>,
        alive: LiveRun,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        if !cx.command(Role::Stop).is_empty() {
            return self.launch(work, Role::Stop, out);
        }
        work.step = Step::AwaitDown {
            from_boot_ms: cx.now.boot_ms + u64::from(cx.policy().stop_check_secs) * 1000,
            failed: false,
        };
        work.send_first_signal(alive, cx, out);
        self.phase = Phase::Working(work);
    }

    pub(super) fn checked(
        &mut self,
        result: Result<(), String>,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let Some(mut work) = self.take_work(|step| matches!(step, Step::Check)) else {
            return;
        };
        if let Err(why) = result {
            return self.close(work, messages::command_failed(why), out);
        }
        let Some(ticket) = work.ticket() else {
            return self.await_needs(work, cx, out);
        };
        match (ticket.op, work.before.take()) {
            (Op::Start, Some(current)) => self.runs_already(ticket, current, cx, out),
            (Op::Manage, before) => self.manage(ticket, before, cx, out),
            (
                Op::Start
                | Op::Restart
                | Op::Stop
                | Op::Kill
                | Op::Reload
                | Op::Query
                | Op::Unmanage,
                before,
            ) => {
                work.before = before;
                self.await_needs(work, cx, out);
            }
        }
    }

    fn runs_already(
        &mut self,
        ticket: Ticket,
        current: CurrentRun,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let message = format!(
            "no need to start the process({}) that is running with pid {}",
            cx.name,
            current.alive.pid()
        );
        let ending = messages::ending(ticket, Code::ALREADY_RUNNING, message);
        self.set_desired(Flag::Running, true, ending, out);
        self.phase = Phase::Up { current };
    }

    fn manage(
        &mut self,
        ticket: Ticket,
        before: Option<CurrentRun>,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        self.set_desired(Flag::Running, true, messages::success(ticket), out);
        self.attempts = FailedAttempts::default();
        match before {
            Some(current) => self.phase = Phase::Up { current },
            None => match cx.policy().auto_type {
                AutoType::Resident | AutoType::OneShot => {
                    let reason = "managed while it was not running: started".to_owned();
                    self.attempt(reason, cx, out);
                    if let Phase::Working(work) = &mut self.phase {
                        work.operated = true;
                    }
                }
                AutoType::Periodic => self.come_to_rest(Resting::Stopped, String::new()),
            },
        }
    }

    pub(super) fn spawned(&mut self, cmd: Cmd) {
        let Some(mut work) = self.take_work(|step| matches!(step, Step::Launch(_))) else {
            return;
        };
        match (work.cause, cmd.role) {
            (Cause::Attempt(_) | Cause::Renewal, Role::Start) if !work.operated => {
                self.restarts = self.restarts.saturating_add(1);
            }
            (Cause::Operation(_) | Cause::Attempt(_), Role::Start | Role::Restart) => {
                self.restarts = 0;
            }
            (Cause::Operation(_) | Cause::Attempt(_) | Cause::Schedule, _)
            | (Cause::Unhealthy { .. } | Cause::Renewal, _) => {}
        }
        work.step = Step::Command {
            cmd,
            candidate: None,
        };
        self.phase = Phase::Working(work);
    }

    /// The command could not be executed.
    pub(super) fn spawn_failed(&mut self, why: String, cx: &Context<'_>, out: &mut Vec<Action>) {
        let launching = |step: &Step| matches!(step, Step::Launch(_) | Step::Command { .. });
        let Some(mut work) = self.take_work(launching) else {
            return;
        };
        work.give_up_command(cx);
        self.close(work, messages::command_failed(why), out);
    }

    /// The signal to stop or to reload was sent.
    pub(super) fn signalled(&mut self) {
        if let Phase::Working(work) = &mut self.phase {
            work.unsent_signal = None;
        }
    }

    /// The agent may not signal the run, so the operation fails at once instead of timing out.
    pub(super) fn signal_refused(&mut self, why: String, out: &mut Vec<Action>) {
        let waits_for_signal =
            |step: &Step| matches!(step, Step::AwaitDown { .. } | Step::Settle { .. });
        if let Some(mut work) = self.take_work(waits_for_signal) {
            work.kill_target = None;
            work.unsent_signal = None;
            return self.close(work, messages::command_failed(why), out);
        }
        self.kill_was_refused(&why);
    }

    pub(super) fn command_timed_out(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        let Some(mut work) = self.take_work(|step| matches!(step, Step::Command { .. })) else {
            return;
        };
        let mut failure = messages::command_failed("");
        if let Step::Command { cmd, .. } = &work.step
            && cmd.role == Role::Stop
            && !cx.spec.stop.is_default()
        {
            let cmd = cmd.clone();
            work.give_up_command(cx);
            return self.stop_command_timed_out(work, &cmd, cx, out);
        }
        if let Step::Command { cmd, .. } = &work.step {
            out.push(Action::Kill(cmd.run));
            work.kill_target = Some(cmd.run);
            failure = messages::timed_out(cmd.role, cx);
        }
        work.give_up_command(cx);
        self.close(work, failure, out);
    }

    /// Takes the work out of the phase, if it is at this step.
    pub(super) fn take_work(&mut self, at: impl Fn(&Step) -> bool) -> Option<Box<Work>> {
        match std::mem::replace(&mut self.phase, Phase::Unobserved) {
            Phase::Working(work) if at(&work.step) => Some(work),
            other => {
                self.phase = other;
                None
            }
        }
    }
}
