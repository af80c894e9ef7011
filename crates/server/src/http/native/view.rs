//! The process view: the processes of a business, filtered, page by page.

use api::{FacetList, InstanceView, NamedId, TemplateOf, ViewList, ViewProcess};
use axum::extract::State;
use axum::response::Response;
use fleet::view::{Instance, ViewFacetKey, ViewRow};
use model::access::Caller;
use model::expression::Expression;
use model::job::JobAction;
use model::scope::{
    ProcessStatus, Scope, Selection, SortKey, SortOrder, StateFilter, ViewFilter, distinct,
};
use model::topology::{BkProcessId, BusinessId, ModuleId, ServiceId, SetId};
use model::{Invalid, ProcessState};
use utoipa::IntoParams;

use super::ApiError;
use super::caller::Authenticated;
use super::filter::{facet_keys, facet_list, parse_id, top};
use super::processes::pid;
use super::refusals::Refusals;
use super::request::QueryParams;
use super::response::{fit, ok};
use super::selection::{parse_env, parse_ip};
use crate::http::HttpState;
use crate::http::selection::searches;

/// The state of a process of the view that was never registered.
const UNREGISTERED: &str = "unregistered";

/// For the OpenAPI document.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "read by the OpenAPI document only")]
pub(crate) struct ViewFilterParams {
    /// test, experience or formal, or 1, 2, 3; all if not given
    env: Option<String>,
    /// Ids of sets. Lists are repeated or separated by commas
    set: Option<String>,
    /// Ids of modules
    module: Option<String>,
    /// Ids of service instances
    service: Option<String>,
    /// Aliases
    name: Option<String>,
    /// Ids of processes
    id: Option<String>,
    /// set.module.service.process.id, in place of set, module, service, name and id
    expr: Option<String>,
    /// Some of running, stopped and unregistered
    status: Option<String>,
    /// Only with an instance in one of these states: running, ready, starting, unhealthy, backoff, failed, stopped, completed,
    /// scheduled, unknown; or unregistered
    state: Option<String>,
    /// Whether an instance runs with an older spec until it is restarted
    restart_needed: Option<bool>,
    /// Whether all instances are managed
    managed: Option<bool>,
    /// Whether the agent of its host is connected
    connected: Option<bool>,
    /// Addresses of hosts
    ip: Option<String>,
    /// Ids of cloud areas
    cloud: Option<String>,
    /// Parts of the address or of the name of the cloud area, set, module, service instance or process; all must match
    search: Option<String>,
}

/// Counts processes of a business by the values of some dimensions, for any filter.
#[utoipa::path(get, path = "/api/v1/processes/view-facets", operation_id = "count_view", tag = "view", params(
    ("by" = String, Query, description = "Some of env, set, module, service, name, status, state (a process counts for each state \
        that an instance is in), managed, connected and cloud. Each is not narrowed by its own part of the filter; an expression \
        narrows all"),
    ("business" = u32, Query, description = "Its id"),
    ViewFilterParams,
    ("top" = Option<u64>, Query, description = "How many values of each, 1 to 1000, 50 if not given"),
), responses((status = 200, description = "The counts", body = FacetList), Refusals))]
pub(crate) async fn facets(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let keys = facet_keys(&params, &ViewFacetKey::ALL, ViewFacetKey::as_str)?;
    let filter = filter(&params)?;
    let topology = http.control.topology();
    let (cost, top) = (topology.cost(&filter, true), top(&params)?);
    let read = || topology.facets(&caller, &filter, &keys, top);
    let facets = http.long_reads.run(cost, read).await?;
    Ok(ok(&facet_list(facets, keys.iter().map(|key| key.as_str()))))
}

