//! Jobs and their tasks as the native API shows them.

use api::{JobCountsView, JobDetail, JobTaskView, JobView};
use model::Host;
use model::job::{JobRow, JobStatus, JobTaskRow};
use store::JobCounts;

use crate::http::native::plain::plain;
use crate::http::native::response::fit;

pub(crate) fn counts(counts: JobCounts) -> JobCountsView {
    let ended = counts.succeeded + counts.failed + counts.ignored;
    JobCountsView {
        total: counts.pending + counts.running + ended,
        ended,
        pending: counts.pending,
        running: counts.running,
        succeeded: counts.succeeded,
        failed: counts.failed,
        ignored: counts.ignored,
    }
}

pub(super) fn job(job: JobRow, of: JobCounts) -> JobView {
    JobView {
        id: job.id.0,
        business: job.business.0,
        action: job.action.as_str().into(),
        status: job.status.as_str().into(),
        selection: job.scope,
        options: job.options,
        app: job.app,
        user: job.user,
        created_at: job.created_at,
        ended_at: job.ended_at,
        cancelled_by: job.cancelled_by,
        counts: counts(of),
    }
}

pub(super) fn detail(
    view: control::JobView,
    statuses: Option<&[JobStatus]>,
    start: u64,
    limit: usize,
) -> JobDetail {
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
    let count = view.tasks.iter().filter(|task| matches(task)).count();
    let tasks = view.tasks.into_iter().filter(matches);
    JobDetail {
        job: job(view.job, counts),
        count,
        start,
        tasks: fit(tasks.skip(skipped).take(limit).map(task)),
    }
}

fn task(task: JobTaskRow) -> JobTaskView {
    let label = task.label;
    let host = label.bk_host_innerip.parse();
    let host = host.map(|ip| Host::new(label.bk_cloud_id, ip).to_string());
    let solutions = match task.status {
        JobStatus::Failed => control::solutions(task.code),
        JobStatus::Pending | JobStatus::Running | JobStatus::Succeeded | JobStatus::Ignored => &[],
    };
    JobTaskView {
        ordinal: task.ordinal,
        process: task.process.0,
        local_inst_id: task.local_inst_id,
        inst_id: label.inst_id,
        name: label.bk_process_name,
        expression: label.expression,
        host: host.unwrap_or(label.bk_host_innerip),
        priority: task.priority,
        status: task.status.as_str().into(),
        code: task.code.0,
        reason: plain(&task.reason).into_owned(),
        solutions: solutions.iter().map(|text| (*text).into()).collect(),
        command: task.command,
        output: task.output,
        started_at: task.started_at,
        ended_at: task.ended_at,
    }
}
