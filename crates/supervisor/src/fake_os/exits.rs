//! Exits of fake processes.

use std::collections::BTreeMap;
use std::io;

use model::status::Exit;

use super::host::{self, Host};
use super::spawn::{FailurePipe, Pidfd};
use crate::machine::Run;

#[derive(Debug)]
pub(crate) struct Exits {
    host: Host,
    watched: BTreeMap<i32, Run>,
    /// Children that have executed their commands.
    executed: Vec<Run>,
}

impl Exits {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            host: host::current(),
            watched: BTreeMap::new(),
            executed: Vec::new(),
        })
    }

    pub(crate) fn watch_child(&mut self, run: Run, _pidfd: Pidfd) {
        self.watched.insert(run.pid, run);
    }

    pub(crate) fn watch_execution(&mut self, run: Run, pipe: &FailurePipe) {
        self.executed.extend(pipe.is_closed().then_some(run));
    }

    /// The children that have executed their commands since the last call.
    pub(crate) fn take_executed(&mut self) -> Vec<Run> {
        std::mem::take(&mut self.executed)
    }

    pub(crate) fn watch(&mut self, run: Run) -> Option<Exit> {
        let gone = host::call(|table| table.exit_of(run));
        if gone.is_none() {
            self.watched.insert(run.pid, run);
        }
        gone
    }

    /// The watched run that has this pid.
    pub(crate) fn run_of(&self, pid: i32) -> Option<Run> {
        self.watched.get(&pid).copied()
    }

    pub(crate) fn forget(&mut self, run: Run) {
        if self.watched.get(&run.pid) == Some(&run) {
            self.watched.remove(&run.pid);
        }
    }

    /// Waits until a watched run has ended, or a child has executed its command.
    pub(crate) async fn ready(&self) -> io::Result<()> {
        if !self.executed.is_empty() {
            return Ok(());
        }
        loop {
            let changed = self.host.changed();
            let next = self.host.peek(|table| {
                let ends = self.watched.values();
                ends.filter_map(|run| table.ends_at(*run)).min()
            });
            match next {
                Some(at) if at <= tokio::time::Instant::now() => return Ok(()),
                Some(at) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(at) => {}
                },
                None => changed.await,
            }
        }
    }

    /// Takes the exits that have happened.
    pub(crate) fn take(&mut self) -> Vec<(Run, Exit)> {
        let watched = &mut self.watched;
        host::call(|table| {
            let ended = watched.extract_if(.., |_, run| table.exit_of(*run).is_some());
            let ended: Vec<Run> = ended.map(|(_, run)| run).collect();
            let exit = |run: Run| (run, table.exit_of(run).unwrap_or(Exit::Unseen));
            ended.into_iter().map(exit).collect()
        })
    }

    pub(crate) fn reap_orphans(&mut self, _boot_ms: u64) {}
}
