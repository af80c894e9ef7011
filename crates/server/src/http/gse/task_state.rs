//! get_task_state: the summary of a task, its agents by outcome, and every key.

use std::collections::HashSet;

use control::{HostLookup, TargetView, TaskView};
use model::Code;
use serde::Serialize;

use super::refusal::Refusal;
use super::request::RawRequest;
use super::result::Results;
use super::{RequestContext, success};

pub(crate) async fn task_state(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let id = request.task_id()?;
    let control = &context.http.control;
    let response = control
        .operations()
        .read_task(context.caller, id, |task, hosts| {
            success(TaskState::of(task, hosts))
        })
        .await?;
    Ok(response)
}

#[derive(Serialize)]
struct TaskState<'a> {
    task_id: String,
    /// `running` or `finished`.
    state: &'static str,
    total: usize,
    ended: usize,
    ok: usize,
    failed: usize,
    result: ByAgent<'a>,
    /// As in get_proc_operate_result_v2.
    results: Results<'a>,
}

/// Each agent as the caller named it, once, in the list of its worst target.
#[derive(Default, Serialize)]
struct ByAgent<'a> {
    state: &'static str,
    successed_agents: Vec<&'a str>,
    timeout_agents: Vec<&'a str>,
    failed_agents: Vec<&'a str>,
    pending_agents: Vec<&'a str>,
    offline_agents: Vec<&'a str>,
    /// An agent finishes its operations after a restart, so this stays empty.
    restarted_agents: Vec<&'a str>,
}

impl<'a> TaskState<'a> {
    fn of(task: &'a TaskView, hosts: HostLookup<'a>) -> Self {
        let (total, ended) = (task.targets.len(), task.n_ended);
        let is_ok = |target: &&TargetView| code(target) == Some(Code::OK);
        let ok = task.targets.iter().filter(is_ok).count();
        Self {
            task_id: task.id.to_string(),
            state: match ended < total {
                true => "running",
                false => "finished",
            },
            total,
            ended,
            ok,
            failed: ended.saturating_sub(ok),
            result: ByAgent::of(task),
            results: Results::of(task, hosts),
        }
    }
}

impl<'a> ByAgent<'a> {
    fn of(task: &'a TaskView) -> Self {
        let mut all = Self::default();
        let mut seen = HashSet::new();
        let mut sort = |matches: fn(Option<Code>) -> bool, list: &mut Vec<&'a str>| {
            let targets = task.targets.iter().filter(|target| matches(code(target)));
            let prefixes =
                targets.flat_map(|target| target.key_prefixes.iter().map(|prefix| &**prefix));
            list.extend(prefixes.filter(|prefix| seen.insert(*prefix)));
        };
        sort(|code| code.is_none(), &mut all.pending_agents);
        sort(
            |code| code == Some(Code::NO_CONNECTION),
            &mut all.offline_agents,
        );
        sort(
            |code| code == Some(Code::TERMINATED),
            &mut all.timeout_agents,
        );
        sort(|code| code != Some(Code::OK), &mut all.failed_agents);
        sort(|_| true, &mut all.successed_agents);
        all.state = match &all {
            all if !all.pending_agents.is_empty() => "executing",
            all if !all.failed_agents.is_empty() || !all.offline_agents.is_empty() => "failed",
            all if !all.timeout_agents.is_empty() => "timeout",
            _ => "successed",
        };
        all
    }
}

fn code(target: &TargetView) -> Option<Code> {
    target.outcome.as_ref().map(|outcome| outcome.code)
}
