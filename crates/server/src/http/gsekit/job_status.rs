//! job_status: a job, and all of its tasks or the requested ones.

use control::JobView;
use model::expression::unescaped;
use model::job::{JobId, JobObject, JobOptions, JobRow, JobStatus, JobTaskRow};
use model::topology::{BkProcessId, BusinessId};
use model::{Invalid, UnixMillis};
use serde::Serialize;
use serde::ser::Serializer;
use serde_json::Value;

use super::refusal::{Refusal, no_such_job, of_job};
use super::request::RawRequest;
use super::{RequestContext, success};
use crate::http::selection;

/// Tasks are numbered within their job. Callers see one number among all jobs: job × this + task + 1.
const IDS_PER_JOB: u64 = 1_000_000;
const _: () = assert!(IDS_PER_JOB > model::job::MAX_JOB_TASKS as u64);

pub(crate) async fn job_status(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let business = request.named_business()?;
    let id = request.job_id.ok_or_else(|| Invalid::required("job_id"))?;
    let number = u32::try_from(id).map_err(|_| no_such_job(id))?;
    let view = context
        .http
        .control
        .jobs()
        .get(context.caller, JobId(number))
        .await;
    let view = view.map_err(of_job)?;
    // This dialect knows no job without a business.
    let Some(of_job) = view.job.area.business() else {
        return Err(no_such_job(id));
    };
    if business.is_some_and(|business| business != of_job) {
        return Err(no_such_job(id));
    }
    let requested = request.job_task_id_list.filter(|ids| !ids.is_empty());
    Ok(success(Status {
        job_info: JobInfo::of(&view.job, of_job),
        job_tasks: Tasks {
            view: &view,
            requested: requested.as_deref(),
        },
    }))
}

#[derive(Serialize)]
struct Status<'a> {
    job_info: JobInfo<'a>,
    job_tasks: Tasks<'a>,
}

#[derive(Serialize)]
struct JobInfo<'a> {
    id: JobId,
    bk_biz_id: u32,
    expression: String,
    scope: Option<&'a Value>,
    job_object: JobObject,
    job_action: &'static str,
    status: &'static str,
    created_by: &'a str,
    /// Always true: a job and its tasks are one commit.
    is_ready: bool,
    start_time: String,
    end_time: Option<String>,
    /// There are no pipelines here.
    pipeline_id: &'static str,
    extra_data: &'a JobOptions,
    expression_scope: Option<&'a Value>,
    bk_app_code: &'a str,
}

impl<'a> JobInfo<'a> {
    fn of(job: &'a JobRow, business: BusinessId) -> Self {
        Self {
            id: job.id,
            bk_biz_id: business.0,
            expression: selection::joined(&job.scope),
            scope: job.scope.get("scope"),
            job_object: job.action.object(),
            job_action: job.action.as_str(),
            status: job.status.as_str(),
            created_by: match job.user.is_empty() {
                true => &job.app,
                false => &job.user,
            },
            is_ready: true,
            start_time: clock(job.created_at),
            end_time: moment(job.ended_at),
            pipeline_id: "",
            extra_data: &job.options,
            expression_scope: job.scope.get("expression_scope"),
            bk_app_code: &job.app,
        }
    }
}

struct Tasks<'a> {
    view: &'a JobView,
    /// None: all.
    requested: Option<&'a [i64]>,
}

impl Serialize for Tasks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.requested {
            None => serializer.collect_seq(self.view.tasks.iter().map(Task::of)),
            Some(ids) => {
                // By index: a caller may request all of many tasks by number.
                let first = task_id(self.view.job.id, 0);
                let found = ids.iter().filter_map(|id| {
                    let ordinal = u64::try_from(*id).ok()?.checked_sub(first)?;
                    self.view.tasks.get(usize::try_from(ordinal).ok()?)
                });
                serializer.collect_seq(found.map(Task::of))
            }
        }
    }
}

fn task_id(job: JobId, ordinal: u32) -> u64 {
    u64::from(job.0) * IDS_PER_JOB + u64::from(ordinal) + 1
}

#[derive(Serialize)]
struct Task<'a> {
    id: u64,
    status: &'static str,
    #[serde(rename = "extra_data__failed_reason")]
    failed_reason: Option<&'a str>,
    #[serde(rename = "extra_data__retryable")]
    retryable: Option<bool>,
    #[serde(rename = "extra_data__solutions")]
    solutions: Option<&'static [&'static str]>,
    // Beyond the document.
    #[serde(rename = "extra_data__err_code")]
    err_code: Option<i32>,
    bk_process_id: u32,
    local_inst_id: u32,
    inst_id: u64,
    expression: String,
    bk_cloud_id: u32,
    bk_host_innerip: &'a str,
    start_time: Option<String>,
    end_time: Option<String>,
}

impl<'a> Task<'a> {
    fn of(task: &'a JobTaskRow) -> Self {
        let has_reason = match task.status {
            JobStatus::Failed | JobStatus::Ignored => true,
            JobStatus::Pending | JobStatus::Running | JobStatus::Succeeded => false,
        };
        let has_failed = task.status == JobStatus::Failed;
        let solutions = control::solutions(task.code);
        // The tasks of a job of a business are instances.
        let (process, local_inst_id) = task.target.instance().unwrap_or((BkProcessId(0), 0));
        Self {
            id: task_id(task.job, task.ordinal),
            status: task.status.as_str(),
            failed_reason: has_reason.then_some(&*task.reason),
            retryable: has_failed.then_some(true),
            solutions: (has_failed && !solutions.is_empty()).then_some(solutions),
            err_code: has_reason.then_some(task.code.0),
            bk_process_id: process.0,
            local_inst_id,
            inst_id: task.label.inst_id,
            expression: unescaped(&task.label.expression),
            bk_cloud_id: task.label.bk_cloud_id,
            bk_host_innerip: &task.label.bk_host_innerip,
            start_time: moment(task.started_at),
            end_time: moment(task.ended_at),
        }
    }
}

/// None for never.
fn moment(at: UnixMillis) -> Option<String> {
    (at != UnixMillis::NEVER).then(|| clock(at))
}

/// `2026-11-15 10:45:02+00:00`
fn clock(at: UnixMillis) -> String {
    at.to_rfc3339().replace('T', " ").replace('Z', "+00:00")
}
