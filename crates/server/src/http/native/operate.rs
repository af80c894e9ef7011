//! Operating on processes: one of them, or many in one task.

use std::collections::BTreeMap;

use api::{
    BlockedGroup, CommandCount, ErrorBody, OperateBody, Operated, OperatedInBatches,
    OperationBegun, OperationPlanView, OperationsBody, SampleProcess, SpecBody, ValueCount,
};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::{Operate, OperateMatching, OperateSpec, OperationPlan};
use model::access::Caller;
use model::job::JobAction;
use model::selector::ProcessOnHost;
use model::spec::raw::SpecRules;
use model::{FullName, Host, Invalid, Labels, Op};

use super::ApiError;
use super::caller::Authenticated;
use super::filter::{PROCESS_FILTER, process_filter};
use super::processes::parse_process;
use super::refusals::Refusals;
use super::request::{JsonBody, PathParams, QueryParams, full_name};
use super::response::{json, ok};
use super::{jobs, targets};
use crate::http::HttpState;
use crate::http::json::{Object, Scalar};

/// How many operations one request may hold.
const MAX_OPERATIONS: usize = 10_000;

/// Starts, stops or otherwise operates on a process. Ask for the task to learn how it went.
#[utoipa::path(post, path = "/api/v1/processes/{namespace}/{name}/operate", operation_id = "operate_process", tag = "tasks",
    params(("namespace" = String, Path), ("name" = String, Path)), request_body = OperateBody,
    responses((status = 202, description = "Accepted, durably", body = Operated), Refusals))]
pub(crate) async fn operate(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(segments): PathParams<(String, String)>,
    JsonBody(body): JsonBody<OperateBody>,
) -> Result<Response, ApiError> {
    let name = full_name(&segments)?;
    if body.process.is_some() {
        let rule = "must be left out here: the path names the process";
        return Err(Invalid::new("process", rule).into());
    }
    let operation = operation(body, &http, name)?;
    accept(&http, &caller, vec![operation]).await
}

/// Operates on several processes in one task: as listed, or on everything that matches a filter. A dry run tells what would be
/// done, and changes nothing.
#[utoipa::path(post, path = "/api/v1/operate", operation_id = "operate_processes", tag = "tasks", request_body = OperationsBody,
    responses(
        (status = 200, description = "Of a dry run: what would be done", body = OperationPlanView),
        (status = 202, description = "Accepted, durably: a task, or with `options` a job", body = OperationBegun),
        (status = 409, description = "The filter matches another number of processes than `expect_count`", body = ErrorBody),
        Refusals,
    ))]
pub(crate) async fn operate_many(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    JsonBody(body): JsonBody<OperationsBody>,
) -> Result<Response, ApiError> {
    match body {
        OperationsBody {
            operations: Some(listed),
            op: None,
            filter: None,
            except: None,
            expect_count: None,
            dry_run: None,
            options: None,
        } => operate_listed(&http, &caller, listed).await,
        OperationsBody {
            operations: Some(_),
            ..
        } => {
            let rule = "stands alone: leave it out, or the other fields";
            Err(Invalid::new("operations", rule).into())
        }
        OperationsBody {
            operations: None,
            op: None,
            filter: None,
            ..
        } => {
            let rule = "is required, or op and filter in its place";
            Err(Invalid::new("operations", rule).into())
        }
        by_filter => operate_matching(&http, &caller, by_filter).await,
    }
}

async fn operate_listed(
    http: &HttpState,
    caller: &Caller,
    bodies: Vec<Object<OperateBody>>,
) -> Result<Response, ApiError> {
    if bodies.is_empty() {
        return Err(Invalid::new("operations", "must not be empty").into());
    }
    if bodies.len() > MAX_OPERATIONS {
        let rule =
            format!("must be at most {MAX_OPERATIONS} operations: a filter takes more processes");
        return Err(Invalid::new("operations", rule).into());
    }
    let mut operations = Vec::with_capacity(bodies.len());
    for (index, Object(body)) in bodies.into_iter().enumerate() {
        let within = |error: ApiError| error.within(&format!("operations[{index}]"));
        let process = body.process.as_deref().unwrap_or_default();
        let name = parse_process("process", process).map_err(|e| within(e.into()))?;
        operations.push(operation(body, http, name).map_err(within)?);
    }
    accept(http, caller, operations).await
}

async fn operate_matching(
    http: &HttpState,
    caller: &Caller,
    body: OperationsBody,
) -> Result<Response, ApiError> {
    let op = parse_op(body.op.as_deref())?;
    if body.options.is_some() {
        return operate_in_batches(http, caller, op, body).await;
    }
    let object = body.filter.ok_or_else(|| Invalid::required("filter"))?;
    let filter = QueryParams::of_object(object, &PROCESS_FILTER)
        .and_then(|params| process_filter(&params))
        .map_err(|invalid| invalid.within("filter"))?;
    let dry_run = body.dry_run.unwrap_or(false);
    if filter.is_unlimited() && body.expect_count.is_none() && !dry_run {
        let rule = "must not be empty without expect_count: it matches everything";
        return Err(Invalid::new("filter", rule).into());
    }
    let request = OperateMatching {
        op,
        filter,
        except: parse_except(&body.except.unwrap_or_default())?,
        expect_count: body.expect_count,
    };
    let operations = http.control.operations();
    if dry_run {
        let plan = operations.plan_matching(caller, request)?;
        return Ok(ok(&plan_view(plan)));
    }
    let (task, targets) = operations.operate_matching(caller, request).await?;
    let begun = OperationBegun::Task(Operated {
        task_id: task.to_string(),
        targets,
    });
    Ok(json(StatusCode::ACCEPTED, &begun))
}

