//! What the end of a run or of a command means in each phase.

use model::status::{Exit, LastExit, OomMemory};

use super::{
    Action, Candidate, Cmd, Context, CurrentRun, Depth, Finished, Form, Phase, Process, Role, Run,
    RunEnd, SETTLE_MS, Step, Work, messages,
};

impl Process {
    pub(super) fn exited(
        &mut self,
        run: Run,
        end: RunEnd,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        match std::mem::replace(&mut self.phase, Phase::Unobserved) {
            Phase::Up { current } if current.alive.run == run => {
                let alive = current.alive;
                let exit = end.exit;
                self.phase = Phase::Lost {
                    current,
                    exit,
                    at_boot_ms: cx.now.boot_ms,
                    last_line: end.last_line,
                    oom: end.oom,
                };
                let launched = exit.is_success() && alive.lasted_ms(cx.now) < cx.timeout_ms();
                out.push(Action::Observe(match alive.form {
                    // It may have been a launcher.
                    Form::Foreground { .. } if launched => Depth::Deep,
                    Form::Foreground { .. } | Form::Daemon => Depth::Shallow,
                }));
            }
            Phase::Working(work) => self.work_exited(work, run, end, cx, out),
            // A run that this phase does not watch.
            other @ (Phase::Unobserved
            | Phase::Down
            | Phase::Up { .. }
            | Phase::Lost { .. }
            | Phase::Backoff { .. }) => self.phase = other,
        }
    }

    fn work_exited(
        &mut self,
        mut work: Box<Work>,
        run: Run,
        end: RunEnd,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let RunEnd {
            exit,
            last_line,
            oom,
        } = end;
        let ended = work.before.take_if(|before| before.alive.run == run);
        let was_before = ended.is_some();
        let mut session = None;
        let mut kill_reason = String::new();
        if let Some(CurrentRun { alive, facts }) = ended {
            kill_reason = facts.kill_reason;
            self.note_exit(exit, oom.filter(|_| kill_reason.is_empty()), cx);
            work.ended_sink = facts.sink;
            if let Form::Foreground { main } = alive.form {
                session = Some(alive.run);
                out.push(Action::RemovePidFile(main));
            }
        }
        match std::mem::replace(&mut work.step, Step::Begin) {
            Step::Command { cmd, candidate } if cmd.run == run => {
                work.last_line = last_line;
                let may_be_process = matches!(cmd.role, Role::Start | Role::Restart);
                if may_be_process && !exit.is_success() {
                    self.note_exit(exit, oom, cx);
                }
                return self.command_over(work, cmd, candidate, exit, cx, out);
            }
            Step::Command { cmd, candidate } => {
                let candidate = candidate.filter(|candidate| candidate.alive.run != run);
                work.step = Step::Command { cmd, candidate };
            }
            Step::AwaitUp { candidate } => {
                if candidate.is_some_and(|candidate| candidate.alive.run == run) {
                    self.note_exit(exit, oom, cx);
                }
                let candidate = candidate.map(|candidate| match candidate.alive.run == run {
                    true => Candidate {
                        died: Some(exit),
                        ..candidate
                    },
                    false => candidate,
                });
                work.step = Step::AwaitUp { candidate };
                out.push(Action::Observe(Depth::Deep));
            }
            step @ Step::AwaitDown { .. } => {
                work.step = step;
                // Kill what is left of its session, so that none of it comes up again.
                work.kill_target = session.or(work.kill_target);
                out.extend(session.map(Action::Kill));
                out.push(Action::Observe(Depth::Shallow));
            }
            // It may have been the launcher of the program.
            Step::AwaitReady { .. }
                if was_before
                    && session.is_some()
                    && exit.is_success()
                    && kill_reason.is_empty() =>
            {
                if let Some(ran) = &mut work.ran {
                    (ran.exit, ran.ended_boot_ms) = (Some(exit), cx.now.boot_ms);
                }
                work.step = Step::AwaitUp { candidate: None };
                out.push(Action::Observe(Depth::Deep));
            }
            Step::AwaitReady { .. } if was_before => {
                work.kill_target = session;
                out.extend(session.map(Action::Kill));
                let because = match kill_reason.as_str() {
                    "" => format!("it ended before it was ready: {exit}"),
                    killed => killed.to_owned(),
                };
                return self.close(work, messages::not_up(cx, &because), out);
            }
            Step::Settle { .. } if was_before => {
                work.kill_target = session.or(work.kill_target);
                out.extend(session.map(Action::Kill));
                let failure = messages::not_reloaded(cx, &format!("the process ended: {exit}"));
                return self.close(work, failure, out);
            }
            step @ (Step::Begin
            | Step::Check
            | Step::AwaitNeeds
            | Step::AwaitDependents
            | Step::Launch(_)
            | Step::AwaitReady { .. }
            | Step::Settle { .. }
            | Step::Close(_)) => work.step = step,
        }
        self.phase = Phase::Working(work);
    }

    pub(super) fn note_exit(&mut self, exit: Exit, oom: Option<OomMemory>, cx: &Context<'_>) {
        self.last_exit = Some(LastExit {
            oom: oom.is_some(),
            memory: oom.and_then(OomMemory::known),
            ..LastExit::new(exit, cx.now.unix)
        });
    }

    fn command_over(
        &mut self,
        mut work: Box<Work>,
        cmd: Cmd,
        candidate: Option<Candidate>,
        exit: Exit,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let role = cmd.role;
        let candidate = candidate.filter(|candidate| candidate.alive.run != cmd.run);
        work.ran = Some(Finished {
            cmd,
            exit: Some(exit),
            ended_boot_ms: cx.now.boot_ms,
        });
        let refused = match exit {
            Exit::Code(code) => code != 0,
            Exit::Signal(_) => true,
            Exit::Unseen => false,
        };
        match role {
            Role::Start | Role::Restart if refused => {
                self.close(work, messages::command_refused(role, exit), out);
            }
            Role::Start | Role::Restart => {
                work.step = Step::AwaitUp { candidate };
                self.phase = Phase::Working(work);
                out.push(Action::Observe(Depth::Deep));
            }
            Role::Stop | Role::Kill => {
                // Signals follow a stop command that did not help.
                let signals_follow = role == Role::Stop && work.stop_command_ended(cx);
                let refused = refused && !signals_follow;
                let wait_ms = match refused {
                    true => 0,
                    false => u64::from(cx.policy().stop_check_secs) * 1000,
                };
                work.step = Step::AwaitDown {
                    from_boot_ms: cx.now.boot_ms + wait_ms,
                    failed: refused,
                };
                self.phase = Phase::Working(work);
                out.push(Action::Observe(Depth::Shallow));
            }
            Role::Reload if refused => {
                self.close(work, messages::command_refused(role, exit), out);
            }
            Role::Reload if exit == Exit::Unseen => {
                let failure = super::Failure {
                    code: model::Code::TERMINATED,
                    message: "the agent was away when reload_cmd ended: its exit code is not known"
                        .to_owned(),
                    prefers_output: false,
                };
                self.close(work, failure, out);
            }
            Role::Reload => {
                work.step = Step::Settle {
                    until_boot_ms: cx.now.boot_ms + SETTLE_MS,
                };
                self.phase = Phase::Working(work);
            }
        }
    }
}
