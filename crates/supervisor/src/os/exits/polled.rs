//! Runs that are watched without a pidfd: looked at once a second through `/proc`, by pid and start time.
//!
//! The kernel may have no pidfds, a filter may refuse them, or the agent may have no descriptor left. Children of ours are
//! waited for by pid whenever SIGCHLD comes, which takes no descriptor and tells their exit status.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use model::status::Exit;
use tokio::time::Instant;

use super::{exit_of, waited};
use crate::machine::Run;
use crate::os::procfs::Stat;
use crate::os::shortage;

const EVERY: Duration = Duration::from_secs(1);

/// Whose child a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parent {
    Us,
    Another,
}

/// What became of a run.
#[derive(Debug)]
pub(super) enum Fate {
    Lives(Parent),
    Ended(Exit),
    Unknown(io::Error),
}

/// Looks at a run. An error is not its end.
pub(super) fn fate(run: Run, pidfd: Option<&OwnedFd>) -> Fate {
    match Stat::find(run.pid) {
        Ok(Some(stat)) if stat.start != run.start => Fate::Ended(Exit::Unseen),
        Ok(Some(stat)) if stat.has_ended() => Fate::Ended(exit_of(run, pidfd)),
        Ok(Some(stat)) if stat.ppid == std::process::id() as i32 => Fate::Lives(Parent::Us),
        Ok(Some(_)) => Fate::Lives(Parent::Another),
        Ok(None) => Fate::Ended(Exit::Unseen),
        Err(error) => Fate::Unknown(error),
    }
}

#[derive(Debug)]
pub(super) struct Polled {
    runs: HashMap<i32, (Run, Parent)>,
    next: Instant,
}

impl Polled {
    pub(super) fn new() -> Self {
        Self {
            runs: HashMap::new(),
            next: Instant::now(),
        }
    }

    pub(super) fn add(&mut self, run: Run, parent: Parent, why: &io::Error) {
        if self.runs.is_empty() {
            let why = shortage::words(why);
            tracing::warn!(
                pid = run.pid,
                why,
                "cannot watch processes by pidfd: looking at them once a second"
            );
            self.next = Instant::now() + EVERY;
        }
        self.runs.insert(run.pid, (run, parent));
    }

    pub(super) fn run_of(&self, pid: i32) -> Option<Run> {
        self.runs.get(&pid).map(|(run, _)| *run)
    }

    pub(super) fn forget(&mut self, run: Run) {
        if self.run_of(run.pid) == Some(run) {
            self.runs.remove(&run.pid);
        }
    }

    pub(super) fn has_parent(&mut self, run: Run, parent: Parent) {
        if let Some(known) = self.runs.get_mut(&run.pid) {
            known.1 = parent;
        }
    }

    /// Waits until the next look is due; for ever when there is nothing to look at.
    pub(super) async fn due(&self) {
        match self.runs.is_empty() {
            true => std::future::pending().await,
            false => tokio::time::sleep_until(self.next).await,
        }
    }

    pub(super) fn is_due(&self) -> bool {
        !self.runs.is_empty() && Instant::now() >= self.next
    }

    /// Everyone to look at now.
    pub(super) fn begin_round(&mut self) -> Vec<Run> {
        self.next = Instant::now() + EVERY;
        self.runs.values().map(|(run, _)| *run).collect()
    }

    /// The children among them that have ended.
    pub(super) fn take_children(&mut self, ends: &mut Vec<(Run, Exit)>) {
        self.runs.retain(|_, (run, parent)| {
            let exit = match parent {
                Parent::Us => waited(*run),
                Parent::Another => None,
            };
            ends.extend(exit.map(|exit| (*run, exit)));
            exit.is_none()
        });
    }
}
