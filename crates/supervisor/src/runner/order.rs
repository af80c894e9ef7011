//! Looks at the other processes of the host for those that start after them, and tells each when it has to look again.
//!
//! An index by name says who depends on whom, so a change of one process costs its dependents alone. What other hosts have
//! come to, the server says: the last answer counts, and it is in memory only.

use std::collections::{BTreeSet, HashMap, HashSet};

use model::spec::after::{Dependency, Place, When};
use model::{FullName, ProcessState};

use super::{Key, Runner};
use crate::DependencyAnswer;
use crate::journal::entry::Entry;
use crate::machine::{DependencyRun, Dependents, Event, Order, Phase, Run, Unmet};

/// Which processes have to look at which others.
#[derive(Debug)]
pub(super) struct OrderIndex {
    /// The processes whose `spec.after` has this name.
    dependents: HashMap<FullName, BTreeSet<Key>>,
    /// Those that have to look again.
    changed: BTreeSet<Key>,
    /// What the server says about dependencies on other hosts.
    answers: HashMap<(FullName, When, Place), Option<String>>,
    /// The runs in the journal are not looked up yet: no dependency counts as met.
    is_recovering: bool,
}

/// What the dependents and dependencies of a process look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    state: ProcessState,
    run: Option<Run>,
    is_going_down: bool,
    is_asked_to_stop: bool,
}

impl OrderIndex {
    pub(super) fn new() -> Self {
        Self {
            dependents: HashMap::new(),
            changed: BTreeSet::new(),
            answers: HashMap::new(),
            is_recovering: true,
        }
    }

    pub(super) fn add(&mut self, key: Key, after: &[Dependency]) {
        for dependency in after {
            let dependents = self.dependents.entry(dependency.process.clone());
            dependents.or_default().insert(key);
        }
        if !after.is_empty() {
            self.changed.insert(key);
        }
    }

    pub(super) fn remove(&mut self, key: Key, after: &[Dependency]) {
        for dependency in after {
            if let Some(dependents) = self.dependents.get_mut(&dependency.process) {
                dependents.remove(&key);
                if dependents.is_empty() {
                    self.dependents.remove(&dependency.process);
                }
            }
        }
    }

    /// The dependents of this process have to look again.
    pub(super) fn has_changed(&mut self, process: &FullName) {
        if let Some(dependents) = self.dependents.get(process) {
            self.changed.extend(dependents);
        }
    }

    /// Replaces what the server said before.
    fn answer(&mut self, answers: Vec<DependencyAnswer>) {
        let before = std::mem::take(&mut self.answers);
        self.answers = answers
            .into_iter()
            .map(|answer| ((answer.process, answer.when, answer.place), answer.unmet))
            .collect();
        let differs = |key: &&(FullName, When, Place)| before.get(*key) != self.answers.get(*key);
        let all = before.keys().chain(self.answers.keys());
        let names: HashSet<FullName> = all.filter(differs).map(|(name, ..)| name.clone()).collect();
        for name in names {
            self.has_changed(&name);
        }
    }
}

impl Runner {
    pub(super) fn take_answers(&mut self, answers: Vec<DependencyAnswer>) {
        self.order.answer(answers);
    }

    /// What the other processes mean for a step of this one.
    pub(super) fn order_of(&self, key: Key) -> Order {
        let held = self.held.get(&key);
        let Some(held) = held.filter(|held| held.process.asks_for_order()) else {
            return Order::default();
        };
        if self.order.dependents.is_empty() {
            return Order::default();
        }
        let after = held.registration.spec.after.iter().enumerate();
        let unmet = after.filter_map(|(index, dependency)| {
            let now = self.lacks_of(dependency)?;
            Some(Unmet { index, now })
        });
        Order {
            unmet: unmet.collect(),
            dependents: self.dependents_of(&held.registration.name),
            runs: self.dependency_runs(key),
        }
    }

    /// What is known of a dependency that is not met; none if it is.
    fn lacks_of(&self, dependency: &Dependency) -> Option<String> {
        let (process, when, place) = (&dependency.process, dependency.when, dependency.place);
        match place {
            Place::SameHost if self.order.is_recovering => Some("not looked at yet".to_owned()),
            Place::SameHost => {
                let held = self.names.get(process).and_then(|key| self.held.get(key));
                let Some(held) = held else {
                    return Some("not registered here".to_owned());
                };
                let (state, last_exit) = (held.state(), held.process.last_exit);
                let is_met = when.is_met_by(&held.registration.spec, state, last_exit);
                match is_met && held.process.is_going_down() {
                    true => Some("being stopped".to_owned()),
                    false => (!is_met).then(|| state.as_str().to_owned()),
                }
            }
            Place::Any | Place::All => {
                let answers = &self.order.answers;
                match answers.get(&(process.clone(), when, place)) {
                    Some(unmet) => unmet.clone(),
                    None => Some("no word from the server yet".to_owned()),
                }
            }
        }
    }

