//! Removes hosts.

use api::{ErrorBody, HostsRemoved, NamedId, RemoveHostsBody, RemovedHost};
use axum::extract::State;
use axum::response::Response;
use control::{HostRemoval, RemoveHosts};
use fleet::Link;
use model::{Invalid, UnixMillis};

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::request::{JsonBody, parse_duration};
use super::response::ok;
use super::targets::parse_host;
use crate::http::HttpState;

/// How many hosts a response names.
const MAX_SHOWN: usize = 1000;

/// Removes hosts: their registrations, certificates, groups and join tokens. Their processes keep running, events and timeline
/// stay. An agent of a removed host is refused until it joins with a new token.
#[utoipa::path(post, path = "/api/v1/remove-hosts", operation_id = "remove_hosts", tag = "hosts", request_body = RemoveHostsBody,
    responses(
        (status = 200, description = "What was removed; of a dry run, what would be", body = HostsRemoved),
        (status = 409, description = "A host is connected, or there is another number of hosts than `expect_count`; nothing was \
            removed", body = ErrorBody),
        Refusals,
    ))]
pub(crate) async fn remove(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    JsonBody(body): JsonBody<RemoveHostsBody>,
) -> Result<Response, ApiError> {
    if body.hosts.as_ref().is_some_and(Vec::is_empty) {
        return Err(Invalid::new("hosts", "must not be empty").into());
    }
    let gone_for = body.gone_for.as_deref();
    let request = RemoveHosts {
        hosts: body
            .hosts
            .map(|hosts| hosts.iter().map(parse_host).collect()),
        gone_for: gone_for
            .map(|text| parse_duration("gone_for", text))
            .transpose()?,
        force: body.force.unwrap_or(false),
        expect_count: body.expect_count,
    };
    let is_dry = body.dry_run.unwrap_or(false);
    let removals = match is_dry {
        true => http.control.plan_removal(&caller, &request)?,
        false => http.control.remove_hosts(&caller, request).await?,
    };
    Ok(ok(&HostsRemoved {
        count: removals.len(),
        removed: !is_dry,
        connected: removals.iter().filter(|one| one.link.is_up()).count(),
        processes: removals.iter().map(|one| u64::from(one.n_processes)).sum(),
        hosts: removals.iter().take(MAX_SHOWN).map(row).collect(),
    }))
}

fn row(removal: &HostRemoval) -> RemovedHost<'_> {
    let businesses = removal.businesses.iter();
    RemovedHost {
        host: removal.host.into(),
        agent_id: removal.agent_id.as_ref().map(|id| id.as_str().into()),
        connected: removal.link.is_up(),
        since: match removal.link {
            Link::Never => UnixMillis::NEVER,
            Link::Up { since } | Link::Down { since } => since,
        },
        processes: removal.n_processes,
        businesses: businesses
            .map(|(id, name)| NamedId {
                id: id.0,
                name: name.as_str().into(),
            })
            .collect(),
    }
}
