//! Operations: how each begins, and how it gets to its command. How it ends is in `end`.

use model::spec::AutoType;
use model::{Code, Flag, Op};

use super::{
    Action, Alive, Cause, Cmd, Context, CurrentRun, Depth, Ending, FailedAttempts, Finished, Form,
    Look, Phase, Process, Role, SETTLE_MS, Signal, Step, Ticket, Work, words,
};

impl Process {
    pub(super) fn begin(&mut self, ticket: Ticket, cx: &Context<'_>, out: &mut Vec<Action>) {
        if cx.now.unix > ticket.deadline {
            let late = "not begun before its deadline, so not begun at all";
            out.push(Action::End(words::ending(ticket, Code::TERMINATED, late)));
            return;
        }
        match ticket.op {
            Op::Query => {
                self.query = Some(ticket);
                match self.phase {
                    Phase::Unseen | Phase::Down | Phase::Backoff { .. } => {
                        out.push(Action::Look(Depth::Shallow));
                    }
                    // Its end would have been told.
                    Phase::Up { .. } | Phase::Lost { .. } | Phase::Working(_) => {}
                }
                out.push(Action::Inspect);
            }
            Op::Unmanage => {
                self.managed = false;
                self.let_go();
                out.push(Action::End(Ending {
                    managed: Some(false),
                    ..words::success(ticket)
                }));
            }
            Op::Start | Op::Stop | Op::Manage | Op::Restart | Op::Reload | Op::Kill => {
                let work = self.take_over(Work::new(Cause::Operation(ticket), cx));
                // A look that the attempt asked for happens before the kill. Its answer would count as this operation's
                // first, and the next run would begin beside the one that is being killed.
                out.retain(|action| !matches!(action, Action::Look(_)));
                out.extend(work.doomed.map(Action::Kill));
                self.phase = Phase::Working(Box::new(work));
                out.push(Action::Look(Depth::Shallow));
            }
        }
    }

    /// Begins an operation's work with what the agent's own work has come to. A run that an attempt has brought up is the
    /// process; a command that has brought up nothing yet is killed, so that nothing appears while the operation runs.
    fn take_over(&mut self, mut work: Work) -> Work {
        match std::mem::replace(&mut self.phase, Phase::Unseen) {
            Phase::Unseen | Phase::Down | Phase::Backoff { .. } => {}
            Phase::Up { current } => work.before = Some(current),
            Phase::Lost { current, .. } => {
                work.doomed = match current.alive.form {
                    Form::Foreground { .. } => Some(current.alive.run),
                    Form::Daemon => None,
                };
                work.ended_sink = current.facts.sink;
            }
            Phase::Working(own) => {
                let (cmd, candidate) = match own.step {
                    Step::Command { cmd, seen } => (Some(cmd), seen),
                    Step::AwaitUp { seen } => (own.ran.map(|ran| ran.cmd), seen),
                    Step::Begin
                    | Step::Check
                    | Step::Launch(_)
                    | Step::AwaitDown { .. }
                    | Step::Settle { .. }
                    | Step::Close(_) => (None, None),
                };
                let brings_up = |cmd: &Cmd| matches!(cmd.role, Role::Start | Role::Restart);
                work.ended_sink = own.ended_sink;
                work.before = match cmd.as_ref().filter(|cmd| brings_up(cmd)) {
                    Some(cmd) => candidate
                        .filter(|seen| seen.died.is_none())
                        .map(|seen| CurrentRun::launched(seen.alive, Some(cmd))),
                    None => own.before,
                };
                if work.before.is_none() {
                    work.doomed = cmd.map(|cmd| cmd.run);
                }
            }
        }
        work.old = work.before.as_ref().map(|before| before.alive.run);
        work
    }

    /// Not managed any more: no attempt begins. One that has begun goes on, because unmanaging touches no process.
    fn let_go(&mut self) {
        match &self.phase {
            Phase::Backoff { .. } => {
                self.phase = Phase::Down;
                self.message.push_str("; not managed any more");
            }
            Phase::Unseen
            | Phase::Down
            | Phase::Up { .. }
            | Phase::Lost { .. }
            | Phase::Working(_) => {}
        }
    }

