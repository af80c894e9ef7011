//! Jobs: one action on everything that is selected. Begun, listed, shown, tried again, cancelled.

mod row;

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::NewJob;
use model::job::{JobAction, JobId, JobStatus};
use model::topology::BusinessId;
use model::{Invalid, lenient};
use serde::{Deserialize, Serialize};
use store::JobPage;
use utoipa::ToSchema;

use super::ApiError;
use super::answer::{fit, json, ok};
use super::caller::Asking;
use super::explain::business;
use super::read::{Params, Read, Segments};
use super::responses::Refusals;
use super::selected::{ExpressionBody, ScopeBody, selection};
use crate::http::HttpState;
use crate::http::job_options::RawJobOptions;
use crate::http::json::{Object, Scalar};
use crate::http::openapi::{ExpressionSchema, JobOptionsSchema};
use crate::http::selection;
pub(crate) use row::JobCountsView;
use row::{JobDetail, JobView};

/// The longest that a caller may wait for a job to move.
const MAX_WAIT: Duration = Duration::from_secs(60);

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobBody {
    #[serde(default, deserialize_with = "lenient::int")]
    #[schema(value_type = u32, required)]
    business: Option<i64>,
    /// start, stop, restart, reload, force_stop, set_auto or unset_auto; or generate, release or diff of config files.
    #[serde(default)]
    #[schema(value_type = String, required)]
    action: Scalar,
    /// test, experience or formal; all if not given.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    env: Scalar,
    #[schema(value_type = Option<ScopeBody>)]
    scope: Option<Object<ScopeBody>>,
    /// In place of `scope`.
    #[schema(value_type = Option<ExpressionSchema>)]
    expression: Option<ExpressionBody>,
    #[schema(value_type = Option<JobOptionsSchema>)]
    options: Option<Object<RawJobOptions>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobCreated {
    #[schema(value_type = u32)]
    id: JobId,
}

/// Begins a job: one task for each instance that is selected.
#[utoipa::path(post, path = "/api/v1/jobs", operation_id = "create_job", tag = "jobs", request_body = JobBody,
    responses((status = 202, description = "The job is kept, and its tasks begin", body = JobCreated), Refusals))]
