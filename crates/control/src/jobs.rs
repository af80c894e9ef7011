//! Jobs: one action on every instance of a scope, in order of priority and in batches.
//!
//! A job and its tasks are rows; what is to be done next is a pure function of them (`order`), carried out by a reconciler
//! (`run`) that takes no input: whatever happened, it looks at the rows again. The operation that does a task is in the same
//! commit as the row that says so, so a task is begun once, whoever is killed when.

mod create;
mod instance;
mod order;
mod run;
mod settle;
mod table;
mod workers;

pub use create::NewJob;
pub(crate) use run::run;
pub use settle::solutions;
pub(crate) use table::Jobs;

use std::time::Duration;

use model::access::{AccessArea, Caller, Permission};
use model::job::{JobId, JobRow, JobStatus, JobTaskRow};
use store::{JobPage, JobSummary};

use crate::{Control, ControlError};

/// The longest that a caller may wait for a job.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A job with all its tasks, by ordinal.
#[derive(Debug, Clone)]
pub struct JobView {
    pub job: JobRow,
    pub tasks: Vec<JobTaskRow>,
}

impl JobView {
    pub fn count(&self, status: JobStatus) -> usize {
        let tasks = self.tasks.iter();
        tasks.filter(|task| task.status == status).count()
    }
}

impl Control {
    /// A job as it is now.
    pub async fn job(&self, caller: &Caller, id: JobId) -> Result<JobView, ControlError> {
        let open = self.0.jobs.table().open.get(&id).cloned();
        let view = match open {
            Some(job) => JobView {
                job: job.row,
                tasks: job.tasks,
            },
            None => {
                let stored = self.0.store.job(id).await?;
                let stored = stored.ok_or_else(|| no_such_job(id))?;
                JobView {
                    job: stored.job,
                    tasks: stored.tasks,
                }
            }
        };
        self.check(caller, Permission::View, view.job.business)?;
        Ok(view)
    }

    /// The same, but waits until it is over or has moved on from `n_ended` ended tasks, or the time is over.
    pub async fn job_moved(
        &self,
        caller: &Caller,
        id: JobId,
        n_ended: usize,
        wait: Duration,
    ) -> Result<JobView, ControlError> {
        let until = tokio::time::Instant::now() + wait.min(MAX_WAIT);
        let mut moved = self.0.jobs.moved.subscribe();
        loop {
            moved.borrow_and_update();
            // A large job is copied only for an answer.
            let still = self.0.jobs.table().n_ended(id);
            match still {
                Some((business, so_far)) if so_far <= n_ended => {
                    self.check(caller, Permission::View, business)?;
                }
                Some(_) | None => return self.job(caller, id).await,
            }
            // Running out of time is an answer, too.
            match tokio::time::timeout_at(until, moved.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return self.job(caller, id).await,
            }
        }
    }

    /// Newest first; only those of businesses that the caller may see.
    pub async fn jobs(
        &self,
        caller: &Caller,
        page: &JobPage,
    ) -> Result<Vec<JobSummary>, ControlError> {
        if let Some(business) = page.business {
            self.check(caller, Permission::View, business)?;
            return Ok(self.0.store.jobs(page).await?);
        }
        self.check(caller, Permission::View, AccessArea::Anything)?;
        let sees = |summary: &JobSummary| caller.may(Permission::View, summary.job.business);
        let (mut jobs, mut page) = (Vec::new(), page.clone());
        let wanted = page.limit as usize;
        while jobs.len() < wanted {
            let read = self.0.store.jobs(&page).await?;
            let is_last = read.len() < wanted;
            page.before = read.last().map(|summary| summary.job.id);
            jobs.extend(read.into_iter().filter(sees));
            if is_last {
                break;
            }
        }
        jobs.truncate(wanted);
        Ok(jobs)
    }
}

fn no_such_job(id: JobId) -> ControlError {
    ControlError::NotFound(format!("job {id} does not exist or is no longer kept"))
}
