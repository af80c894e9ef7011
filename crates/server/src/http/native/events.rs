//! Events: what happened to processes without anybody asking.

use axum::extract::State;
use axum::response::Response;
use control::EventFilter;
use model::event::{Event, EventKind};
use model::status::Exit;
use model::{Host, Invalid, ProcessName, UnixMillis};
use serde::Serialize;
use utoipa::ToSchema;

use super::ApiError;
use super::answer::{fit, ok};
use super::caller::Asking;
use super::read::{Params, parse_duration};
use super::responses::Refusals;
use crate::http::{HttpState, now};

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventList<'a> {
    events: Vec<EventRow<'a>>,
    /// `before` of the next page; null at the end.
    next: Option<u64>,
}

/// An event as lists, streams and webhooks show it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventRow<'a> {
    /// Rises in the order in which the server got them; the live stream has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<u64>,
    #[schema(value_type = i64)]
    pub(crate) at: UnixMillis,
    #[schema(value_type = String)]
    pub(crate) host: Host,
    /// `namespace/name`
    pub(crate) process: String,
    /// `process_exit`, `process_restart_success`, …
    pub(crate) kind: &'a str,
    /// A sentence for people.
    pub(crate) reason: &'a str,
    /// Null unless a run ended with a code.
    pub(crate) exit_code: Option<i32>,
    /// Null unless a run was ended by a signal.
    pub(crate) exit_signal: Option<i32>,
    /// `warn_report_policy.report_id` of the process; 0 for none.
    pub(crate) report_id: i64,
}

impl<'a> EventRow<'a> {
    pub(crate) fn new(id: Option<u64>, host: Host, event: &'a Event) -> Self {
        let (exit_code, exit_signal) = match event.exit {
            Some(Exit::Code(code)) => (Some(code), None),
            Some(Exit::Signal(signal)) => (None, Some(signal)),
            Some(Exit::Unseen) | None => (None, None),
        };
        Self {
            id,
            at: event.at,
            host,
            process: event.process.to_string(),
            kind: event.kind.as_str(),
            reason: &event.reason,
            exit_code,
            exit_signal,
            report_id: event.report_id,
        }
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
    Asking(caller): Asking,
    params: Params,
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
    let rows = events
        .iter()
        .map(|view| EventRow::new(Some(view.id), view.host, &view.event));
    let rows = fit(rows);
    let is_cut = rows.len() < events.len();
    let next = match is_cut || events.len() == limit {
        true => rows.last().and_then(|row| row.id),
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
pub(super) fn moment(params: &Params, name: &str) -> Result<Option<UnixMillis>, Invalid> {
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
