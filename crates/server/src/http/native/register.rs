//! Registering, updating and unregistering a process.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::{HostAnswer, Mode, Registration};
use model::spec::RawSpec;
use model::spec::raw::SpecRules;
use model::{Code, Invalid, Labels, lenient};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ApiError;
use super::answer::{json, ok};
use super::caller::Asking;
use super::read::{Params, Read, Segments, full_name};
use super::responses::Refusals;
use super::targets::{self, HostRef};
use crate::http::HttpState;
use crate::http::json::Object;
use crate::http::openapi::{HostSchema, SpecSchema};

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct RegisterBody {
    #[schema(value_type = Vec<HostSchema>)]
    hosts: Option<Vec<HostRef>>,
    #[serde(default, deserialize_with = "lenient::labels")]
    labels: BTreeMap<String, String>,
    #[schema(value_type = SpecSchema)]
    spec: Option<Object<RawSpec>>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct HostsBody {
    #[schema(value_type = Option<Vec<HostSchema>>)]
    hosts: Option<Vec<HostRef>>,
}

/// One result per host.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Results<'a> {
    results: Vec<HostResult<'a>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HostResult<'a> {
    /// `cloud:ip`, or what the caller wrote where that names no host.
    host: String,
    /// 0, or why not: 850 registered differently already, 117 no such agent, 1000400 not a host.
    code: i32,
    message: &'a str,
}

impl<'a> Results<'a> {
    pub(crate) fn of(answers: &'a [HostAnswer]) -> Self {
        let result = |answer: &'a HostAnswer| HostResult {
            host: answer
                .host
                .map_or_else(|| answer.key_prefix.to_string(), |host| host.to_string()),
            code: answer.code.0,
            message: &answer.message,
        };
        Self {
            results: answers.iter().map(result).collect(),
        }
    }
}

/// Registers a process on hosts. The same again is fine; a different spec is refused with 850 for that host.
#[utoipa::path(post, path = "/api/v1/processes/{namespace}/{name}", operation_id = "register_process", tag = "processes",
    params(("namespace" = String, Path), ("name" = String, Path)), request_body = RegisterBody, responses(
    (status = 200, description = "A result per host", body = Results),
    (status = 409, description = "Every host has it registered with another spec", body = Results), Refusals))]
pub(crate) async fn register(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(segments): Segments<(String, String)>,
    Read(body): Read<RegisterBody>,
) -> Result<Response, ApiError> {
    let registration = body.registration(&segments, Mode::Register)?;
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
    Ok(json(status, &Results::of(&answers)))
}

/// Registers a process on hosts, or replaces its spec there.
#[utoipa::path(put, path = "/api/v1/processes/{namespace}/{name}", operation_id = "update_process", tag = "processes",
    params(("namespace" = String, Path), ("name" = String, Path)), request_body = RegisterBody, responses(
    (status = 200, description = "A result per host", body = Results), Refusals))]
pub(crate) async fn update(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(segments): Segments<(String, String)>,
    Read(body): Read<RegisterBody>,
) -> Result<Response, ApiError> {
    let registration = body.registration(&segments, Mode::Update)?;
    let answers = http
        .control
        .registry()
        .register(&caller, registration)
        .await?;
    Ok(ok(&Results::of(&answers)))
}

/// Forgets a process on hosts, or on all with `?all=true`. It goes on running.
#[utoipa::path(delete, path = "/api/v1/processes/{namespace}/{name}", operation_id = "unregister_process", tag = "processes", params(
    ("namespace" = String, Path), ("name" = String, Path),
    ("all" = Option<bool>, Query, description = "On every host where it is registered"),
), request_body = HostsBody, responses((status = 200, description = "A result per host", body = Results), Refusals))]
pub(crate) async fn unregister(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(segments): Segments<(String, String)>,
    params: Params,
    Read(body): Read<HostsBody>,
) -> Result<Response, ApiError> {
    let name = full_name(&segments)?;
    let all = params.flag("all")?.unwrap_or(false);
    let hosts = match targets::asked(body.hosts.as_deref(), all)? {
        Some(hosts) => hosts,
        None => targets::everywhere(&http.control, &name)?,
    };
    let answers = http
        .control
        .registry()
        .unregister(&caller, &name, hosts)
        .await?;
    Ok(ok(&Results::of(&answers)))
}

impl RegisterBody {
    fn registration(
        self,
        segments: &(String, String),
        mode: Mode,
    ) -> Result<Registration, Invalid> {
        let name = full_name(segments)?;
        let hosts = self.hosts.ok_or_else(|| Invalid::required("hosts"))?;
        if hosts.is_empty() {
            return Err(Invalid::new("hosts", "must not be empty"));
        }
        let spec = self.spec.ok_or_else(|| Invalid::required("spec"))?.0;
        Ok(Registration {
            name,
            labels: Labels::parse(self.labels)?,
            spec: spec
                .complete(SpecRules::Inline)
                .map_err(|e| e.within("spec"))?,
            hosts: hosts.iter().map(HostRef::asked).collect(),
            suppliers: Default::default(),
            mode,
        })
    }
}
