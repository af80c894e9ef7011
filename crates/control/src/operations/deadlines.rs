//! Ends targets whose agents did not answer before the deadline, with code 126.

use std::sync::Arc;
use std::time::Duration;

use model::{Code, OpId, Outcome};
use tokio::sync::watch;

use super::{Operations, Record};
use crate::stopped;

/// How many overdue targets are ended per round.
const BATCH: usize = 4096;
/// The longest sleep, in case the clock is set.
const MAX_SLEEP: Duration = Duration::from_secs(5);

pub(crate) async fn run(operations: Arc<Operations>, mut stop: watch::Receiver<bool>) {
    let core = &operations.core;
    loop {
        let wait = match core.tasks.next_deadline() {
            Some(at) if operations.replicas.leads() => {
                Duration::from_millis(at.millis_since(core.now()) as u64).min(MAX_SLEEP)
            }
            Some(_) | None => MAX_SLEEP,
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = core.tasks.deadlines_moved.notified() => {}
            () = stopped(&mut stop) => return,
        }
        if !operations.replicas.leads() {
            continue;
        }
        let overdue = core.tasks.overdue(core.now(), BATCH);
        if overdue.is_empty() {
            continue;
        }
        for op in overdue {
            let record = Record::Overdue {
                op,
                outcome: operations.overdue(op),
            };
            if operations.records.send(record).await.is_err() {
                return;
            }
        }
        // They stay overdue until the recorder has committed them.
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(200)) => {}
            () = stopped(&mut stop) => return,
        }
    }
}

impl Operations {
    fn overdue(&self, op: OpId) -> Outcome {
        let at = self.core.now();
        let task = self.core.tasks.get(op.task);
        let fleet = self.core.fleet();
        let host = task
            .and_then(|task| task.target(op)?.host)
            .and_then(|id| fleet.host(id));
        let message = match host {
            Some(host) => format!(
                "terminated: the agent of host {} did not answer in time; if it still does, its answer replaces this",
                host.host
            ),
            None => "terminated: no answer in time".to_owned(),
        };
        Outcome::plain(Code::TERMINATED, message, at)
    }
}
