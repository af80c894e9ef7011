//! The agent's own memory, watched by the agent itself: any limit that the kernel would keep is inherited by the processes
//! that the agent starts (docs/decisions/0008).
//!
//! Over `memory_max`, free memory is given back to the host. Where that is not enough for some looks in a row, the agent
//! becomes a fresh image of itself, as at SIGHUP: what it must know is in its journal.

use std::io;
use std::time::Duration;

use supervisor::ourselves::give_memory_back;
use tokio::time::{Interval, MissedTickBehavior};

use crate::config::memory_text;

const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Looks over the limit before something is done about it.
const IN_A_ROW: u32 = 3;
/// The shortest time between two fresh images for the sake of memory, in seconds.
const REST_SECS: u64 = 600;
/// What makes a fresh image known to itself. Commands do not get it: their environment is made anew.
pub(crate) const SHRUNK_AT: &str = "MUSTER_AGENT_SHRUNK_AT";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Fine,
    /// Too much, and a fresh image would not help, or comes too soon after the last.
    Bear,
    Shrink,
}

/// Counts looks; knows no clock and no host.
#[derive(Debug)]
struct Judge {
    max: u64,
    over: u32,
    /// When the last fresh image began, in seconds since the boot.
    shrunk_at: Option<u64>,
    /// What that image used at its first look: less is not to be had.
    needed: Option<u64>,
}

impl Judge {
    fn look(&mut self, used: u64, now: u64) -> Verdict {
        if self.shrunk_at.is_some() && self.needed.is_none() {
            self.needed = Some(used);
        }
        if used <= self.max {
            self.over = 0;
            return Verdict::Fine;
        }
        self.over += 1;
        let is_rested = |at: u64| now >= at.saturating_add(REST_SECS);
        // It has to have grown, or the next image would be as large.
        let has_grown = |needed: u64| used > needed.saturating_add(needed / 2);
        if self.over >= IN_A_ROW
            && self.shrunk_at.is_none_or(is_rested)
            && self.needed.is_none_or(has_grown)
        {
            self.over = 0;
            (self.shrunk_at, self.needed) = (Some(now), None);
            return Verdict::Shrink;
        }
        Verdict::Bear
    }
}

/// Watches the memory of this process.
#[derive(Debug)]
pub(crate) struct MemoryWatch {
    judge: Judge,
    looks: Option<Interval>,
    is_said: bool,
}

impl MemoryWatch {
    pub(crate) fn new(max: u64) -> Self {
        let shrunk_at = std::env::var(SHRUNK_AT).ok();
        Self {
            judge: Judge {
                max,
                over: 0,
                shrunk_at: shrunk_at.and_then(|at| at.parse().ok()),
                needed: None,
            },
            looks: None,
            is_said: false,
        }
    }

    /// When the last fresh image began, for that image.
    pub(crate) fn shrunk_at(&self) -> Option<u64> {
        self.judge.shrunk_at
    }

    /// Returns when a fresh image is called for. May be cancelled without loss.
    pub(crate) async fn too_much(&mut self) {
        loop {
            let looks = self.looks.get_or_insert_with(|| {
                let first = tokio::time::Instant::now() + LOOK_EVERY;
                let mut looks = tokio::time::interval_at(first, LOOK_EVERY);
                looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                looks
            });
            looks.tick().await;
            match self.look() {
                Ok(Verdict::Fine) => self.is_said = false,
                Ok(Verdict::Bear) => {}
                Ok(Verdict::Shrink) => return,
                Err(error) => tracing::debug!(%error, "the agent cannot see its own memory"),
            }
        }
    }

    fn look(&mut self) -> io::Result<Verdict> {
        let max = self.judge.max;
        let mut used = resident()?;
        if used > max {
            give_memory_back();
            used = resident()?;
        }
        let verdict = self.judge.look(used, uptime_secs()?);
        let (used, memory_max) = (memory_text(used), memory_text(max));
        match verdict {
            Verdict::Shrink => tracing::warn!(
                used,
                memory_max,
                "the agent uses too much memory: it starts itself anew in place, every process is left as it is"
            ),
            Verdict::Bear if self.judge.over >= IN_A_ROW && !self.is_said => {
                self.is_said = true;
                tracing::error!(
                    used,
                    memory_max,
                    "the agent uses too much memory although it started itself anew: raise memory_max, or have it hold less"
                );
            }
            Verdict::Bear | Verdict::Fine => {}
        }
        Ok(verdict)
    }
}

/// Bytes of this process that are in memory.
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

    fn judge(shrunk_at: Option<u64>) -> Judge {
        Judge {
            max: 100,
            over: 0,
            shrunk_at,
            needed: None,
        }
    }

    #[test]
    fn only_looks_in_a_row_count() {
        let mut judge = judge(None);
        let verdicts = [101, 500, 100, 101, 101, 101].map(|used| judge.look(used, 50));
        let (fine, bear) = (Verdict::Fine, Verdict::Bear);
        assert_eq!(verdicts, [bear, bear, fine, bear, bear, Verdict::Shrink]);
    }

    #[test]
    fn a_fresh_image_is_not_followed_by_another_too_soon() {
        let mut judge = judge(Some(1000));
        assert_eq!(judge.look(50, 1005), Verdict::Fine);
        for now in [1010, 1015, 1020, 1599] {
            assert_eq!(judge.look(900, now), Verdict::Bear);
        }
        assert_eq!(judge.look(900, 1600), Verdict::Shrink);
        // Should that have failed, it is not tried again at once.
        for now in [1605, 1610, 1615, 1620] {
            assert_eq!(judge.look(900, now), Verdict::Bear);
        }
    }

    #[test]
    fn what_a_fresh_image_needs_as_well_is_borne() {
        let mut judge = judge(Some(1000));
        for now in [1005, 1010, 1015, 9000, 9005, 9010] {
            assert_eq!(judge.look(120, now), Verdict::Bear);
        }
        assert_eq!(judge.look(180, 9015), Verdict::Bear);
        assert_eq!(judge.look(181, 9020), Verdict::Shrink);
    }

    #[test]
    fn our_own_figures_are_sane() {
        let mib = resident().unwrap() >> 20;
        assert!((1..4096).contains(&mib), "{mib}");
        assert!(uptime_secs().unwrap() > 0);
    }
}
