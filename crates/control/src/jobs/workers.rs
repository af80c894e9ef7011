//! What is done for tasks that are no operation of an agent's: a bounded number at a time.
//!
//! Which task is being worked on is known here alone. After a restart nobody works on any, and all are begun anew: what is
//! done to config files is the same however often it is done.

use std::collections::{HashMap, HashSet};

use model::job::{JobId, JobStatus};
use tokio::task::{JoinError, JoinSet};

use super::instance::is_connected;
use crate::Control;
use crate::templates::{ConfigDone, work};

/// How many tasks are worked on at a time.
const AT_A_TIME: usize = 32;

/// A task, by job and ordinal.
type Key = (JobId, u32);

#[derive(Debug, Default)]
pub(super) struct Workers {
    at_work: JoinSet<ConfigDone>,
    tasks: HashSet<Key>,
    /// Which worker has which.
    keys: HashMap<tokio::task::Id, Key>,
}

impl Workers {
    /// The next that is done; never, while nothing is worked on.
    pub(super) async fn next(&mut self) -> (JobId, u32, ConfigDone) {
        loop {
            match self.at_work.join_next_with_id().await {
                Some(ended) => {
                    if let Some(done) = self.ended(ended) {
                        return done;
                    }
                }
                None => std::future::pending().await,
            }
        }
    }

    /// One more that is done already.
    pub(super) fn ready(&mut self) -> Option<(JobId, u32, ConfigDone)> {
        loop {
            let ended = self.at_work.try_join_next_with_id()?;
            if let Some(done) = self.ended(ended) {
                return Some(done);
            }
        }
    }

    /// A worker that broke fails its task: it would break again.
    fn ended(
        &mut self,
        ended: Result<(tokio::task::Id, ConfigDone), JoinError>,
    ) -> Option<(JobId, u32, ConfigDone)> {
        let (worker, done) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!(%error, "a worker of a job failed");
                (error.id(), ConfigDone::broken())
            }
        };
        let key = self.keys.remove(&worker)?;
        self.tasks.remove(&key);
        Some((key.0, key.1, done))
    }

    /// Takes up as many as there is room for; false when some wait for their agents.
    pub(super) fn begin(&mut self, control: &Control) -> bool {
        let mut all_can = true;
        let mut room = AT_A_TIME.saturating_sub(self.at_work.len());
        let fleet = control.fleet();
        let table = control.0.jobs.table();
        for (id, job) in &table.open {
            if job.row.action.op().is_some() {
                continue;
            }
            let waits_for_agents = control.0.jobs.waits_for_agents(*id);
            for task in &job.tasks {
                if room == 0 {
                    return true;
                }
                let key = (*id, task.ordinal);
                if task.status != JobStatus::Running || task.op.is_some() {
                    continue;
                }
                let can = !waits_for_agents || is_connected(&fleet, task);
                all_can &= can;
                if can && self.tasks.insert(key) {
                    room -= 1;
                    let done = work(control.clone(), job.row.clone(), task.clone());
                    let worker = self.at_work.spawn(done);
                    self.keys.insert(worker.id(), key);
                }
            }
        }
        all_can
    }
}
