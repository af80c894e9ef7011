//! Process groups: pools of cpu and memory that a namespace's processes share on a host.

use api::{GroupList, GroupsBody, HostGroups, Results};
use axum::extract::State;
use axum::response::Response;
use control::HostSelector;
use model::access::Permission;
use model::group;
use model::{Invalid, Namespace};

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::register::results;
use super::request::{JsonBody, PathParams, QueryParams};
use super::response::ok;
use super::targets::parse_host;
use crate::http::HttpState;

/// Lists the groups of a namespace on hosts.
#[utoipa::path(get, path = "/api/v1/groups/{namespace}", operation_id = "list_groups", tag = "groups", params(
    ("namespace" = String, Path),
    ("host" = String, Query, description = "One or more of CLOUD:IP or IP, repeated or separated by commas"),
), responses((status = 200, description = "The groups of each host", body = GroupList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(namespace): PathParams<String>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let namespace = Namespace::parse(&namespace)?;
    http.control
        .access()
        .check(&caller, Permission::View, &namespace)?;
    let hosts = params.hosts()?.ok_or_else(|| Invalid::required("host"))?;
    let registry = http.control.registry();
    let answer = registry.groups(&caller, &namespace, |groups| {
        let groups = hosts.into_iter().map(|host| HostGroups {
            host: host.to_string(),
            process_group: match groups.at(&HostSelector::Host(host)) {
                Some((_, groups)) => groups.into(),
                None => Default::default(),
            },
        });
        ok(&GroupList {
            groups: groups.collect(),
        })
    })?;
    Ok(answer)
}

/// Sets the groups of a namespace on hosts.
#[utoipa::path(put, path = "/api/v1/groups/{namespace}", operation_id = "set_groups", tag = "groups",
    params(("namespace" = String, Path)), request_body = GroupsBody,
    responses((status = 200, description = "A result per host", body = Results), Refusals))]
pub(crate) async fn set(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(namespace): PathParams<String>,
    JsonBody(body): JsonBody<GroupsBody>,
) -> Result<Response, ApiError> {
    let namespace = Namespace::parse(&namespace)?;
    let hosts = body.hosts.ok_or_else(|| Invalid::required("hosts"))?;
    if hosts.is_empty() {
        return Err(Invalid::new("hosts", "must not be empty").into());
    }
    let hosts = hosts.iter().map(parse_host).collect();
    let groups = body
        .process_group
        .ok_or_else(|| Invalid::required("process_group"))?;
    let groups = group::complete(groups)?;
    let answers = http
        .control
        .registry()
        .set_groups(&caller, &namespace, hosts, groups)
        .await?;
    Ok(ok(&results(&answers)))
}
