//! Jobs: one action on many processes, in order of priority and in batches.
//!
//! A job and its tasks are rows. The next step is a pure function of them (`order`), executed by a reconciler (`run`) that takes
//! no input: after every wake-up it reads the rows again. The operation of a task is in the same commit as the task's new
//! status, so a crash never starts a task twice.

mod arrange;
mod create;
mod gate;
mod instance;
mod order;
mod pause;
mod plan;
mod retry;
mod revert;
mod run;
mod select;
mod settle;
mod step;
mod table;
mod update;
mod workers;

pub use create::{NewJob, NewUpdate};
pub(crate) use gate::NOT_STEADY;
pub use order::Batch;
pub(crate) use run::run;
pub use select::JobSelection;
pub use settle::solutions;
pub(crate) use settle::{BLOCKED, CANCELLED, NO_COMMAND};
pub(crate) use table::OpenJobs;
pub use update::{HasDefinition, UpdateState};

use std::sync::Arc;
use std::time::Duration;

use model::access::{AccessArea, Caller, Permission};
use model::job::{JobArea, JobId, JobRow, JobStatus, JobTaskRow};
use store::{JobPage, JobSummary};

use self::order::TaskBrief;
use crate::core::Core;
use crate::{Access, Agents, ControlError, Operations, Replicas, Templates};

/// The longest time that a caller may wait for a job.
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

    /// The batch under way; None once the job is over.
    pub fn batch(&self) -> Option<Batch> {
        batch_of(&self.job, &self.tasks)
    }
}

/// A job in a list.
#[derive(Debug, Clone)]
pub struct JobListed {
    pub summary: JobSummary,
    /// The batch under way; None once the job is over.
    pub batch: Option<Batch>,
}

fn batch_of(job: &JobRow, tasks: &[JobTaskRow]) -> Option<Batch> {
    (!job.status.is_over()).then(|| {
        let briefs: Vec<TaskBrief> = tasks.iter().map(TaskBrief::of).collect();
        order::batch(&briefs, order::of(job.action, &job.options), &job.options)
    })
}

/// Jobs over many instances.
#[derive(Debug)]
pub struct Jobs {
    core: Arc<Core>,
    access: Arc<Access>,
    replicas: Arc<Replicas>,
    operations: Arc<Operations>,
    templates: Arc<Templates>,
    agents: Arc<Agents>,
}

impl Jobs {
    pub(crate) fn new(
        core: &Arc<Core>,
        access: &Arc<Access>,
        replicas: &Arc<Replicas>,
        operations: &Arc<Operations>,
        templates: &Arc<Templates>,
        agents: &Arc<Agents>,
    ) -> Self {
        Self {
            core: core.clone(),
            access: access.clone(),
            replicas: replicas.clone(),
            operations: operations.clone(),
            templates: templates.clone(),
            agents: agents.clone(),
        }
    }

    /// A job as it is now.
    pub async fn get(&self, caller: &Caller, id: JobId) -> Result<JobView, ControlError> {
        let open = self.core.jobs.table().open.get(&id).cloned();
        let view = match open {
            Some(job) => JobView {
                job: job.row,
                tasks: job.tasks,
            },
            None => {
                let stored = self.core.store.job(id).await?;
                let stored = stored.ok_or_else(|| no_such_job(id))?;
                JobView {
                    job: stored.job,
                    tasks: stored.tasks,
                }
            }
        };
        self.check(caller, Permission::View, &view.job.area)?;
        Ok(view)
    }

    /// The same, but waits until the job is over, has more than `n_ended` ended tasks, or for `wait`.
    pub async fn wait_for_progress(
        &self,
        caller: &Caller,
        id: JobId,
        n_ended: usize,
        wait: Duration,
    ) -> Result<JobView, ControlError> {
        let until = tokio::time::Instant::now() + wait.min(MAX_WAIT);
        let mut moved = self.core.jobs.moved.subscribe();
        loop {
            moved.borrow_and_update();
            // A large job is copied only for the answer.
            let still = self.core.jobs.table().n_ended(id);
            match still {
                Some((area, so_far)) if so_far <= n_ended => {
                    self.check(caller, Permission::View, &area)?;
                }
                Some(_) | None => return self.get(caller, id).await,
            }
            // A timeout answers with the job as it is.
            match tokio::time::timeout_at(until, moved.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return self.get(caller, id).await,
            }
        }
    }

    fn check(
        &self,
        caller: &Caller,
        permission: Permission,
        area: &JobArea,
    ) -> Result<(), ControlError> {
        match area {
            JobArea::Business(business) => self.access.check(caller, permission, *business),
            JobArea::Namespaces(namespaces) => namespaces
                .iter()
                .try_for_each(|namespace| self.access.check(caller, permission, namespace)),
            JobArea::Agents(_) => match permission {
                Permission::View => self.access.check(caller, permission, AccessArea::Anything),
                Permission::Operate | Permission::Manage => self.access.check_admin(caller),
            },
        }
    }

    /// Newest first; only those of businesses and namespaces that the caller may see.
    pub async fn list(
        &self,
        caller: &Caller,
        page: &JobPage,
    ) -> Result<Vec<JobListed>, ControlError> {
        match page.business {
            Some(business) => self.access.check(caller, Permission::View, business)?,
            None => self
                .access
                .check(caller, Permission::View, AccessArea::Anything)?,
        }
        let sees = |summary: &JobSummary| may(caller, Permission::View, &summary.job.area);
        let (mut jobs, mut page) = (Vec::new(), page.clone());
        let wanted = page.limit as usize;
        while jobs.len() < wanted {
            let read = self.core.store.jobs(&page).await?;
            let is_last = read.len() < wanted;
            page.before = read.last().map(|summary| summary.job.id);
            jobs.extend(read.into_iter().filter(sees));
            if is_last {
                break;
            }
        }
        jobs.truncate(wanted);
        let table = self.core.jobs.table();
        let listed = jobs.into_iter().map(|summary| {
            let open = table.open.get(&summary.job.id);
            JobListed {
                batch: open.and_then(|open| batch_of(&open.row, &open.tasks)),
                summary,
            }
        });
        Ok(listed.collect())
    }
}

fn may(caller: &Caller, permission: Permission, area: &JobArea) -> bool {
    match area {
        JobArea::Business(business) => caller.may(permission, *business),
        JobArea::Namespaces(namespaces) => namespaces
            .iter()
            .all(|namespace| caller.may(permission, namespace)),
        JobArea::Agents(_) => match permission {
            Permission::View => true,
            Permission::Operate | Permission::Manage => {
                caller.may(Permission::Manage, AccessArea::Everything)
            }
        },
    }
}

fn no_such_job(id: JobId) -> ControlError {
    ControlError::NotFound(format!("job {id} does not exist or is no longer kept"))
}
