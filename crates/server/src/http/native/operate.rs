//! Operating on processes: one of them, or many in one task.

use std::collections::BTreeMap;

use api::{OperateBody, Operated, OperationsBody, SpecBody};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::{Operate, OperateSpec};
use model::spec::raw::SpecRules;
use model::{FullName, Invalid, Labels, Op};

use super::ApiError;
use super::caller::Authenticated;
use super::processes::parse_process;
use super::refusals::Refusals;
use super::request::{JsonBody, PathParams, full_name};
use super::response::json;
use super::targets;
use crate::http::HttpState;
use crate::http::json::Object;

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

/// Operates on several processes in one task.
#[utoipa::path(post, path = "/api/v1/operate", operation_id = "operate_processes", tag = "tasks", request_body = OperationsBody,
    responses((status = 202, description = "Accepted, durably", body = Operated), Refusals))]
pub(crate) async fn operate_many(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    JsonBody(body): JsonBody<OperationsBody>,
) -> Result<Response, ApiError> {
    let bodies = body
        .operations
        .ok_or_else(|| Invalid::required("operations"))?;
    if bodies.is_empty() {
        return Err(Invalid::new("operations", "must not be empty").into());
    }
    if bodies.len() > MAX_OPERATIONS {
        let rule = format!("must be at most {MAX_OPERATIONS} operations");
        return Err(Invalid::new("operations", rule).into());
    }
    let mut operations = Vec::with_capacity(bodies.len());
    for (index, Object(body)) in bodies.into_iter().enumerate() {
        let within = |error: ApiError| error.within(&format!("operations[{index}]"));
        let process = body.process.as_deref().unwrap_or_default();
        let name = parse_process("process", process).map_err(|e| within(e.into()))?;
        operations.push(operation(body, &http, name).map_err(within)?);
    }
    accept(&http, &caller, operations).await
}

async fn accept(
    http: &HttpState,
    caller: &model::access::Caller,
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
