//! What a look at the host means in each phase.

use model::spec::AutoType;

use super::{
    Action, Cause, Cmd, Context, CurrentRun, Finished, Form, Look, Phase, Process, Role, Seen,
    Step, Work, foreground_at, in_foreground, up_at, words,
};

impl Process {
    pub(super) fn looked(&mut self, look: &Look, cx: &Context<'_>, out: &mut Vec<Action>) {
        match std::mem::replace(&mut self.phase, Phase::Unseen) {
            Phase::Unseen => match look.alive {
                Some(alive) => self.adopt(alive, out),
                None if self.is_kept(cx) => {
                    let reason = "not running when the agent looked".to_owned();
                    self.retry(reason, 0, cx, out);
                }
                None => self.phase = Phase::Down,
            },
            Phase::Down => match look.alive {
                Some(alive) => self.adopt(alive, out),
                None => self.phase = Phase::Down,
            },
            // Its end is told by the kernel, not by a file.
            phase @ Phase::Up { .. } => self.phase = phase,
            Phase::Lost {
                current,
                exit,
                at_boot_ms,
                last_line,
            } => {
                let launcher = match current.alive.form {
                    Form::Foreground { .. } => exit.is_success(),
                    Form::Daemon => false,
                };
                let in_time = cx.now.boot_ms < at_boot_ms + cx.timeout_ms();
                match look.alive {
                    Some(other) if other.run != current.alive.run => {
                        let message = std::mem::take(&mut self.message);
                        self.adopt(other, out);
                        self.message = message;
                    }
                    // What we took for the program was only its launcher, and the program is not up yet.
                    Some(_) | None if launcher && look.starting && in_time => {
                        self.phase = Phase::Lost {
                            current,
                            exit,
                            at_boot_ms,
                            last_line,
                        };
                    }
                    Some(_) | None => self.crashed(current, exit, &last_line, cx, out),
                }
            }
            phase @ Phase::Backoff { .. } => match look.alive {
                Some(alive) => self.adopt(alive, out),
                None => self.phase = phase,
            },
            Phase::Working(work) => self.work_looked(work, look, cx, out),
        }
    }

    /// A wrapper has brought its program back, or is alone for now.
    pub(super) fn main_is(&mut self, pid: i32, is_named: bool, out: &mut Vec<Action>) {
        let Phase::Up { current } = &mut self.phase else {
            return;
        };
        let alive = &mut current.alive;
        if alive.pid() == pid {
            return;
        }
        alive.form = match alive.form {
            Form::Foreground { .. } => Form::Foreground { main: pid },
            Form::Daemon => return,
        };
        if pid != alive.run.pid && !is_named {
            out.push(Action::WritePidFile(pid));
        }
    }

    fn work_looked(
        &mut self,
        mut work: Box<Work>,
        look: &Look,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        match std::mem::replace(&mut work.step, Step::Begin) {
            Step::Begin => self.decide(work, look, cx, out),
            step @ (Step::Check | Step::Launch(_) | Step::Settle { .. }) => {
                work.step = step;
                self.phase = Phase::Working(work);
            }
            Step::Command { cmd, seen } => match cmd.role {
                Role::Start | Role::Restart => {
                    self.command_looked(work, cmd, seen, look, cx, out);
                }
                Role::Stop | Role::Reload | Role::Kill => {
                    work.step = Step::Command { cmd, seen };
                    self.phase = Phase::Working(work);
                }
            },
            Step::AwaitUp { seen } => self.up_looked(work, seen, look, cx, out),
            Step::AwaitDown {
                from_boot_ms,
                failed,
            } => self.down_looked(work, from_boot_ms, failed, look, cx, out),
            Step::Close(failure) => self.closed(*work, failure, look, cx, out),
        }
    }

    /// The command that should bring it up is still there. From its check on, it is the process.
    fn command_looked(
        &mut self,
        mut work: Box<Work>,
        cmd: Cmd,
        seen: Option<Seen>,
        look: &Look,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let now = cx.now.boot_ms;
        let fresh = look.alive.filter(|alive| Some(alive.run) != work.old);
        let candidate = match fresh {
            Some(alive) if look.alive_is_commands => Some(in_foreground(&cmd, alive.run.pid)),
            Some(alive) => Some(alive),
            None => look.main.map(|main| in_foreground(&cmd, main)),
        };
        let seen = match (seen, candidate) {
            (Some(seen), Some(alive)) if seen.alive.run == alive.run => {
                Some(Seen { alive, ..seen })
            }
            (_, Some(alive)) => Some(Seen {
                alive,
                first_boot_ms: now,
                died: None,
            }),
            (_, None) => None,
        };
        let old_is_there = work.old.is_some() && work.before.is_some();
        if now < foreground_at(&cmd, cx) || (old_is_there && fresh.is_none()) {
            work.step = Step::Command { cmd, seen };
            self.phase = Phase::Working(work);
            return;
        }
        let alive = candidate.unwrap_or_else(|| in_foreground(&cmd, cmd.run.pid));
        work.ran = Some(Finished {
            cmd,
            exit: None,
            ended_boot_ms: now,
        });
        if fresh.is_none() {
            out.push(Action::WritePidFile(alive.pid()));
        }
        self.started(&work, alive, out);
    }

