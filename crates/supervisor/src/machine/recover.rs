//! How each phase goes on after a restart of the agent.
//!
//! The journal tells what was executed: a command runs only after its pid is in the journal, so `Launch` was not executed
//! and `Command` was. Runs that ended meanwhile come as `Exited` like any other. A signal is journalled right after it was
//! sent, so it is sent twice only if the agent was killed in between, and never lost.
//!
//! The last record may be torn: then `Launch` was perhaps executed. What runs without a record is killed before it is started
//! again, or if its pid file names it, taken for what was started.
//!
//! None of that holds for a journal whose end is damaged. The agent observes what runs and ends every operation without
//! carrying it out: it may have been carried out, and a later operation may have asked for the contrary.

use model::Code;
use model::status::{Exit, LastExit};

use super::due::foreground_at;
use super::{
    Action, Boot, Cause, Cmd, Context, CurrentRun, Depth, FailedAttempts, Phase, Process, Role,
    Step, Work, messages,
};

impl Process {
    pub(super) fn recovered(&mut self, boot: Boot, cx: &Context<'_>, out: &mut Vec<Action>) {
        match boot {
            Boot::Same => self.goes_on(cx, out),
            Boot::StartLost => self.start_was_lost(cx, out),
            Boot::Damaged => self.journal_was_damaged(cx, out),
            Boot::Other => self.host_was_restarted(cx, out),
        }
    }

    fn goes_on(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        self.ready_wait_goes_on(cx);
        match &self.phase {
            Phase::Unobserved | Phase::Down => out.push(Action::Observe(Depth::Shallow)),
            Phase::Lost { .. } => out.push(Action::Observe(Depth::Deep)),
            Phase::Up { current } if !current.facts.kill_reason.is_empty() => {
                out.push(Action::Kill(current.alive.run));
            }
            Phase::Up { .. } | Phase::Backoff { .. } => {}
            Phase::Working(work) => resume(work, cx, out),
        }
        if self.query.is_some() {
            out.push(Action::Inspect);
        }
    }

    /// A start that the journal shows before its command was carried out: waits for the process instead of starting another.
    fn start_was_lost(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        if let Phase::Working(work) = &mut self.phase
            && matches!(work.step, Step::Check | Step::Launch(_))
        {
            work.step = Step::AwaitUp { candidate: None };
        }
        self.goes_on(cx, out);
    }

    fn journal_was_damaged(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        for ticket in self.operations().collect::<Vec<_>>() {
            let why = "the agent's journal was damaged: whether the operation was carried out is not known";
            out.push(Action::End(messages::ending(ticket, Code::TERMINATED, why)));
        }
        self.query = None;
        self.queue.clear();
        if let Phase::Working(work) = &mut self.phase {
            match work.step.has_started() {
                // What it brings up is the process, whatever the operation was.
                true => work.cause = Cause::Attempt(self.attempts.count.max(1)),
                false => self.phase = up_or_unseen(work.before.take()),
            }
        }
        self.goes_on(cx, out);
    }

    /// The host rebooted: no run is left, and whether the last step was taken is not known.
    fn host_was_restarted(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        if self.alive().is_some() {
            self.last_exit = Some(LastExit {
                host_restarted: true,
                ..LastExit::new(Exit::Unseen, cx.now.unix)
            });
        }
        let operations: Vec<_> = self.operations().collect();
        let under_way = self.operation();
        for ticket in operations {
            let mut ending = messages::ending(
                ticket,
                Code::TERMINATED,
                "the host was restarted before the operation ended",
            );
            if under_way == Some(ticket) {
                let (flag, managed) = messages::desired_after_failure(ticket.op);
                self.flag = flag.unwrap_or(self.flag);
                self.managed = managed.unwrap_or(self.managed);
                (ending.flag, ending.managed) = (flag, managed);
            }
            out.push(Action::End(ending));
        }
        self.query = None;
        self.queue.clear();
        self.attempts = FailedAttempts::default();
        self.message.clear();
        self.watched_files.begin_anew();
        self.phase = Phase::Unobserved;
        out.push(Action::Observe(Depth::Shallow));
    }
}

/// Where an operation leaves the process that ends without having observed what there is.
pub(super) fn up_or_unseen(before: Option<CurrentRun>) -> Phase {
    before.map_or(Phase::Unobserved, |current| Phase::Up { current })
}

fn resume(work: &Work, cx: &Context<'_>, out: &mut Vec<Action>) {
    out.extend(work.kill_target.map(Action::Kill));
    out.extend(
        work.unsent_signal
            .map(|(alive, signal)| Action::Signal(alive, signal)),
    );
    match &work.step {
        Step::Begin | Step::Close(_) => out.push(Action::Observe(Depth::Shallow)),
        Step::Check => {
            let restarts = work
                .ticket()
                .is_some_and(|ticket| ticket.op == model::Op::Restart);
            let role = match restarts && !cx.command(Role::Restart).is_empty() {
                true => Role::Restart,
                false => Role::Start,
            };
            out.push(Action::Check(role));
        }
        // The runner makes it look again once every process is recovered.
        Step::AwaitNeeds | Step::AwaitDependents => {}
        Step::Launch(role) => out.push(Action::Spawn(*role)),
        // The check was due while the agent was away, and maybe the time-out as well. Observe first: a process that is up by
        // now has not timed out.
        Step::Command { cmd, .. } if is_checked(cmd, cx) => out.push(Action::Observe(Depth::Deep)),
        Step::Command { .. } | Step::AwaitReady { .. } | Step::Settle { .. } => {}
        Step::AwaitUp { .. } => out.push(Action::Observe(Depth::Deep)),
        Step::AwaitDown { .. } => out.push(Action::Observe(Depth::Shallow)),
    }
}

/// Whether the check of a start is due.
fn is_checked(cmd: &Cmd, cx: &Context<'_>) -> bool {
    match cmd.role {
        Role::Start | Role::Restart => cx.now.boot_ms >= foreground_at(cmd, cx),
        Role::Stop | Role::Reload | Role::Kill => false,
    }
}
