//! What an observation of the host means in each phase.

use model::spec::AutoType;

use super::{
    Action, Candidate, Cause, Cmd, Context, CurrentRun, Finished, Form, Observation, Phase,
    Process, Role, RunEnd, Step, Work, as_foreground_run, foreground_at, messages, up_at,
};

/// A process with another name than `proc_name` in the pid file is a mistake if it has not become the right one by then: the
/// program may still be executed.
const MISNAMED_GRACE_MS: u64 = 1000;

impl Process {
    pub(super) fn observed(
        &mut self,
        observed: &Observation,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        match std::mem::replace(&mut self.phase, Phase::Unobserved) {
            Phase::Unobserved => match observed.alive {
                Some(alive) => self.adopt(alive, out),
                None if self.is_kept_running(cx) => {
                    let reason = "not running when the agent looked".to_owned();
                    self.retry(reason, 0, cx, out);
                }
                None => self.phase = Phase::Down,
            },
            Phase::Down => match observed.alive {
                Some(alive) => self.adopt(alive, out),
                None => self.phase = Phase::Down,
            },
            // The kernel reports the end of a run; a pid file does not.
            phase @ Phase::Up { .. } => self.phase = phase,
            Phase::Lost {
                current,
                exit,
                at_boot_ms,
                last_line,
                oom,
            } => {
                let launcher = match current.alive.form {
                    Form::Foreground { .. } => exit.is_success(),
                    Form::Daemon => false,
                };
                let in_time = cx.now.boot_ms < at_boot_ms + cx.timeout_ms();
                match observed.alive {
                    Some(other) if other.run != current.alive.run => {
                        let message = std::mem::take(&mut self.message);
                        let launch_digest = current.facts.launch_digest;
                        self.adopt(other, out);
                        self.message = message;
                        if let Some(current) = self.current_mut() {
                            current.facts.launch_digest = launch_digest;
                        }
                    }
                    // The run was only the launcher of the program, which is not up yet.
                    Some(_) | None if launcher && observed.starting && in_time => {
                        self.phase = Phase::Lost {
                            current,
                            exit,
                            at_boot_ms,
                            last_line,
                            oom,
                        };
                    }
                    Some(_) | None => {
                        let end = RunEnd {
                            exit,
                            last_line,
                            oom,
                        };
                        self.crashed(current, end, cx, out);
                    }
                }
            }
            phase @ Phase::Backoff { .. } => match observed.alive {
                Some(alive) => self.adopt(alive, out),
                None => self.phase = phase,
            },
            Phase::Working(work) => self.work_observed(work, observed, cx, out),
        }
    }

    /// A wrapper has started its program again, or has none for now.
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

    fn work_observed(
        &mut self,
        mut work: Box<Work>,
        observed: &Observation,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        match std::mem::replace(&mut work.step, Step::Begin) {
            Step::Begin => self.decide(work, observed, cx, out),
            step @ (Step::Check
            | Step::AwaitNeeds
            | Step::AwaitDependents
            | Step::Launch(_)
            | Step::AwaitReady { .. }
            | Step::Settle { .. }) => {
                work.step = step;
                self.phase = Phase::Working(work);
            }
            Step::Command { cmd, candidate } => match cmd.role {
                Role::Start | Role::Restart => {
                    self.command_observed(work, cmd, candidate, observed, cx, out);
                }
                Role::Stop | Role::Reload | Role::Kill => {
                    work.step = Step::Command { cmd, candidate };
                    self.phase = Phase::Working(work);
                }
            },
            Step::AwaitUp { candidate } => self.up_observed(work, candidate, observed, cx, out),
            Step::AwaitDown {
                from_boot_ms,
                failed,
            } => self.down_observed(work, from_boot_ms, failed, observed, cx, out),
            Step::Close(failure) => self.closed(*work, failure, observed, cx, out),
        }
    }

    /// The start command is still running. From its check on, it is the process.
    fn command_observed(
        &mut self,
        mut work: Box<Work>,
        cmd: Cmd,
        candidate: Option<Candidate>,
        observed: &Observation,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let now = cx.now.boot_ms;
        let fresh = observed
            .alive
            .filter(|alive| Some(alive.run) != work.old_run);
        let found = match fresh {
            Some(alive) if observed.alive_is_commands => {
                Some(as_foreground_run(&cmd, alive.run.pid))
            }
            Some(alive) => Some(alive),
            None => observed.main.map(|main| as_foreground_run(&cmd, main)),
        };
        let is_shown = cx.start_check_ms() == 0;
        let candidate = match (candidate, found) {
            (Some(candidate), Some(alive)) if candidate.alive.run == alive.run => {
                Some(Candidate { alive, ..candidate })
            }
            (_, Some(alive)) => Some(Candidate {
                alive,
                first_boot_ms: now,
                died: None,
                is_shown,
            }),
            (_, None) => None,
        };
        let old_is_there = work.old_run.is_some() && work.before.is_some();
        let is_early = now < foreground_at(&cmd, cx);
        // If the command has ended, its `Exited` follows and decides: it may have been the launcher of a daemon that is not up yet.
        if is_early || !observed.command_lives || (old_is_there && fresh.is_none()) {
            work.step = Step::Command { cmd, candidate };
            self.phase = Phase::Working(work);
            return;
        }
        let alive = found.unwrap_or_else(|| as_foreground_run(&cmd, cmd.run.pid));
        work.ran = Some(Finished {
            cmd,
            exit: None,
            ended_boot_ms: now,
        });
        if fresh.is_none() {
            out.push(Action::WritePidFile(alive.pid()));
        }
        self.started(work, alive, cx, out);
    }