/// A job over what matches, in place of one task.
async fn operate_in_batches(
    http: &HttpState,
    caller: &Caller,
    op: Op,
    body: OperationsBody,
) -> Result<Response, ApiError> {
    let action = JobAction::of_op(op).ok_or_else(|| {
        let rule = format!("must be left out for {op}, which is done everywhere at once");
        Invalid::new("options", rule)
    })?;
    let filter = body.filter.ok_or_else(|| Invalid::required("filter"))?;
    let except = body.except.unwrap_or_default();
    let except: Vec<Scalar> = except.iter().map(|text| text.as_str().into()).collect();
    let expected = body.expect_count.map(u64::cast_signed);
    let dry_run = body.dry_run.unwrap_or(false);
    let options = body.options.unwrap_or_default();
    let new = jobs::plain_job(action, &filter, &except, expected, dry_run, options)?;
    if dry_run {
        return Ok(ok(&plan_view(http.control.jobs().plan(caller, new)?)));
    }
    let (job, targets) = http.control.jobs().create(caller, new).await?;
    let begun = OperationBegun::Job(OperatedInBatches {
        job_id: job.0,
        targets,
    });
    Ok(json(StatusCode::ACCEPTED, &begun))
}

fn parse_except(texts: &[String]) -> Result<Vec<ProcessOnHost>, Invalid> {
    let texts = texts.iter().enumerate();
    let all = texts.map(|(index, text)| {
        let read = text.parse::<ProcessOnHost>();
        read.map_err(|invalid| Invalid::new(format!("except[{index}]"), invalid.rule))
    });
    all.collect()
}

pub(super) fn plan_view(plan: OperationPlan) -> OperationPlanView {
    let counted = |(value, count): (String, u64)| ValueCount { value, count };
    let namespaces = plan.namespaces.into_iter();
    let environments = plan.environments.into_iter();
    let blocked = plan.blocked.into_iter().map(|group| BlockedGroup {
        reason: group.reason.as_str().to_owned(),
        count: group.count,
        hosts: group.hosts.iter().map(Host::to_string).collect(),
    });
    let commands = plan.commands.into_iter();
    let sample = plan.sample.into_iter();
    OperationPlanView {
        count: plan.count,
        hosts: plan.n_hosts,
        namespaces: namespaces
            .map(|(namespace, count)| counted((namespace.to_string(), count)))
            .collect(),
        environments: environments
            .map(|(env, count)| counted((env.as_str().to_owned(), count)))
            .collect(),
        blocked: blocked.collect(),
        commands: commands
            .map(|(command, count)| CommandCount { command, count })
            .collect(),
        sample: sample
            .map(|(process, host)| SampleProcess {
                process: process.to_string(),
                host: host.to_string(),
            })
            .collect(),
    }
}

async fn accept(
    http: &HttpState,
    caller: &Caller,
    operations: Vec<Operate>,
) -> Result<Response, ApiError> {
    let targets = operations
        .iter()
        .map(|operation| operation.hosts.len())
        .sum();
    let task = http
        .control
        .operations()
        .operate(caller, operations)
        .await?;
    let operated = Operated {
        task_id: task.to_string(),
        targets,
    };
    Ok(json(StatusCode::ACCEPTED, &operated))
}

fn operation(body: OperateBody, http: &HttpState, name: FullName) -> Result<Operate, ApiError> {
    let op = parse_op(body.op.as_deref())?;
    let with = with(op, body.spec, body.labels)?;
    let all = body.all.unwrap_or(false);
    let hosts = match targets::named(body.hosts.as_deref(), all)? {
        Some(hosts) => hosts,
        None => targets::everywhere(&http.control, &name)?,
    };
    Ok(Operate {
        name,
        op,
        with,
        hosts,
    })
}

pub(super) fn parse_op(text: Option<&str>) -> Result<Op, Invalid> {
    let text = text.ok_or_else(|| Invalid::required("op"))?;
    let found = Op::ALL.into_iter().find(|op| op.as_str() == text.trim());
    found.ok_or_else(|| {
        let known: Vec<&str> = Op::ALL.iter().map(|op| op.as_str()).collect();
        Invalid::new(
            "op",
            format!("must be one of {}, not {text:?}", known.join(", ")),
        )
    })
}

fn with(
    op: Op,
    spec: Option<SpecBody>,
    labels: BTreeMap<String, String>,
) -> Result<OperateSpec, Invalid> {
    let Some(raw) = spec.map(SpecBody::into_raw) else {
        return Ok(OperateSpec::Registered);
    };
    match op.stores_spec() {
        true => {
            let spec = raw
                .complete(SpecRules::Inline)
                .map_err(|e| e.within("spec"))?;
            Ok(OperateSpec::Spec(Box::new(spec), Labels::parse(labels)?))
        }
        false => raw
            .probe()
            .map(OperateSpec::Probe)
            .map_err(|e| e.within("spec")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_op_is_refused_with_the_list_of_known_ones() {
        assert_eq!(parse_op(Some("restart")).unwrap(), Op::Restart);
        assert_eq!(
            parse_op(Some("boot")).unwrap_err().to_string(),
            "op: must be one of start, stop, query, manage, unmanage, restart, reload, kill, not \"boot\""
        );
        assert_eq!(parse_op(None).unwrap_err().to_string(), "op: is required");
    }
}
