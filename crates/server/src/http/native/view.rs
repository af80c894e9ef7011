//! The process view: the processes of a business, filtered, page by page.

use api::{InstanceView, NamedId, TemplateOf, ViewList, ViewProcess};
use axum::extract::State;
use axum::response::Response;
use fleet::view::{Instance, ViewRow};
use model::expression::Expression;
use model::scope::{
    ProcessStatus, Scope, Selection, SortKey, SortOrder, StateFilter, ViewFilter, distinct,
};
use model::topology::{BkProcessId, BusinessId, ModuleId, ServiceId, SetId};
use model::{Invalid, ProcessState};

use super::ApiError;
use super::caller::Authenticated;
use super::processes::pid;
use super::refusals::Refusals;
use super::request::QueryParams;
use super::response::{fit, ok};
use super::selection::{env_word, parse_env, parse_ip};
use crate::http::HttpState;
use crate::http::selection::searches;

/// The state of a process of the view that was never registered.
const UNREGISTERED: &str = "unregistered";

/// Lists processes of a business, with the exact number of all that match.
#[utoipa::path(get, path = "/api/v1/processes/view", operation_id = "list_view", tag = "view", params(
    ("business" = u32, Query, description = "Its id"),
    ("env" = Option<String>, Query, description = "test, experience or formal, or 1, 2, 3; all if not given"),
    ("set" = Option<String>, Query, description = "Ids of sets. Lists are repeated or separated by commas"),
    ("module" = Option<String>, Query, description = "Ids of modules"),
    ("service" = Option<String>, Query, description = "Ids of service instances"),
    ("name" = Option<String>, Query, description = "Aliases"),
    ("id" = Option<String>, Query, description = "Ids of processes"),
    ("expr" = Option<String>, Query, description = "set.module.service.process.id, in place of set, module, service, name and id"),
    ("status" = Option<String>, Query, description = "Some of running, stopped and unregistered"),
    ("state" = Option<String>, Query, description = "Only with an instance in one of these states: running, starting, unhealthy, backoff, failed, \
        stopped, completed, scheduled, unknown; or unregistered"),
    ("restart_needed" = Option<bool>, Query, description = "Whether an instance runs with an older spec until it is restarted"),
    ("managed" = Option<bool>, Query, description = "Whether all instances are managed"),
    ("ip" = Option<String>, Query, description = "Addresses of hosts"),
    ("cloud" = Option<String>, Query, description = "Ids of cloud areas"),
    ("search" = Option<String>, Query, description = "Parts of the address or of the cloud area's name; all must match"),
    ("order" = Option<String>, Query, description = "Some of set, module, name, id and ip, each with - before it for descending"),
    ("start" = Option<u64>, Query, description = "The first row, from 0"),
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
), responses((status = 200, description = "A page of processes", body = ViewList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let (start, limit) = params.page()?;
    let business = params.number("business", 0..=u64::from(u32::MAX))?;
    let business = business.ok_or_else(|| Invalid::required("business"))?;
    let filter = filter(BusinessId(business as u32), &params)?;
    let topology = http.control.topology();
    let answer = topology.page(&caller, &filter, start, limit, |page| {
        ok(&ViewList {
            count: page.count,
            start,
            processes: fit(page.rows.iter().map(process)),
        })
    })?;
    Ok(answer)
}

/// The parameters of [`filter`]; `[]` marks those that take several values.
pub(crate) const FILTER: [&str; 14] = [
    "env",
    "set[]",
    "module[]",
    "service[]",
    "name[]",
    "id[]",
    "expr",
    "status[]",
    "state[]",
    "restart_needed",
    "managed",
    "ip[]",
    "cloud[]",
    "search[]",
];

/// Which processes of a business.
pub(crate) fn filter(business: BusinessId, params: &QueryParams) -> Result<ViewFilter, ApiError> {
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
        searches: searches("search", terms.iter().map(String::as_str))?,
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

fn parse_id(text: &str) -> Result<u32, Invalid> {
    let rule = || {
        format!(
            "must be a whole number from 0 to {}, not {text:?}",
            u32::MAX
        )
    };
    text.parse().map_err(|_| Invalid::new("id", rule()))
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

pub(crate) fn status_word(status: ProcessStatus) -> &'static str {
    match status {
        ProcessStatus::Running => "running",
        ProcessStatus::Terminated => "stopped",
        ProcessStatus::Unregistered => UNREGISTERED,
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
        other => {
            let rule = format!("must be some of set, module, name, id and ip, not {other:?}");
            return Err(Invalid::new("order", rule));
        }
    };
    Ok(SortOrder { key, descending })
}

fn process<'a>(row: &ViewRow<'a>) -> ViewProcess<'a> {
    let templates = row.config_templates().into_iter();
    let instances = row.instances().into_iter();
    let named = |id, name: &'a str| NamedId {
        id,
        name: name.into(),
    };
    ViewProcess {
        id: row.id().0,
        business: row.business.id.0,
        expression: row.expression(),
        name: row.program.bk_process_name.as_str().into(),
        env: env_word(row.set.env).into(),
        set: named(row.set.id.0, &row.set.name),
        module: named(row.module.id.0, &row.module.name),
        service: named(row.process.service.0, row.service_name),
        host: row.machine.host.into(),
        ip_v6: row.machine.ip_v6,
        agent_id: row.machine.agent_id.as_ref().map(|id| id.as_str().into()),
        cloud_name: row.cloud_name.map(Into::into),
        process_template: row.process.process_template,
        service_template: row.module.service_template,
        status: status_word(row.status()).into(),
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
        instances: instances.map(instance).collect(),
    }
}

fn instance(instance: Instance<'_>) -> InstanceView<'_> {
    let row = instance.row;
    InstanceView {
        process: row.name().to_string(),
        local_inst_id: instance.local_inst_id,
        inst_id: instance.inst_id,
        status: status_word(instance.status()).into(),
        state: row.process_state().as_str().into(),
        was: row.was().map(|was| was.as_str().into()),
        restart_needed: row.restart_needed(),
        managed: row.managed(),
        pid: pid(row.pid()),
        message: row.message(),
        connected: row.host().link.is_up(),
    }
}