    /// The first look of an operation or attempt.
    pub(super) fn decide(
        &mut self,
        mut work: Box<Work>,
        look: &Look,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        // It was killed before this look.
        let doomed = work.doomed.take();
        if work.before.is_none() {
            work.before = look.alive.map(CurrentRun::adopted);
            work.old = look.alive.map(|alive| alive.run);
        }
        let before = work.before.as_ref().map(|before| before.alive);
        let ticket = match work.cause {
            Cause::Operation(ticket) => ticket,
            Cause::Attempt(_) | Cause::Schedule => match before {
                Some(alive) => return self.adopt(alive, out),
                None => return self.ask_check(work, Role::Start, out),
            },
            Cause::Unhealthy { .. } => match before {
                Some(alive) => return self.tell_to_stop(work, alive, cx, out),
                None => return self.stopped(work, cx, out),
            },
        };
        match (ticket.op, before) {
            // What was on its way up is not any more.
            (Op::Stop | Op::Kill, None) if doomed.is_some() => self.stopped(work, cx, out),
            (Op::Stop | Op::Kill, None) => {
                let message = format!(
                    "no need to stop the process({}) that is not running",
                    cx.name
                );
                let ending = words::ending(ticket, Code::NOT_RUNNING, message);
                if ticket.op == Op::Kill {
                    out.push(Action::Sweep);
                }
                self.settle_wanted(Flag::Stopped, false, ending, out);
                self.rest(String::new());
            }
            (Op::Reload, None) => {
                let failure = words::not_reloaded(cx, "nothing was executed");
                self.close(work, failure, out);
            }
            // One that runs, too: it is managed from now on, so it must be possible to start it.
            (Op::Start | Op::Manage, _) => self.ask_check(work, Role::Start, out),
            (Op::Restart, _) => match cx.command(Role::Restart).is_empty() {
                true => self.ask_check(work, Role::Start, out),
                false => self.ask_check(work, Role::Restart, out),
            },
            (Op::Stop, Some(alive)) => self.tell_to_stop(work, alive, cx, out),
            (Op::Kill, Some(alive)) => match cx.command(Role::Kill).is_empty() {
                true => {
                    work.step = Step::AwaitDown {
                        from_boot_ms: cx.now.boot_ms,
                        failed: false,
                    };
                    work.doomed = Some(alive.run);
                    self.phase = Phase::Working(work);
                    out.push(Action::Kill(alive.run));
                    out.push(Action::Look(Depth::Shallow));
                }
                false => self.launch(work, Role::Kill, out),
            },
            (Op::Reload, Some(alive)) => match cx.command(Role::Reload).is_empty() {
                true => {
                    work.step = Step::Settle {
                        until_boot_ms: cx.now.boot_ms + SETTLE_MS,
                    };
                    work.tell(alive, Signal::HangUp, out);
                    self.phase = Phase::Working(work);
                }
                false => self.launch(work, Role::Reload, out),
            },
            (Op::Query | Op::Unmanage, _) => {
                // They never become work.
                self.phase = work
                    .before
                    .map_or(Phase::Down, |current| Phase::Up { current });
                out.push(Action::End(words::success(ticket)));
            }
        }
    }

    fn ask_check(&mut self, mut work: Box<Work>, role: Role, out: &mut Vec<Action>) {
        work.step = Step::Check;
        self.phase = Phase::Working(work);
        out.push(Action::Check(role));
    }

    pub(super) fn launch(&mut self, mut work: Box<Work>, role: Role, out: &mut Vec<Action>) {
        // What was said of the run before is over; an attempt says itself what goes on.
        match (work.cause, role) {
            (Cause::Operation(_) | Cause::Schedule, Role::Start | Role::Restart) => {
                self.message.clear();
            }
            (Cause::Attempt(_) | Cause::Unhealthy { .. }, _)
            | (_, Role::Stop | Role::Reload | Role::Kill) => {}
        }
        work.step = Step::Launch(role);
        self.phase = Phase::Working(work);
        out.push(Action::Spawn(role));
    }

