//! Events of processes: exits, restarts, exceeded limits.

use api::{EventList, EventRow};
use axum::extract::State;
use axum::response::Response;
use control::EventFilter;
use model::event::{Event, EventKind};
use model::status::Exit;
use model::{Host, Invalid, ProcessName, UnixMillis};

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::request::{QueryParams, parse_duration};
use super::response::{fit, ok};
use crate::http::{HttpState, now};

pub(crate) fn event_row(id: Option<u64>, host: Host, event: &Event) -> EventRow<'_> {
    let (exit_code, exit_signal) = match event.exit {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(signal)) => (None, Some(signal)),
        Some(Exit::Unseen) | None => (None, None),
    };
    EventRow {
        id,
        at: event.at,
        host: host.into(),
        process: event.process.to_string(),
        kind: event.kind.as_str().into(),
        reason: event.reason.as_str().into(),
        exit_code,
        exit_signal,
        report_id: event.report_id,
    }
}

/// Lists events, the newest first. They are kept for 30 days.
#[utoipa::path(get, path = "/api/v1/events", operation_id = "list_events", tag = "events", params(
    ("namespace" = Option<String>, Query, description = "One or more, repeated or separated by commas"),
    ("name" = Option<String>, Query, description = "Only of processes of this name"),
    ("host" = Option<String>, Query, description = "One or more of CLOUD:IP or IP, repeated or separated by commas"),
    ("kind" = Option<String>, Query, description = "One or more kinds, repeated or separated by commas"),
    ("since" = Option<String>, Query, description = "Not before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d"),
    ("until" = Option<String>, Query, description = "Only before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d"),
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
    ("before" = Option<u64>, Query, description = "`next` of the page before"),
), responses((status = 200, description = "Events", body = EventList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let limit = params.limit()?;
    let name = params.text("name").map(ProcessName::parse).transpose()?;
    let filter = EventFilter {
        limit: limit as u32,
        before: params.number("before", 0..=i64::MAX as u64)?,
        namespaces: params.namespaces()?,
        name,
        hosts: params.hosts()?,
        kinds: params.list("kind", parse_kind)?,
        since: moment(&params, "since")?,
        until: moment(&params, "until")?,
    };
    let events = http.control.events().list(&caller, filter).await?;
    let rows = fit(events
        .iter()
        .map(|view| event_row(Some(view.id), view.host, &view.event)));
    let is_cut = rows.len() < events.len();
    let next = match is_cut || events.len() == limit {
        true => rows.len().checked_sub(1).map(|last| events[last].id),
        false => None,
    };
    Ok(ok(&EventList { events: rows, next }))
}

pub(super) fn parse_kind(text: &str) -> Result<EventKind, Invalid> {
    EventKind::parse(text.trim()).ok_or_else(|| {
        let known = EventKind::ALL.map(EventKind::as_str).join(", ");
        Invalid::new("kind", format!("must be one of {known}, not {text:?}"))
    })
}

/// Plain digits are a moment, anything with a unit is that long ago.
pub(super) fn moment(params: &QueryParams, name: &str) -> Result<Option<UnixMillis>, Invalid> {
    let Some(text) = params.text(name) else {
        return Ok(None);
    };
    if let Ok(millis) = text.parse() {
        return Ok(Some(UnixMillis(millis)));
    }
    let ago = parse_duration(name, text).map_err(|_| {
        let rule =
            format!("must be Unix milliseconds or a time such as 15m, 1h or 7d, not {text:?}");
        Invalid::new(name, rule)
    })?;
    let ago = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
    Ok(Some(UnixMillis(now().0.saturating_sub(ago))))
}