/// Lists processes of a business, with the exact number of all that match.
#[utoipa::path(get, path = "/api/v1/processes/view", operation_id = "list_view", tag = "view", params(
    ("business" = u32, Query, description = "Its id"),
    ViewFilterParams,
    ("order" = Option<String>, Query, description = "Some of set, module, name, id, ip, status (what does not run \
        first), state (what needs attention first) and started, each with - before it for descending"),
    ("start" = Option<u64>, Query, description = "The first row, from 0"),
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
), responses((status = 200, description = "A page of processes", body = ViewList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let (start, limit) = params.page()?;
    let filter = filter(&params)?;
    let topology = http.control.topology();
    let read = || {
        topology.page(&caller, &filter, start, limit, |page| {
            ok(&ViewList {
                count: page.count,
                start,
                processes: fit(page.rows.iter().map(|row| process(&caller, row))),
            })
        })
    };
    let cost = topology.cost(&filter, false);
    Ok(http.long_reads.run(cost, read).await?)
}

/// Every parameter that filters the view, besides the business.
pub(crate) const VIEW_FILTER: [&str; 15] = [
    "env",
    "set",
    "module",
    "service",
    "name",
    "id",
    "expr",
    "status",
    "state",
    "restart_needed",
    "managed",
    "connected",
    "ip",
    "cloud",
    "search",
];

/// Reads the filter of the view.
pub(crate) fn filter(params: &QueryParams) -> Result<ViewFilter, ApiError> {
    let business = params.number("business", 0..=u64::from(u32::MAX))?;
    let business = business.ok_or_else(|| Invalid::required("business"))?;
    filter_of(BusinessId(business as u32), params)
}

/// The same for a business that is named elsewhere.
pub(crate) fn filter_of(
    business: BusinessId,
    params: &QueryParams,
) -> Result<ViewFilter, ApiError> {
    let terms = params.list("search", |term| Ok(term.to_owned()))?;
    let terms = terms.unwrap_or_default();
    let ordering = params.list("order", parse_order)?;
    Ok(ViewFilter {
        clouds: params.list("cloud", parse_id)?.map(distinct),
        statuses: params.list("status", parse_status)?.map(distinct),
        states: states(params)?,
        restart_needed: params.flag("restart_needed")?,
        is_auto: params.flag("managed")?.map(|managed| vec![managed]),
        ips: params.list("ip", parse_ip)?.map(distinct),
        connected: params.flag("connected")?,
        words: searches("search", terms.iter().map(String::as_str))?,
        ordering: SortOrder::distinct(ordering.unwrap_or_default()),
        ..ViewFilter::new(business, selection(params)?)
    })
}

fn states(params: &QueryParams) -> Result<Option<StateFilter>, ApiError> {
    let words = params.list("state", |word| match word {
        UNREGISTERED => Ok(None),
        word => ProcessState::parse(word).map(Some).map_err(|invalid| {
            Invalid::new("state", format!("{}, or {UNREGISTERED}", invalid.rule))
        }),
    })?;
    Ok(words.map(|words| StateFilter {
        unregistered: words.contains(&None),
        states: words.into_iter().flatten().collect(),
    }))
}

fn selection(params: &QueryParams) -> Result<Selection, ApiError> {
    let env = parse_env(params.text("env").unwrap_or_default())?;
    let ids = |name| {
        let ids = params.list(name, parse_id)?;
        Ok::<_, Invalid>(ids.map(distinct))
    };
    let scope = Scope {
        env,
        sets: ids("set")?.map(|ids| ids.into_iter().map(SetId).collect()),
        modules: ids("module")?.map(|ids| ids.into_iter().map(ModuleId).collect()),
        services: ids("service")?.map(|ids| ids.into_iter().map(ServiceId).collect()),
        names: params.list("name", |name| Ok(name.to_owned()))?,
        processes: ids("id")?.map(|ids| ids.into_iter().map(BkProcessId).collect()),
    };
    let Some(text) = params.text("expr") else {
        return Ok(Selection::Scope(scope));
    };
    let alone = Scope {
        env,
        ..Scope::default()
    };
    if scope != alone {
        let rule = "stands alone: leave out set, module, service, name and id";
        return Err(Invalid::new("expr", rule).into());
    }
    let expression = Expression::parse_dotted(text);
    Ok(Selection::Expression {
        env,
        expression: Box::new(expression.map_err(|error| ApiError::expression("expr", &error))?),
    })
}

fn parse_status(text: &str) -> Result<ProcessStatus, Invalid> {
    match text {
        "running" => Ok(ProcessStatus::Running),
        "stopped" => Ok(ProcessStatus::Terminated),
        UNREGISTERED => Ok(ProcessStatus::Unregistered),
        other => Err(Invalid::new(
            "status",
            format!("must be running, stopped or unregistered, not {other:?}"),
        )),
    }
}

fn parse_order(text: &str) -> Result<SortOrder, Invalid> {
    let (name, descending) = match text.strip_prefix('-') {
        Some(name) => (name, true),
        None => (text, false),
    };
    let key = match name {
        "set" => SortKey::Set,
        "module" => SortKey::Module,
        "name" => SortKey::ProcessName,
        "id" => SortKey::ProcessId,
        "ip" => SortKey::InnerIp,
        "status" => SortKey::Status,
        "state" => SortKey::State,
        "started" => SortKey::Started,
        other => {
            let rule = format!(
                "must be some of set, module, name, id, ip, status, state and started, not {other:?}"
            );
            return Err(Invalid::new("order", rule));
        }
    };
    Ok(SortOrder { key, descending })
}

fn process<'a>(caller: &Caller, row: &ViewRow<'a>) -> ViewProcess<'a> {
    let templates = row.config_templates().into_iter();
    let instances = row.instances();
    let blocked = JobAction::ALL.into_iter().filter_map(|action| {
        let reason = control::blocked_in_view(caller, row, &instances, action)?;
        Some((action.as_str().into(), reason.as_str().into()))
    });
    let blocked = blocked.collect();
    let reason = instances.iter().find_map(|one| {
        let reason = control::row_reason(&one.row)?;
        Some(reason.with("process", one.row.name()))
    });
    let named = |id, name: &'a str| NamedId {
        id,
        name: name.into(),
    };
    ViewProcess {
        id: row.id().0,
        business: row.business.id.0,
        expression: row.expression(),
        name: row.program.bk_process_name.as_str().into(),
        env: row.set.env.as_str().into(),
        set: named(row.set.id.0, &row.set.name),
        module: named(row.module.id.0, &row.module.name),
        service: named(row.process.service.0, row.service_name),
        host: row.machine.host.into(),
        ip_v6: row.machine.ip_v6,
        agent_id: row.machine.agent_id.as_ref().map(|id| id.as_str().into()),
        cloud_name: row.cloud_name.map(Into::into),
        process_template: row.process.process_template,
        service_template: row.module.service_template,
        status: row.status().as_str().into(),
        managed: row.is_auto(),
        vanished: row.process.vanished,
        priority: row.program.priority,
        config_templates: templates
            .map(|template| TemplateOf {
                id: template.id.0,
                name: template.template_name.as_str().into(),
                file_name: template.file_name.as_str().into(),
            })
            .collect(),
        instances: instances.into_iter().map(instance).collect(),
        reason: reason.map(Into::into),
        blocked,
    }
}

fn instance(instance: Instance<'_>) -> InstanceView<'_> {
    let row = &instance.row;
    InstanceView {
        process: row.name().to_string(),
        local_inst_id: instance.local_inst_id,
        inst_id: instance.inst_id,
        status: instance.status().as_str().into(),
        state: row.process_state().as_str().into(),
        was: row.was().map(|was| was.as_str().into()),
        restart_needed: row.restart_needed(),
        wanted: row.flag().as_str().into(),
        managed: row.managed(),
        pid: pid(row.pid()),
        message: row.message(),
        reason: control::row_reason(row).map(Into::into),
        connected: row.host().link.is_up(),
        started_at: row.started_at(),
        reported_at: row.reported_at(),
        cpu: crate::http::percent(row.cpu()),
        mem: crate::http::percent(row.mem()),
    }
}
