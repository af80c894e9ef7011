//! The servers that are one installation.

use api::{ReplicaList, ReplicaRow};
use axum::extract::State;
use axum::response::Response;
use control::ReplicaView;

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::response::ok;
use crate::http::HttpState;

fn row(view: ReplicaView) -> ReplicaRow {
    ReplicaRow {
        id: view.id.to_string(),
        address: view.address,
        this: view.is_this,
        agents: view.n_agents,
        draining: view.is_draining,
        leads: view.leads,
    }
}

/// Lists the replicas as the one that answers sees them.
#[utoipa::path(get, path = "/api/v1/replicas", operation_id = "list_replicas", tag = "server",
    responses((status = 200, description = "The replicas", body = ReplicaList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(_caller): Authenticated,
) -> Result<Response, ApiError> {
    let replicas = http.control.replicas().list().into_iter();
    Ok(ok(&ReplicaList {
        replicas: replicas.map(row).collect(),
        bus_up: http.control.replicas().is_bus_up(),
        store_up: !http.control.replicas().is_behind(),
    }))
}