pub(crate) async fn create(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Read(body): Read<JobBody>,
) -> Result<Response, ApiError> {
    let business = business(body.business)?;
    if body.action.is_empty() {
        return Err(Invalid::required("action").into());
    }
    let action = parse_action(&body.action.to_text())?;
    let scope = body.scope.map(|scope| scope.0);
    let selection = selection(scope, body.expression.as_ref(), &body.env)?;
    let options = body.options.unwrap_or_default().0.read();
    let new = NewJob {
        business,
        action,
        scope: selection::to_json(&selection),
        selection,
        options: options.map_err(|invalid| invalid.within("options"))?,
    };
    let id = http.control.jobs().create(&caller, new).await?;
    Ok(json(StatusCode::ACCEPTED, &JobCreated { id }))
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobList {
    jobs: Vec<JobView>,
    /// `before` of the next page; null at the end.
    #[schema(value_type = Option<u32>)]
    next: Option<JobId>,
}

/// Lists jobs, the newest first. They are kept for 30 days.
#[utoipa::path(get, path = "/api/v1/jobs", operation_id = "list_jobs", tag = "jobs", params(
    ("business" = Option<u32>, Query, description = "Only of this business"),
    ("action" = Option<String>, Query, description = "Only with this action"),
    ("status" = Option<String>, Query, description = "pending, running, succeeded or failed"),
    ("user" = Option<String>, Query, description = "Only those of this user"),
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
    ("before" = Option<u32>, Query, description = "`next` of the page before"),
), responses((status = 200, description = "Jobs", body = JobList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    params: Params,
) -> Result<Response, ApiError> {
    let limit = params.limit()?;
    let number = |name| {
        let number = params.number(name, 0..=u64::from(u32::MAX))?;
        Ok::<_, Invalid>(number.map(|number| number as u32))
    };
    let page = JobPage {
        limit: limit as u32,
        before: number("before")?.map(JobId),
        business: number("business")?.map(BusinessId),
        action: params.text("action").map(parse_action).transpose()?,
        status: params.text("status").map(parse_status).transpose()?,
        user: params.text("user").map(str::to_owned),
    };
    let jobs = http.control.jobs().list(&caller, &page).await?;
    let ids: Vec<JobId> = jobs.iter().map(|summary| summary.job.id).collect();
    let jobs = fit(jobs
        .into_iter()
        .map(|summary| JobView::new(summary.job, summary.counts)));
    let is_cut = jobs.len() < ids.len();
    let next = match is_cut || ids.len() == limit {
        true => jobs.len().checked_sub(1).map(|last| ids[last]),
        false => None,
    };
    Ok(ok(&JobList { next, jobs }))
}

/// Shows a job; with `wait` once it is over or more than `ended` of its tasks have ended, or when that time is over.
#[utoipa::path(get, path = "/api/v1/jobs/{id}", operation_id = "show_job", tag = "jobs", params(
    ("id" = u32, Path),
    ("wait" = Option<String>, Query, description = "How long to wait for it to move, such as 30s; 60s at most"),
    ("ended" = Option<u64>, Query, description = "How many tasks had ended when it was last seen; its end if not given"),
    ("status" = Option<String>, Query, description = "Only tasks in one of these statuses, repeated or separated by commas"),
    ("start" = Option<u64>, Query, description = "The first task, from 0"),
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
), responses((status = 200, description = "The job", body = JobDetail), Refusals))]
pub(crate) async fn show(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(id): Segments<u32>,
    params: Params,
) -> Result<Response, ApiError> {
    let id = JobId(id);
    let (start, limit) = params.page()?;
    let statuses = params.list("status", parse_status)?;
    let ended = params.number("ended", 0..=u64::MAX)?;
    let ended = ended.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let view = match params.duration("wait")? {
        None => http.control.jobs().get(&caller, id).await?,
        Some(wait) => {
            let moved =
                http.control
                    .jobs()
                    .wait_for_progress(&caller, id, ended, wait.min(MAX_WAIT));
            tokio::select! {
                view = moved => view?,
                () = http.stopping() => http.control.jobs().get(&caller, id).await?,
            }
        }
    };
    Ok(ok(&JobDetail::new(view, statuses.as_deref(), start, limit)))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetryBody {
    /// Ordinals of the tasks; all that failed if not given.
    tasks: Option<Vec<u32>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct JobRetried {
    #[schema(value_type = u32)]
    id: JobId,
    /// How many begin again.
    tasks: u32,
}

/// Begins failed tasks of a job again, with the topology as it is now.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/retry", operation_id = "retry_job", tag = "jobs",
    params(("id" = u32, Path)), request_body = RetryBody, responses(
    (status = 202, description = "They begin", body = JobRetried),
    (status = 409, description = "None of them has failed"), Refusals))]
pub(crate) async fn retry(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(id): Segments<u32>,
    Read(body): Read<RetryBody>,
) -> Result<Response, ApiError> {
    let id = JobId(id);
    let tasks = http.control.jobs().retry(&caller, id, body.tasks).await?;
    Ok(json(StatusCode::ACCEPTED, &JobRetried { id, tasks }))
}

/// Cancels a job: nothing more begins, and what is under way ends by itself.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/cancel", operation_id = "cancel_job", tag = "jobs",
    params(("id" = u32, Path)), responses(
    (status = 202, description = "Nothing more begins", body = JobCreated),
    (status = 409, description = "It is over"), Refusals))]
pub(crate) async fn cancel(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(id): Segments<u32>,
) -> Result<Response, ApiError> {
    let id = JobId(id);
    http.control.jobs().cancel(&caller, id).await?;
    Ok(json(StatusCode::ACCEPTED, &JobCreated { id }))
}

fn parse_action(text: &str) -> Result<JobAction, Invalid> {
    JobAction::parse(text).map_err(|invalid| Invalid::new("action", invalid.rule))
}

fn parse_status(text: &str) -> Result<JobStatus, Invalid> {
    const ALL: [JobStatus; 5] = [
        JobStatus::Pending,
        JobStatus::Running,
        JobStatus::Succeeded,
        JobStatus::Failed,
        JobStatus::Ignored,
    ];
    let found = ALL.into_iter().find(|status| status.as_str() == text);
    found.ok_or_else(|| {
        let all = ALL.map(JobStatus::as_str).join(", ");
        Invalid::new("status", format!("must be one of {all}, not {text:?}"))
    })
}
