//! Hosts and their agents.

use std::borrow::Cow;
use std::net::IpAddr;

use api::{AgentIdBody, HostPage, HostRow, Results};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::{HostSelector, HostStates, TargetHost};
use fleet::{HostFilter, HostKey, HostOrder, HostView, Link};
use model::{AgentId, Host, Invalid, UnixMillis};

use super::ApiError;
use super::caller::Authenticated;
use super::filter::{parse_id, words};
use super::refusals::Refusals;
use super::register::results;
use super::request::{JsonBody, PathParams, QueryParams};
use super::response::{fit, ok};
use crate::http::HttpState;

fn row(view: HostView<'_>, states: HostStates) -> HostRow<'_> {
    let since = match view.link {
        Link::Never => UnixMillis::NEVER,
        Link::Up { since } | Link::Down { since } => since,
    };
    let info = view.info;
    HostRow {
        host: view.host.into(),
        agent_id: view.agent_id.map(|id| id.as_str().into()),
        connected: view.link.is_up(),
        since,
        enrolled_at: view.enrolled_at,
        version: info.map(|info| info.version.as_str().into()),
        root: info.map(|info| info.root),
        hostname: info.map(|info| info.hostname.as_str().into()),
        kernel: info.map(|info| info.kernel.as_str().into()),
        cores: info.map(|info| info.cores),
        memory_kib: info.map(|info| info.memory_kib),
        arch: info.map(|info| info.arch.as_str().into()),
        program: info.map(|info| info.program.as_str().into()),
        protocol_oldest: info.map(|info| info.protocol_oldest),
        protocol: info.map(|info| info.protocol),
        missing: info
            .into_iter()
            .flat_map(|info| info.missing.names())
            .map(Into::into)
            .collect(),
        relay: info.and_then(|info| Some(info.relay?.ip().to_string().into())),
        labels: Cow::Borrowed(view.labels),
        processes: view.n_processes,
        states: states
            .into_iter()
            .map(|(state, count)| (state.as_str().into(), count))
            .collect(),
    }
}

fn parse_order(text: &str) -> Result<HostOrder, Invalid> {
    let (name, descending) = match text.strip_prefix('-') {
        Some(name) => (name, true),
        None => (text, false),
    };
    let key = match name {
        "host" => HostKey::Host,
        "hostname" => HostKey::Hostname,
        "version" => HostKey::Version,
        "since" => HostKey::Since,
        "processes" => HostKey::Processes,
        other => {
            let rule = format!(
                "must be some of host, hostname, version, since and processes, not {other:?}"
            );
            return Err(Invalid::new("order", rule));
        }
    };
    Ok(HostOrder { key, descending })
}

fn parse_relay(text: &str) -> Result<IpAddr, Invalid> {
    model::host::parse_ip(text).map_err(|invalid| Invalid::new("relay", invalid.rule))
}

/// Lists hosts, with the exact number of all that match.
#[utoipa::path(get, path = "/api/v1/hosts", operation_id = "list_hosts", tag = "hosts", params(
    ("q" = Option<String>, Query, description = "Words, separated by blanks; each must be part of the address, the hostname or the \
        agent's id. Upper and lower case are the same"),
    ("connected" = Option<bool>, Query, description = "Whether its agent is connected"),
    ("version" = Option<String>, Query, description = "Versions of agents, repeated or separated by commas"),
    ("cloud" = Option<String>, Query, description = "Ids of cloud areas, repeated or separated by commas"),
    ("relay" = Option<String>, Query, description = "Addresses of relays that agents connect through, repeated or separated by \
        commas"),
    ("label" = Option<String>, Query, description = "Tests of the host's own labels that must all hold, as for processes: \
        zone=a, zone!=a, zone in (a,b), zone notin (a,b), zone (it is there), !zone (it is not)"),
    ("order" = Option<String>, Query, description = "Some of host, hostname, version, since and processes, each with - before it \
        for descending; by id if not given"),
    ("start" = Option<u64>, Query, description = "The first row, from 0"),
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
), responses((status = 200, description = "A page of hosts", body = HostPage), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let page = params.page()?;
    let filter = HostFilter {
        connected: params.flag("connected")?,
        versions: params.list("version", |text| Ok(text.to_owned()))?,
        clouds: params.list("cloud", parse_id)?,
        relays: params.list("relay", parse_relay)?,
        labels: params.labels()?,
        words: words(&params, "q")?,
    };
    let order = params.list("order", parse_order)?.unwrap_or_default();
    let registry = http.control.registry();
    Ok(
        registry.hosts(&caller, &filter, &order, page, |count, hosts| {
            ok(&HostPage {
                count,
                start: page.0,
                hosts: fit(hosts.map(|(view, states)| row(view, states))),
            })
        }),
    )
}

/// Shows one host.
#[utoipa::path(get, path = "/api/v1/hosts/{host}", operation_id = "show_host", tag = "hosts",
    params(("host" = String, Path, description = "CLOUD:IP")),
    responses((status = 200, description = "The host", body = HostRow), Refusals))]
pub(crate) async fn show(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(host): PathParams<String>,
) -> Result<Response, ApiError> {
    let host: Host = host.parse()?;
    let registry = http.control.registry();
    Ok(registry.host(&caller, &host, |view, states| ok(&row(view, states)))?)
}

/// Gives a host the id that GSE 2.0 callers will name it by.
#[utoipa::path(put, path = "/api/v1/hosts/{host}/agent_id", operation_id = "set_agent_id", tag = "hosts",
    params(("host" = String, Path, description = "CLOUD:IP")), request_body = AgentIdBody,
    responses((status = 200, description = "The result", body = Results), Refusals))]
pub(crate) async fn set_agent_id(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(host): PathParams<String>,
    JsonBody(body): JsonBody<AgentIdBody>,
) -> Result<Response, ApiError> {
    let host: Host = host.parse()?;
    let id = AgentId::parse(body.agent_id.as_deref().unwrap_or_default())
        .map_err(|error| Invalid::new("agent_id", error.rule))?;
    let asked = TargetHost {
        key_prefix: host.to_string().into(),
        place: HostSelector::Host(host),
    };
    let answers = http
        .control
        .registry()
        .set_agent_ids(&caller, vec![(asked, id)])
        .await?;
    Ok(ok(&results(&answers)))
}

/// Refuses all certificates that this host has got until now. Its agent has to join again, with a token.
#[utoipa::path(post, path = "/api/v1/hosts/{host}/revoke", operation_id = "revoke_host", tag = "hosts",
    params(("host" = String, Path, description = "CLOUD:IP")),
    responses((status = 204, description = "Revoked"), Refusals))]
pub(crate) async fn revoke(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(host): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    let host: Host = host.parse()?;
    http.control.enrolment().revoke(&caller, host).await?;
    Ok(StatusCode::NO_CONTENT)
}
