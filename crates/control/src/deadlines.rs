//! Every target ends: silence past its deadline becomes 126.

use std::time::Duration;

use model::{Code, OpId, Outcome};
use tokio::sync::watch;

use crate::recorder::Record;
use crate::{Control, stopped};

/// How many overdue targets are ended at a time.
const BATCH: usize = 4096;
/// How long to wait at most before looking again, in case the clock was moved.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

pub(crate) async fn run(control: Control, mut stop: watch::Receiver<bool>) {
    loop {
        let wait = match control.0.tasks.next_deadline() {
            Some(at) if control.leads() => {
                Duration::from_millis(at.millis_since(control.now()) as u64).min(LOOK_AGAIN)
            }
            Some(_) | None => LOOK_AGAIN,
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = control.0.tasks.deadlines_moved.notified() => {}
            () = stopped(&mut stop) => return,
        }
        if !control.leads() {
            continue;
        }
        let overdue = control.0.tasks.overdue(control.now(), BATCH);
        if overdue.is_empty() {
            continue;
        }
        for op in overdue {
            let record = Record::Overdue {
                op,
                outcome: control.overdue(op),
            };
            if control.0.records.send(record).await.is_err() {
                return;
            }
        }
        // They stay overdue until the recorder has written them down.
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(200)) => {}
            () = stopped(&mut stop) => return,
        }
    }
}

impl Control {
    fn overdue(&self, op: OpId) -> Outcome {
        let at = self.now();
        let fleet = self.fleet();
        let task = self.0.tasks.get(op.task);
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
