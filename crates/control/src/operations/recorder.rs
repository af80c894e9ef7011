//! Commits results and events of agents, many at a time, and acknowledges them only then.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use model::change::{Changes, EventRow, HostId, OutcomeRow, ProcessId, ProcessRow, Revision};
use model::operation::OutcomeSubject;
use model::{Code, Flag, FullName, Host, OpId, Outcome, UnixMillis};
use tokio::sync::{mpsc, watch};

use super::operate::{subject_of, subject_of_probe};
use super::{Operations, Task};
use crate::commit::World;
use crate::sessions::Outbox;
use crate::{ChangeEvent, stopped};

/// How many records go into one commit.
const BATCH: usize = 4096;
/// How long to wait before the commit is retried.
const RETRY: Duration = Duration::from_millis(500);

/// What an agent, or a deadline, adds to the record.
#[derive(Debug)]
pub(crate) enum Record {
    Result {
        host: HostId,
        op: OpId,
        outcome: Outcome,
        outbox: Arc<Outbox>,
    },
    /// The agent changed a flag by itself.
    Flags {
        host: HostId,
        process: FullName,
        flag: Flag,
        managed: bool,
    },
    /// The deadline of a target has passed.
    Overdue { op: OpId, outcome: Outcome },
    Event {
        row: EventRow,
        address: Host,
        outbox: Arc<Outbox>,
    },
}

/// Runs until the stop signal, and then until the queue is empty.
pub(crate) async fn run(
    operations: Arc<Operations>,
    mut records: mpsc::Receiver<Record>,
    mut stop: watch::Receiver<bool>,
) {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        tokio::select! {
            n = records.recv_many(&mut batch, BATCH) => if n == 0 { return },
            () = stopped(&mut stop) => {
                records.close();
                while records.recv_many(&mut batch, BATCH).await > 0 {
                    operations.record(std::mem::take(&mut batch), &mut stop).await;
                }
                return;
            }
        }
        operations
            .record(std::mem::take(&mut batch), &mut stop)
            .await;
    }
}

impl Operations {
    /// Commits a batch, however long the store is away; gives up only at the stop signal.
    async fn record(&self, batch: Vec<Record>, stop: &mut watch::Receiver<bool>) {
        let batch = Arc::new(batch);
        let mut tasks = HashMap::new();
        let fresh = loop {
            match self.try_record(&batch, &mut tasks).await {
                Ok(revision) => break self.fresh_events(&batch, revision).await,
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "cannot record results: retrying"
                    );
                    if *stop.borrow() {
                        return;
                    }
                }
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY) => {}
                () = stopped(stop) => {}
            }
        };
        self.acknowledge(&batch, fresh);
    }

    async fn try_record(
        &self,
        batch: &Arc<Vec<Record>>,
        tasks: &mut HashMap<model::TaskId, Option<Arc<Task>>>,
    ) -> Result<Revision, crate::ControlError> {
        for record in batch.iter() {
            let (Record::Result { op, .. } | Record::Overdue { op, .. }) = record else {
                continue;
            };
            if tasks.contains_key(&op.task) {
                continue;
            }
            let task = match self.find_task(op.task).await {
                Ok(task) => Some(task),
                Err(crate::ControlError::NoSuchTask(_)) => None,
                Err(error) => return Err(error),
            };
            tasks.insert(op.task, task);
        }
        // A reader of the result at another replica must find the status that led to it.
        self.replicas.publish_changed();
        let (batch, mut tasks, core) = (batch.clone(), tasks.clone(), self.core.clone());
        self.core
            .commit_short(move |world| {
                // A task that was read from the store may have been loaded since, with newer outcomes.
                for (id, task) in &mut tasks {
                    if let Some(known) = core.tasks.get(*id) {
                        *task = Some(known);
                    }
                }
                Ok((plan(world, &batch, &tasks, core.now()), world.revision))
            })
            .await
    }

    /// The events of a batch that its commit added. Agents resend unacknowledged events, so the store may have had some.
    async fn fresh_events(&self, batch: &[Record], revision: Revision) -> HashSet<(HostId, u64)> {
        let events = batch.iter().filter_map(|record| match record {
            Record::Event { row, .. } => Some((row.host, row.seq)),
            Record::Result { .. } | Record::Flags { .. } | Record::Overdue { .. } => None,
        });
        let events: HashSet<(HostId, u64)> = events.collect();
        if events.is_empty() {
            return events;
        }
        match self.core.store.events_of(revision).await {
            Ok(fresh) => fresh.into_iter().collect(),
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "cannot read which events are new: watchers may receive an event twice"
                );
                events
            }
        }
    }

    fn acknowledge(&self, batch: &[Record], mut fresh: HashSet<(HostId, u64)>) {
        let mut to_wake = Vec::with_capacity(batch.len());
        for record in batch {
            match record {
                Record::Result { op, outbox, .. } => {
                    self.core.counters.results.add(1);
                    outbox.acknowledge(&[*op], 0);
                    to_wake.push(outbox.clone());
                }
                Record::Event {
                    row,
                    address,
                    outbox,
                } => {
                    outbox.acknowledge(&[], row.seq);
                    to_wake.push(outbox.clone());
                    if !fresh.remove(&(row.host, row.seq)) {
                        continue;
                    }
                    self.core.counters.events[row.event.kind as usize].add(1);
                    self.core.watchers.send(ChangeEvent::Event {
                        host: *address,
                        event: row.event.clone(),
                    });
                }
                Record::Overdue { .. } | Record::Flags { .. } => {}
            }
        }
        self.core.outboxes.wake(to_wake);
    }
}

