//! flush_process and sync_process_status.

use std::time::Instant;

use serde::Serialize;

use super::refusal::Refusal;
use super::request::RawRequest;
use super::{RequestContext, success};

/// Reads the topology of a business from its source again.
pub(crate) async fn flush_process(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    let business = request.business()?;
    let control = &context.http.control;
    control.topology().refresh(context.caller, business).await?;
    Ok(success(()))
}

#[derive(Serialize)]
struct SyncTime {
    /// Seconds.
    cost_time: f64,
}

/// Agents report by themselves, so there is nothing to fetch; every request already waits for acknowledged commits.
pub(crate) async fn sync_process_status(
    context: &RequestContext<'_>,
    request: RawRequest,
) -> Result<Vec<u8>, Refusal> {
    context.viewed_business(&request)?;
    let began = Instant::now();
    Ok(success(SyncTime {
        cost_time: began.elapsed().as_secs_f64(),
    }))
}
