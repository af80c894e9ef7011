//! The fleet in a few numbers.

use api::FleetSummary;
use axum::extract::State;
use axum::response::Response;
use control::Summary;
use model::ProcessState;

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::request::QueryParams;
use super::response::ok;
use crate::http::HttpState;

pub(super) fn summary_view(summary: &Summary) -> FleetSummary {
    let counts = &summary.counts;
    let states = ProcessState::ALL.into_iter().zip(counts.states);
    FleetSummary {
        processes: counts.processes,
        states: states
            .map(|(state, count)| (state.as_str().into(), count))
            .collect(),
        wanted_down: counts.wanted_down,
        gave_up: summary.n_gave_up(),
        unhealthy: summary.n_unhealthy(),
        restart_needed: counts.restart_needed,
        hosts: summary.n_hosts,
        agents_up: summary.n_agents_up,
        tasks_running: summary.n_tasks_running,
        jobs_running: summary.n_jobs_running,
        config_drift: counts.config_drift,
    }
}

/// Counts processes by state, and what needs attention, of what the caller may see.
#[utoipa::path(get, path = "/api/v1/summary", operation_id = "summary", tag = "processes", params(
    ("namespace" = Option<String>, Query, description = "One or more, repeated or separated by commas"),
    ("business" = Option<String>, Query, description = "One or more ids of businesses, repeated or separated by commas"),
), responses((status = 200, description = "The fleet in a few numbers", body = FleetSummary), Refusals))]
pub(crate) async fn summary(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let namespaces = match (params.namespaces()?, params.businesses()?) {
        (Some(mut some), Some(others)) => {
            some.retain(|namespace| others.contains(namespace));
            Some(some)
        }
        (some, others) => some.or(others),
    };
    let summary = http.control.registry().summary(&caller, namespaces)?;
    Ok(ok(&summary_view(&summary)))
}
