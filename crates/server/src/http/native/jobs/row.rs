//! Jobs and their tasks as the native API shows them.

use std::borrow::Cow;

use api::{BatchView, GateView, JobCountsView, JobDetail, JobTaskView, JobView};
use control::Batch;
use model::access::Caller;
use model::job::{JobArea, JobRow, JobStatus, JobTaskRow};
use model::{Host, Namespace, UnixMillis};
use store::JobCounts;

use crate::http::native::plain::plain;
use crate::http::native::response::fit;
use crate::http::native::results::retry_blocked;

use super::TaskFilter;

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

pub(super) fn job(job: JobRow, of: JobCounts, batch: Option<Batch>) -> JobView {
    let namespaces = match &job.area {
        JobArea::Business(_) | JobArea::Agents(_) => Vec::new(),
        JobArea::Namespaces(namespaces) => namespaces.iter().map(Namespace::to_string).collect(),
    };
    JobView {
        id: job.id.0,
        business: job.area.business().map(|business| business.0),
        namespaces,
        action: job.action.as_str().into(),
        status: job.status.as_str().into(),
        selection: job.scope,
        options: job.options,
        app: job.app,
        user: job.user,
        created_at: job.created_at,
        ended_at: job.ended_at,
        cancelled_by: job.cancelled_by,
        paused_by: job.paused_by,
        batch: batch.map(|batch| BatchView {
            number: batch.number,
            of: batch.of,
        }),
        counts: counts(of),
    }
}

pub(super) fn detail(
    caller: &Caller,
    view: control::JobView,
    filter: &TaskFilter,
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
    let batch = view.batch();
    let matches = |task: &JobTaskRow| filter.matches(task);
    let skipped = usize::try_from(start).unwrap_or(usize::MAX);
    let count = view.tasks.iter().filter(|task| matches(task)).count();
    let tasks = view.tasks.into_iter().filter(matches);
    let area = view.job.area.clone();
    JobDetail {
        job: job(view.job, counts, batch),
        count,
        start,
        tasks: fit(tasks
            .skip(skipped)
            .take(limit)
            .map(|row| task(caller, &area, row))),
    }
}

/// `cloud:ip`
pub(super) fn host(task: &JobTaskRow) -> String {
    let label = &task.label;
    let host = label.bk_host_innerip.parse();
    host.map_or_else(
        |_| label.bk_host_innerip.clone(),
        |ip| Host::new(label.bk_cloud_id, ip).to_string(),
    )
}

/// Why it failed or was ignored, in the words of the native API.
pub(super) fn reason(task: &JobTaskRow) -> Cow<'_, str> {
    plain(&task.reason)
}

fn task(caller: &Caller, area: &JobArea, task: JobTaskRow) -> JobTaskView {
    let blocked = control::job_task_retry_blocked(caller, area, &task);
    let cause = control::job_task_reason(&task);
    let (host, reason) = (host(&task), reason(&task).into_owned());
    let label = task.label;
    let instance = task.target.instance();
    let solutions = match task.status {
        JobStatus::Failed => control::solutions(task.code),
        JobStatus::Pending | JobStatus::Running | JobStatus::Succeeded | JobStatus::Ignored => &[],
    };
    JobTaskView {
        ordinal: task.ordinal,
        process: instance.map(|(process, _)| process.0),
        local_inst_id: instance.map(|(_, local_inst_id)| local_inst_id),
        inst_id: instance.map(|_| label.inst_id),
        name: label.bk_process_name,
        expression: label.expression,
        host,
        priority: task.priority,
        status: task.status.as_str().into(),
        code: task.code.0,
        reason,
        cause: cause.map(Into::into),
        solutions: solutions.iter().map(|text| (*text).into()).collect(),
        command: task.command,
        output: task.output,
        started_at: task.started_at,
        ended_at: task.ended_at,
        gate: task.gate.map(|gate| GateView {
            from: gate.from,
            since: gate.seen.map_or(UnixMillis::NEVER, |run| run.since),
        }),
        blocked: retry_blocked(blocked),
    }
}
