//! Figures over time: of one process from its agent, of states from the server.

use std::time::Duration;

use api::{ProcessFigures, StateFigures};
use axum::extract::State;
use axum::response::Response;
use model::{Invalid, ProcessState};

use super::ApiError;
use super::caller::Authenticated;
use super::logs::host;
use super::refusals::Refusals;
use super::request::{PathParams, QueryParams, full_name};
use super::response::ok;
use crate::http::{HttpState, now};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Shows cpu, memory and descriptors of a process over the last hour. Its agent keeps them, so it must be connected; they begin
/// anew when the agent does.
#[utoipa::path(get, path = "/api/v1/processes/{namespace}/{name}/figures", operation_id = "process_figures", tag = "processes",
    params(
    ("namespace" = String, Path), ("name" = String, Path),
    ("host" = Option<String>, Query, description = "CLOUD:IP or IP; may be left out where the process is on one host only"),
), responses((status = 200, description = "Figures", body = ProcessFigures), Refusals))]
pub(crate) async fn process(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(segments): PathParams<(String, String)>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let process = full_name(&segments)?;
    let sessions = http.control.sessions();
    let (host, series) = sessions.figures(&caller, &process, host(&params)?).await?;
    let percents = |figures: Vec<Option<f32>>| {
        let percents = figures.into_iter();
        percents
            .map(|figure| figure.map(crate::http::percent))
            .collect()
    };
    Ok(ok(&ProcessFigures {
        host: host.into(),
        step_secs: series.step_secs,
        until: now(),
        cpu: percents(series.cpu),
        mem: percents(series.mem),
        fd: series.fd,
    }))
}

/// Shows how many processes were in each state over the last day, of what the caller may see.
#[utoipa::path(get, path = "/api/v1/figures/states", operation_id = "state_figures", tag = "processes", params(
    ("window" = Option<String>, Query, description = "How far back, from 5m to 24h; 24h if not given"),
), responses((status = 200, description = "Figures", body = StateFigures), Refusals))]
pub(crate) async fn states(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let window = params.duration("window")?.unwrap_or(DAY);
    let step = Duration::from_secs(control::STATES_STEP_SECS as u64);
    if !(step..=DAY).contains(&window) {
        return Err(Invalid::new("window", "must be a time from 5m to 24h").into());
    }
    let figures = http.control.registry().states_over_time(&caller, window)?;
    let states = ProcessState::ALL.into_iter().zip(figures.states);
    Ok(ok(&StateFigures {
        step_secs: step.as_secs(),
        until: figures.until,
        states: states
            .map(|(state, counts)| (state.as_str().into(), counts))
            .collect(),
    }))
}
