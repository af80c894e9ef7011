//! When a process needs its next tick. A process at rest needs none.

use super::{Candidate, Cmd, Context, Phase, Process, Role, Step, order};

/// A command that is still running is not taken for the process before this, whatever `start_check_secs` says: a launcher
/// needs a moment to exit.
const FOREGROUND_GRACE_MS: u64 = 500;

impl Process {
    /// When it needs its next tick.
    pub(crate) fn due(&self, cx: &Context<'_>) -> Option<u64> {
        let now = cx.now.boot_ms;
        match &self.phase {
            Phase::Unobserved | Phase::Down | Phase::Up { .. } => None,
            Phase::Lost { at_boot_ms, .. } => Some(next_poll(*at_boot_ms, now)),
            Phase::Backoff { until_boot_ms, .. } => Some(*until_boot_ms),
            Phase::Working(work) => {
                let late = work.began_boot_ms + cx.timeout_ms();
                match &work.step {
                    Step::Check | Step::Launch(_) => None,
                    Step::AwaitNeeds | Step::AwaitDependents => order::due(work, cx),
                    // Only after an observation that failed: otherwise these steps pass at once.
                    Step::Begin | Step::Close(_) => Some(next_poll(work.began_boot_ms, now)),
                    Step::Command { cmd, candidate } => Some(match cmd.role {
                        Role::Start | Role::Restart => {
                            let check = foreground_at(cmd, cx);
                            let look = next_look(cmd, candidate.as_ref(), now);
                            let check = if check > now { check } else { look };
                            late.min(check).min(look)
                        }
                        Role::Stop | Role::Reload | Role::Kill => late,
                    }),
                    Step::AwaitUp { candidate } => {
                        let ended = work.ran.as_ref().map_or(0, |ran| ran.ended_boot_ms);
                        let poll = next_poll(ended.max(work.began_boot_ms), now);
                        Some(match candidate {
                            Some(candidate) => {
                                up_at(candidate, ended, cx).clamp(now + 1, poll.max(now + 1))
                            }
                            None => poll,
                        })
                    }
                    // After the time-out, too, nothing happens before the first observation.
                    Step::AwaitDown { from_boot_ms, .. } => {
                        let look = match *from_boot_ms > now {
                            true => *from_boot_ms,
                            false => next_poll(*from_boot_ms, now),
                        };
                        let further = work.stopping.map(|stopping| stopping.next_boot_ms);
                        let steps = [Some(late), further].into_iter().flatten();
                        Some(steps.filter(|at| *at > now).fold(look, u64::min))
                    }
                    Step::Settle { until_boot_ms } | Step::AwaitReady { until_boot_ms } => {
                        Some(*until_boot_ms)
                    }
                }
            }
        }
    }
}

/// When a command that is still running is taken for the process.
pub(super) fn foreground_at(cmd: &Cmd, cx: &Context<'_>) -> u64 {
    cmd.began_boot_ms + cx.start_check_ms().max(FOREGROUND_GRACE_MS)
}

/// When a candidate has passed its start check.
pub(super) fn up_at(candidate: &Candidate, command_ended: u64, cx: &Context<'_>) -> u64 {
    candidate.first_boot_ms.max(command_ended) + cx.start_check_ms()
}

/// When to look again at a start command that is still running. The runner also looks when it is executed, and the kernel
/// reports its end; in between, it may execute another program, or something that it started may write the pid file.
fn next_look(cmd: &Cmd, candidate: Option<&Candidate>, now: u64) -> u64 {
    const SOON_MS: [u64; 2] = [20, 100];
    const EVERY_MS: u64 = 500;
    let elapsed = now.saturating_sub(cmd.began_boot_ms);
    let soon = SOON_MS.into_iter().find(|at| elapsed < *at);
    let soon = soon.filter(|_| candidate.is_none());
    cmd.began_boot_ms + soon.unwrap_or((elapsed / EVERY_MS + 1) * EVERY_MS)
}

/// Polls often at first and rarely later.
fn next_poll(from: u64, now: u64) -> u64 {
    let elapsed = now.saturating_sub(from);
    let every = match elapsed {
        0..200 => 20,
        200..2000 => 100,
        _ => 500,
    };
    from + (elapsed / every + 1) * every
}
