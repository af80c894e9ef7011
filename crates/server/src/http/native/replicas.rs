//! The servers that are one installation.

use axum::extract::State;
use axum::response::Response;
use control::ReplicaView;
use serde::Serialize;
use utoipa::ToSchema;

use super::ApiError;
use super::answer::ok;
use super::caller::Asking;
use super::responses::Refusals;
use crate::http::HttpState;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReplicaList {
    /// The one that answers first.
    replicas: Vec<ReplicaRow>,
    /// Whether its messages to the others go the fast way.
    bus_up: bool,
    /// Whether it reaches the store; if not, it answers with what it knows.
    store_up: bool,
}

#[derive(Debug, Serialize, ToSchema)]
struct ReplicaRow {
    /// Another one after each start.
    id: String,
    /// Where its API listens.
    address: String,
    /// Whether it is the one that answers.
    this: bool,
    /// How many agents are connected to it.
    agents: usize,
    /// Whether it asks its agents to go elsewhere.
    draining: bool,
    /// Whether it does the background work: timeouts, jobs, webhooks, refreshes.
    leads: bool,
}

impl ReplicaRow {
    fn of(view: ReplicaView) -> Self {
        Self {
            id: view.id.to_string(),
            address: view.address,
            this: view.is_this,
            agents: view.n_agents,
            draining: view.is_draining,
            leads: view.leads,
        }
    }
}

/// Lists the replicas as the one that answers sees them.
#[utoipa::path(get, path = "/api/v1/replicas", operation_id = "list_replicas", tag = "server",
    responses((status = 200, description = "The replicas", body = ReplicaList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Asking(_caller): Asking,
) -> Result<Response, ApiError> {
    let replicas = http.control.replicas().list().into_iter();
    Ok(ok(&ReplicaList {
        replicas: replicas.map(ReplicaRow::of).collect(),
        bus_up: http.control.replicas().is_bus_up(),
        store_up: !http.control.replicas().is_behind(),
    }))
}
