//! The job reconciler: takes a step of each open job whenever something has changed, or some time has passed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use model::change::Changes;
use model::job::{JobId, JobStatus};
use model::{OpId, TaskId, UnixMillis};
use tokio::sync::watch;

use super::Jobs;
use super::step::{ConfigResults, JobStep, StoredOutcomes};
use super::workers::Workers;
use crate::{ControlError, stopped};

/// How often jobs are checked without a wake-up.
const POLL_EVERY: Duration = Duration::from_secs(5);
/// The longest sleep during a pause between batches.
const MAX_SLEEP: Duration = Duration::from_secs(1);

pub(crate) async fn run(jobs: Arc<Jobs>, mut stop: watch::Receiver<bool>) {
    let core = &jobs.core;
    let mut workers = Workers::default();
    let mut done: HashMap<JobId, ConfigResults> = HashMap::new();
    let mut sleep = Duration::ZERO;
    loop {
        tokio::select! {
            () = stopped(&mut stop) => return,
            () = core.jobs.wake.notified() => {}
            (job, ordinal, config) = workers.next() => {
                done.entry(job).or_default().insert(ordinal, config);
                while let Some((job, ordinal, config)) = workers.try_next() {
                    done.entry(job).or_default().insert(ordinal, config);
                }
            }
            () = tokio::time::sleep(sleep) => {}
        }
        sleep = POLL_EVERY;
        if !jobs.replicas.leads() {
            // The replica that leads now starts this work again.
            workers = Workers::default();
            done.clear();
            continue;
        }
        let ids: Vec<JobId> = core.jobs.table().open.keys().copied().collect();
        for id in ids {
            let done = done.remove(&id).unwrap_or_default();
            match jobs.advance(id, done).await {
                Ok(Some(wake_at)) => {
                    let wait = wake_at.0.saturating_sub(core.now().0).max(1);
                    let wait = Duration::from_millis(wait.cast_unsigned());
                    sleep = sleep.min(wait).min(MAX_SLEEP);
                }
                Ok(None) => {}
                // Config file work is idempotent, and is done again.
                Err(error) => tracing::warn!(%error, job = id.0, "a job cannot go on yet"),
            }
        }
        // Results for jobs that have ended are dropped.
        done.clear();
        if !workers.begin(&jobs) {
            // Some tasks wait for agents that are reconnecting.
            sleep = sleep.min(MAX_SLEEP);
        }
    }
}

impl Jobs {
    /// One step of a job; returns when to check again without a wake-up.
    async fn advance(
        &self,
        id: JobId,
        done: ConfigResults,
    ) -> Result<Option<UnixMillis>, ControlError> {
        let stored = Arc::new(self.outcomes_of(id).await?);
        let core = self.core.clone();
        self.core
            .commit(move |world| {
                let table = core.jobs.table();
                let Some(job) = table.open.get(&id) else {
                    return Ok((Changes::default(), None));
                };
                let next_id = table.next_id();
                Ok(JobStep::at(&core, world, job, next_id, &stored, &done).plan(&done))
            })
            .await
    }

    /// Reads outcomes from the store that are no longer in memory, as after a restart.
    async fn outcomes_of(&self, id: JobId) -> Result<StoredOutcomes, ControlError> {
        let mut unknown: BTreeMap<TaskId, Vec<OpId>> = BTreeMap::new();
        if let Some(job) = self.core.jobs.table().open.get(&id) {
            let running = job.tasks.iter();
            let running =
                running.filter(|task| task.status == JobStatus::Running && task.gate.is_none());
            for op in running.filter_map(|task| task.op) {
                if let Some(ops) = unknown.get_mut(&op.task) {
                    ops.push(op);
                } else if self.core.tasks.get(op.task).is_none() {
                    unknown.insert(op.task, vec![op]);
                }
            }
        }
        let mut stored = StoredOutcomes::new();
        for (task, ops) in unknown {
            let task = match self.operations.find_task(task).await {
                Ok(task) => Some(task),
                Err(ControlError::NoSuchTask(_)) => None,
                Err(error) => return Err(error),
            };
            for op in ops {
                let outcome = task.as_ref().and_then(|task| task.outcome(op));
                stored.insert(op, outcome);
            }
        }
        Ok(stored)
    }
}
