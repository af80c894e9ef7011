//! Jobs: one action on everything that is selected. Begun, listed, shown, tried again, cancelled.

mod row;

use std::time::Duration;

use api::{JobBody, JobCreated, JobDetail, JobList, JobRetried, RetryBody};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::NewJob;
use model::Invalid;
use model::job::{JobAction, JobId, JobStatus};
use model::topology::BusinessId;
use store::JobPage;

use super::ApiError;
use super::caller::Authenticated;
use super::explain::business;
use super::refusals::Refusals;
use super::request::{JsonBody, PathParams, QueryParams};
use super::response::{fit, json, ok};
use super::selection::selection;
use crate::http::HttpState;
use crate::http::{job_options, selection};
pub(crate) use row::counts;

/// The longest that a caller may wait for a job to move.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Begins a job: one task for each instance that is selected.
#[utoipa::path(post, path = "/api/v1/jobs", operation_id = "create_job", tag = "jobs", request_body = JobBody,
    responses((status = 202, description = "The job is kept, and its tasks begin", body = JobCreated), Refusals))]
pub(crate) async fn create(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    JsonBody(body): JsonBody<JobBody>,
) -> Result<Response, ApiError> {
    let business = business(body.business)?;
    if body.action.is_empty() {
        return Err(Invalid::required("action").into());
    }
    let action = parse_action(&body.action.to_text())?;
    let selection = selection(body.scope, body.expression.as_ref(), &body.env)?;
    let options = job_options::read(body.options.unwrap_or_default());
    let new = NewJob {
        business,
        action,
        scope: selection::to_json(&selection),
        selection,
        options: options.map_err(|invalid| invalid.within("options"))?,
    };
    let id = http.control.jobs().create(&caller, new).await?;
    Ok(json(StatusCode::ACCEPTED, &JobCreated { id: id.0 }))
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
    Authenticated(caller): Authenticated,
    params: QueryParams,
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
    let ids: Vec<u32> = jobs.iter().map(|summary| summary.job.id.0).collect();
    let jobs = fit(jobs
        .into_iter()
        .map(|summary| row::job(summary.job, summary.counts)));
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
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
    params: QueryParams,
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
    Ok(ok(&row::detail(view, statuses.as_deref(), start, limit)))
}

/// Begins failed tasks of a job again, with the topology as it is now.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/retry", operation_id = "retry_job", tag = "jobs",
    params(("id" = u32, Path)), request_body = RetryBody, responses(
    (status = 202, description = "They begin", body = JobRetried),
    (status = 409, description = "None of them has failed"), Refusals))]
pub(crate) async fn retry(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
    JsonBody(body): JsonBody<RetryBody>,
) -> Result<Response, ApiError> {
    let id = JobId(id);
    let tasks = http.control.jobs().retry(&caller, id, body.tasks).await?;
    Ok(json(StatusCode::ACCEPTED, &JobRetried { id: id.0, tasks }))
}

/// Cancels a job: nothing more begins, and what is under way ends by itself.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/cancel", operation_id = "cancel_job", tag = "jobs",
    params(("id" = u32, Path)), responses(
    (status = 202, description = "Nothing more begins", body = JobCreated),
    (status = 409, description = "It is over"), Refusals))]
pub(crate) async fn cancel(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
) -> Result<Response, ApiError> {
    let id = JobId(id);
    http.control.jobs().cancel(&caller, id).await?;
    Ok(json(StatusCode::ACCEPTED, &JobCreated { id: id.0 }))
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
