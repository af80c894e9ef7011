//! Lists of processes, and one process with its definitions.

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use fleet::{Filter, Row};
use model::{FullName, Invalid, Labels, ProcessName, Spec, UnixMillis};
use serde::Serialize;
use utoipa::ToSchema;

use super::ApiError;
use super::answer::{fit, ok};
use super::caller::Asking;
use super::read::{Params, Segments, full_name};
use super::responses::Refusals;
use crate::http::HttpState;
use crate::http::openapi::SpecSchema;

/// Part of a list, and how long the whole is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProcessPage<'a> {
    count: u64,
    start: u64,
    processes: Vec<ProcessView<'a>>,
}

/// One process on one host.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProcessView<'a> {
    namespace: &'a str,
    name: &'a str,
    /// `cloud:ip`
    #[schema(value_type = String)]
    host: model::Host,
    agent_id: Option<&'a str>,
    #[schema(value_type = BTreeMap<String, String>)]
    labels: Cow<'a, Labels>,
    /// What is wanted: `running` or `stopped`.
    flag: &'static str,
    /// What is: `running`, `stopped`, or `unknown` before any agent has said.
    state: &'static str,
    /// Whether the agent keeps it as wanted.
    managed: bool,
    /// Whether its host's agent is connected.
    connected: bool,
    /// Why it is as it is.
    message: Cow<'a, str>,
    /// −1 when not running.
    pid: i32,
    version: &'a str,
    /// Times are milliseconds since 1970, 0 for never.
    #[schema(value_type = i64)]
    registered_at: UnixMillis,
    #[schema(value_type = i64)]
    started_at: UnixMillis,
    #[schema(value_type = i64)]
    reported_at: UnixMillis,
    /// Percent of the whole machine.
    cpu: f64,
    mem: f64,
    fd: u32,
    /// Bytes under its log path.
    disk: u64,
    /// Bytes per second.
    net: u64,
}

impl<'a> ProcessView<'a> {
    pub(crate) fn of(row: &Row<'a>) -> Self {
        let host = row.host();
        Self {
            namespace: row.name().namespace.as_str(),
            name: row.name().name.as_str(),
            host: host.host,
            agent_id: host.agent_id.map(|id| id.as_str()),
            labels: row.labels(),
            flag: flag_word(row.flag()),
            state: state_word(row.state()),
            managed: row.managed(),
            connected: host.link.is_up(),
            message: row.message(),
            pid: row.pid(),
            version: row.version(),
            registered_at: row.registered_at(),
            started_at: row.started_at(),
            reported_at: row.reported_at(),
            cpu: crate::http::percent(row.cpu()),
            mem: crate::http::percent(row.mem()),
            fd: row.fd(),
            disk: row.disk(),
            net: row.net(),
        }
    }
}

pub(crate) fn flag_word(flag: model::Flag) -> &'static str {
    match flag {
        model::Flag::Unregistered => "unregistered",
        model::Flag::Running => "running",
        model::Flag::Stopped => "stopped",
    }
}

pub(crate) fn state_word(state: model::State) -> &'static str {
    match state {
        model::State::Unknown => "unknown",
        model::State::Running => "running",
        model::State::Stopped => "stopped",
    }
}

/// Lists processes, with the exact number of all that match.
#[utoipa::path(get, path = "/api/v1/processes", operation_id = "list_processes", tag = "processes", params(
    ("namespace" = Option<String>, Query, description = "One or more, repeated or separated by commas"),
    ("name" = Option<String>, Query, description = "The process's name"),
    ("host" = Option<String>, Query, description = "One or more of CLOUD:IP or IP, repeated or separated by commas"),
    ("state" = Option<String>, Query, description = "running, stopped or unknown"),
    ("managed" = Option<bool>, Query, description = "Whether the agent keeps it as wanted"),
    ("start" = Option<u64>, Query, description = "The first row, from 0"),
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
), responses((status = 200, description = "A page of processes", body = ProcessPage), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    params: Params,
) -> Result<Response, ApiError> {
    let (start, limit) = params.page()?;
    let filter = Filter {
        namespaces: params.namespaces()?,
        name: params.text("name").map(ProcessName::parse).transpose()?,
        hosts: params.hosts()?,
        state: params.state()?,
        managed: params.flag("managed")?,
    };
    let registry = http.control.registry();
    let answer = registry.page(&caller, filter, start, limit, |page| {
        ok(&ProcessPage {
            count: page.count,
            start,
            processes: fit(page.rows.iter().map(ProcessView::of)),
        })
    })?;
    Ok(answer)
}

/// What is registered under one name, and where.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProcessDetail<'a> {
    /// `namespace/name`
    process: String,
    definitions: Vec<DefinitionView<'a>>,
    count: u64,
    start: u64,
    processes: Vec<ProcessView<'a>>,
}

/// A spec with its labels, and how many hosts use it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DefinitionView<'a> {
    #[schema(value_type = SpecSchema)]
    #[serde(serialize_with = "model::spec::serialize_as_request")]
    spec: &'a Spec,
    #[schema(value_type = BTreeMap<String, String>)]
    labels: Cow<'a, Labels>,
    hosts: u32,
}

/// Shows one process: every spec that is registered for it, and every host.
#[utoipa::path(get, path = "/api/v1/processes/{namespace}/{name}", operation_id = "show_process", tag = "processes", params(
    ("namespace" = String, Path), ("name" = String, Path),
    ("start" = Option<u64>, Query, description = "The first row, from 0"),
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
), responses((status = 200, description = "The process", body = ProcessDetail), Refusals))]
pub(crate) async fn show(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(segments): Segments<(String, String)>,
    params: Params,
) -> Result<Response, ApiError> {
    let name = full_name(&segments)?;
    let (start, limit) = params.page()?;
    let registry = http.control.registry();
    let answer = registry.processes_named(&caller, &name, |rows| {
        ok(&ProcessDetail::of(&name, rows, start, limit))
    })?;
    Ok(answer)
}

impl<'a> ProcessDetail<'a> {
    fn of(
        name: &FullName,
        rows: &mut dyn Iterator<Item = Row<'a>>,
        start: u64,
        limit: usize,
    ) -> Self {
        let mut count = 0_u64;
        let mut definitions = BTreeMap::new();
        let mut processes = Vec::new();
        for row in rows {
            if count >= start && processes.len() < limit {
                processes.push(ProcessView::of(&row));
            }
            count += 1;
            let definition = row.definition();
            let seen = definitions.entry(row.to_change().definition.0);
            seen.or_insert((definition, 0_u32)).1 += 1;
        }
        let definitions = definitions
            .into_values()
            .map(|(definition, hosts)| DefinitionView {
                spec: &definition.spec,
                labels: Cow::Borrowed(&*definition.labels),
                hosts,
            });
        Self {
            process: name.to_string(),
            definitions: definitions.collect(),
            count,
            start,
            processes: fit(processes),
        }
    }
}

/// The rule that a `namespace/name` in a body breaks, seen from its field.
pub(crate) fn parse_process(field: &str, text: &str) -> Result<FullName, Invalid> {
    text.parse()
        .map_err(|error: Invalid| Invalid::new(field, error.rule))
}
