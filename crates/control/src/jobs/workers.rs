//! What is done for tasks that are no operation of an agent's: a bounded number at a time.
//!
//! Which task is being worked on is known here alone. After a restart nobody works on any, and all are begun anew: what is
//! done to config files is the same however often it is done.

use std::collections::HashSet;

use model::job::{JobId, JobStatus};
use tokio::task::JoinSet;

use super::run::is_connected;
use crate::Control;
use crate::templates::{ConfigDone, work};

/// How many tasks are worked on at a time.
const AT_A_TIME: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Workers {
    at_work: JoinSet<(JobId, u32, ConfigDone)>,
    tasks: HashSet<(JobId, u32)>,
}

impl Workers {
    /// The next that is done; never, while nothing is worked on.
    pub(super) async fn next(&mut self) -> (JobId, u32, ConfigDone) {
        loop {
            match self.at_work.join_next().await {
                Some(Ok((job, ordinal, done))) => {
                    self.tasks.remove(&(job, ordinal));
                    return (job, ordinal, done);
                }
                Some(Err(error)) => {
                    // Which one it was is not told: all that are not at work are begun anew.
                    tracing::error!(%error, "a worker of a job failed");
                    self.tasks.clear();
                    self.at_work.abort_all();
                }
                None => std::future::pending().await,
            }
        }
    }

    /// One more that is done already.
    pub(super) fn ready(&mut self) -> Option<(JobId, u32, ConfigDone)> {
        let (job, ordinal, done) = self.at_work.try_join_next()?.ok()?;
        self.tasks.remove(&(job, ordinal));
        Some((job, ordinal, done))
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
                let waits = task.status == JobStatus::Running && task.op.is_none();
                let can = !waits_for_agents || is_connected(&fleet, task);
                all_can &= !waits || can;
                if waits && can && self.tasks.insert(key) {
                    room -= 1;
                    let done = work(control.clone(), job.row.clone(), task.clone());
                    self.at_work
                        .spawn(async move { (key.0, key.1, done.await) });
                }
            }
        }
        all_can
    }
}
