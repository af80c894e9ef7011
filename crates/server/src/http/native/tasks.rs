//! Tasks: the list of them, one with its results, its failures in groups, and failed targets again.

use std::borrow::Cow;
use std::time::Duration;

use api::{
    Counts, FailureGroups, InspectionView, Operated, TargetResult, TaskDetail, TaskList,
    TaskRetryBody, TaskRow,
};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::{Failure, TargetView, TaskView, group_failures};
use model::access::Caller;
use model::{Code, Host, Invalid, TaskId};
use store::TaskPage;

use super::ApiError;
use super::caller::Authenticated;
use super::events::moment;
use super::operate::parse_op;
use super::plain::plain;
use super::processes::parse_process;
use super::refusals::Refusals;
use super::request::{JsonBody, PathParams, QueryParams};
use super::response::{fit, json, ok};
use super::results::{self, ResultBrief, ResultFilter, retry_blocked};
use crate::http::HttpState;
use crate::http::gse::exit_of;

/// The longest that a caller may wait for a task.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Lists tasks, the newest first.
#[utoipa::path(get, path = "/api/v1/tasks", operation_id = "list_tasks", tag = "tasks", params(
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
    ("before" = Option<String>, Query, description = "Only tasks older than this one"),
    ("namespace" = Option<String>, Query, description = "With a target in one of these, repeated or separated by commas"),
    ("process" = Option<String>, Query, description = "With a target of this process, NAMESPACE/NAME"),
    ("op" = Option<String>, Query, description = "With this operation: start, stop, query, manage, unmanage, restart, reload or kill"),
    ("user" = Option<String>, Query, description = "Only those of this user"),
    ("app" = Option<String>, Query, description = "Only those of this app"),
    ("state" = Option<String>, Query, description = "running or finished"),
    ("since" = Option<String>, Query, description = "Not before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d"),
    ("until" = Option<String>, Query, description = "Only before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d"),
), responses((status = 200, description = "Tasks", body = TaskList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let limit = params.limit()?;
    let before = params
        .text("before")
        .map(|id| parse_id("before", id))
        .transpose()?;
    let process = params.text("process");
    let page = TaskPage {
        limit: limit as u32,
        before,
        namespaces: params.namespaces()?,
        process: process
            .map(|text| parse_process("process", text))
            .transpose()?,
        op: params.text("op").map(|op| parse_op(Some(op))).transpose()?,
        app: params.text("app").map(str::to_owned),
        user: params.text("user").map(str::to_owned),
        has_ended: params.text("state").map(parse_state).transpose()?,
        since: moment(&params, "since")?,
        until: moment(&params, "until")?,
        visible_to: None,
    };
    let summaries = http.control.operations().tasks(&caller, page).await?;
    let next = (summaries.len() == limit)
        .then(|| summaries.last().map(|last| last.task.id.to_string()))
        .flatten();
    let tasks = summaries.into_iter().map(|summary| TaskRow {
        id: summary.task.id.to_string(),
        state: state(summary.n_ended == summary.n_targets).into(),
        created_at: summary.task.created_at,
        app: summary.task.app,
        user: summary.task.user,
        targets: summary.n_targets,
        ended: summary.n_ended,
        ok: summary.n_ok,
        failed: summary.n_ended.saturating_sub(summary.n_ok),
        op: summary.op.map(|op| op.as_str().into()),
        process: summary.process,
        processes: summary.n_processes,
        retries: summary.task.retries.map(|id| id.to_string()),
    });
    Ok(ok(&TaskList {
        tasks: tasks.collect(),
        next,
    }))
}

/// Shows a task; with `wait` once it has ended, or when that time is over.
#[utoipa::path(get, path = "/api/v1/tasks/{id}", operation_id = "show_task", tag = "tasks", params(
    ("id" = String, Path, description = "GSETASK:…"),
    ("wait" = Option<String>, Query, description = "How long to wait for its end, such as 30s; 60s at most"),
    ("failed" = Option<bool>, Query, description = "Only targets that have ended with another code than 0: what failed, and what was so before"),
    ("status" = Option<String>, Query, description = "Only targets in one of these: ok, failed, running; repeated or separated by commas"),
    ("code" = Option<String>, Query, description = "Only targets with one of these codes, repeated or separated by commas"),
    ("reason" = Option<String>, Query, description = "Only failures with a reason like this one, as their groups have it"),
    ("host" = Option<String>, Query, description = "Only on these hosts: CLOUD:IP or IP, repeated or separated by commas"),
    ("q" = Option<String>, Query, description = "Words; each must be part of the process, the host or the message"),
    ("start" = Option<u64>, Query, description = "The first result, from 0"),
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
), responses((status = 200, description = "The task", body = TaskDetail), Refusals))]
pub(crate) async fn show(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<String>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let id = parse_id("id", &id)?;
    let (start, limit) = params.page()?;
    let filter = TargetFilter::of_query(&params)?;
    let task = match params.duration("wait")? {
        None => http.control.operations().task(&caller, id).await?,
        Some(wait) => {
            let wait = wait.min(MAX_WAIT);
            tokio::select! {
                task = http.control.operations().wait_for_task(&caller, id, wait) => task?,
                () = http.stopping() => http.control.operations().task(&caller, id).await?,
            }
        }
    };
    Ok(ok(&detail(&caller, &task, &filter, start, limit)))
}

