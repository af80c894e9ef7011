//! Draining: the replica that answers asks its agents to go to the others, and takes no more of them.

use api::Draining;
use axum::extract::State;
use axum::response::Response;

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::response::ok;
use crate::http::HttpState;

fn state(http: &HttpState) -> Draining {
    Draining {
        draining: http.control.replicas().is_draining(),
        agents: http.control.sessions().n_agents(),
    }
}

/// Asks the agents of the replica that answers to go to other replicas; it takes no new ones.
#[utoipa::path(post, path = "/api/v1/drain", operation_id = "drain", tag = "server",
    responses((status = 200, description = "It drains", body = Draining),
        (status = 409, description = "There is no other replica that takes agents", body = api::ErrorBody), Refusals))]
pub(crate) async fn drain(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
) -> Result<Response, ApiError> {
    http.control.sessions().start_draining(&caller).await?;
    Ok(ok(&state(&http)))
}

/// Lets the replica that answers take agents again.
#[utoipa::path(delete, path = "/api/v1/drain", operation_id = "stop_draining", tag = "server",
    responses((status = 200, description = "It takes agents", body = Draining), Refusals))]
pub(crate) async fn undo(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
) -> Result<Response, ApiError> {
    http.control.sessions().stop_draining(&caller).await?;
    Ok(ok(&state(&http)))
}