    fn dependents_of(&self, process: &FullName) -> Dependents {
        let keys = self.order.dependents.get(process).into_iter().flatten();
        let on_this_host = |dependency: &Dependency| {
            dependency.process == *process && dependency.place == Place::SameHost
        };
        let held = keys.filter_map(|key| self.held.get(key)).filter(|held| {
            let mut after = held.registration.spec.after.iter();
            after.any(on_this_host)
        });
        let mut stopping = Vec::new();
        let mut is_running = false;
        for held in held {
            is_running |= held.process.alive().is_some();
            if held.process.is_asked_to_stop() {
                stopping.push(held.registration.name.to_string());
            }
        }
        match (stopping.is_empty(), is_running) {
            (false, _) => Dependents::Stopping(stopping.join(", ")),
            (true, true) => Dependents::Running,
            (true, false) => Dependents::None,
        }
    }

    /// Notes after the steps of a process who has to look at it.
    pub(super) fn note_change(&mut self, key: Key) {
        if self.order.dependents.is_empty() {
            return;
        }
        let Some(held) = self.held.get_mut(&key) else {
            return;
        };
        let seen = Seen {
            state: held.state(),
            run: held.process.alive().map(|alive| alive.run),
            is_going_down: held.process.is_going_down(),
            is_asked_to_stop: held.process.is_asked_to_stop(),
        };
        if held.seen.replace(seen) == Some(seen) {
            return;
        }
        let registration = &held.registration;
        self.order.has_changed(&registration.name);
        for dependency in &registration.spec.after {
            // Its stop may wait for this process, or this process may have to be restarted with it.
            self.order
                .changed
                .extend(self.names.get(&dependency.process));
            self.order.changed.insert(key);
        }
    }

    /// No run of the journal is left unlooked at: the dependencies of all processes count from here on.
    pub(super) fn order_is_known(&mut self) {
        self.order.is_recovering = false;
        let waits = self.held.iter();
        let waits = waits.filter(|(_, held)| held.process.waits_for_others());
        self.order.changed.extend(waits.map(|(key, _)| *key));
    }

    /// Lets every process look again that has to.
    pub(super) fn look_again(&mut self) {
        while let Some(key) = self.order.changed.pop_first() {
            let Some(held) = self.held.get(&key) else {
                continue;
            };
            match held.process.phase {
                Phase::Up { .. } => self.follow_restarts(key),
                _ if held.process.waits_for_others() => self.drive(key, Event::Tick),
                _ => {}
            }
        }
    }

    /// The dependencies with which it is restarted, and their runs, as far as they are met.
    fn dependency_runs(&self, key: Key) -> Vec<DependencyRun> {
        let held = self.held.get(&key);
        let after = held.map_or(&[][..], |held| &held.registration.spec.after);
        let restarting = after.iter().filter(|dependency| dependency.restart);
        let met = restarting.filter(|dependency| self.lacks_of(dependency).is_none());
        met.filter_map(|dependency| {
            let other = self.names.get(&dependency.process)?;
            let alive = self.held.get(other)?.process.alive()?;
            Some(DependencyRun {
                process: dependency.process.clone(),
                run: alive.run,
            })
        })
        .collect()
    }

    /// Restarts a process if a dependency runs anew since it was started.
    fn follow_restarts(&mut self, key: Key) {
        for found in self.dependency_runs(key) {
            let is_circular = self.is_restarted_by(&found.process, key);
            let Some(held) = self.held.get_mut(&key) else {
                return;
            };
            match held.process.run_of_dependency(&found.process) {
                Some(known) if known == found.run => {}
                Some(_) if !is_circular => {
                    return self.drive(key, Event::DependencyRestarted(found));
                }
                // It was started by another program, or before its spec said so: this is the run that it knows.
                Some(_) | None => {
                    held.process.assume_dependency(found);
                    let name = held.registration.name.clone();
                    let state = Box::new(held.process.clone());
                    self.write(&[Entry::State(name, state)]);
                }
            }
        }
    }

    /// Whether this process is itself restarted with the process of that key: they would restart each other for ever. The
    /// server refuses such specs, but may have sent them in two steps.
    fn is_restarted_by(&self, process: &FullName, key: Key) -> bool {
        let (mut next, mut seen) = (vec![process], HashSet::from([process]));
        while let Some(name) = next.pop() {
            let Some(other) = self.names.get(name) else {
                continue;
            };
            if *other == key {
                return true;
            }
            let held = self.held.get(other);
            let after = held.map_or(&[][..], |held| &held.registration.spec.after);
            let further = after.iter().filter(|dependency| dependency.restart);
            let further = further.map(|dependency| &dependency.process);
            next.extend(further.filter(|name| seen.insert(name)));
        }
        false
    }
}
