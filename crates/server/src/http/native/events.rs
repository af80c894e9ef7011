//! Events of processes: exits, restarts, exceeded limits.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use api::{EventBucket, EventCounts, EventList, EventRow, ValueCount};
use axum::extract::State;
use axum::response::Response;
use control::EventFilter;
use model::event::{Event, EventKind};
use model::status::Exit;
use model::{Host, Invalid, ProcessName, UnixMillis};
use store::CountEventsBy;

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::request::{QueryParams, parse_duration};
use super::response::{fit, ok};
use crate::http::{HttpState, now};

const BUCKETS: RangeInclusive<Duration> =
    Duration::from_secs(60)..=Duration::from_secs(30 * 24 * 3600);
const MAX_BUCKETS: i64 = 1000;
const DAY_MS: i64 = 24 * 3600 * 1000;

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
    ("label" = Option<String>, Query, description = "Only of processes with these labels now, as in the list of processes. Labels \
        are tested event by event, so a page may have fewer events than `limit`, or none: go on while there is a `next`"),
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
    let filter = EventFilter {
        limit: limit as u32,
        before: params.number("before", 0..=i64::MAX as u64)?,
        labels: params.labels()?,
        ..filter(&params)?
    };
    let read = http.control.events().list(&caller, filter).await?;
    let events = read.events;
    let rows = fit(events
        .iter()
        .map(|view| event_row(Some(view.id), view.host, &view.event)));
    let is_cut = rows.len() < events.len();
    let next = match is_cut {
        true => rows.len().checked_sub(1).map(|last| events[last].id),
        false => read.next,
    };
    Ok(ok(&EventList { events: rows, next }))
}

/// What lists and counts have in common.
fn filter(params: &QueryParams) -> Result<EventFilter, Invalid> {
    Ok(EventFilter {
        namespaces: params.namespaces()?,
        name: params.text("name").map(ProcessName::parse).transpose()?,
        hosts: params.hosts()?,
        kinds: params.list("kind", parse_kind)?,
        since: moment(params, "since")?,
        until: moment(params, "until")?,
        ..EventFilter::default()
    })
}

/// Counts events by time, and by kind, process or host: only the values with most events.
#[utoipa::path(get, path = "/api/v1/events/counts", operation_id = "count_events", tag = "events", params(
    ("bucket" = Option<String>, Query, description = "How long a bucket of time is, from 1m to 30d: 5m, 1h, 1d; 1h if not \
        given; at most 1000 between since and until"),
    ("by" = Option<String>, Query, description = "kind, process or host; kind if not given"),
    ("top" = Option<u64>, Query, description = "How many values, 1 to 100; 20 if not given"),
    ("namespace" = Option<String>, Query, description = "One or more, repeated or separated by commas"),
    ("name" = Option<String>, Query, description = "Only of processes of this name"),
    ("host" = Option<String>, Query, description = "One or more of CLOUD:IP or IP, repeated or separated by commas"),
    ("kind" = Option<String>, Query, description = "One or more kinds, repeated or separated by commas"),
    ("since" = Option<String>, Query, description = "Not before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d; 24h \
        if not given"),
    ("until" = Option<String>, Query, description = "Only before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d"),
), responses((status = 200, description = "Counts", body = EventCounts), Refusals))]
pub(crate) async fn counts(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let bucket = params
        .duration("bucket")?
        .unwrap_or(Duration::from_secs(3600));
    if !BUCKETS.contains(&bucket) {
        return Err(Invalid::new("bucket", "must be a time from 1m to 30d").into());
    }
    let by = match params.text("by") {
        None | Some("kind") => CountEventsBy::Kind,
        Some("process") => CountEventsBy::Process,
        Some("host") => CountEventsBy::Host,
        Some(other) => {
            let rule = format!("must be kind, process or host, not {other:?}");
            return Err(Invalid::new("by", rule).into());
        }
    };
    if params.text("label").is_some() {
        let rule = "is not for counts, which the store makes: it does not know labels";
        return Err(Invalid::new("label", rule).into());
    }
    let top = params.number("top", 1..=100)?.unwrap_or(20) as u32;
    let mut filter = filter(&params)?;
    let until = filter.until.unwrap_or_else(now);
    let since = filter
        .since
        .unwrap_or(UnixMillis(until.0.saturating_sub(DAY_MS)));
    filter.since = Some(since);
    let n_buckets = until.0.saturating_sub(since.0) / bucket.as_millis() as i64;
    if n_buckets > MAX_BUCKETS {
        let rule = format!("is too short: at most {MAX_BUCKETS} between since and until");
        return Err(Invalid::new("bucket", rule).into());
    }
    let counted = http
        .control
        .events()
        .counts(&caller, filter, bucket, by, top)
        .await?;
    let mut buckets: Vec<EventBucket> = Vec::new();
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for one in &counted {
        if buckets.last().is_none_or(|last| last.at != one.at) {
            buckets.push(EventBucket {
                at: one.at,
                counts: BTreeMap::new(),
            });
        }
        if let Some(last) = buckets.last_mut() {
            last.counts.insert(one.value.clone(), one.count);
        }
        *sums.entry(&one.value).or_default() += one.count;
    }
    let mut top: Vec<ValueCount> = (sums.into_iter())
        .map(|(value, count)| ValueCount {
            value: value.to_owned(),
            count,
        })
        .collect();
    top.sort_by(|a, b| (b.count, &a.value).cmp(&(a.count, &b.value)));
    Ok(ok(&EventCounts {
        bucket_secs: bucket.as_secs(),
        buckets,
        top,
    }))
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