/// Groups the failures of a task by code and reason.
#[utoipa::path(get, path = "/api/v1/tasks/{id}/failures", operation_id = "list_task_failures", tag = "tasks",
    params(("id" = String, Path)),
    responses((status = 200, description = "Groups, the largest first", body = FailureGroups), Refusals))]
pub(crate) async fn failures(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<String>,
) -> Result<Response, ApiError> {
    let id = parse_id("id", &id)?;
    let task = http.control.operations().task(&caller, id).await?;
    let failed = task.targets.iter().filter(|target| has_failed(target));
    let failures = failed.map(|target| Failure {
        code: code_of(target),
        reason: message_of(target),
        host: host_of(target),
    });
    Ok(ok(&results::groups(group_failures(failures))))
}

/// Lists the hosts of a task, one address a line.
#[utoipa::path(get, path = "/api/v1/tasks/{id}/hosts", operation_id = "list_task_hosts", tag = "tasks", params(
    ("id" = String, Path),
    ("status" = Option<String>, Query, description = "Only of targets in one of these: ok, failed, running; repeated or separated by commas"),
    ("code" = Option<String>, Query, description = "Only of targets with one of these codes, repeated or separated by commas"),
    ("reason" = Option<String>, Query, description = "Only of failures with a reason like this one, as their groups have it"),
    ("host" = Option<String>, Query, description = "Only these hosts: CLOUD:IP or IP, repeated or separated by commas"),
    ("q" = Option<String>, Query, description = "Words; each must be part of the process, the host or the message"),
), responses((status = 200, description = "Each host once; an address alone is in cloud area 0", body = String,
    content_type = "text/plain"), Refusals))]
pub(crate) async fn hosts(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<String>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let id = parse_id("id", &id)?;
    let filter = TargetFilter::of_query(&params)?;
    let task = http.control.operations().task(&caller, id).await?;
    let hosts: Vec<String> = filter
        .of(&task)
        .map(|(_, target)| host_of(target))
        .collect();
    Ok(results::host_lines(hosts.iter().map(String::as_str)))
}

/// Operates on the failed targets of a task again, in a new task.
#[utoipa::path(post, path = "/api/v1/tasks/{id}/retry", operation_id = "retry_task", tag = "tasks",
    params(("id" = String, Path)), request_body = TaskRetryBody, responses(
    (status = 202, description = "Accepted, durably", body = Operated),
    (status = 409, description = "None of them has failed"), Refusals))]
pub(crate) async fn retry(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<String>,
    JsonBody(body): JsonBody<TaskRetryBody>,
) -> Result<Response, ApiError> {
    let id = parse_id("id", &id)?;
    let filter = TargetFilter {
        statuses: Some(vec![TargetStatus::Failed]),
        only_unlike_ok: false,
        results: ResultFilter::of_body(body.codes, body.reason.as_deref(), body.hosts.as_deref())?,
    };
    let operations = http.control.operations();
    let task = operations.task(&caller, id).await?;
    let failed = filter.of(&task).map(|(position, _)| position).collect();
    let (retry, targets) = operations.retry(&caller, id, Some(&failed)).await?;
    let operated = Operated {
        task_id: retry.to_string(),
        targets,
    };
    Ok(json(StatusCode::ACCEPTED, &operated))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetStatus {
    Ok,
    Failed,
    Running,
}

impl TargetStatus {
    fn parse(text: &str) -> Result<Self, Invalid> {
        match text {
            "ok" => Ok(Self::Ok),
            "failed" => Ok(Self::Failed),
            "running" => Ok(Self::Running),
            other => {
                let rule = format!("must be ok, failed or running, not {other:?}");
                Err(Invalid::new("status", rule))
            }
        }
    }

    fn of(target: &TargetView) -> Self {
        match () {
            () if target.outcome.is_none() => Self::Running,
            () if has_failed(target) => Self::Failed,
            () => Self::Ok,
        }
    }
}

/// Which targets of a task.
struct TargetFilter {
    statuses: Option<Vec<TargetStatus>>,
    /// Only what has ended with another code than 0: what failed, and what was so before.
    only_unlike_ok: bool,
    results: ResultFilter,
}

impl TargetFilter {
    fn of_query(params: &QueryParams) -> Result<Self, Invalid> {
        Ok(Self {
            statuses: params.list("status", TargetStatus::parse)?,
            only_unlike_ok: params.flag("failed")?.unwrap_or(false),
            results: ResultFilter::of_query(params)?,
        })
    }

    fn is_all(&self) -> bool {
        self.statuses.is_none() && !self.only_unlike_ok && self.results.is_all()
    }

    /// The targets that match, each with its position.
    fn of<'a>(&self, task: &'a TaskView) -> impl Iterator<Item = (usize, &'a TargetView)> {
        let targets = task.targets.iter().enumerate();
        targets.filter(|(_, target)| self.matches(target))
    }

    fn matches(&self, target: &TargetView) -> bool {
        let status = TargetStatus::of(target);
        let in_status = (self.statuses.as_ref()).is_none_or(|all| all.contains(&status));
        let is_unlike_ok = target.outcome.is_some() && code_of(target) != Code::OK;
        in_status
            && (is_unlike_ok || !self.only_unlike_ok)
            && (self.results.is_all()
                || self.results.matches(&ResultBrief {
                    code: code_of(target).0,
                    has_failed: status == TargetStatus::Failed,
                    reason: &message_of(target),
                    host: &host_of(target),
                    names: [&target.process.to_string(), target.op.as_str()],
                }))
    }
}

