//! Jobs: one action on everything that is selected. Begun, listed, shown, paused, tried again, cancelled.

mod row;
mod update;

use std::time::Duration;

use api::{
    FailureGroups, FilterBody, JobBegun, JobBody, JobCreated, JobDetail, JobList, JobOptionsBody,
    JobRetried, JobReverted, OperationPlanView, RetryBody,
};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::{Failure, JobSelection, NewJob, NewUpdate, group_failures};
use model::Invalid;
use model::job::{JobAction, JobId, JobStatus, JobTaskRow};
use model::scope::ViewFilter;
use model::selector::ProcessOnHost;
use model::topology::{BkProcessId, BusinessId};
use serde_json::Value;
use store::JobPage;

use super::ApiError;
use super::caller::Authenticated;
use super::events::moment;
use super::explain::business;
use super::filter::{PROCESS_FILTER, process_filter};
use super::operate::plan_view;
use super::refusals::Refusals;
use super::request::{JsonBody, PathParams, QueryParams};
use super::response::{fit, json, ok};
use super::results::{self, ResultBrief, ResultFilter};
use super::selection::selection;
use super::view;
use crate::http::HttpState;
use crate::http::json::Scalar;
use crate::http::{job_options, selection};
pub(crate) use row::counts;

/// The longest that a caller may wait for a job to move.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Begins a job: one task for each process that is selected. With `dry_run` it only tells what the job would act on.
#[utoipa::path(post, path = "/api/v1/jobs", operation_id = "create_job", tag = "jobs", request_body = JobBody, responses(
    (status = 202, description = "The job is kept, and its tasks begin", body = JobBegun),
    (status = 200, description = "Of a dry run: what the job would act on", body = OperationPlanView),
    (status = 409, description = "Another number of processes is selected than `expect_count` says"), Refusals))]
pub(crate) async fn create(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    JsonBody(body): JsonBody<JobBody>,
) -> Result<Response, ApiError> {
    let dry_run = body.dry_run.unwrap_or(false);
    let update = match &body.update {
        Some(update) => Some(update::read(&http, &caller, update).await?),
        None => None,
    };
    let new = new_job(body, update)?;
    if dry_run {
        let plan = http.control.jobs().plan(&caller, new)?;
        return Ok(ok(&plan_view(plan)));
    }
    let (id, targets) = http.control.jobs().create(&caller, new).await?;
    Ok(json(StatusCode::ACCEPTED, &JobBegun { id: id.0, targets }))
}

fn new_job(mut body: JobBody, update: Option<NewUpdate>) -> Result<NewJob, ApiError> {
    let id = body.business.map(|id| business(Some(id))).transpose()?;
    if body.action.is_empty() {
        return Err(Invalid::required("action").into());
    }
    let action = parse_action(&body.action.to_text())?;
    if let (Some(_), Some(_)) = (id, &update) {
        let rule =
            "must be left out with update: the definitions of a business come from its topology";
        return Err(Invalid::new("business", rule).into());
    }
    if let Some(update) = &update {
        update::narrow(&mut body.filter, &update.process);
    }
    let options = body.options.unwrap_or_default();
    let except = body.except.unwrap_or_default();
    let is_scoped = body.scope.is_some() || body.expression.is_some() || !body.env.is_empty();
    let (selection, field, scope) = match (id, &body.filter) {
        (None, _) if is_scoped => {
            let rule = "is required with scope, expression and env; without it give filter";
            return Err(Invalid::new("business", rule).into());
        }
        (None, None) => {
            let rule = "is required, or business with scope or expression";
            return Err(Invalid::new("filter", rule).into());
        }
        (None, Some(filter)) => {
            let dry_run = body.dry_run.unwrap_or(false);
            let expected = body.expect_count;
            let new = plain_job(action, filter, &except, expected, dry_run, options)?;
            return Ok(NewJob { update, ..new });
        }
        (Some(_), Some(_)) if is_scoped => {
            let rule = "stands alone: leave out scope, expression and env";
            return Err(Invalid::new("filter", rule).into());
        }
        (Some(id), Some(filter)) => {
            let params = QueryParams::of_object(filter.clone(), &view::VIEW_FILTER);
            let params = params.map_err(|invalid| invalid.within("filter"))?;
            let view = view::filter_of(id, &params).map_err(|error| error.within("filter"))?;
            (view, "filter", filter_json(filter, &except))
        }
        (Some(id), None) => {
            let selection = selection(body.scope, body.expression.as_ref(), &body.env)?;
            let mut scope = selection::to_json(&selection);
            if !except.is_empty() {
                scope["except"] = json_list(&except);
            }
            (ViewFilter::new(id, selection), "scope", scope)
        }
    };
    let options = job_options::read(options);
    let (options, batch) = options.map_err(|invalid| invalid.within("options"))?;
    Ok(NewJob {
        action,
        selection: JobSelection::View {
            filter: Box::new(selection),
            except: process_ids(&except)?,
        },
        field,
        scope,
        options,
        batch,
        expect_count: expect_count(body.expect_count)?,
        update,
    })
}

