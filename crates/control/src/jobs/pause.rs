//! Pauses, resumes and cancels jobs.

use model::UnixMillis;
use model::access::{Audit, Caller, Permission};
use model::change::Changes;
use model::job::{JobId, JobRow, JobStatus, JobTaskRow};

use super::Jobs;
use super::settle::CANCELLED;
use super::table::OpenJob;
use crate::ControlError;
use crate::answers::user_or_app;

impl Jobs {
    /// Starts no further task until the job is resumed; running ones end by themselves. A paused job stays as it is.
    pub async fn pause(&self, caller: &Caller, id: JobId) -> Result<(), ControlError> {
        let by = user_or_app(&caller.user, &caller.app);
        self.set_paused(caller, id, "pause_job", move |job| {
            job.row.paused_by.is_empty().then(|| by.clone())
        })
        .await
    }

    /// Goes on with a paused job. One that is not paused goes on as it does.
    pub async fn resume(&self, caller: &Caller, id: JobId) -> Result<(), ControlError> {
        self.set_paused(caller, id, "resume_job", |job| {
            (!job.row.paused_by.is_empty()).then(String::new)
        })
        .await
    }

    /// `paused_by` answers the new value, or None for no change.
    async fn set_paused(
        &self,
        caller: &Caller,
        id: JobId,
        action: &'static str,
        paused_by: impl Fn(&OpenJob) -> Option<String> + Send + 'static,
    ) -> Result<(), ControlError> {
        let job = self.get(caller, id).await?.job;
        self.check(caller, Permission::Operate, &job.area)?;
        let (caller, at) = (caller.clone(), self.core.now());
        let core = self.core.clone();
        self.core
            .commit(move |_| {
                let table = core.jobs.table();
                let Some(job) = table.open.get(&id) else {
                    return Err(ControlError::Conflict(format!("job {id} is over")));
                };
                let Some(paused_by) = paused_by(job) else {
                    return Ok((Changes::default(), ()));
                };
                let object = format!("job {id}");
                let changes = Changes {
                    jobs: vec![JobRow {
                        paused_by,
                        ..job.row.clone()
                    }],
                    audit: vec![Audit::new(&caller, at, action, object, String::new())],
                    ..Changes::default()
                };
                Ok((changes, ()))
            })
            .await
    }

    /// Starts no further task; running ones end by themselves.
    pub async fn cancel(&self, caller: &Caller, id: JobId) -> Result<(), ControlError> {
        let job = self.get(caller, id).await?.job;
        self.check(caller, Permission::Operate, &job.area)?;
        let (caller, at) = (caller.clone(), self.core.now());
        let core = self.core.clone();
        self.core
            .commit(move |_| {
                let table = core.jobs.table();
                let Some(job) = table.open.get(&id) else {
                    return Err(ControlError::Conflict(format!("job {id} is over")));
                };
                Ok((cancelled(job, &caller, at, |_| {}), ()))
            })
            .await
    }
}

/// Ends the tasks that have not begun. `further` changes the row of the job.
pub(super) fn cancelled(
    job: &OpenJob,
    caller: &Caller,
    at: UnixMillis,
    further: impl FnOnce(&mut JobRow),
) -> Changes {
    let by = user_or_app(&caller.user, &caller.app);
    let pending = job.tasks.iter();
    let pending = pending.filter(|task| task.status == JobStatus::Pending);
    let tasks = pending.map(|task| JobTaskRow {
        status: JobStatus::Failed,
        code: CANCELLED,
        reason: format!("not begun: the job was cancelled by {by}"),
        ended_at: at,
        ..task.clone()
    });
    let mut row = JobRow {
        cancelled_by: by.clone(),
        paused_by: String::new(),
        ..job.row.clone()
    };
    further(&mut row);
    let object = format!("job {}", row.id);
    Changes {
        job_tasks: tasks.collect(),
        jobs: vec![row],
        audit: vec![Audit::new(caller, at, "cancel_job", object, String::new())],
        ..Changes::default()
    }
}