    /// The command is over; it should be up, and stay so until the check.
    fn up_looked(
        &mut self,
        mut work: Box<Work>,
        seen: Option<Seen>,
        look: &Look,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let now = cx.now.boot_ms;
        let ended = work.ran.as_ref().map_or(now, |ran| ran.ended_boot_ms);
        let fresh = look.alive.filter(|alive| Some(alive.run) != work.old);
        let late = now >= work.began_boot_ms + cx.timeout_ms();
        match (seen, fresh) {
            (Some(seen), Some(alive)) if seen.alive.run == alive.run && seen.died.is_none() => {
                if now >= up_at(&seen, ended, cx) {
                    return self.started(&work, alive, out);
                }
                work.step = Step::AwaitUp { seen: Some(seen) };
                self.phase = Phase::Working(work);
            }
            (_, Some(alive)) => {
                let seen = Seen {
                    alive,
                    first_boot_ms: now,
                    died: None,
                };
                if now >= up_at(&seen, ended, cx) {
                    return self.started(&work, alive, out);
                }
                work.step = Step::AwaitUp { seen: Some(seen) };
                self.phase = Phase::Working(work);
            }
            (seen, None) => {
                let old_is_there = work.old.is_some() && work.before.is_some();
                if (look.starting || old_is_there) && !late {
                    // It may still come, or come back.
                    work.step = Step::AwaitUp { seen: None };
                    self.phase = Phase::Working(work);
                    return;
                }
                self.not_up(work, seen, look, old_is_there, cx, out);
            }
        }
    }

    fn not_up(
        &mut self,
        mut work: Box<Work>,
        seen: Option<Seen>,
        look: &Look,
        old_is_there: bool,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let runs_out = match cx.policy().auto_type {
            AutoType::OneShot | AutoType::Periodic => seen.is_none() && !look.starting,
            AutoType::Resident => false,
        };
        let succeeded = |ran: &Finished| ran.exit.is_some_and(model::status::Exit::is_success);
        if runs_out && let Some(ran) = work.ran.take_if(|ran| succeeded(ran)) {
            return self.completed(&work, ran, cx, out);
        }
        let because = match (seen, old_is_there) {
            (Some(seen), _) => {
                let pid = seen.alive.pid();
                match seen.died {
                    Some(exit) => format!("pid {pid} was up and ended: {exit}"),
                    None => format!("pid {pid} was up and is gone"),
                }
            }
            (None, true) => "the run from before the restart is still there".to_owned(),
            (None, false) if look.starting => format!(
                "what the command left behind was killed after {} (op_timeout); {}",
                words::seconds(cx.timeout_ms()),
                look.note
            ),
            (None, false) => format!("nothing that it started is left; {}", look.note),
        };
        let exit_known = work.ran.as_ref().and_then(|ran| ran.exit);
        let because = match exit_known {
            Some(model::status::Exit::Unseen) => {
                format!("{because}; the command's exit code is not known, the agent was away")
            }
            Some(_) | None => because,
        };
        if look.starting
            && let Some(ran) = &work.ran
        {
            work.doomed = Some(ran.cmd.run);
            out.push(Action::Kill(ran.cmd.run));
        }
        self.close(work, words::not_up(cx, &because), out);
    }

    /// It was told to go.
    fn down_looked(
        &mut self,
        mut work: Box<Work>,
        from_boot_ms: u64,
        failed: bool,
        look: &Look,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let now = cx.now.boot_ms;
        let step = Step::AwaitDown {
            from_boot_ms,
            failed,
        };
        let before = work.before.as_ref().map(|before| before.alive);
        let Some(alive) = before.or(look.alive) else {
            if now < from_boot_ms {
                work.step = step;
                self.phase = Phase::Working(work);
                return;
            }
            return self.stopped(work, cx, out);
        };
        if failed && let Some(ran) = &work.ran {
            let exit = ran.exit.unwrap_or(model::status::Exit::Unseen);
            let failure = words::command_said_no(ran.cmd.role, exit);
            return self.close(work, failure, out);
        }
        if now >= work.began_boot_ms + cx.timeout_ms() {
            let because = format!(
                "pid {} was there after {} (op_timeout)",
                alive.pid(),
                words::seconds(cx.timeout_ms())
            );
            return self.close(work, words::not_down(cx, &because), out);
        }
        if work.before.is_none() {
            // Another run took its place: it goes the same way.
            work.before = Some(CurrentRun::adopted(alive));
            if work.ran.is_none() {
                let kills = matches!(work.cause, Cause::Operation(t) if t.op == model::Op::Kill);
                match kills {
                    true => out.push(Action::Kill(alive.run)),
                    false => work.tell(alive, super::Signal::Terminate, out),
                }
                work.doomed = kills.then_some(alive.run).or(work.doomed);
            }
        }
        work.step = step;
        self.phase = Phase::Working(work);
    }
}
