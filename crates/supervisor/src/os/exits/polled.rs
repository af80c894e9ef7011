//! Runs that are watched without a pidfd: polled once a second through `/proc`, by pid and start time.
//!
//! The kernel may have no pidfds, a seccomp filter may refuse them, or the agent may have no descriptor left. The agent's
//! own children are waited for by pid at every SIGCHLD, which takes no descriptor and gives their exit status.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use model::status::Exit;
use tokio::time::Instant;

use super::{exit_of, peek_zombie, waited};
use crate::machine::Run;
use crate::os::procfs::Stat;
use crate::os::{kernel, shortage};

const EVERY: Duration = Duration::from_secs(1);

/// Whether a run is a child of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parent {
    Us,
    Another,
}

/// Whether a run lives.
#[derive(Debug)]
pub(super) enum RunStatus {
    Lives(Parent),
    Ended(Exit),
    Unknown(io::Error),
}

/// Checks a run. An error does not mean that it has ended.
pub(super) fn run_status(run: Run, pidfd: Option<&OwnedFd>) -> RunStatus {
    match Stat::find(run.pid) {
        Ok(Some(stat)) if stat.start != run.start => RunStatus::Ended(Exit::Unseen),
        Ok(Some(stat)) if stat.has_ended() => RunStatus::Ended(exit_of(run, pidfd)),
        Ok(Some(stat)) if stat.ppid == std::process::id() as i32 => RunStatus::Lives(Parent::Us),
        Ok(Some(_)) => RunStatus::Lives(Parent::Another),
        Ok(None) => RunStatus::Ended(Exit::Unseen),
        Err(error) => RunStatus::Unknown(error),
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
            self.next = Instant::now() + EVERY;
        }
        // What the kernel lacks is logged at start.
        if self.runs.is_empty() && kernel::calls().pidfd_open {
            let why = shortage::words(why);
            tracing::warn!(
                pid = run.pid,
                why,
                "cannot watch processes by pidfd: looking at them once a second"
            );
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

    /// Waits until the next poll is due; for ever when there is nothing to poll.
    pub(super) async fn due(&self) {
        match self.runs.is_empty() {
            true => std::future::pending().await,
            false => tokio::time::sleep_until(self.next).await,
        }
    }

    pub(super) fn is_due(&self) -> bool {
        !self.runs.is_empty() && Instant::now() >= self.next
    }

    /// The runs to poll now.
    pub(super) fn begin_round(&mut self) -> Vec<Run> {
        self.next = Instant::now() + EVERY;
        self.runs.values().map(|(run, _)| *run).collect()
    }

    /// Takes the children that have ended.
    pub(super) fn take_children(&mut self, ends: &mut Vec<(Run, Exit)>) {
        // One zombie after the other, as long as the kernel's first is one of these.
        while let Some((run, Parent::Us)) = peek_zombie().and_then(|pid| self.runs.get(&pid)) {
            let run = *run;
            let Some(exit) = waited(run) else { break };
            self.runs.remove(&run.pid);
            ends.push((run, exit));
        }
        // Another zombie may hide some: one of other code of this program, or one that is watched by a pidfd.
        if peek_zombie().is_none() {
            return;
        }
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