/// A job over the registered processes that match a filter. Operate requests with options become one, too: see
/// [`JobAction::of_op`].
pub(crate) fn plain_job(
    action: JobAction,
    filter: &FilterBody,
    except: &[Scalar],
    expected: Option<i64>,
    dry_run: bool,
    options: JobOptionsBody,
) -> Result<NewJob, ApiError> {
    let params = QueryParams::of_object(filter.clone(), &PROCESS_FILTER);
    let processes = params.and_then(|params| process_filter(&params));
    let processes = processes.map_err(|invalid| invalid.within("filter"))?;
    if processes.is_unlimited() && expected.is_none() && !dry_run {
        let rule = "must not be empty without expect_count: it matches everything";
        return Err(Invalid::new("filter", rule).into());
    }
    let excepted = except.iter().enumerate().map(|(n, text)| {
        let one = text.to_text().parse::<ProcessOnHost>();
        one.map_err(|invalid| Invalid::new(format!("except[{n}]"), invalid.rule))
    });
    let options = job_options::read(options);
    let (options, batch) = options.map_err(|invalid| invalid.within("options"))?;
    Ok(NewJob {
        action,
        selection: JobSelection::Processes {
            filter: Box::new(processes),
            except: excepted.collect::<Result<_, _>>()?,
        },
        field: "filter",
        scope: filter_json(filter, except),
        options,
        batch,
        expect_count: expect_count(expected)?,
        update: None,
    })
}

fn filter_json(filter: &FilterBody, except: &[Scalar]) -> Value {
    let mut shown = serde_json::json!({"filter": filter});
    if !except.is_empty() {
        shown["except"] = json_list(except);
    }
    shown
}

fn json_list(except: &[Scalar]) -> Value {
    let texts = except.iter().map(|one| one.to_text().into_owned());
    texts.map(Value::String).collect()
}

fn process_ids(except: &[Scalar]) -> Result<Vec<BkProcessId>, Invalid> {
    let ids = except.iter().enumerate().map(|(n, id)| {
        let number = id.to_int().and_then(|id| u32::try_from(id).ok());
        number.map(BkProcessId).ok_or_else(|| {
            let rule = format!("must be the id of a process, not {:?}", id.to_text());
            Invalid::new(format!("except[{n}]"), rule)
        })
    });
    ids.collect()
}

fn expect_count(count: Option<i64>) -> Result<Option<u64>, Invalid> {
    let count = count.map(|count| {
        u64::try_from(count).map_err(|_| Invalid::new("expect_count", "must not be negative"))
    });
    count.transpose()
}

/// Lists jobs, the newest first. They are kept for 30 days.
#[utoipa::path(get, path = "/api/v1/jobs", operation_id = "list_jobs", tag = "jobs", params(
    ("business" = Option<u32>, Query, description = "Only of this business"),
    ("action" = Option<String>, Query, description = "Only with this action"),
    ("status" = Option<String>, Query, description = "pending, running, succeeded or failed"),
    ("user" = Option<String>, Query, description = "Only those of this user"),
    ("since" = Option<String>, Query, description = "Not before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d"),
    ("until" = Option<String>, Query, description = "Only before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d"),
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
        since: moment(&params, "since")?,
        until: moment(&params, "until")?,
    };
    let jobs = http.control.jobs().list(&caller, &page).await?;
    let ids: Vec<u32> = jobs.iter().map(|listed| listed.summary.job.id.0).collect();
    let jobs = fit(jobs
        .into_iter()
        .map(|listed| row::job(listed.summary.job, listed.summary.counts, listed.batch)));
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
    ("code" = Option<String>, Query, description = "Only tasks with one of these codes, repeated or separated by commas"),
    ("reason" = Option<String>, Query, description = "Only failures with a reason like this one, as their groups have it"),
    ("host" = Option<String>, Query, description = "Only on these hosts: CLOUD:IP or IP, repeated or separated by commas"),
    ("q" = Option<String>, Query, description = "Words; each must be part of the process, its expression, the host or the reason"),
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
    let filter = TaskFilter::of_query(&params)?;
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
    let state = http.control.jobs().update_state(&caller, &view).await?;
    let detail = row::detail(&caller, view, state.as_ref(), &filter, start, limit);
    Ok(ok(&detail))
}

/// Groups the failures of a job by code and reason.
#[utoipa::path(get, path = "/api/v1/jobs/{id}/failures", operation_id = "list_job_failures", tag = "jobs",
    params(("id" = u32, Path)),
    responses((status = 200, description = "Groups, the largest first", body = FailureGroups), Refusals))]
pub(crate) async fn failures(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
) -> Result<Response, ApiError> {
    let view = http.control.jobs().get(&caller, JobId(id)).await?;
    let tasks = view.tasks.iter();
    let failed = tasks.filter(|task| task.status == JobStatus::Failed);
    let failures = failed.map(|task| Failure {
        code: task.code,
        reason: row::reason(task),
        host: row::host(task),
    });
    Ok(ok(&results::groups(group_failures(failures))))
}

