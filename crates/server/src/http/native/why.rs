//! Why a process is as it is.

use api::{CauseView, WhyView};
use axum::extract::State;
use axum::response::Response;

use super::ApiError;
use super::caller::Authenticated;
use super::logs::host;
use super::refusals::Refusals;
use super::request::{PathParams, QueryParams, full_name};
use super::response::ok;
use crate::http::HttpState;

/// Says why a process on a host is as it is: since when, what was tried, who stopped it, and the last output of the run that
/// ended.
#[utoipa::path(get, path = "/api/v1/processes/{namespace}/{name}/why", operation_id = "why", tag = "processes", params(
    ("namespace" = String, Path), ("name" = String, Path),
    ("host" = Option<String>, Query, description = "CLOUD:IP or IP; may be left out where the process is on one host only"),
), responses((status = 200, description = "Why", body = WhyView), Refusals))]
pub(crate) async fn why(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(segments): PathParams<(String, String)>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let process = full_name(&segments)?;
    let why = http.control.why(&caller, &process, host(&params)?).await?;
    Ok(ok(&WhyView {
        process: process.to_string(),
        host: why.host.into(),
        state: why.state.as_str().into(),
        since: why.since,
        code: why.reason.code,
        params: why.reason.params,
        text: why.text.into(),
        last_exit: why.last_exit.map(Into::into),
        cause: why.cause.map(|cause| CauseView {
            code: cause.reason.code,
            params: cause.reason.params,
            text: cause.text.into(),
            at: cause.at,
        }),
        tried: why.tried,
        next: why.next,
        output: why.output,
    }))
}
