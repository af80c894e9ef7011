//! One step of one machine: journals its new state, then does its actions in order. The event that an action returns goes
//! into the machine before the next action.

use std::collections::VecDeque;

use model::Outcome;
use model::event::Event as ProcessEvent;
use model::operation::{CommandRun, MAX_OUTPUT};

use super::{Key, Runner, SupervisedProcess};
use crate::Notice;
use crate::headline::headline_of;
use crate::journal::entry::Entry;
use crate::machine::{Action, Boot, Context, Event, Moment, OperationEnd, Process};
use crate::os::spools::Spools;
use crate::os::{clock, sink};

/// The longest message of an operation that is taken from a command's output.
const MAX_MESSAGE: usize = 4096;

/// The result of a step, before any of it is written or done.
struct Plan {
    entries: Vec<Entry>,
    todo: Vec<Todo>,
}

/// What is left to do of a journalled step.
#[derive(Debug)]
pub(crate) enum Todo {
    Do(Action),
    /// Send it in order: a result is not sent before the kill that belongs to it.
    Tell(Notice),
}

impl Runner {
    /// Steps a machine and does its actions. While a family is being killed, the event waits.
    pub(super) fn step(&mut self, key: Key, event: Event) {
        self.go_on(key, Some(event));
    }

    /// Does waiting actions in order, with the event that each returns, then the events that came meanwhile.
    pub(super) fn go_on(&mut self, key: Key, event: Option<Event>) {
        if let Some(held) = self.held.get_mut(&key)
            && held.family_kill.is_some()
        {
            held.later.extend(event);
            return;
        }
        if let Some(event) = event {
            self.step_once(key, event);
        }
        loop {
            let Some(held) = self
                .held
                .get_mut(&key)
                .filter(|held| held.family_kill.is_none())
            else {
                return;
            };
            if let Some(todo) = held.todo.pop_front() {
                match todo {
                    Todo::Tell(notice) => self.outbox.after_sync(notice),
                    Todo::Do(action) => {
                        if let Some(event) = self.perform(key, action) {
                            self.step_once(key, event);
                        }
                    }
                }
            } else if let Some(event) = held.later.pop_front() {
                self.step_once(key, event);
            } else {
                // Thousands of processes at rest need no room for actions.
                (held.todo, held.later) = (VecDeque::new(), VecDeque::new());
                return;
            }
        }
    }

    /// Steps a machine: its actions come before all others of this process.
    pub(super) fn step_once(&mut self, key: Key, event: Event) {
        let Some(plan) = self.plan(key, event) else {
            return;
        };
        let blocked_child = self
            .held
            .get_mut(&key)
            .and_then(|held| held.blocked_child.take());
        let written = self.write(&plan.entries);
        self.take_up(key, plan.todo);
        if let Some(blocked_child) = blocked_child {
            let held = self.held.get(&key);
            let is_operation = held.is_some_and(|held| held.process.operation().is_some());
            match written || !is_operation {
                // Journalled, so it may run. A restart by the agent runs in any case.
                true => self.release_child(key, blocked_child),
                false => {
                    drop(blocked_child);
                    let why = "the agent's journal cannot be written: is the disk full?";
                    self.step_once(key, Event::SpawnFailed(why.to_owned()));
                }
            }
        }
    }

    /// Steps every machine after a reboot of the host. One record holds all of it, so that each machine takes the reboot once,
    /// even if the agent dies in the middle.
    pub(super) fn step_all_for_new_boot(&mut self, keys: &[Key]) {
        let mut plans = Vec::with_capacity(keys.len());
        let mut entries = vec![Entry::Opened {
            boot_id: clock::boot_id(),
        }];
        for key in keys {
            if let Some(mut plan) = self.plan(*key, Event::Recovered(Boot::Other)) {
                entries.append(&mut plan.entries);
                plans.push((*key, plan));
            }
        }
        self.write(&entries);
        self.outbox.must_sync();
        for (key, plan) in plans {
            self.take_up(key, plan.todo);
            self.go_on(key, None);
        }
    }

