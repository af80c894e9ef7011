//! Registering, updating and unregistering a process.

use api::{HostResult, HostsBody, RegisterBody, Results};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::{HostAnswer, Mode, Registration};
use model::spec::raw::SpecRules;
use model::{Code, Invalid, Labels};

use super::ApiError;
use super::caller::Authenticated;
use super::plain::plain;
use super::refusals::Refusals;
use super::request::{JsonBody, PathParams, QueryParams, full_name};
use super::response::{json, ok};
use super::targets::{self, parse_host};
use crate::http::HttpState;

pub(super) fn results(answers: &[HostAnswer]) -> Results<'_> {
    let results = answers.iter().map(|answer| HostResult {
        host: match answer.host {
            Some(host) => host.to_string(),
            None => answer.key_prefix.to_string(),
        },
        code: answer.code.0,
        message: plain(&answer.message),
        changed: answer.changed,
    });
    Results {
        results: results.collect(),
    }
}

/// Registers a process on hosts. The same again is fine; a different spec is refused with 850 for that host.
#[utoipa::path(post, path = "/api/v1/processes/{namespace}/{name}", operation_id = "register_process", tag = "processes",
    params(("namespace" = String, Path), ("name" = String, Path)), request_body = RegisterBody, responses(
    (status = 200, description = "A result per host", body = Results),
    (status = 409, description = "Every host has it registered with another spec", body = Results), Refusals))]
pub(crate) async fn register(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(segments): PathParams<(String, String)>,
    JsonBody(body): JsonBody<RegisterBody>,
) -> Result<Response, ApiError> {
    let registration = registration(body, &segments, Mode::Register)?;
    let answers = http
        .control
        .registry()
        .register(&caller, registration)
        .await?;
    let all_exist = answers.iter().all(|answer| answer.code == Code::EXISTS);
    let status = match all_exist && !answers.is_empty() {
        true => StatusCode::CONFLICT,
        false => StatusCode::OK,
    };
    Ok(json(status, &results(&answers)))
}

/// Registers a process on hosts, or replaces its spec there.
#[utoipa::path(put, path = "/api/v1/processes/{namespace}/{name}", operation_id = "update_process", tag = "processes",
    params(("namespace" = String, Path), ("name" = String, Path)), request_body = RegisterBody, responses(
    (status = 200, description = "A result per host", body = Results), Refusals))]
pub(crate) async fn update(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(segments): PathParams<(String, String)>,
    JsonBody(body): JsonBody<RegisterBody>,
) -> Result<Response, ApiError> {
    let registration = registration(body, &segments, Mode::Update)?;
    let answers = http
        .control
        .registry()
        .register(&caller, registration)
        .await?;
    Ok(ok(&results(&answers)))
}

/// Forgets a process on hosts, or on all with `?all=true`. It goes on running.
#[utoipa::path(delete, path = "/api/v1/processes/{namespace}/{name}", operation_id = "unregister_process", tag = "processes", params(
    ("namespace" = String, Path), ("name" = String, Path),
    ("all" = Option<bool>, Query, description = "On every host where it is registered"),
), request_body = HostsBody, responses((status = 200, description = "A result per host", body = Results), Refusals))]
pub(crate) async fn unregister(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(segments): PathParams<(String, String)>,
    params: QueryParams,
    JsonBody(body): JsonBody<HostsBody>,
) -> Result<Response, ApiError> {
    let name = full_name(&segments)?;
    let all = params.flag("all")?.unwrap_or(false);
    let hosts = match targets::named(body.hosts.as_deref(), all)? {
        Some(hosts) => hosts,
        None => targets::everywhere(&http.control, &name)?,
    };
    let answers = http
        .control
        .registry()
        .unregister(&caller, &name, hosts)
        .await?;
    Ok(ok(&results(&answers)))
}

fn registration(
    body: RegisterBody,
    segments: &(String, String),
    mode: Mode,
) -> Result<Registration, Invalid> {
    let name = full_name(segments)?;
    let hosts = body.hosts.ok_or_else(|| Invalid::required("hosts"))?;
    if hosts.is_empty() {
        return Err(Invalid::new("hosts", "must not be empty"));
    }
    let spec = body.spec.ok_or_else(|| Invalid::required("spec"))?;
    let spec = spec.into_raw();
    Ok(Registration {
        name,
        labels: Labels::parse(body.labels)?,
        spec: spec
            .complete(SpecRules::Inline)
            .map_err(|e| e.within("spec"))?,
        hosts: hosts.iter().map(parse_host).collect(),
        suppliers: Default::default(),
        mode,
        restores: None,
    })
}
