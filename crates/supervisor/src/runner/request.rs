//! Requests of the agent. A batch is written, synced once, and only then acted on.

use model::group::ProcessGroup;
use model::operation::Op;
use model::{Code, Namespace, Outcome};

use super::{Key, Runner, SupervisedProcess};
use crate::journal::entry::Entry;
use crate::machine::{Event, LiveRun, Process, Ticket};
use crate::os::kept_runs::OpenRuns;
use crate::os::observe_error::ObserveError;
use crate::os::{clock, observe};
use crate::{LogError, Notice, Operation, Registration, Request};

/// Accepted requests that are not begun yet.
#[derive(Debug, Default)]
struct Pending {
    taken: Vec<(Key, Ticket)>,
    begin: Vec<(Key, Event)>,
}

impl Runner {
    pub(super) fn take_requests(&mut self, batch: impl Iterator<Item = Request>) {
        let mut pending = Pending::default();
        for request in batch {
            match request {
                Request::Hold(hold) => {
                    let key = self.hold(hold);
                    pending.begin.extend(key.map(|key| (key, Event::Held)));
                }
                Request::Forget(name) => {
                    // Requests before it must begin first, and a later one may have the same name.
                    self.begin(std::mem::take(&mut pending));
                    if let Some(key) = self.names.get(&name).copied() {
                        self.drive(key, Event::Forget);
                    }
                }
                Request::Operate(operation) => {
                    if let Some((key, ticket)) = self.accept(operation) {
                        pending.taken.push((key, ticket));
                        pending.begin.push((key, Event::Proceed));
                    }
                }
                Request::Groups(namespace, groups) => self.take_groups(namespace, groups),
                Request::Dependencies(answers) => self.take_answers(answers),
                Request::AcknowledgeResults(ids) => {
                    self.ledger.acknowledge_results(&ids);
                    self.write(&[Entry::ResultsAcknowledged(ids)]);
                }
                Request::AcknowledgeEvents(up_to) => {
                    self.ledger.acknowledge_events(up_to);
                    self.write(&[Entry::EventsAcknowledged(up_to)]);
                }
                // The answer includes the requests before it. The receiver may be gone.
                Request::Held(answer) => {
                    self.begin(std::mem::take(&mut pending));
                    drop(answer.send(self.held_report()));
                }
                Request::Figures(name, answer) => {
                    self.begin(std::mem::take(&mut pending));
                    drop(answer.send(self.figures(&name)));
                }
                Request::Runs(name, answer) => {
                    self.begin(std::mem::take(&mut pending));
                    drop(answer.send(self.run_history(&name)));
                }
                Request::Logs(wanted, answer) => {
                    self.begin(std::mem::take(&mut pending));
                    match self.plan_log(&wanted) {
                        Err(error) => drop(answer.send(Err(error))),
                        // Finding the last lines may mean to read much.
                        Ok(plan) => drop(tokio::task::spawn_blocking(move || {
                            answer.send(plan.open().map_err(LogError::Unavailable))
                        })),
                    }
                }
            }
        }
        self.begin(pending);
    }

    fn take_groups(&mut self, namespace: Namespace, groups: Vec<ProcessGroup>) {
        let known = self.groups.get(&namespace);
        if known.map_or(groups.is_empty(), |known| *known == groups) {
            return;
        }
        self.write(&[Entry::Groups(namespace.clone(), groups.clone())]);
        self.outbox.must_sync();
        self.pools.clear(&namespace);
        match groups.is_empty() {
            true => self.groups.remove(&namespace),
            false => self.groups.insert(namespace, groups),
        };
    }

    /// Makes accepted operations durable with one sync, then acts on them.
    fn begin(&mut self, pending: Pending) {
        if !pending.taken.is_empty()
            && let Err(why) = self.make_durable()
        {
            self.refuse(&pending.taken, &why);
        }
        for (key, event) in pending.begin {
            self.drive(key, event);
        }
    }

    fn make_durable(&mut self) -> Result<(), String> {
        if self.journal.is_behind() {
            self.rewrite_journal();
        }
        match self.journal.is_behind() || !self.journal.keep_reserve() {
            true => Err("no room is left".to_owned()),
            false => self.journal.sync().map_err(|error| error.to_string()),
        }
    }

    /// Ends operations that could not be journalled, without carrying them out.
    fn refuse(&mut self, taken: &[(Key, Ticket)], why: &str) {
        for (key, ticket) in taken {
            if let Some(held) = self.held.get_mut(key) {
                held.process.queue.retain(|waiting| waiting.id != ticket.id);
                // The operation may have been written all the same.
                let name = held.registration.name.clone();
                let state = Entry::State(name, Box::new(held.process.clone()));
                self.write(&[state]);
            }
            let message = format!(
                "the agent cannot take operations: its journal in {} cannot be written ({why}); is the disk full?",
                self.dir.display()
            );
            self.ledger.remember(ticket.id);
            let outcome = Outcome::plain(Code::COMMAND_FAILED, message, clock::unix());
            self.outbox.push(Notice::Ended(ticket.id, outcome));
        }
    }

