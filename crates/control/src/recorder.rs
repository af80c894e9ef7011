//! Writes down how targets ended and what happened, many in one commit, and acknowledges only then.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use model::change::{Changes, EventRow, HostId, OutcomeRow, ProcessId, ProcessRow, Revision};
use model::operation::OutcomeSubject;
use model::{Code, Flag, FullName, Host, OpId, Outcome};
use tokio::sync::{mpsc, watch};

use crate::commit::World;
use crate::operate::{subject_of, subject_of_probe};
use crate::sessions::Outbox;
use crate::tasks::Task;
use crate::{Control, Happening, stopped};

/// How many records one commit takes.
const BATCH: usize = 4096;
/// How long to wait before the store is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// Something that an agent, or a deadline, wants on record.
#[derive(Debug)]
pub(crate) enum Record {
    Result {
        host: HostId,
        op: OpId,
        outcome: Outcome,
        outbox: Arc<Outbox>,
    },
    /// What an agent has come to hold as wanted by itself.
    Wanted {
        host: HostId,
        process: FullName,
        flag: Flag,
        managed: bool,
    },
    /// Silence that became an end.
    Overdue { op: OpId, outcome: Outcome },
    Event {
        row: EventRow,
        address: Host,
        outbox: Arc<Outbox>,
    },
}

/// Runs until told to stop and the queue is empty.
pub(crate) async fn run(
    control: Control,
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
                    control.record(std::mem::take(&mut batch), &mut stop).await;
                }
                return;
            }
        }
        control.record(std::mem::take(&mut batch), &mut stop).await;
    }
}

impl Control {
    /// Makes a batch durable, however long the store is away; gives up only when told to stop.
    async fn record(&self, batch: Vec<Record>, stop: &mut watch::Receiver<bool>) {
        let batch = Arc::new(batch);
        let mut tasks = HashMap::new();
        let fresh = loop {
            match self.try_record(&batch, &mut tasks).await {
                Ok(revision) => break self.fresh_events(&batch, revision).await,
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "results wait: cannot record them"
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
        // Whoever reads a result on another replica should find the status that led to it there.
        self.tell_moved();
        let (batch, mut tasks, control) = (batch.clone(), tasks.clone(), self.clone());
        self.commit(move |world| {
            // What was read from the store may be known here since, and have ended elsewhere.
            for (id, task) in &mut tasks {
                if let Some(known) = control.0.tasks.get(*id) {
                    *task = Some(known);
                }
            }
            Ok((plan(world, &batch, &tasks), world.revision))
        })
        .await
    }

    /// The events of a batch that were not on record before its commit. An agent sends again what it heard no
    /// acknowledgement for, so some may have been.
    async fn fresh_events(&self, batch: &[Record], revision: Revision) -> HashSet<(HostId, u64)> {
        let events = batch.iter().filter_map(|record| match record {
            Record::Event { row, .. } => Some((row.host, row.seq)),
            Record::Result { .. } | Record::Wanted { .. } | Record::Overdue { .. } => None,
        });
        let events: HashSet<(HostId, u64)> = events.collect();
        if events.is_empty() {
            return events;
        }
        match self.0.store.events_of(revision).await {
            Ok(fresh) => fresh.into_iter().collect(),
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "watchers may be told of an event twice: cannot see which are new"
                );
                events
            }
        }
    }

    fn acknowledge(&self, batch: &[Record], mut fresh: HashSet<(HostId, u64)>) {
        for record in batch {
            match record {
                Record::Result { op, outbox, .. } => {
                    self.0.counters.results.add(1);
                    outbox.acknowledge(&[*op], 0);
                }
                Record::Event {
                    row,
                    address,
                    outbox,
                } => {
                    outbox.acknowledge(&[], row.seq);
                    if !fresh.remove(&(row.host, row.seq)) {
                        continue;
                    }
                    self.0.counters.events[row.event.kind as usize].add(1);
                    self.tell(Happening::Event {
                        host: *address,
                        event: row.event.clone(),
                    });
                }
                Record::Overdue { .. } | Record::Wanted { .. } => {}
            }
        }
    }
}

/// What a batch changes. An agent speaks only for its own host; a target ends once, except that an agent's late answer
/// replaces the end that silence gave it.
fn plan(
    world: &World<'_>,
    batch: &[Record],
    tasks: &HashMap<model::TaskId, Option<Arc<Task>>>,
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
            Record::Wanted {
                host,
                process,
                flag,
                managed,
            } => {
                let name = world.fleet.name_id(process);
                if let Some(row) = name.and_then(|name| world.fleet.process(*host, name)) {
                    let now = processes.entry(row.id()).or_insert_with(|| row.to_change());
                    (now.flag, now.managed) = (*flag, *managed);
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
            // Silence and answer in one batch: the answer counts.
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
                subject,
                ..outcome.clone()
            },
        });
        if let Some(row) = row {
            let now = processes.entry(row.id()).or_insert_with(|| row.to_change());
            // An agent says what it holds before it says what led to that. A result that waited for long may be older:
            // it must not take back what has happened since.
            let (flag, managed) = match row.held() {
                Some((flag, managed)) => (Some(flag), Some(managed)),
                None => (outcome.flag, outcome.managed),
            };
            now.flag = flag.unwrap_or(now.flag);
            now.managed = managed.unwrap_or(now.managed);
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
