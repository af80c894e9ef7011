//! Has an agent check its host.

use api::HostCheckAnswer;
use axum::extract::State;
use axum::response::Response;
use model::Host;

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::request::PathParams;
use super::response::ok;
use crate::http::HttpState;

/// Asks a host's agent whether the host is fit for it: kernel, disk, users, control groups, clock, and the way to each server.
/// Takes some seconds, and changes nothing.
#[utoipa::path(get, path = "/api/v1/hosts/{host}/check", operation_id = "check_host", tag = "hosts",
    params(("host" = String, Path, description = "CLOUD:IP")),
    responses((status = 200, description = "Each check with its result", body = HostCheckAnswer), Refusals))]
pub(crate) async fn check(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(host): PathParams<String>,
) -> Result<Response, ApiError> {
    let host: Host = host.parse()?;
    let report = http.control.sessions().check_host(&caller, host).await?;
    Ok(ok(&HostCheckAnswer::new(host.into(), report)))
}
