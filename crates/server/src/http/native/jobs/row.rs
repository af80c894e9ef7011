//! Jobs and their tasks as the native API shows them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use api::{
    BatchView, GateView, JobCountsView, JobDetail, JobTaskView, JobUpdateView, JobVersionView,
    JobView,
};
use control::{Batch, HasDefinition, UpdateState};
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
        update: job.update.map(|update| JobUpdateView {
            process: update.process.to_string(),
            restores: update.restores,
            reverts: update.reverts.map(|id| id.0),
            reverted_by: update.reverted_by.map(|id| id.0),
        }),
    }
}

/// How many hosts have each version, the most frequent first.
fn versions(state: Option<&UpdateState>) -> Vec<JobVersionView> {
    let mut hosts: BTreeMap<(HasDefinition, Option<u32>), u32> = BTreeMap::new();
    let held = state.into_iter().flat_map(|state| &state.tasks).flatten();
    for held in held {
        *hosts.entry(*held).or_default() += 1;
    }
    let mut versions: Vec<JobVersionView> = hosts
        .into_iter()
        .map(|((has, spec_version), hosts)| JobVersionView {
            spec_version,
            has: has.as_str().into(),
            hosts,
        })
        .collect();
    versions.sort_by_key(|version| std::cmp::Reverse(version.hosts));
    versions
}

pub(super) fn detail(
    caller: &Caller,
    view: control::JobView,
    state: Option<&UpdateState>,
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
            .map(|row| task(caller, &area, state, row))),
        versions: versions(state),
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

fn task(
    caller: &Caller,
    area: &JobArea,
    state: Option<&UpdateState>,
    task: JobTaskRow,
) -> JobTaskView {
    let held = state.and_then(|state| *state.tasks.get(task.ordinal as usize)?);
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
        has: held.map(|(has, _)| has.as_str().into()),
        spec_version: held.and_then(|(_, number)| number),
        blocked: retry_blocked(blocked),
    }
}
