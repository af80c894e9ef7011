//! flush_process and sync_process_status: what is known is made new.

use std::time::Instant;

use model::access::Permission;
use serde::Serialize;

use super::refusal::Refusal;
use super::request::RawRequest;
use super::{Ask, success};

/// Reads a business anew from its source.
pub(crate) async fn flush_process(ask: &Ask<'_>, request: RawRequest) -> Result<Vec<u8>, Refusal> {
    let business = request.business()?;
    let control = &ask.http.control;
    control.refresh_topology(ask.caller, business).await?;
    Ok(success(()))
}

#[derive(Serialize)]
struct Took {
    /// Seconds.
    cost_time: f64,
}

/// Agents report by themselves, so there is nothing to fetch: this waits until all that was acknowledged is shown.
pub(crate) async fn sync_process_status(
    ask: &Ask<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let business = request.business()?;
    ask.http
        .control
        .check(ask.caller, Permission::View, business)?;
    let began = Instant::now();
    Ok(success(Took {
        cost_time: began.elapsed().as_secs_f64(),
    }))
}
