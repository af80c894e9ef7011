//! Lists of processes, and one process with its definitions.

use std::borrow::Cow;
use std::collections::BTreeMap;

use api::{DefinitionView, NameList, ProcessDetail, ProcessPage, ProcessView};
use axum::extract::State;
use axum::response::Response;
use fleet::{Filter, OrderKey, Row, RowOrder};
use model::{FullName, Invalid, ProcessName, ProcessState, UnixMillis};

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::request::{PathParams, QueryParams, full_name};
use super::response::{fit, ok};
use crate::http::HttpState;

fn view<'a>(row: &Row<'a>) -> ProcessView<'a> {
    let host = row.host();
    ProcessView {
        namespace: row.name().namespace.as_str().into(),
        name: row.name().name.as_str().into(),
        host: host.host.into(),
        agent_id: host.agent_id.map(|id| id.as_str().into()),
        labels: row.labels(),
        definition: row.definition_id().0,
        flag: flag_word(row.flag()).into(),
        state: row.process_state().as_str().into(),
        was: row.was().map(|was| was.as_str().into()),
        next_at: next_at(row),
        restarts: row.restarts(),
        last_exit: row.last_exit().map(Into::into),
        health: row.health().map(Into::into),
        restart_needed: row.restart_needed(),
        managed: row.managed(),
        connected: host.link.is_up(),
        message: row.message(),
        pid: pid(row.pid()),
        version: row.version().into(),
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

pub(crate) fn flag_word(flag: model::Flag) -> &'static str {
    match flag {
        model::Flag::Unregistered => "unregistered",
        model::Flag::Running => "running",
        model::Flag::Stopped => "stopped",
    }
}

/// A pid as the native API shows it: a client that signals −1 as root ends every process of its host.
pub(crate) fn pid(pid: i32) -> Option<i32> {
    (pid > 0).then_some(pid)
}

/// While the agent is away, the last known time is over or not known to hold.
fn next_at(row: &Row<'_>) -> Option<UnixMillis> {
    row.next_at().filter(|_| row.host().link.is_up())
}

fn parse_order(text: &str) -> Result<RowOrder, Invalid> {
    let (name, descending) = match text.strip_prefix('-') {
        Some(name) => (name, true),
        None => (text, false),
    };
    let key = match name {
        "state" => OrderKey::State,
        "restarts" => OrderKey::Restarts,
        "last_exit" => OrderKey::LastExit,
        "started" => OrderKey::Started,
        "cpu" => OrderKey::Cpu,
        "mem" => OrderKey::Memory,
        other => {
            let rule = format!(
                "must be some of state, restarts, last_exit, started, cpu and mem, not {other:?}"
            );
            return Err(Invalid::new("order", rule));
        }
    };
    Ok(RowOrder { key, descending })
}

fn order(params: &QueryParams) -> Result<Vec<RowOrder>, Invalid> {
    let order = params.list("order", parse_order)?.unwrap_or_default();
    match order.len() > fleet::MAX_ORDER_KEYS {
        true => Err(Invalid::new(
            "order",
            format!("must be at most {} keys", fleet::MAX_ORDER_KEYS),
        )),
        false => Ok(order),
    }
}

/// The parameters of [`filter`]; `[]` marks those that take several values.
pub(crate) const FILTER: [&str; 8] = [
    "namespace[]",
    "name",
    "host[]",
    "process[]",
    "label[]",
    "state[]",
    "managed",
    "restart_needed",
];

/// Which processes.
pub(crate) fn filter(params: &QueryParams) -> Result<Filter, Invalid> {
    Ok(Filter {
        namespaces: params.namespaces()?,
        name: params.text("name").map(ProcessName::parse).transpose()?,
        hosts: params.hosts()?,
        states: params.list("state", ProcessState::parse)?,
        managed: params.flag("managed")?,
        restart_needed: params.flag("restart_needed")?,
        processes: params.patterns()?,
        labels: params.labels()?,
    })
}