    fn plan(&mut self, key: Key, event: Event) -> Option<Plan> {
        let now = clock::now();
        let order = self.order_of(key);
        let held = self.held.get_mut(&key)?;
        let before = held.process.clone();
        let mut process = before.clone();
        let context = Context {
            order: &order,
            ..held.context(now)
        };
        let actions = process.step(event, &context);
        held.process = process;
        let mut plan = Plan {
            entries: Vec::new(),
            todo: Vec::with_capacity(actions.len()),
        };
        for action in actions {
            let reported = match &action {
                Action::End(ending) => {
                    let outcome = outcome(ending, now, &held.registration.spec.identity.user);
                    self.ledger.ended(ending.id, outcome.clone());
                    let entry = Entry::Ended(ending.id, Box::new(outcome.clone()));
                    Some((entry, Notice::Ended(ending.id, outcome)))
                }
                Action::Emit(emission) => {
                    let event = ProcessEvent {
                        at: now.unix,
                        process: held.registration.name.clone(),
                        kind: emission.kind,
                        reason: emission.reason.clone(),
                        exit: emission.exit,
                        report_id: held.registration.spec.warn_report_policy.report_id,
                    };
                    let number = self.ledger.next_event(now.unix);
                    self.ledger.add_event(number, event.clone());
                    let entry = Entry::Happened(number, event.clone());
                    Some((entry, Notice::Event(number, event)))
                }
                Action::Observe(_)
                | Action::Check(_)
                | Action::Spawn(_)
                | Action::Signal(..)
                | Action::Kill(_)
                | Action::Sweep
                | Action::WritePidFile(_)
                | Action::RemovePidFile(_)
                | Action::Inspect
                | Action::FindVersion
                | Action::Forgotten => None,
            };
            plan.todo.push(match reported {
                Some((entry, notice)) => {
                    plan.entries.push(entry);
                    Todo::Tell(notice)
                }
                None => Todo::Do(action),
            });
        }
        if held.process != before {
            if held.process.flag != before.flag || held.process.managed != before.managed {
                self.outbox.must_sync();
            }
            let state = Box::new(held.process.clone());
            let name = held.registration.name.clone();
            plan.entries.push(Entry::State(name, state));
        }
        give_back_spools(&before, held, &mut self.spools);
        held.follow_run(&before, &self.runs);
        Some(plan)
    }

    fn take_up(&mut self, key: Key, todo: Vec<Todo>) {
        if let Some(held) = self.held.get_mut(&key) {
            for todo in todo.into_iter().rev() {
                held.todo.push_front(todo);
            }
        }
    }
}

/// The outcome of an operation, with its command's output as far as the process's user may read it.
fn outcome(ending: &OperationEnd, now: Moment, user: &str) -> Outcome {
    let ran = ending.ran.as_ref().map(|ran| CommandRun {
        command: ran.cmd.text.clone(),
        exit: ran.exit,
        duration_ms: ran.ended_boot_ms.saturating_sub(ran.cmd.began_boot_ms),
        output: match sink::rights(&ran.cmd.sink, user) {
            Ok(rights) => sink::tail(&ran.cmd.sink, MAX_OUTPUT, &rights),
            Err(why) => why,
        },
    });
    let output = ran.as_ref().map_or("", |ran| ran.output.trim());
    let (message, headline) = match (ending.prefers_output, output) {
        (false, _) | (true, "") => (ending.message.clone(), None),
        (true, output) => {
            let output = tail_of(output, MAX_MESSAGE);
            (output.to_owned(), Some(headline_of(output).into_owned()))
        }
    };
    let of_log = ending.ran.as_ref().map(|ran| &ran.cmd.sink.instead_of_log);
    let warnings = of_log.into_iter().chain([&ending.warning]);
    let warnings: Vec<&str> = warnings.map(String::as_str).collect();
    let warnings = warnings.into_iter().filter(|why| !why.is_empty());
    let warning = warnings.collect::<Vec<_>>().join("; ");
    Outcome {
        headline,
        warning: Some(warning).filter(|why| !why.is_empty()),
        flag: ending.flag,
        managed: ending.managed,
        ran,
        instance: ending.instance.clone(),
        ..Outcome::plain(ending.code, message, now.unix)
    }
}

/// The last `max` bytes, from a whole character on.
fn tail_of(text: &str, max: usize) -> &str {
    let mut begin = text.len().saturating_sub(max);
    while !text.is_char_boundary(begin) {
        begin += 1;
    }
    &text[begin..]
}

/// Gives back the spool files that the machine no longer refers to after this step.
fn give_back_spools(before: &Process, held: &SupervisedProcess, spools: &mut Spools) {
    for sink in before.sinks().filter(|sink| sink.spool) {
        if !held.process.sinks().any(|still| still.path == sink.path) {
            spools.give_back(&sink.path);
        }
    }
}