    /// Takes a registration; `None` if it changes nothing.
    fn hold(&mut self, hold: Registration) -> Option<Key> {
        let entry = Entry::Hold(Box::new(hold.clone()));
        let Some(key) = self.names.get(&hold.name).copied() else {
            self.write(&[entry]);
            self.outbox.must_sync();
            let process = Process::new(hold.flag, hold.managed);
            return Some(self.insert(hold, process));
        };
        let held = self.held.get_mut(&key)?;
        let anew = held.registration.incarnation != hold.incarnation;
        let wanted = Registration {
            flag: held.registration.flag,
            managed: held.registration.managed,
            ..hold.clone()
        };
        if wanted == held.registration && !held.process.forgetting {
            return None;
        }
        if anew {
            // It was unregistered meanwhile, and its output goes with that; a run keeps the output that it writes.
            if held.is_resting() {
                self.runs.forget(&hold.name);
                held.open_runs = OpenRuns::default();
            }
            held.process.register_anew(hold.flag, hold.managed);
        }
        let launch_digest = hold.spec.launch_digest();
        // A run that the agent adopted was started with the spec as far as the agent knows.
        let mut entries = vec![entry];
        if launch_digest != held.launch_digest
            && held.process.assume_launch_digest(held.launch_digest)
        {
            let state = Box::new(held.process.clone());
            entries.push(Entry::State(hold.name.clone(), state));
        }
        held.launch_digest = launch_digest;
        self.order.remove(key, &held.registration.spec.after);
        self.order.add(key, &hold.spec.after);
        held.registration = hold;
        held.config_checked = false;
        held.group_membership.look_again();
        self.write(&entries);
        self.outbox.must_sync();
        Some(key)
    }

    pub(super) fn insert(&mut self, hold: Registration, process: Process) -> Key {
        let key = Key(self.next_key);
        self.next_key += 1;
        self.names.insert(hold.name.clone(), key);
        self.order.add(key, &hold.spec.after);
        let mut held = SupervisedProcess::new(hold, process, &self.agent);
        held.open_runs = self.runs.find_open(&held.registration.name);
        self.held.insert(key, Box::new(held));
        key
    }

    /// Accepts an operation, unless it is known already or can be answered at once.
    fn accept(&mut self, operation: Operation) -> Option<(Key, Ticket)> {
        let id = operation.id;
        if self.ledger.is_done(id) {
            return None;
        }
        if let Some(outcome) = self.ledger.results.get(&id) {
            self.outbox.push(Notice::Ended(id, outcome.clone()));
            return None;
        }
        let Some(key) = self.names.get(&operation.process).copied() else {
            self.operate_on_unheld(operation);
            return None;
        };
        let held = self.held.get_mut(&key)?;
        if held.process.operations().any(|ticket| ticket.id == id) {
            return None;
        }
        let ticket = Ticket {
            id,
            op: operation.op,
            deadline: operation.deadline,
        };
        if !held.process.accept(ticket) {
            let message = "too many operations wait for this process already";
            self.end_now(
                id,
                Outcome::plain(Code::COMMAND_FAILED, message, clock::unix()),
            );
            return None;
        }
        let name = held.registration.name.clone();
        let state = Entry::State(name, Box::new(held.process.clone()));
        self.write(&[state]);
        Some((key, ticket))
    }

    /// An operation on a process that is not held.
    fn operate_on_unheld(&mut self, operation: Operation) {
        let now = clock::unix();
        let success = || Outcome::plain(Code::OK, "success", now);
        match operation.op {
            Op::Query => {
                let probe = operation.probe.unwrap_or_default();
                let alive = observe::probe(&probe);
                let runs = matches!(alive, Ok(Some(_)));
                if runs
                    && !probe.version_cmd.is_empty()
                    && self.ask_unheld_version(operation.id, &operation.process, &probe)
                {
                    return;
                }
                let outcome = self.unheld_outcome(alive, "");
                self.end_now(operation.id, outcome);
            }
            Op::Unmanage => {
                let mut outcome = success();
                outcome.managed = Some(false);
                self.end_now(operation.id, outcome);
            }
            Op::Start | Op::Stop | Op::Manage | Op::Restart | Op::Reload | Op::Kill => {
                let outcome =
                    Outcome::plain(Code::NOT_REGISTERED, "process is not registered", now);
                self.end_now(operation.id, outcome);
            }
        }
    }

    /// The answer to a query about a process that is not held.
    pub(super) fn unheld_outcome(
        &self,
        alive: Result<Option<LiveRun>, ObserveError>,
        version: &str,
    ) -> Outcome {
        let now = clock::unix();
        match alive {
            Ok(alive) => {
                let mut outcome = Outcome::plain(Code::OK, "success", now);
                let instance = self.instance_of(alive, None, version, now);
                outcome.instance = Some(Box::new(instance));
                outcome
            }
            Err(unknown) => {
                let why = unknown.words().unwrap_or_default();
                Outcome::plain(Code::COMMAND_FAILED, why, now)
            }
        }
    }

    /// Ends an operation that no machine has accepted.
    pub(super) fn end_now(&mut self, id: model::OpId, outcome: Outcome) {
        self.write(&[Entry::Ended(id, Box::new(outcome.clone()))]);
        self.ledger.ended(id, outcome.clone());
        self.outbox.after_sync(Notice::Ended(id, outcome));
    }
}
