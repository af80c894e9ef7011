//! The last runs of a process, from its agent.

use api::RunHistory;
use axum::extract::State;
use axum::response::Response;

use super::ApiError;
use super::caller::Authenticated;
use super::logs::host;
use super::refusals::Refusals;
use super::request::{PathParams, QueryParams, full_name};
use super::response::ok;
use crate::http::HttpState;

/// Lists the last runs of a process: when each began, how long it took, how it ended, and whether its output is kept (`run` of the
/// logs). Its agent keeps them, so it must be connected.
#[utoipa::path(get, path = "/api/v1/processes/{namespace}/{name}/runs", operation_id = "process_runs", tag = "processes",
    params(
    ("namespace" = String, Path), ("name" = String, Path),
    ("host" = Option<String>, Query, description = "CLOUD:IP or IP; may be left out where the process is on one host only"),
), responses((status = 200, description = "The runs", body = RunHistory), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(segments): PathParams<(String, String)>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let process = full_name(&segments)?;
    let sessions = http.control.sessions();
    let (host, runs) = sessions.runs(&caller, &process, host(&params)?).await?;
    Ok(ok(&RunHistory {
        host: host.into(),
        runs: runs.into_iter().map(Into::into).collect(),
    }))
}
