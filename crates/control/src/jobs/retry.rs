//! Starts failed tasks of a job again.

use std::collections::BTreeSet;

use fleet::Fleet;
use model::access::{Audit, Caller, Permission};
use model::change::Changes;
use model::job::{JobId, JobRow, JobStatus, JobTaskRow, JobUpdate, TaskOrder};
use model::{Code, UnixMillis};

use super::revert::can_be_reverted;
use super::select::unit_of;
use super::update::rolls_already;
use super::{JobView, Jobs};
use crate::ControlError;

impl Jobs {
    /// Starts the failed tasks of a job again, with the current topology: all of them, or those named. Returns their number.
    pub async fn retry(
        &self,
        caller: &Caller,
        id: JobId,
        ordinals: Option<Vec<u32>>,
    ) -> Result<u32, ControlError> {
        let ordinals = ordinals.map(BTreeSet::from_iter);
        loop {
            let n_closed = self.core.jobs.table().n_closed;
            let before = self.get(caller, id).await?;
            self.check(caller, Permission::Operate, &before.job.area)?;
            let retry = Retry {
                before,
                n_closed,
                ordinals: ordinals.clone(),
            };
            if let Some(n_tasks) = self.start_retry(caller, retry).await? {
                return Ok(n_tasks);
            }
        }
    }

    /// None when the job went on and ended since it was read: the caller reads it again.
    async fn start_retry(
        &self,
        caller: &Caller,
        retry: Retry,
    ) -> Result<Option<u32>, ControlError> {
        let (caller, at) = (caller.clone(), self.core.now());
        let core = self.core.clone();
        self.core
            .commit(move |world| {
                let table = core.jobs.table();
                let (id, open) = (retry.before.job.id, table.open.get(&retry.before.job.id));
                let (row, tasks) = match open {
                    Some(open) => (&open.row, &open.tasks),
                    None if table.n_closed == retry.n_closed => {
                        (&retry.before.job, &retry.before.tasks)
                    }
                    None => return Ok((Changes::default(), None)),
                };
                if row.update.is_some() {
                    let update = can_be_reverted(row)?;
                    if let (None, Some(other)) = (open, table.open_roll(&update.process)) {
                        return Err(rolls_already(&update.process, other));
                    }
                }
                let retried = retried(world.fleet, row, tasks, retry.ordinals.as_ref())?;
                let n_tasks = retried.len() as u32;
                let job_tasks = match open {
                    Some(_) => retried,
                    // All tasks, because a job that has ended is not in memory.
                    None => {
                        let mut all = tasks.clone();
                        for task in retried {
                            let at = task.ordinal as usize;
                            all[at] = task;
                        }
                        all
                    }
                };
                let object = format!("job {id}");
                let detail = format!("{n_tasks} tasks again");
                let changes = Changes {
                    jobs: vec![JobRow {
                        status: JobStatus::Running,
                        ended_at: UnixMillis::NEVER,
                        cancelled_by: String::new(),
                        retried_at: at,
                        update: row.update.clone().map(|update| {
                            Box::new(JobUpdate {
                                revert_asked_by: String::new(),
                                ..*update
                            })
                        }),
                        ..row.clone()
                    }],
                    job_tasks,
                    audit: vec![Audit::new(&caller, at, "retry_job", object, detail)],
                    ..Changes::default()
                };
                Ok((changes, Some(n_tasks)))
            })
            .await
    }
}

/// A job whose failed tasks start again.
#[derive(Debug)]
struct Retry {
    before: JobView,
    /// [`super::table::JobTable::n_closed`] when the job was read.
    n_closed: u64,
    ordinals: Option<BTreeSet<u32>>,
}

/// The failed tasks, reset.
fn retried(
    fleet: &Fleet,
    job: &JobRow,
    tasks: &[JobTaskRow],
    ordinals: Option<&BTreeSet<u32>>,
) -> Result<Vec<JobTaskRow>, ControlError> {
    let wanted = |task: &&JobTaskRow| {
        task.status == JobStatus::Failed
            && ordinals.is_none_or(|ordinals| ordinals.contains(&task.ordinal))
    };
    let failed: Vec<&JobTaskRow> = tasks.iter().filter(wanted).collect();
    if failed.is_empty() {
        let message = format!("no task of job {} that was asked for has failed", job.id);
        return Err(ControlError::Conflict(message));
    }
    let retry = |task: &JobTaskRow| {
        let row = task.target.process().and_then(|id| fleet.view_row(id));
        let has_place = matches!(
            job.options.order,
            Some(TaskOrder::Host | TaskOrder::Label(_))
        );
        let priority = match row.filter(|_| !has_place) {
            Some(row) => row.program.priority.unwrap_or(0),
            None => task.priority,
        };
        JobTaskRow {
            status: JobStatus::Pending,
            op: None,
            code: Code::OK,
            reason: String::new(),
            output: String::new(),
            command: String::new(),
            started_at: UnixMillis::NEVER,
            ended_at: UnixMillis::NEVER,
            gate: None,
            priority,
            unit: row.map_or(task.unit, |row| unit_of(&row, job.options.isolation)),
            ..task.clone()
        }
    };
    Ok(failed.into_iter().map(retry).collect())
}