/// Lists the hosts of a job, one address a line.
#[utoipa::path(get, path = "/api/v1/jobs/{id}/hosts", operation_id = "list_job_hosts", tag = "jobs", params(
    ("id" = u32, Path),
    ("status" = Option<String>, Query, description = "Only of tasks in one of these statuses, repeated or separated by commas"),
    ("code" = Option<String>, Query, description = "Only of tasks with one of these codes, repeated or separated by commas"),
    ("reason" = Option<String>, Query, description = "Only of failures with a reason like this one, as their groups have it"),
    ("host" = Option<String>, Query, description = "Only these hosts: CLOUD:IP or IP, repeated or separated by commas"),
    ("q" = Option<String>, Query, description = "Words; each must be part of the process, its expression, the host or the reason"),
), responses((status = 200, description = "Each host once; an address alone is in cloud area 0", body = String,
    content_type = "text/plain"), Refusals))]
pub(crate) async fn hosts(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let filter = TaskFilter::of_query(&params)?;
    let view = http.control.jobs().get(&caller, JobId(id)).await?;
    let tasks = view.tasks.iter().filter(|task| filter.matches(task));
    let hosts: Vec<String> = tasks.map(row::host).collect();
    Ok(results::host_lines(hosts.iter().map(String::as_str)))
}

/// Which tasks of a job.
#[derive(Debug, Default)]
struct TaskFilter {
    statuses: Option<Vec<JobStatus>>,
    results: ResultFilter,
}

impl TaskFilter {
    fn of_query(params: &QueryParams) -> Result<Self, Invalid> {
        Ok(Self {
            statuses: params.list("status", parse_status)?,
            results: ResultFilter::of_query(params)?,
        })
    }

    fn matches(&self, task: &JobTaskRow) -> bool {
        let in_status = (self.statuses.as_ref()).is_none_or(|all| all.contains(&task.status));
        in_status
            && (self.results.is_all()
                || self.results.matches(&ResultBrief {
                    code: task.code.0,
                    has_failed: task.status == JobStatus::Failed,
                    reason: &row::reason(task),
                    host: &row::host(task),
                    names: [&task.label.bk_process_name, &task.label.expression],
                }))
    }
}

/// Begins failed tasks of a job again, with the topology as it is now.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/retry", operation_id = "retry_job", tag = "jobs",
    params(("id" = u32, Path)), request_body = RetryBody, responses(
    (status = 202, description = "They begin; those of a paused job once it is resumed", body = JobRetried),
    (status = 409, description = "None of them has failed"), Refusals))]
pub(crate) async fn retry(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
    JsonBody(body): JsonBody<RetryBody>,
) -> Result<Response, ApiError> {
    let id = JobId(id);
    let results = ResultFilter::of_body(body.codes, body.reason.as_deref(), body.hosts.as_deref())?;
    let tasks = match results.is_all() {
        true => body.tasks,
        false => {
            let filter = TaskFilter {
                statuses: Some(vec![JobStatus::Failed]),
                results,
            };
            let view = http.control.jobs().get(&caller, id).await?;
            let matching = view.tasks.iter().filter(|task| filter.matches(task));
            let is_asked = |ordinal: &u32| {
                let asked = body.tasks.as_ref();
                asked.is_none_or(|asked| asked.contains(ordinal))
            };
            Some(matching.map(|task| task.ordinal).filter(is_asked).collect())
        }
    };
    let tasks = http.control.jobs().retry(&caller, id, tasks).await?;
    Ok(json(StatusCode::ACCEPTED, &JobRetried { id: id.0, tasks }))
}

/// Pauses a job: nothing more begins until it is resumed, and what is under way ends by itself.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/pause", operation_id = "pause_job", tag = "jobs",
    params(("id" = u32, Path)), responses(
    (status = 202, description = "Nothing more begins", body = JobCreated),
    (status = 409, description = "It is over"), Refusals))]
pub(crate) async fn pause(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
) -> Result<Response, ApiError> {
    http.control.jobs().pause(&caller, JobId(id)).await?;
    Ok(json(StatusCode::ACCEPTED, &JobCreated { id }))
}

/// Goes on with a paused job.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/resume", operation_id = "resume_job", tag = "jobs",
    params(("id" = u32, Path)), responses(
    (status = 202, description = "It goes on", body = JobCreated),
    (status = 409, description = "It is over"), Refusals))]
pub(crate) async fn resume(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
) -> Result<Response, ApiError> {
    http.control.jobs().resume(&caller, JobId(id)).await?;
    Ok(json(StatusCode::ACCEPTED, &JobCreated { id }))
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

/// Takes an update back: the hosts that it changed get what they had before. An update that goes on is cancelled first.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/revert", operation_id = "revert_job", tag = "jobs",
    params(("id" = u32, Path)), responses(
    (status = 202, description = "It is taken back, by a job of its own", body = JobReverted),
    (status = 409, description = "It is no update, changed no host, or is taken back already"), Refusals))]
pub(crate) async fn revert(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
) -> Result<Response, ApiError> {
    let by = http.control.jobs().revert(&caller, JobId(id)).await?;
    let reverted = JobReverted {
        id,
        reverted_by: by.map(|by| by.0),
    };
    Ok(json(StatusCode::ACCEPTED, &reverted))
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