fn code_of(target: &TargetView) -> Code {
    let outcome = target.outcome.as_ref();
    outcome.map_or(Code::HANDLING, |outcome| outcome.code)
}

fn host_of(target: &TargetView) -> String {
    let host = target.host.as_ref().map(Host::to_string);
    host.unwrap_or_else(|| target.key_prefixes[0].to_string())
}

fn message_of(target: &TargetView) -> Cow<'_, str> {
    match &target.outcome {
        Some(outcome) => plain(outcome.headline.as_ref().unwrap_or(&outcome.message)),
        None => "in progress".into(),
    }
}

/// Whether it has ended.
fn parse_state(text: &str) -> Result<bool, Invalid> {
    match text {
        "running" => Ok(false),
        "finished" => Ok(true),
        other => {
            let rule = format!("must be running or finished, not {other:?}");
            Err(Invalid::new("state", rule))
        }
    }
}

fn parse_id(field: &str, text: &str) -> Result<TaskId, Invalid> {
    text.parse()
        .map_err(|error: Invalid| Invalid::new(field, error.rule))
}

fn state(finished: bool) -> &'static str {
    match finished {
        true => "finished",
        false => "running",
    }
}

fn is_ok(target: &TargetView) -> bool {
    target
        .outcome
        .as_ref()
        .is_some_and(|outcome| outcome.code.is_as_asked())
}

fn has_failed(target: &TargetView) -> bool {
    target
        .outcome
        .as_ref()
        .is_some_and(|outcome| !outcome.code.is_as_asked())
}

fn detail<'a>(
    caller: &Caller,
    task: &'a TaskView,
    filter: &TargetFilter,
    start: u64,
    limit: usize,
) -> TaskDetail<'a> {
    let (total, ended) = (task.targets.len(), task.n_ended);
    let ok = task.targets.iter().filter(|target| is_ok(target)).count();
    let failed = ended.saturating_sub(ok);
    let count = match filter.is_all() {
        true => total,
        false => filter.of(task).count(),
    };
    let skipped = usize::try_from(start).unwrap_or(usize::MAX);
    TaskDetail {
        id: task.id.to_string(),
        state: state(ended == total).into(),
        created_at: task.created_at,
        app: task.app.as_str().into(),
        user: task.user.as_str().into(),
        retries: task.retries.map(|id| id.to_string()),
        counts: Counts {
            total,
            ended,
            ok,
            failed,
            running: total - ended,
        },
        count,
        start,
        results: fit(filter
            .of(task)
            .skip(skipped)
            .take(limit)
            .map(|(_, target)| target_result(caller, target))),
    }
}

fn target_result<'a>(caller: &Caller, target: &'a TargetView) -> TargetResult<'a> {
    let blocked = control::target_retry_blocked(caller, target);
    let outcome = target.outcome.as_deref();
    let ran = outcome.and_then(|outcome| outcome.ran.as_ref());
    let (exit_code, exit_signal) = exit_of(ran);
    TargetResult {
        process: target.process.to_string(),
        host: host_of(target),
        op: target.op.as_str().into(),
        code: code_of(target).0,
        message: message_of(target),
        reason: control::target_reason(target).map(Into::into),
        warning: outcome
            .and_then(|outcome| outcome.warning.as_deref())
            .map(Cow::Borrowed),
        ended_at: outcome.map(|outcome| outcome.ended_at),
        managed: outcome.and_then(|outcome| outcome.managed),
        command: ran.map(|ran| ran.command.as_str().into()),
        exit_code,
        exit_signal,
        duration_ms: ran.map(|ran| ran.duration_ms),
        took_ms: outcome.and_then(|outcome| outcome.took_ms),
        output: ran.map(|ran| ran.output.as_str().into()),
        instance: outcome
            .and_then(|outcome| outcome.instance.as_deref())
            .map(|seen| InspectionView(Cow::Borrowed(seen))),
        blocked: retry_blocked(blocked),
    }
}
