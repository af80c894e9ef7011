//! Takes an update back: a further job gives the hosts that were changed what they had before.
//!
//! A job that is to be taken back ends in the same commit that creates the job which does it, so that neither is forgotten when a
//! server is killed in between. That job has the same batches, no gate and no limit of failures: it goes on until every host
//! was told.

use model::access::{Audit, Caller, Permission};
use model::change::Changes;
use model::job::{JobId, JobOptions, JobRow, JobStatus, JobTaskRow, JobUpdate, TaskUpdate};
use model::{Code, UnixMillis};

use super::order::{self, TaskBrief};
use super::step::JobStep;
use super::update::{rolls_already, versions_of};
use super::{Jobs, pause};
use crate::ControlError;
use crate::answers::user_or_app;
use crate::commit::World;

/// A job that takes another one back.
pub(super) struct RevertJob {
    pub(super) row: JobRow,
    pub(super) tasks: Vec<JobTaskRow>,
}

impl RevertJob {
    /// None where the job changed no host.
    pub(super) fn of(
        job: &JobRow,
        tasks: &[JobTaskRow],
        id: JobId,
        at: UnixMillis,
    ) -> Option<Self> {
        let update = job.update.as_ref()?;
        let changed = tasks.iter().filter_map(|task| {
            let of = task.update?;
            Some((task, of.had?, of.restarts))
        });
        let tasks: Vec<JobTaskRow> = (0..)
            .zip(changed)
            .map(|(ordinal, (task, had, restarts))| JobTaskRow {
                job: id,
                ordinal,
                target: task.target.clone(),
                label: task.label.clone(),
                priority: task.priority,
                unit: task.unit,
                status: JobStatus::Pending,
                op: None,
                code: Code::OK,
                reason: String::new(),
                output: String::new(),
                command: String::new(),
                started_at: UnixMillis::NEVER,
                ended_at: UnixMillis::NEVER,
                gate: None,
                update: Some(TaskUpdate {
                    to: had,
                    had: None,
                    restarts,
                }),
            })
            .collect();
        if tasks.is_empty() {
            return None;
        }
        let row = JobRow {
            id,
            options: JobOptions {
                isolation: job.options.isolation,
                batch_size: job.options.batch_size,
                order: job.options.order.clone(),
                max_failures: u32::MAX,
                ..JobOptions::default()
            },
            created_at: at,
            ended_at: UnixMillis::NEVER,
            status: JobStatus::Pending,
            cancelled_by: String::new(),
            paused_by: String::new(),
            retried_at: UnixMillis::NEVER,
            update: Some(Box::new(JobUpdate {
                restores: None,
                reverts: Some(job.id),
                reverted_by: None,
                revert_asked_by: String::new(),
                ..(**update).clone()
            })),
            ..job.clone()
        };
        Some(Self { row, tasks })
    }

    /// Adds the job to a commit. The caller marks the job that it takes back.
    pub(super) fn add_to(self, world: &World<'_>, changes: &mut Changes, by: &Caller) {
        let versions = versions_of(world.fleet, &self.row, &self.tasks);
        changes.versions.extend(versions);
        let reverts = self.row.update.as_ref().and_then(|update| update.reverts);
        let object = match reverts {
            Some(reverts) => format!("job {}: revert job {reverts}", self.row.id),
            None => format!("job {}", self.row.id),
        };
        let detail = format!("{} processes", self.tasks.len());
        let at = self.row.created_at;
        changes
            .audit
            .push(Audit::new(by, at, "create_job", object, detail));
        changes.jobs.push(self.row);
        changes.job_tasks.extend(self.tasks);
    }
}

