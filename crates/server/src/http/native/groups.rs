//! Process groups: pools of cpu and memory that a namespace's processes share on a host.

use axum::extract::State;
use axum::response::Response;
use control::HostSelector;
use model::access::Permission;
use model::group::{self, ProcessGroup, RawProcessGroup};
use model::{Host, Invalid, Namespace};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ApiError;
use super::answer::ok;
use super::caller::Asking;
use super::read::{Params, Read, Segments};
use super::register::Results;
use super::responses::Refusals;
use super::targets::HostRef;
use crate::http::HttpState;
use crate::http::openapi::{GroupSchema, HostSchema};

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GroupList<'a> {
    groups: Vec<HostGroups<'a>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HostGroups<'a> {
    /// `cloud:ip`
    #[schema(value_type = String)]
    host: Host,
    #[schema(value_type = Vec<GroupSchema>)]
    process_group: &'a [ProcessGroup],
}

/// Lists the groups of a namespace on hosts.
#[utoipa::path(get, path = "/api/v1/groups/{namespace}", operation_id = "list_groups", tag = "groups", params(
    ("namespace" = String, Path),
    ("host" = String, Query, description = "One or more of CLOUD:IP or IP, repeated or separated by commas"),
), responses((status = 200, description = "The groups of each host", body = GroupList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(namespace): Segments<String>,
    params: Params,
) -> Result<Response, ApiError> {
    let namespace = Namespace::parse(&namespace)?;
    http.control
        .access()
        .check(&caller, Permission::View, &namespace)?;
    let hosts = params.hosts()?.ok_or_else(|| Invalid::required("host"))?;
    let registry = http.control.registry();
    let answer = registry.groups(&caller, &namespace, |groups| {
        let groups = hosts.into_iter().map(|host| HostGroups {
            host,
            process_group: groups
                .at(&HostSelector::Host(host))
                .map_or(&[], |(_, groups)| groups),
        });
        ok(&GroupList {
            groups: groups.collect(),
        })
    })?;
    Ok(answer)
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct GroupsBody {
    #[schema(value_type = Vec<HostSchema>)]
    hosts: Option<Vec<HostRef>>,
    /// Replaces all groups of the namespace on these hosts; none removes them.
    #[schema(value_type = Vec<GroupSchema>)]
    #[serde(deserialize_with = "model::lenient::objects")]
    process_group: Option<Vec<Option<RawProcessGroup>>>,
}

/// Sets the groups of a namespace on hosts.
#[utoipa::path(put, path = "/api/v1/groups/{namespace}", operation_id = "set_groups", tag = "groups",
    params(("namespace" = String, Path)), request_body = GroupsBody,
    responses((status = 200, description = "A result per host", body = Results), Refusals))]
pub(crate) async fn set(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(namespace): Segments<String>,
    Read(body): Read<GroupsBody>,
) -> Result<Response, ApiError> {
    let namespace = Namespace::parse(&namespace)?;
    let hosts = body.hosts.ok_or_else(|| Invalid::required("hosts"))?;
    if hosts.is_empty() {
        return Err(Invalid::new("hosts", "must not be empty").into());
    }
    let hosts = hosts.iter().map(HostRef::asked).collect();
    let groups = body
        .process_group
        .ok_or_else(|| Invalid::required("process_group"))?;
    let groups = group::complete(groups)?;
    let answers = http
        .control
        .registry()
        .set_groups(&caller, &namespace, hosts, groups)
        .await?;
    Ok(ok(&Results::of(&answers)))
}
