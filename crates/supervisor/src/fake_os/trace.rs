//! What an agent did, by its journal.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use model::event::Event;
use model::{OpId, Outcome};

use crate::Registration;
use crate::journal;
use crate::journal::entry::{Entry, JournalState};
use crate::machine::{Cause, Phase, Process, Step};

/// A command that was executed for an operation: operation, command, pid and start time.
pub type Execution = (OpId, &'static str, i32, u64);

#[derive(Debug, Default)]
pub struct JournalTrace {
    pub executions: BTreeSet<Execution>,
    /// Every result, with distinct outcomes of one operation.
    pub ends: BTreeMap<OpId, Vec<Outcome>>,
    pub events: BTreeMap<u64, Event>,
    /// What the agent holds, with its current flag and managed.
    pub held: Vec<Registration>,
}

/// The state of each process by the journal in `dir`, for failure messages.
pub fn states(dir: &Path) -> Vec<String> {
    let held = JournalState::of(journal::entries(dir)).held;
    let describe = |(hold, process): (Registration, Process)| format!("{}: {process:?}", hold.name);
    held.into_values().map(describe).collect()
}

/// The commands that were executed for operations, by the journal in `dir`.
pub(super) fn executions(dir: &Path) -> Vec<Execution> {
    let entries = journal::entries(dir).into_iter();
    let states = entries.filter_map(|entry| match entry {
        Entry::State(_, process) => execution(&process),
        Entry::Opened { .. }
        | Entry::Hold(_)
        | Entry::Forget(_)
        | Entry::Ended(..)
        | Entry::ResultsAcknowledged(_)
        | Entry::Happened(..)
        | Entry::EventsAcknowledged(_)
        | Entry::Groups(..)
        | Entry::Done(_) => None,
    });
    states.collect()
}

impl JournalTrace {
    /// Reads the journal in `dir` from its beginning: no history is long enough for a rewrite.
    pub fn read(dir: &Path) -> Self {
        let entries = journal::entries(dir);
        let mut trace = Self::default();
        entries.iter().for_each(|entry| trace.take(entry));
        let holds = JournalState::of(entries).held.into_values();
        let holds = holds.map(|(hold, process)| Registration {
            flag: process.flag,
            managed: process.managed,
            ..hold
        });
        trace.held = holds.collect();
        trace
    }

    fn take(&mut self, entry: &Entry) {
        match entry {
            Entry::State(_, process) => self.executions.extend(execution(process)),
            Entry::Ended(id, outcome) => {
                let ends = self.ends.entry(*id).or_default();
                if !ends.contains(outcome) {
                    ends.push(Outcome::clone(outcome));
                }
            }
            Entry::Happened(number, event) => {
                self.events.insert(*number, event.clone());
            }
            Entry::Opened { .. }
            | Entry::Hold(_)
            | Entry::Forget(_)
            | Entry::ResultsAcknowledged(_)
            | Entry::EventsAcknowledged(_)
            | Entry::Groups(..)
            | Entry::Done(_) => {}
        }
    }
}

fn execution(process: &Process) -> Option<Execution> {
    let Phase::Working(work) = &process.phase else {
        return None;
    };
    let (Cause::Operation(ticket), Step::Command { cmd, .. }) = (&work.cause, &work.step) else {
        return None;
    };
    Some((ticket.id, cmd.role.field(), cmd.run.pid, cmd.run.start))
}
