//! Executes tasks that are no operations of an agent (config files, upgrades of agents), a limited number at a time.
//!
//! Running workers are not stored. After a restart all their tasks start again: both are idempotent.

use std::collections::{HashMap, HashSet};

use model::job::{JobArea, JobId, JobStatus};
use tokio::task::{JoinError, JoinSet};

use super::Jobs;
use super::instance::is_connected;
use crate::agents::upgrade_agent;
use crate::templates::{ConfigResult, work};

/// How many workers run at a time.
const AT_A_TIME: usize = 32;

/// A task, by job and ordinal.
type Key = (JobId, u32);

#[derive(Debug, Default)]
pub(super) struct Workers {
    running: JoinSet<ConfigResult>,
    tasks: HashSet<Key>,
    /// The task of each worker.
    keys: HashMap<tokio::task::Id, Key>,
}

impl Workers {
    /// The next result; pending while no worker runs.
    pub(super) async fn next(&mut self) -> (JobId, u32, ConfigResult) {
        loop {
            match self.running.join_next_with_id().await {
                Some(ended) => {
                    if let Some(done) = self.ended(ended) {
                        return done;
                    }
                }
                None => std::future::pending().await,
            }
        }
    }

    /// The next result, if there is one already.
    pub(super) fn try_next(&mut self) -> Option<(JobId, u32, ConfigResult)> {
        loop {
            let ended = self.running.try_join_next_with_id()?;
            if let Some(done) = self.ended(ended) {
                return Some(done);
            }
        }
    }

    /// A worker that panicked fails its task: it would panic again.
    fn ended(
        &mut self,
        ended: Result<(tokio::task::Id, ConfigResult), JoinError>,
    ) -> Option<(JobId, u32, ConfigResult)> {
        let (worker, done) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!(%error, "a worker of a job panicked");
                (error.id(), ConfigResult::panicked())
            }
        };
        let key = self.keys.remove(&worker)?;
        self.tasks.remove(&key);
        Some((key.0, key.1, done))
    }

    /// Starts workers up to the limit; false when some tasks wait for their agents.
    pub(super) fn begin(&mut self, jobs: &Jobs) -> bool {
        let mut all_can = true;
        let mut room = AT_A_TIME.saturating_sub(self.running.len());
        let table = jobs.core.jobs.table();
        let fleet = jobs.core.fleet();
        for (id, job) in &table.open {
            if job.row.action.op().is_some() {
                continue;
            }
            let waits_for_agents = jobs.core.jobs.waits_for_agents(*id);
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
                    let worker =
                        match &job.row.area {
                            JobArea::Agents(version) => {
                                let upgrade = upgrade_agent(
                                    jobs.agents.clone(),
                                    task.target.clone(),
                                    version.clone(),
                                );
                                self.running
                                    .spawn(async { ConfigResult::of_upgrade(upgrade.await) })
                            }
                            JobArea::Business(_) | JobArea::Namespaces(_) => self
                                .running
                                .spawn(work(jobs.templates.clone(), job.row.clone(), task.clone())),
                        };
                    self.keys.insert(worker.id(), key);
                }
            }
        }
        all_can
    }
}