    /// The start command has ended; the process should be up until its check.
    fn up_observed(
        &mut self,
        mut work: Box<Work>,
        candidate: Option<Candidate>,
        observed: &Observation,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let now = cx.now.boot_ms;
        // Without a record of its command only the candidate counts.
        let ended = work.ran.as_ref().map_or(0, |ran| ran.ended_boot_ms);
        let fresh = observed
            .alive
            .filter(|alive| Some(alive.run) != work.old_run);
        let late = now >= work.began_boot_ms + cx.timeout_ms();
        match (candidate, fresh) {
            (candidate, Some(alive)) => {
                let is_same =
                    |known: &Candidate| known.alive.run == alive.run && known.died.is_none();
                let candidate = candidate.filter(is_same).unwrap_or(Candidate {
                    alive,
                    first_boot_ms: now,
                    died: None,
                    is_shown: false,
                });
                if now >= up_at(&candidate, ended, cx) {
                    return self.started(work, alive, cx, out);
                }
                work.step = Step::AwaitUp {
                    candidate: Some(candidate),
                };
                self.phase = Phase::Working(work);
            }
            (candidate, None) => {
                let old_is_there = work.old_run.is_some() && work.before.is_some();
                let misnamed = (observed.misnamed_since_boot_ms)
                    .is_some_and(|since| now >= since.max(ended) + MISNAMED_GRACE_MS);
                if (observed.starting || old_is_there) && !late && !misnamed {
                    // It may still come up.
                    work.step = Step::AwaitUp { candidate: None };
                    self.phase = Phase::Working(work);
                    return;
                }
                self.not_up(work, candidate, observed, old_is_there, cx, out);
            }
        }
    }

    fn not_up(
        &mut self,
        mut work: Box<Work>,
        candidate: Option<Candidate>,
        observed: &Observation,
        old_is_there: bool,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let runs_out = match cx.policy().auto_type {
            AutoType::OneShot | AutoType::Periodic => candidate.is_none() && !observed.starting,
            AutoType::Resident => false,
        };
        let succeeded = |ran: &Finished| ran.exit.is_some_and(model::status::Exit::is_success);
        if runs_out && let Some(ran) = work.ran.take_if(|ran| succeeded(ran)) {
            return self.completed(&work, ran, cx, out);
        }
        let because = match (candidate, old_is_there) {
            (Some(candidate), _) => {
                let pid = candidate.alive.pid();
                match candidate.died {
                    Some(exit) => format!("pid {pid} was up and ended: {exit}"),
                    None => format!("pid {pid} was up and is gone"),
                }
            }
            (None, true) => "the run from before the restart is still there".to_owned(),
            (None, false) if observed.starting && observed.misnamed_since_boot_ms.is_some() => {
                format!("{} (proc_name), and was killed", observed.note)
            }
            (None, false) if observed.starting => format!(
                "what the command left behind was killed after {} (op_timeout); {}",
                messages::seconds(cx.timeout_ms()),
                observed.note
            ),
            (None, false) => format!("nothing that it started is left; {}", observed.note),
        };
        let exit_known = work.ran.as_ref().and_then(|ran| ran.exit);
        let because = match exit_known {
            Some(model::status::Exit::Unseen) => {
                format!("{because}; the command's exit code is not known, the agent was away")
            }
            Some(_) | None => because,
        };
        if observed.starting
            && let Some(ran) = &work.ran
        {
            work.kill_target = Some(ran.cmd.run);
            out.push(Action::Kill(ran.cmd.run));
        }
        self.close(work, messages::not_up(cx, &because), out);
    }

    /// A stop or kill was requested; the process should go down.
    fn down_observed(
        &mut self,
        mut work: Box<Work>,
        from_boot_ms: u64,
        failed: bool,
        observed: &Observation,
        cx: &Context<'_>,
        out: &mut Vec<Action>,
    ) {
        let now = cx.now.boot_ms;
        let step = Step::AwaitDown {
            from_boot_ms,
            failed,
        };
        let before = work.before.as_ref().map(|before| before.alive);
        let Some(alive) = before.or(observed.alive) else {
            if now < from_boot_ms {
                work.step = step;
                self.phase = Phase::Working(work);
                return;
            }
            return self.stopped(work, cx, out);
        };
        if failed && let Some(ran) = &work.ran {
            let exit = ran.exit.unwrap_or(model::status::Exit::Unseen);
            let failure = messages::command_refused(ran.cmd.role, exit);
            return self.close(work, failure, out);
        }
        if work.stopping.is_none() && now >= work.began_boot_ms + cx.timeout_ms() {
            let because = format!(
                "pid {} was there after {} (op_timeout)",
                alive.pid(),
                messages::seconds(cx.timeout_ms())
            );
            return self.close(work, messages::not_down(cx, &because), out);
        }
        if work.before.is_none() {
            // Another run took its place: stop or kill that one, too.
            work.before = Some(CurrentRun::adopted(alive));
            if work.ran.is_none() {
                let kills = matches!(work.cause, Cause::Operation(t) if t.op == model::Op::Kill);
                match kills {
                    true => out.push(Action::Kill(alive.run)),
                    false => work.send_first_signal(alive, cx, out),
                }
                work.kill_target = kills.then_some(alive.run).or(work.kill_target);
            }
        }
        if let Some(mut work) = self.press_on(work, alive, cx, out) {
            work.step = step;
            self.phase = Phase::Working(work);
        }
    }
}
