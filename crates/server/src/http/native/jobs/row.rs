//! Jobs and their tasks as the native API shows them.

use model::job::{JobId, JobOptions, JobRow, JobStatus, JobTaskRow};
use model::{Host, UnixMillis};
use serde::Serialize;
use store::JobCounts;
use utoipa::ToSchema;

use crate::http::native::answer::fit;
use crate::http::openapi::JobOptionsSchema;

/// A job in short.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobView {
    #[schema(value_type = u32)]
    id: JobId,
    business: u32,
    action: &'static str,
    /// `pending`, `running`, `succeeded` or `failed`.
    status: &'static str,
    /// What it was begun for: an object with `scope` or `expression_scope`.
    #[schema(value_type = Object)]
    selection: serde_json::Value,
    #[schema(value_type = JobOptionsSchema)]
    options: JobOptions,
    app: String,
    user: String,
    #[schema(value_type = i64)]
    created_at: UnixMillis,
    /// 0 while it goes on.
    #[schema(value_type = i64)]
    ended_at: UnixMillis,
    /// Who cancelled it; empty when nobody did.
    cancelled_by: String,
    counts: JobCountsView,
}

/// How many tasks there are, and how many of them in each status.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(crate) struct JobCountsView {
    total: u32,
    ended: u32,
    pending: u32,
    running: u32,
    succeeded: u32,
    failed: u32,
    ignored: u32,
}

impl JobCountsView {
    pub(crate) fn of(counts: JobCounts) -> Self {
        let ended = counts.succeeded + counts.failed + counts.ignored;
        Self {
            total: counts.pending + counts.running + ended,
            ended,
            pending: counts.pending,
            running: counts.running,
            succeeded: counts.succeeded,
            failed: counts.failed,
            ignored: counts.ignored,
        }
    }
}

impl JobView {
    pub(crate) fn new(job: JobRow, counts: JobCounts) -> Self {
        Self {
            id: job.id,
            business: job.business.0,
            action: job.action.as_str(),
            status: job.status.as_str(),
            selection: job.scope,
            options: job.options,
            app: job.app,
            user: job.user,
            created_at: job.created_at,
            ended_at: job.ended_at,
            cancelled_by: job.cancelled_by,
            counts: JobCountsView::of(counts),
        }
    }
}

/// A job with part of its tasks.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobDetail {
    #[serde(flatten)]
    job: JobView,
    /// How many tasks match.
    count: usize,
    start: u64,
    tasks: Vec<JobTaskView>,
}

/// One instance of a job, named as it was at the beginning.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobTaskView {
    /// From 0; a retry names tasks by it.
    ordinal: u32,
    /// The id of the process.
    process: u32,
    local_inst_id: u32,
    inst_id: u64,
    name: String,
    /// `set.module.service.process.id`
    expression: String,
    /// `cloud:ip`
    host: String,
    priority: i32,
    /// `pending`, `running`, `succeeded`, `failed` or `ignored`.
    status: &'static str,
    /// 0 unless it failed or was ignored.
    code: i32,
    /// Why it failed or was ignored.
    reason: String,
    /// What can be done about it.
    #[schema(value_type = Vec<String>)]
    solutions: &'static [&'static str],
    command: String,
    /// What the command printed, or what a diff shows.
    output: String,
    #[schema(value_type = i64)]
    started_at: UnixMillis,
    #[schema(value_type = i64)]
    ended_at: UnixMillis,
}

impl JobDetail {
    pub(crate) fn new(
        view: control::JobView,
        statuses: Option<&[JobStatus]>,
        start: u64,
        limit: usize,
    ) -> Self {
        let of = |status| view.count(status) as u32;
        let counts = JobCounts {
            pending: of(JobStatus::Pending),
            running: of(JobStatus::Running),
            succeeded: of(JobStatus::Succeeded),
            failed: of(JobStatus::Failed),
            ignored: of(JobStatus::Ignored),
        };
        let matches =
            |task: &JobTaskRow| statuses.is_none_or(|statuses| statuses.contains(&task.status));
        let skipped = usize::try_from(start).unwrap_or(usize::MAX);
        let (mut count, mut tasks) = (0, Vec::new());
        for task in view.tasks.into_iter().filter(matches) {
            if count >= skipped && tasks.len() < limit {
                tasks.push(JobTaskView::of(task));
            }
            count += 1;
        }
        Self {
            job: JobView::new(view.job, counts),
            count,
            start,
            tasks: fit(tasks),
        }
    }
}

impl JobTaskView {
    fn of(task: JobTaskRow) -> Self {
        let label = task.label;
        let host = label.bk_host_innerip.parse();
        let host = host.map(|ip| Host::new(label.bk_cloud_id, ip).to_string());
        Self {
            ordinal: task.ordinal,
            process: task.process.0,
            local_inst_id: task.local_inst_id,
            inst_id: label.inst_id,
            name: label.bk_process_name,
            expression: label.expression,
            host: host.unwrap_or(label.bk_host_innerip),
            priority: task.priority,
            status: task.status.as_str(),
            code: task.code.0,
            reason: task.reason,
            solutions: match task.status {
                JobStatus::Failed => control::solutions(task.code),
                JobStatus::Pending
                | JobStatus::Running
                | JobStatus::Succeeded
                | JobStatus::Ignored => &[],
            },
            command: task.command,
            output: task.output,
            started_at: task.started_at,
            ended_at: task.ended_at,
        }
    }
}