/// The changes of a batch. An agent may end targets of its own host only. A target ends once, except that a late result
/// replaces the outcome of its deadline.
fn plan(
    world: &World<'_>,
    batch: &[Record],
    tasks: &HashMap<model::TaskId, Option<Arc<Task>>>,
    now: UnixMillis,
) -> Changes {
    let mut changes = Changes::default();
    let mut ended: HashMap<OpId, Code> = HashMap::new();
    let mut processes: HashMap<ProcessId, ProcessRow> = HashMap::new();
    for record in batch {
        let (op, outcome, from) = match record {
            Record::Event { row, .. } => {
                changes.events.push(row.clone());
                continue;
            }
            Record::Flags {
                host,
                process,
                flag,
                managed,
            } => {
                let name = world.fleet.name_id(process);
                if let Some(row) = name.and_then(|name| world.fleet.process(*host, name)) {
                    let next = processes.entry(row.id()).or_insert_with(|| row.to_change());
                    (next.flag, next.managed) = (*flag, *managed);
                }
                continue;
            }
            Record::Result {
                host, op, outcome, ..
            } => (*op, outcome, Some(*host)),
            Record::Overdue { op, outcome } => (*op, outcome, None),
        };
        let Some(Some(task)) = tasks.get(&op.task) else {
            continue;
        };
        let Some(target) = task.target(op) else {
            continue;
        };
        let before = ended
            .get(&op)
            .copied()
            .or_else(|| task.outcome(op).map(|outcome| outcome.code));
        let may_end = match before {
            None => true,
            Some(Code::TERMINATED) => from.is_some(),
            Some(_) => false,
        };
        if !may_end || from.is_some_and(|host| target.host != Some(host)) {
            continue;
        }
        if ended.insert(op, outcome.code).is_some() {
            // Deadline and result in one batch: the result wins.
            changes.outcomes.retain(|row| row.op_id != op);
        }
        let fleet = world.fleet;
        let row = target
            .host
            .zip(fleet.name_id(&target.process))
            .and_then(|(host, name)| fleet.process(host, name));
        let mut subject = match (&row, &target.probe) {
            (Some(row), _) => subject_of(row),
            (None, Some(probe)) => subject_of_probe(probe),
            (None, None) => OutcomeSubject::default(),
        };
        subject.managed = outcome.managed.unwrap_or(subject.managed);
        let subject = Some(Box::new(subject));
        changes.outcomes.push(OutcomeRow {
            op_id: op,
            outcome: Outcome {
                took_ms: Some(now.millis_since(task.row.created_at).max(0) as u64),
                subject,
                ..outcome.clone()
            },
        });
        if let Some(row) = row {
            let next = processes.entry(row.id()).or_insert_with(|| row.to_change());
            // The agent reports its flags before the result that changed them. A result that waited may be older than
            // the last report, and must not overwrite it.
            let (flag, managed) = match row.held() {
                Some((flag, managed)) => (Some(flag), Some(managed)),
                None => (outcome.flag, outcome.managed),
            };
            next.flag = flag.unwrap_or(next.flag);
            next.managed = managed.unwrap_or(next.managed);
        }
    }
    let moved = processes.into_values().filter(|now| {
        world
            .fleet
            .row(now.id)
            .is_some_and(|row| (row.flag(), row.managed()) != (now.flag, now.managed))
    });
    changes.processes.extend(moved);
    changes
}
