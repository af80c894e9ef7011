//! Lists of processes, and one process with its definitions.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use api::{
    DefinitionView, FacetList, NameList, ProbesView, ProcessDetail, ProcessPage, ProcessView,
};
use axum::extract::State;
use axum::response::Response;
use control::{VersionNumbers, row_reason};
use fleet::{FacetKey, OrderKey, Row, RowOrder};
use model::access::Caller;
use model::change::NameId;
use model::{FullName, Invalid, Op, UnixMillis};

use super::ApiError;
use super::caller::Authenticated;
use super::filter::{ProcessFilterParams, facet_keys, facet_list, process_filter, top};
use super::refusals::Refusals;
use super::request::{PathParams, QueryParams, full_name};
use super::response::{fit, ok};
use crate::http::HttpState;

fn view<'a>(caller: &Caller, row: &Row<'a>) -> ProcessView<'a> {
    let host = row.host();
    let blocked = Op::ALL.into_iter().filter_map(|op| {
        let reason = control::blocked(caller, row, op)?;
        Some((op.as_str().into(), reason.as_str().into()))
    });
    ProcessView {
        namespace: row.name().namespace.as_str().into(),
        name: row.name().name.as_str().into(),
        host: host.host.into(),
        agent_id: host.agent_id.map(|id| id.as_str().into()),
        hostname: host.info.map(|info| info.hostname.as_str().into()),
        business: row.place().map(|(business, _)| business.0),
        labels: row.labels(),
        definition: row.definition_id().0,
        spec_version: None,
        flag: row.flag().as_str().into(),
        state: row.process_state().as_str().into(),
        was: row.was().map(|was| was.as_str().into()),
        next_at: next_at(row),
        restarts: row.restarts(),
        last_exit: row.last_exit().map(Into::into),
        health: row.health().map(Into::into),
        probes: ProbesView::of(row.probes()),
        restart_needed: row.restart_needed(),
        managed: row.managed(),
        connected: host.link.is_up(),
        message: row.message(),
        reason: row_reason(row).map(Into::into),
        pid: pid(row.pid()),
        version: row.version(),
        registered_at: row.registered_at(),
        started_at: row.started_at(),
        reported_at: row.reported_at(),
        cpu: crate::http::percent(row.cpu()),
        mem: crate::http::percent(row.mem()),
        fd: row.fd(),
        disk: row.disk(),
        net: row.net(),
        blocked: blocked.collect(),
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
        "name" => OrderKey::Name,
        "host" => OrderKey::Host,
        "registered" => OrderKey::Registered,
        other => {
            let rule = format!(
                "must be some of state, restarts, last_exit, started, cpu, mem, name, host and registered, not {other:?}"
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

/// Lists processes, with the exact number of all that match.
#[utoipa::path(get, path = "/api/v1/processes", operation_id = "list_processes", tag = "processes", params(
    ProcessFilterParams,
    ("order" = Option<String>, Query, description = "Up to three of state (what needs attention first), restarts, last_exit \
        (when), started, cpu, mem, name, host and registered, each with - before it for descending; by id if not given"),
    ("fields" = Option<String>, Query, description = "Only these members of each row"),
    ("with_versions" = Option<bool>, Query, description = "Whether each row has `spec_version`, which is read from the store"),
    ("start" = Option<u64>, Query, description = "The first row, from 0"),
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
), responses((status = 200, description = "A page of processes", body = ProcessPage), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let (start, limit) = params.page()?;
    let filter = process_filter(&params)?;
    let fields = fields(&params)?;
    let order = order(&params)?;
    let registry = http.control.registry();
    let cost = registry.cost(&filter, !order.is_empty());
    let mut numbers = HashMap::new();
    if params.flag("with_versions")?.unwrap_or(false) {
        // The page is looked at twice, so that it shows the statuses of now after the store has answered.
        let filter = filter.clone();
        let read = || {
            registry.page(&caller, filter, &order, start, limit, |page| {
                page.rows.iter().map(version_key).collect()
            })
        };
        let seen = http.long_reads.run(cost, read).await?;
        numbers = registry.version_numbers_of(&seen).await?;
    }
    let read = || {
        registry.page(&caller, filter, &order, start, limit, |page| {
            let rows = fit(page.rows.iter().map(|row| ProcessView {
                spec_version: numbers.get(&version_key(row)).copied(),
                ..view(&caller, row)
            }));
            ok(&ProcessPage {
                count: page.count,
                start,
                processes: match &fields {
                    Some(fields) => rows.only(fields),
                    None => rows,
                },
            })
        })
    };
    Ok(http.long_reads.run(cost, read).await?)
}

/// By what the number of the version of a row is found: of a name, and with the hash of its definition.
fn version_key(row: &Row<'_>) -> (NameId, u64) {
    (row.name_id(), row.definition().hash)
}

/// The members of a row to show; an unknown one is refused.
fn fields(params: &QueryParams) -> Result<Option<Vec<String>>, Invalid> {
    let row = ProcessView {
        // Left out where it is not asked for.
        spec_version: Some(0),
        ..ProcessView::default()
    };
    let row = serde_json::to_value(row).expect("a row has string keys");
    params.list("fields", |field| match row.get(field) {
        Some(_) => Ok(field.to_owned()),
        None => {
            let rule = format!("must be members of a row, and {field:?} is none");
            Err(Invalid::new("fields", rule))
        }
    })
}

/// Counts processes by the values of some dimensions, for any filter.
#[utoipa::path(get, path = "/api/v1/processes/facets", operation_id = "count_processes", tag = "processes", params(
    ("by" = String, Query, description = "Some of namespace, business, env, set, module, name, state, wanted, managed, connected, \
        cloud and version. Each is not narrowed by its own part of the filter, so that its other values are seen"),
    ProcessFilterParams,
    ("top" = Option<u64>, Query, description = "How many values of each, 1 to 1000, 50 if not given"),
), responses((status = 200, description = "The counts", body = FacetList), Refusals))]
pub(crate) async fn facets(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let keys = facet_keys(&params, &FacetKey::ALL, FacetKey::as_str)?;
    let filter = process_filter(&params)?;
    let registry = http.control.registry();
    let (cost, top) = (registry.cost(&filter, true), top(&params)?);
    let read = || registry.facets(&caller, filter, &keys, top);
    let facets = http.long_reads.run(cost, read).await?;
    Ok(ok(&facet_list(facets, keys.iter().map(|key| key.as_str()))))
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
    let (cost, limit) = (registry.search_cost(), params.limit()?);
    let read = || registry.names(&caller, prefix, limit);
    let found = http.long_reads.run(cost, read).await;
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
    let versions = registry.version_numbers(&caller, &name).await?;
    let answer = registry.processes_named(&caller, &name, |rows| {
        ok(&detail(&caller, &name, rows, &versions, start, limit))
    })?;
    Ok(answer)
}

fn detail<'a>(
    caller: &Caller,
    name: &FullName,
    rows: &mut dyn Iterator<Item = Row<'a>>,
    versions: &VersionNumbers,
    start: u64,
    limit: usize,
) -> ProcessDetail<'a> {
    let mut count = 0_u64;
    let mut definitions = BTreeMap::new();
    let mut processes = Vec::new();
    for row in rows {
        if count >= start && processes.len() < limit {
            processes.push(view(caller, &row));
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
            spec_version: versions.get(&definition.hash).copied(),
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