    pub(super) fn tell_to_stop(
        &mut self,
        mut work: Box<Work>,
        alive: Alive,
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
        work.tell(alive, Signal::Terminate, out);
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
            return self.close(work, words::command_failed(why), out);
        }
        let Some(ticket) = work.ticket() else {
            return self.launch(work, Role::Start, out);
        };
        match (ticket.op, work.before.take()) {
            (Op::Start, Some(current)) => self.runs_already(ticket, current, cx, out),
            (Op::Manage, before) => self.manage(ticket, before, cx, out),
            (op, before) => {
                let alive = before.as_ref().map(|before| before.alive);
                work.before = before;
                match (op, alive) {
                    (Op::Restart, _) if !cx.command(Role::Restart).is_empty() => {
                        self.launch(work, Role::Restart, out);
                    }
                    (Op::Restart, Some(alive)) => self.tell_to_stop(work, alive, cx, out),
                    (
                        Op::Start
                        | Op::Restart
                        | Op::Manage
                        | Op::Stop
                        | Op::Kill
                        | Op::Reload
                        | Op::Query
                        | Op::Unmanage,
                        _,
                    ) => self.launch(work, Role::Start, out),
                }
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
        let ending = words::ending(ticket, Code::ALREADY_RUNNING, message);
        self.settle_wanted(Flag::Running, true, ending, out);
        self.phase = Phase::Up { current };
    }

    fn manage(
        &mut self,
        ticket: Ticket,
        before: Option<CurrentRun>,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        self.settle_wanted(Flag::Running, true, words::success(ticket), out);
        self.attempts = FailedAttempts::default();
        match before {
            Some(current) => self.phase = Phase::Up { current },
            None => match cx.policy().auto_type {
                AutoType::Resident | AutoType::OneShot => {
                    let reason = "managed while it was not running: started".to_owned();
                    self.attempt(reason, cx, out);
                }
                AutoType::Periodic => self.rest(String::new()),
            },
        }
    }

    pub(super) fn spawned(&mut self, cmd: Cmd) {
        let Some(mut work) = self.take_work(|step| matches!(step, Step::Launch(_))) else {
            return;
        };
        work.step = Step::Command { cmd, seen: None };
        self.phase = Phase::Working(work);
    }

    /// It was not executed, or could not be.
    pub(super) fn spawn_failed(&mut self, why: String, cx: &Context<'_>, out: &mut Vec<Action>) {
        let launching = |step: &Step| matches!(step, Step::Launch(_) | Step::Command { .. });
        let Some(mut work) = self.take_work(launching) else {
            return;
        };
        if let Step::Command { cmd, .. } = &work.step {
            work.ran = Some(Finished {
                cmd: cmd.clone(),
                exit: None,
                ended_boot_ms: cx.now.boot_ms,
            });
        }
        self.close(work, words::command_failed(why), out);
    }

    /// The signal to go or to reload was delivered.
    pub(super) fn signalled(&mut self) {
        if let Phase::Working(work) = &mut self.phase {
            work.untold = None;
        }
    }

    /// The agent may not signal the run, so the operation fails at once: waiting would not help.
    pub(super) fn signal_refused(&mut self, why: String, out: &mut Vec<Action>) {
        let told = |step: &Step| matches!(step, Step::AwaitDown { .. } | Step::Settle { .. });
        if let Some(mut work) = self.take_work(told) {
            work.doomed = None;
            work.untold = None;
            return self.close(work, words::command_failed(why), out);
        }
        self.reprieved(&why);
    }

    pub(super) fn command_timed_out(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        let Some(mut work) = self.take_work(|step| matches!(step, Step::Command { .. })) else {
            return;
        };
        let mut failure = words::command_failed("");
        if let Step::Command { cmd, .. } = &work.step {
            out.push(Action::Kill(cmd.run));
            work.doomed = Some(cmd.run);
            failure = words::timed_out(cmd.role, cx);
            work.ran = Some(Finished {
                cmd: cmd.clone(),
                exit: None,
                ended_boot_ms: cx.now.boot_ms,
            });
        }
        self.close(work, failure, out);
    }

    /// The work, when it is at this step.
    pub(super) fn take_work(&mut self, at: impl Fn(&Step) -> bool) -> Option<Box<Work>> {
        match std::mem::replace(&mut self.phase, Phase::Unseen) {
            Phase::Working(work) if at(&work.step) => Some(work),
            other => {
                self.phase = other;
                None
            }
        }
    }
}
