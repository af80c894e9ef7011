//! Journal entries, and the state that they add up to.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use model::event::Event;
use model::group::ProcessGroup;
use model::{FullName, Namespace, OpId, Outcome, UnixMillis};
use serde::{Deserialize, Serialize};

use crate::Registration;
use crate::machine::Process;

/// How many acknowledged operations are remembered, so that a repeated one is not run again.
const MAX_DONE: usize = 4096;
/// How many events wait for a server that is not connected.
const MAX_EVENTS: usize = 65_536;

/// New fields need a default: old journals must stay readable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    /// An agent opened the journal, on this boot of the host.
    Opened {
        boot_id: String,
    },
    Hold(Box<Registration>),
    Forget(FullName),
    /// The whole state of one process's machine.
    State(
        FullName,
        #[serde(with = "crate::machine::record")] Box<Process>,
    ),
    Ended(OpId, Box<Outcome>),
    ResultsAcknowledged(Vec<OpId>),
    Happened(u64, Event),
    EventsAcknowledged(u64),
    /// The process groups of a namespace: all of them.
    Groups(Namespace, Vec<ProcessGroup>),
    /// Operations that were acknowledged before the journal was rewritten.
    Done(Vec<OpId>),
}

/// Results and events that wait for the server, and operations that must not run again.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) results: BTreeMap<OpId, Outcome>,
    pub(crate) events: VecDeque<(u64, Event)>,
    last_event: u64,
    done: VecDeque<OpId>,
    known: HashSet<OpId>,
}

impl Ledger {
    pub(crate) fn is_done(&self, id: OpId) -> bool {
        self.known.contains(&id)
    }

    /// Above every earlier number, also those of a lost journal: the server identifies events by number.
    pub(crate) fn next_event(&self, now: UnixMillis) -> u64 {
        (self.last_event + 1).max(now.0.max(0) as u64)
    }

    pub(crate) fn ended(&mut self, id: OpId, outcome: Outcome) {
        self.results.insert(id, outcome);
    }

    pub(crate) fn acknowledge_results(&mut self, ids: &[OpId]) {
        for id in ids {
            if self.results.remove(id).is_some() {
                self.remember(*id);
            }
        }
    }

    /// Remembers an operation whose result needs no delivery any more.
    pub(crate) fn remember(&mut self, id: OpId) {
        if self.known.insert(id) {
            self.done.push_back(id);
        }
        while self.done.len() > MAX_DONE {
            if let Some(old) = self.done.pop_front() {
                self.known.remove(&old);
            }
        }
    }

    pub(crate) fn add_event(&mut self, number: u64, event: Event) {
        self.last_event = self.last_event.max(number);
        self.events.push_back((number, event));
        if self.events.len() > MAX_EVENTS {
            let lost = self.events.pop_front().map(|(number, _)| number);
            tracing::error!(
                lost,
                "too many events wait for the server: the oldest is dropped"
            );
        }
    }

    pub(crate) fn acknowledge_events(&mut self, up_to: u64) {
        self.last_event = self.last_event.max(up_to);
        while self
            .events
            .front()
            .is_some_and(|(number, _)| *number <= up_to)
        {
            self.events.pop_front();
        }
    }

    /// Everything in it, for a rewrite of the journal.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        let done = Entry::Done(self.done.iter().copied().collect());
        let before = self.events.front().map_or(self.last_event, |(n, _)| n - 1);
        let results = self.results.iter();
        let events = self.events.iter();
        [done, Entry::EventsAcknowledged(before)]
            .into_iter()
            .chain(results.map(|(id, outcome)| Entry::Ended(*id, Box::new(outcome.clone()))))
            .chain(events.map(|(number, event)| Entry::Happened(*number, event.clone())))
    }
}

/// The state that all entries add up to.
#[derive(Debug, Default)]
pub(crate) struct JournalState {
    pub(crate) boot_id: String,
    pub(crate) held: HashMap<FullName, (Registration, Process)>,
    pub(crate) groups: BTreeMap<Namespace, Vec<ProcessGroup>>,
    pub(crate) ledger: Ledger,
}

impl JournalState {
    pub(crate) fn of(entries: Vec<Entry>) -> Self {
        let mut state = Self::default();
        for entry in entries {
            state.apply(entry);
        }
        state
    }

    fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Opened { boot_id } => self.boot_id = boot_id,
            Entry::Hold(hold) => {
                let hold = *hold;
                match self.held.get_mut(&hold.name) {
                    Some((held, process)) => {
                        if held.incarnation != hold.incarnation {
                            process.register_anew(hold.flag, hold.managed);
                        }
                        *held = hold;
                    }
                    None => {
                        let process = Process::new(hold.flag, hold.managed);
                        self.held.insert(hold.name.clone(), (hold, process));
                    }
                }
            }
            Entry::Forget(name) => {
                self.held.remove(&name);
            }
            Entry::State(name, state) => {
                if let Some((_, process)) = self.held.get_mut(&name) {
                    *process = *state;
                }
            }
            Entry::Ended(id, outcome) => self.ledger.ended(id, *outcome),
            Entry::ResultsAcknowledged(ids) => self.ledger.acknowledge_results(&ids),
            Entry::Happened(number, event) => self.ledger.add_event(number, event),
            Entry::EventsAcknowledged(up_to) => self.ledger.acknowledge_events(up_to),
            Entry::Groups(namespace, groups) => {
                match groups.is_empty() {
                    true => self.groups.remove(&namespace),
                    false => self.groups.insert(namespace, groups),
                };
            }
            Entry::Done(ids) => ids.into_iter().for_each(|id| self.ledger.remember(id)),
        }
    }
}
