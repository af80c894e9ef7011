//! Tasks: the list of them, and one with its results.

use std::borrow::Cow;
use std::time::Duration;

use api::{Counts, InspectionView, TargetResult, TaskDetail, TaskList, TaskRow};
use axum::extract::State;
use axum::response::Response;
use control::{TargetView, TaskView};
use model::{Code, Host, Invalid, TaskId};

use super::ApiError;
use super::caller::Authenticated;
use super::plain::plain;
use super::refusals::Refusals;
use super::request::{PathParams, QueryParams};
use super::response::{fit, ok};
use crate::http::HttpState;
use crate::http::gse::exit_of;

/// The longest that a caller may wait for a task.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Lists tasks, the newest first.
#[utoipa::path(get, path = "/api/v1/tasks", operation_id = "list_tasks", tag = "tasks", params(
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
    ("before" = Option<String>, Query, description = "Only tasks older than this one"),
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
    let summaries = http
        .control
        .operations()
        .tasks(&caller, limit as u32, before)
        .await?;
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
    ("failed" = Option<bool>, Query, description = "Only targets that have ended and not well"),
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
    let failed = params.flag("failed")?.unwrap_or(false);
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
    Ok(ok(&detail(&task, failed, start, limit)))
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
        .is_some_and(|outcome| outcome.code == Code::OK)
}

fn has_failed(target: &TargetView) -> bool {
    target
        .outcome
        .as_ref()
        .is_some_and(|outcome| outcome.code != Code::OK)
}

fn detail(task: &TaskView, only_failed: bool, start: u64, limit: usize) -> TaskDetail<'_> {
    let (total, ended) = (task.targets.len(), task.n_ended);
    let ok = task.targets.iter().filter(|target| is_ok(target)).count();
    let failed = ended.saturating_sub(ok);
    let matching = task
        .targets
        .iter()
        .filter(|target| !only_failed || has_failed(target));
    let skipped = usize::try_from(start).unwrap_or(usize::MAX);
    TaskDetail {
        id: task.id.to_string(),
        state: state(ended == total).into(),
        created_at: task.created_at,
        app: task.app.as_str().into(),
        user: task.user.as_str().into(),
        counts: Counts {
            total,
            ended,
            ok,
            failed,
            running: total - ended,
        },
        count: if only_failed { failed } else { total },
        start,
        results: fit(matching.skip(skipped).take(limit).map(target_result)),
    }
}

fn target_result(target: &TargetView) -> TargetResult<'_> {
    let outcome = target.outcome.as_deref();
    let ran = outcome.and_then(|outcome| outcome.ran.as_ref());
    let (exit_code, exit_signal) = exit_of(ran);
    let host = target.host.as_ref().map(Host::to_string);
    TargetResult {
        process: target.process.to_string(),
        host: host.unwrap_or_else(|| target.key_prefixes[0].to_string()),
        op: target.op.as_str().into(),
        code: outcome.map_or(Code::HANDLING.0, |outcome| outcome.code.0),
        message: match outcome {
            Some(outcome) => plain(outcome.headline.as_ref().unwrap_or(&outcome.message)),
            None => "in progress".into(),
        },
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
    }
}
