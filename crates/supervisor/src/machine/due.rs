//! When a process wants to be looked at again. Nothing that is at rest wants anything.

use super::{Cmd, Context, Phase, Process, Role, Seen, Step};

/// A command that is still there is not called the process before this, whatever `start_check_secs` says: a launcher
/// needs a moment to leave.
const FOREGROUND_GRACE_MS: u64 = 500;

impl Process {
    /// When it wants to be ticked next.
    pub(crate) fn due(&self, cx: &Context<'_>) -> Option<u64> {
        let now = cx.now.boot_ms;
        match &self.phase {
            Phase::Unseen | Phase::Down | Phase::Up { .. } => None,
            Phase::Lost { at_boot_ms, .. } => Some(next_poll(*at_boot_ms, now)),
            Phase::Backoff { until_boot_ms, .. } => Some(*until_boot_ms),
            Phase::Working(work) => {
                let late = work.began_boot_ms + cx.timeout_ms();
                match &work.step {
                    Step::Check | Step::Launch(_) => None,
                    // Only after a look that told nothing: otherwise these pass at once.
                    Step::Begin | Step::Close(_) => Some(next_poll(work.began_boot_ms, now)),
                    Step::Command { cmd, .. } => Some(match cmd.role {
                        Role::Start | Role::Restart => {
                            let check = foreground_at(cmd, cx);
                            let poll = next_poll(cmd.began_boot_ms, now);
                            let check = if check > now { check } else { poll };
                            late.min(check).min(poll)
                        }
                        Role::Stop | Role::Reload | Role::Kill => late,
                    }),
                    Step::AwaitUp { seen } => {
                        let ended = work.ran.as_ref().map_or(now, |ran| ran.ended_boot_ms);
                        let poll = next_poll(ended, now);
                        Some(match seen {
                            Some(seen) => up_at(seen, ended, cx).clamp(now + 1, poll.max(now + 1)),
                            None => poll,
                        })
                    }
                    // Past its time, there is nothing to be done before the first look either.
                    Step::AwaitDown { from_boot_ms, .. } if *from_boot_ms > now => {
                        Some(if late > now {
                            late.min(*from_boot_ms)
                        } else {
                            *from_boot_ms
                        })
                    }
                    Step::AwaitDown { from_boot_ms, .. } => {
                        let poll = next_poll(*from_boot_ms, now);
                        Some(if late > now { late.min(poll) } else { poll })
                    }
                    Step::Settle { until_boot_ms } => Some(*until_boot_ms),
                }
            }
        }
    }
}

/// When a command that is still there is called the process.
pub(super) fn foreground_at(cmd: &Cmd, cx: &Context<'_>) -> u64 {
    cmd.began_boot_ms + cx.start_check_ms().max(FOREGROUND_GRACE_MS)
}

/// When a run that was seen has proved itself.
pub(super) fn up_at(seen: &Seen, command_ended: u64, cx: &Context<'_>) -> u64 {
    seen.first_boot_ms.max(command_ended) + cx.start_check_ms()
}

/// Looks often at first and rarely later.
fn next_poll(from: u64, now: u64) -> u64 {
    let elapsed = now.saturating_sub(from);
    let every = match elapsed {
        0..200 => 20,
        200..2000 => 100,
        _ => 500,
    };
    from + (elapsed / every + 1) * every
}
