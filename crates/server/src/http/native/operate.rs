//! Operating on processes: one of them, or many in one task.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::{Operate, OperateSpec};
use model::spec::RawSpec;
use model::spec::raw::SpecRules;
use model::{FullName, Invalid, Labels, Op, lenient};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

use super::ApiError;
use super::answer::json;
use super::caller::Asking;
use super::processes::parse_process;
use super::read::{Read, Segments, full_name};
use super::responses::Refusals;
use super::targets::{self, HostRef};
use crate::http::HttpState;
use crate::http::json::Object;
use crate::http::openapi::{HostSchema, SpecSchema};

/// How many operations one request may hold.
const MAX_OPERATIONS: usize = 10_000;

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct OperateBody {
    /// start, stop, query, manage, unmanage, restart, reload or kill
    #[schema(required)]
    op: Option<String>,
    #[schema(value_type = Option<Vec<HostSchema>>)]
    hosts: Option<Vec<HostRef>>,
    /// Every host where it is registered, instead of `hosts`.
    all: Option<bool>,
    /// Stored as an update before it is operated on; query and unmanage take part of one and store nothing.
    #[schema(value_type = Option<SpecSchema>)]
    spec: Option<Object<RawSpec>>,
    #[serde(default, deserialize_with = "lenient::labels")]
    labels: BTreeMap<String, String>,
    /// `namespace/name`, in a request of several operations.
    process: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct OperationsBody {
    operations: Option<Vec<Object<OperateBody>>>,
}

/// The task that was made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Operated {
    task_id: String,
    /// How many hosts were named; one that was named twice is one target.
    targets: usize,
}

/// Starts, stops or otherwise operates on a process. Ask for the task to learn how it went.
#[utoipa::path(post, path = "/api/v1/processes/{namespace}/{name}/operate", operation_id = "operate_process", tag = "tasks",
    params(("namespace" = String, Path), ("name" = String, Path)), request_body = OperateBody,
    responses((status = 202, description = "Accepted, durably", body = Operated), Refusals))]
pub(crate) async fn operate(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(segments): Segments<(String, String)>,
    Read(body): Read<OperateBody>,
) -> Result<Response, ApiError> {
    let name = full_name(&segments)?;
    let operation = body.operation(&http, name)?;
    accept(&http, &caller, vec![operation]).await
}

/// Operates on several processes in one task.
#[utoipa::path(post, path = "/api/v1/operate", operation_id = "operate_processes", tag = "tasks", request_body = OperationsBody,
    responses((status = 202, description = "Accepted, durably", body = Operated), Refusals))]
pub(crate) async fn operate_many(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Read(body): Read<OperationsBody>,
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
        operations.push(body.operation(&http, name).map_err(within)?);
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

impl OperateBody {
    fn operation(self, http: &HttpState, name: FullName) -> Result<Operate, ApiError> {
        let op = parse_op(self.op.as_deref())?;
        let with = with(op, self.spec, self.labels)?;
        let asked = targets::asked(self.hosts.as_deref(), self.all.unwrap_or(false))?;
        let hosts = match asked {
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
}

fn parse_op(text: Option<&str>) -> Result<Op, Invalid> {
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
    spec: Option<Object<RawSpec>>,
    labels: BTreeMap<String, String>,
) -> Result<OperateSpec, Invalid> {
    let Some(Object(raw)) = spec else {
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
