//! What the journal of an agent says that it did.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use model::event::Event;
use model::{OpId, Outcome};

use crate::Registration;
use crate::journal;
use crate::journal::entry::{Entry, Picture};
use crate::machine::{Cause, Phase, Process, Step};

/// A command that was executed for an operation: which operation, which command, as which pid with which start.
pub type Execution = (OpId, &'static str, i32, u64);

#[derive(Debug, Default)]
pub struct JournalTrace {
    pub executions: BTreeSet<Execution>,
    /// Every end that was written down, and how often.
    pub ends: BTreeMap<OpId, Vec<Outcome>>,
    pub events: BTreeMap<u64, Event>,
    /// What the agent holds, each with the flag and whether it is managed as they are now.
    pub held: Vec<Registration>,
}

/// The state of each process by the journal in `dir`, for people.
pub fn states(dir: &Path) -> Vec<String> {
    let picture = Picture::of(journal::entries(dir));
    let state = |(hold, process): (Registration, Process)| format!("{}: {process:?}", hold.name);
    picture.held.into_values().map(state).collect()
}

/// What was executed for operations, by the journal in `dir`.
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
    /// What the journal in `dir` tells, from its beginning: no history is long enough for it to be written anew.
    pub fn read(dir: &Path) -> Self {
        let entries = journal::entries(dir);
        let mut trace = Self::default();
        entries.iter().for_each(|entry| trace.take(entry));
        let holds = Picture::of(entries).held.into_values();
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