impl JobStep<'_> {
    /// The job that takes this one back, where it is over and has to be.
    pub(super) fn revert(&self, ended: &JobRow) -> Option<RevertJob> {
        let (row, update) = (&self.job.row, ended.update.as_ref()?);
        let is_asked = !update.revert_asked_by.is_empty();
        let has_failed = || {
            let briefs = self.job.tasks.iter().map(|task| self.brief(task));
            let briefs: Vec<TaskBrief> = briefs.collect();
            order::is_past_limit(&briefs, order::of(row.action, &row.options), &row.options)
        };
        let by_itself = || row.options.revert && row.cancelled_by.is_empty() && has_failed();
        if update.reverted_by.is_some() || !(is_asked || by_itself()) {
            return None;
        }
        let tasks = self.job.tasks.iter();
        let tasks = tasks.map(|task| self.moved.get(&task.ordinal).unwrap_or(task).clone());
        let tasks: Vec<JobTaskRow> = tasks.collect();
        RevertJob::of(ended, &tasks, self.next_id, self.now)
    }

    /// Whether agents may still reconnect to a server that was restarted while this job, or the one that it takes back, went on.
    pub(super) fn waits_for_agents(&self) -> bool {
        let row = &self.job.row;
        let reverts = row.update.as_ref().and_then(|update| update.reverts);
        let mut jobs = [Some(row.id), reverts].into_iter().flatten();
        jobs.any(|id| self.core.jobs.waits_for_agents(id))
    }
}

impl Jobs {
    /// Takes an update back. Returns the job that does it, or None while the tasks that are under way have to end first: it
    /// is created then.
    pub async fn revert(&self, caller: &Caller, id: JobId) -> Result<Option<JobId>, ControlError> {
        loop {
            let n_closed = self.core.jobs.table().n_closed;
            let before = self.get(caller, id).await?;
            self.check(caller, Permission::Operate, &before.job.area)?;
            let (by, at, core) = (caller.clone(), self.core.now(), self.core.clone());
            let reverted = self
                .core
                .commit(move |world| {
                    let table = core.jobs.table();
                    if let Some(open) = table.open.get(&id) {
                        can_be_reverted(&open.row)?;
                        let changes = pause::cancelled(open, &by, at, |row| {
                            if let Some(update) = &mut row.update {
                                update.revert_asked_by = user_or_app(&by.user, &by.app);
                            }
                        });
                        return Ok((changes, Some(None)));
                    }
                    if table.n_closed != n_closed {
                        // It went on and ended since it was read.
                        return Ok((Changes::default(), None));
                    }
                    let update = can_be_reverted(&before.job)?;
                    if let Some(open) = table.open_roll(&update.process) {
                        return Err(rolls_already(&update.process, open));
                    }
                    let row = JobRow {
                        app: by.app.clone(),
                        user: by.user.clone(),
                        ..before.job.clone()
                    };
                    let revert = RevertJob::of(&row, &before.tasks, table.next_id(), at);
                    let revert = revert.ok_or_else(|| {
                        ControlError::Conflict(format!("job {id} changed no host"))
                    })?;
                    let revert_id = revert.row.id;
                    let mut changes = Changes {
                        jobs: vec![reverted_by(before.job.clone(), revert_id)],
                        ..Changes::default()
                    };
                    revert.add_to(world, &mut changes, &by);
                    Ok((changes, Some(Some(revert_id))))
                })
                .await?;
            if let Some(reverted) = reverted {
                return Ok(reverted);
            }
        }
    }
}

/// The job, with the one that takes it back.
pub(super) fn reverted_by(job: JobRow, id: JobId) -> JobRow {
    JobRow {
        update: job.update.map(|update| {
            Box::new(JobUpdate {
                reverted_by: Some(id),
                ..*update
            })
        }),
        ..job
    }
}

/// Refuses a job that is no update, and one that is taken back already.
pub(super) fn can_be_reverted(job: &JobRow) -> Result<&JobUpdate, ControlError> {
    let id = job.id;
    let refused = |why: String| Err(ControlError::Conflict(why));
    match &job.update {
        None => refused(format!("job {id} is no update, and cannot be taken back")),
        Some(update) => match update.reverted_by {
            Some(by) => refused(format!("job {id} is taken back by job {by} already")),
            None => Ok(update),
        },
    }
}
