//! What a process does when its time has come, phase by phase. `due` says when that is.

use super::due::foreground_at;
use super::{Action, Context, Depth, Phase, Process, Role, Step};

impl Process {
    pub(super) fn tick(&mut self, cx: &Context<'_>, out: &mut Vec<Action>) {
        match &mut self.phase {
            Phase::Unobserved | Phase::Down => out.push(Action::Observe(Depth::Shallow)),
            Phase::Up { .. } => {}
            Phase::Lost { .. } => out.push(Action::Observe(Depth::Deep)),
            Phase::Backoff {
                until_boot_ms,
                reason,
                ..
            } if cx.now.boot_ms >= *until_boot_ms => {
                let reason = std::mem::take(reason);
                self.wait_is_over(reason, cx, out);
            }
            Phase::Backoff { .. } => {}
            Phase::Working(work) => {
                let late = cx.now.boot_ms >= work.began_boot_ms + cx.timeout_ms();
                match &work.step {
                    Step::Begin | Step::Close(_) => out.push(Action::Observe(Depth::Shallow)),
                    Step::Check | Step::Launch(_) => {}
                    Step::AwaitNeeds | Step::AwaitDependents => self.look_again(cx, out),
                    Step::Command { .. } if late => self.command_timed_out(cx, out),
                    Step::Command { cmd, .. } => match cmd.role {
                        Role::Start | Role::Restart => out.push(Action::Observe(
                            match cx.now.boot_ms >= foreground_at(cmd, cx) {
                                true => Depth::Deep,
                                false => Depth::Shallow,
                            },
                        )),
                        Role::Stop | Role::Reload | Role::Kill => {}
                    },
                    Step::AwaitUp { .. } => out.push(Action::Observe(Depth::Deep)),
                    Step::AwaitReady { until_boot_ms } if cx.now.boot_ms >= *until_boot_ms => {
                        self.start_is_not_ready(" (op_timeout)", cx, out);
                    }
                    Step::AwaitReady { .. } => {}
                    Step::AwaitDown { .. } => out.push(Action::Observe(Depth::Shallow)),
                    Step::Settle { until_boot_ms } if cx.now.boot_ms >= *until_boot_ms => {
                        self.settled(cx, out);
                    }
                    Step::Settle { .. } => {}
                }
            }
        }
    }
}
