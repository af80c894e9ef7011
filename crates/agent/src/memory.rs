//! Limits the agent's own memory. The agent checks it itself, because its children would inherit a limit of the kernel
//! (docs/decisions/0008).
//!
//! Over `memory_max` the agent returns free memory to the host. If that is not enough in several checks in a row, the agent
//! executes itself anew, as at SIGHUP: the journal has its state.
//!
//! It also unmaps its code once, soon after its start: a third of its memory was code that it needs only then.

use std::io;
use std::time::Duration;

use supervisor::ourselves::{give_code_back, give_memory_back};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep};

use crate::config::memory_text;

const CHECK_EVERY: Duration = Duration::from_secs(5);
/// Most agents are connected by then.
const START_LASTS: Duration = Duration::from_secs(1);
/// Checks over the limit before the agent acts.
const CHECKS_IN_A_ROW: u32 = 3;
/// The shortest time between two executions for memory, in seconds.
const MIN_INTERVAL_SECS: u64 = 600;
/// Tells the next image when it was executed. Commands do not inherit it: their environment is built anew.
pub(crate) const REEXEC_AT: &str = "MUSTER_AGENT_SHRUNK_AT";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemoryVerdict {
    Fine,
    /// Over the limit, but another execution would not help, or would come too soon.
    Tolerate,
    Reexec,
}

/// Decides by the figures of each check. Pure: no clock, no host.
#[derive(Debug)]
struct MemoryPolicy {
    max: u64,
    over: u32,
    /// When the agent last executed itself for memory, in seconds since boot.
    reexec_at: Option<u64>,
    /// What that image used at its first check: the minimum.
    needed: Option<u64>,
}

impl MemoryPolicy {
    fn check(&mut self, used: u64, now: u64) -> MemoryVerdict {
        if self.reexec_at.is_some() && self.needed.is_none() {
            self.needed = Some(used);
        }
        if used <= self.max {
            self.over = 0;
            return MemoryVerdict::Fine;
        }
        self.over += 1;
        let is_long_ago = |at: u64| now >= at.saturating_add(MIN_INTERVAL_SECS);
        // Without growth the next image would be as large.
        let has_grown = |needed: u64| used > needed.saturating_add(needed / 2);
        if self.over >= CHECKS_IN_A_ROW
            && self.reexec_at.is_none_or(is_long_ago)
            && self.needed.is_none_or(has_grown)
        {
            self.over = 0;
            (self.reexec_at, self.needed) = (Some(now), None);
            return MemoryVerdict::Reexec;
        }
        MemoryVerdict::Tolerate
    }
}

/// Watches the memory of this process.
#[derive(Debug)]
pub(crate) struct MemoryWatch {
    policy: MemoryPolicy,
    checks: Option<Interval>,
    is_logged: bool,
}

impl MemoryWatch {
    pub(crate) fn new(max: u64) -> Self {
        let reexec_at = std::env::var(REEXEC_AT).ok();
        Self {
            policy: MemoryPolicy {
                max,
                over: 0,
                reexec_at: reexec_at.and_then(|at| at.parse().ok()),
                needed: None,
            },
            checks: None,
            is_logged: false,
        }
    }

    /// For [`REEXEC_AT`] of the next image.
    pub(crate) fn reexec_at(&self) -> Option<u64> {
        self.policy.reexec_at
    }

    /// Returns when the agent should execute itself anew. Cancel-safe.
    pub(crate) async fn too_much(&mut self) {
        loop {
            let checks = match &mut self.checks {
                Some(checks) => checks,
                None => {
                    sleep(START_LASTS).await;
                    give_code_back();
                    self.checks.insert(checks())
                }
            };
            checks.tick().await;
            match self.check() {
                Ok(MemoryVerdict::Fine) => self.is_logged = false,
                Ok(MemoryVerdict::Tolerate) => {}
                Ok(MemoryVerdict::Reexec) => return,
                Err(error) => tracing::debug!(%error, "the agent cannot see its own memory"),
            }
        }
    }

    fn check(&mut self) -> io::Result<MemoryVerdict> {
        let max = self.policy.max;
        let mut used = resident()?;
        if used > max {
            give_memory_back();
            used = resident()?;
        }
        let verdict = self.policy.check(used, uptime_secs()?);
        let (used, memory_max) = (memory_text(used), memory_text(max));
        match verdict {
            MemoryVerdict::Reexec => tracing::warn!(
                used,
                memory_max,
                "the agent exceeds memory_max: it restarts itself in place; processes keep running"
            ),
            MemoryVerdict::Tolerate if self.policy.over >= CHECKS_IN_A_ROW && !self.is_logged => {
                self.is_logged = true;
                tracing::error!(
                    used,
                    memory_max,
                    "the agent exceeds memory_max again after a restart: raise memory_max, or register fewer processes here"
                );
            }
            MemoryVerdict::Tolerate | MemoryVerdict::Fine => {}
        }
        Ok(verdict)
    }
}

fn checks() -> Interval {
    let mut checks = interval_at(Instant::now() + CHECK_EVERY, CHECK_EVERY);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    checks
}

/// Resident bytes of this process.
fn resident() -> io::Result<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages = statm.split_whitespace().nth(1);
    let pages: Option<u64> = pages.and_then(|pages| pages.parse().ok());
    let page = rustix::param::page_size() as u64;
    pages
        .map(|pages| pages * page)
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn uptime_secs() -> io::Result<u64> {
    let uptime = std::fs::read_to_string("/proc/uptime")?;
    let secs = uptime.split('.').next().and_then(|secs| secs.parse().ok());
    secs.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(reexec_at: Option<u64>) -> MemoryPolicy {
        MemoryPolicy {
            max: 100,
            over: 0,
            reexec_at,
            needed: None,
        }
    }

    #[test]
    fn only_checks_in_a_row_count() {
        let mut policy = policy(None);
        let verdicts = [101, 500, 100, 101, 101, 101].map(|used| policy.check(used, 50));
        let (fine, tolerate) = (MemoryVerdict::Fine, MemoryVerdict::Tolerate);
        assert_eq!(
            verdicts,
            [
                tolerate,
                tolerate,
                fine,
                tolerate,
                tolerate,
                MemoryVerdict::Reexec
            ]
        );
    }

    #[test]
    fn two_executions_are_not_close_together() {
        let mut policy = policy(Some(1000));
        assert_eq!(policy.check(50, 1005), MemoryVerdict::Fine);
        for now in [1010, 1015, 1020, 1599] {
            assert_eq!(policy.check(900, now), MemoryVerdict::Tolerate);
        }
        assert_eq!(policy.check(900, 1600), MemoryVerdict::Reexec);
        // If execve fails, it is not retried at once.
        for now in [1605, 1610, 1615, 1620] {
            assert_eq!(policy.check(900, now), MemoryVerdict::Tolerate);
        }
    }

    #[test]
    fn memory_that_a_new_image_needs_is_tolerated() {
        let mut policy = policy(Some(1000));
        for now in [1005, 1010, 1015, 9000, 9005, 9010] {
            assert_eq!(policy.check(120, now), MemoryVerdict::Tolerate);
        }
        assert_eq!(policy.check(180, 9015), MemoryVerdict::Tolerate);
        assert_eq!(policy.check(181, 9020), MemoryVerdict::Reexec);
    }

    #[test]
    fn resident_memory_and_uptime_are_readable() {
        let mib = resident().unwrap() >> 20;
        assert!((1..4096).contains(&mib), "{mib}");
        assert!(uptime_secs().unwrap() > 0);
    }
}