/// Lists processes, with the exact number of all that match.
#[utoipa::path(get, path = "/api/v1/processes", operation_id = "list_processes", tag = "processes", params(
    ("namespace" = Option<String>, Query, description = "One or more, repeated or separated by commas"),
    ("name" = Option<String>, Query, description = "The process's name"),
    ("host" = Option<String>, Query, description = "One or more of CLOUD:IP or IP, repeated or separated by commas"),
    ("process" = Option<String>, Query, description = "NAMESPACE/NAME, each with or without the wildcards of expressions: \
        app/*, [web,db]/api-?; repeated for several, of which one must match"),
    ("label" = Option<String>, Query, description = "Tests of labels that must all hold, separated by commas: tier=front, \
        tier!=front, tier (it is there), !tier (it is not); \\ before a character that stands for itself"),
    ("state" = Option<String>, Query, description = "One or more of running, starting, unhealthy, backoff, failed, stopped, \
        completed, scheduled and unknown, repeated or separated by commas"),
    ("managed" = Option<bool>, Query, description = "Whether the agent keeps it as wanted"),
    ("restart_needed" = Option<bool>, Query, description = "Whether its run began with an older spec, whose changes take effect \
        only at the next start"),
    ("order" = Option<String>, Query, description = "Up to three of state (what needs attention first), restarts, last_exit \
        (when), started, cpu and mem, each with - before it for descending; by registration if not given"),
    ("start" = Option<u64>, Query, description = "The first row, from 0"),
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
), responses((status = 200, description = "A page of processes", body = ProcessPage), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let (start, limit) = params.page()?;
    let filter = filter(&params)?;
    let order = order(&params)?;
    let registry = http.control.registry();
    let answer = registry.page(&caller, filter, &order, start, limit, |page| {
        ok(&ProcessPage {
            count: page.count,
            start,
            processes: fit(page.rows.iter().map(view)),
        })
    })?;
    Ok(answer)
}

/// Lists names of processes and namespaces that begin with a text, for completion.
#[utoipa::path(get, path = "/api/v1/names", operation_id = "list_names", tag = "processes", params(
    ("prefix" = Option<String>, Query, description = "How the names begin, such as web/ng"),
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
), responses((status = 200, description = "Names", body = NameList), Refusals))]
pub(crate) async fn names(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let prefix = params.text("prefix").unwrap_or_default();
    let registry = http.control.registry();
    let found = registry.names(&caller, prefix, params.limit()?);
    Ok(ok(&NameList {
        names: found.names,
        namespaces: found.namespaces,
    }))
}

/// Shows one process: every spec that is registered for it, and every host.
#[utoipa::path(get, path = "/api/v1/processes/{namespace}/{name}", operation_id = "show_process", tag = "processes", params(
    ("namespace" = String, Path), ("name" = String, Path),
    ("start" = Option<u64>, Query, description = "The first row, from 0"),
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
), responses((status = 200, description = "The process", body = ProcessDetail), Refusals))]
pub(crate) async fn show(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(segments): PathParams<(String, String)>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let name = full_name(&segments)?;
    let (start, limit) = params.page()?;
    let registry = http.control.registry();
    let answer = registry.processes_named(&caller, &name, |rows| {
        ok(&detail(&name, rows, start, limit))
    })?;
    Ok(answer)
}

fn detail<'a>(
    name: &FullName,
    rows: &mut dyn Iterator<Item = Row<'a>>,
    start: u64,
    limit: usize,
) -> ProcessDetail<'a> {
    let mut count = 0_u64;
    let mut definitions = BTreeMap::new();
    let mut processes = Vec::new();
    for row in rows {
        if count >= start && processes.len() < limit {
            processes.push(view(&row));
        }
        count += 1;
        let definition = row.definition();
        let seen = definitions.entry(row.definition_id().0);
        seen.or_insert((definition, 0_u32)).1 += 1;
    }
    let definitions = definitions
        .into_iter()
        .map(|(id, (definition, hosts))| DefinitionView {
            id,
            spec: Cow::Borrowed(&*definition.spec),
            labels: Cow::Borrowed(&*definition.labels),
            hosts,
        });
    ProcessDetail {
        process: name.to_string(),
        definitions: definitions.collect(),
        count,
        start,
        processes: fit(processes),
    }
}

/// The rule that a `namespace/name` in a body breaks, seen from its field.
pub(crate) fn parse_process(field: &str, text: &str) -> Result<FullName, Invalid> {
    text.parse()
        .map_err(|error: Invalid| Invalid::new(field, error.rule))
}
