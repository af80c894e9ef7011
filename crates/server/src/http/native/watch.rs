//! Streams change events as server-sent events: one by one, or in batches.

mod filter;
mod text;

use std::collections::{HashSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use api::{FleetSummary, Lagged};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::response::sse::{Event, Sse};
use control::{Change, ChangeId, ChangeReader, Control, Missed};
use futures_util::{Stream, StreamExt, stream};
use model::Invalid;
use tokio::time::Instant;

use super::ApiError;
use super::caller::AuthenticatedStream;
use super::recheck::CredentialRecheck;
use super::refusals::Refusals;
use super::request::QueryParams;
use super::summary::summary_view;
use crate::http::HttpState;
use crate::http::stream_slots::StreamSlot;
use filter::WatchFilter;

/// How often a stream without events says that it is alive, and how far it is.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How often a stream sends the summary at most.
const SUMMARY_EVERY: Duration = Duration::from_secs(1);
/// How many changes are read at a time, which is also the largest batch.
const AT_A_TIME: usize = 4096;
/// How far apart batches may be.
const EVERY: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(10);

/// Streams what happens. A watcher that is too slow misses some and is sent a `lagged` event.
///
/// Each event has an id. A watcher that connects again with the last one, in the header `Last-Event-ID` or in `since`, gets
/// what happened in between. Where that is not known any more, or another replica answers, `lagged` with `missed: null`
/// comes first: read again what you show.
#[utoipa::path(get, path = "/api/v1/watch", operation_id = "watch", tag = "watch", params(
    ("namespace" = Option<String>, Query, description = "One or more, repeated or separated by commas"),
    ("business" = Option<String>, Query, description = "One or more ids of businesses, repeated or separated by commas"),
    ("process" = Option<String>, Query, description = "NAMESPACE/NAME, each with or without the wildcards of expressions, \
        repeated for several: only statuses, events, registrations and tasks of these"),
    ("host" = Option<String>, Query, description = "One or more of CLOUD:IP or IP, repeated or separated by commas"),
    ("label" = Option<String>, Query, description = "Tests of labels, as in the list of processes: only statuses, events, \
        registrations and tasks of processes that have them now"),
    ("kinds" = Option<String>, Query, description = "Some of status, task, job, event, agent, registration, topology, template \
        and summary; all but summary if not given"),
    ("every" = Option<String>, Query, description = "From 100ms to 10s: events named changes, at most one in this time, with \
        the last change of each process, task, job and agent"),
    ("since" = Option<String>, Query, description = "The id of the last event that was read"),
    ("Last-Event-ID" = Option<String>, Header, description = "The same, as browsers send it"),
), responses((status = 200, description = "Events named after the kinds and lagged, each with a JSON object; with every, \
    events named changes: {\"changes\":[{\"kind\":\"status\",…}]}", body = String, content_type = "text/event-stream"),
    Refusals))]
pub(crate) async fn watch(
    State(http): State<HttpState>,
    AuthenticatedStream(caller, credentials): AuthenticatedStream,
    headers: HeaderMap,
    params: QueryParams,
) -> Result<impl IntoResponse, ApiError> {
    let filter = WatchFilter::read(&http.control, caller, &params)?;
    let every = every(&params)?;
    let events = http.control.events();
    let slot = http.stream_slots.take(&filter.caller)?;
    let (reader, is_complete) = match resumed(&headers, &params)? {
        Resume::Now => (events.watch(), true),
        Resume::After(id) => events.watch_since(id),
        Resume::Unknown => (events.watch(), false),
    };
    let mut watcher = Watcher {
        slot,
        summary: filter.wants_summary().then(SummaryState::new),
        filter,
        recheck: CredentialRecheck::new(&http, credentials),
        control: http.control.clone(),
        written_at: Instant::now(),
        next_batch: Instant::now(),
        every,
        written: VecDeque::new(),
        reader,
    };
    // The first bytes tell the watcher that it gets every change event from now on.
    let hello = Event::default().comment("watching");
    watcher.written.push_back(match is_complete {
        true => hello.id(watcher.reader.place().to_string()),
        false => hello,
    });
    if !is_complete {
        watcher.write_lagged(None);
    }
    let until_stop =
        change_events(watcher).take_until(Box::pin(async move { http.stopping().await }));
    // The server may poll a body once more after its end.
    Ok(Sse::new(until_stop.fuse()))
}

fn every(params: &QueryParams) -> Result<Option<Duration>, Invalid> {
    let every = params.duration("every")?;
    match every {
        Some(every) if !EVERY.contains(&every) => {
            Err(Invalid::new("every", "must be a time from 100ms to 10s"))
        }
        every => Ok(every),
    }
}

/// Where a stream begins.
enum Resume {
    Now,
    After(ChangeId),
    /// With an id that no Muster wrote.
    Unknown,
}

/// The header comes first: a browser that reconnects sends the address that it was given at first.
fn resumed(headers: &HeaderMap, params: &QueryParams) -> Result<Resume, Invalid> {
    if let Some(id) = headers.get("last-event-id") {
        let id = id.to_str().ok().and_then(|id| id.parse().ok());
        return Ok(id.map_or(Resume::Unknown, Resume::After));
    }
    match params.text("since") {
        Some(id) => Ok(Resume::After(id.parse()?)),
        None => Ok(Resume::Now),
    }
}

/// One open stream.
struct Watcher {
    reader: ChangeReader,
    filter: WatchFilter,
    recheck: CredentialRecheck,
    control: Control,
    /// How far apart batches are; none for one event for each change.
    every: Option<Duration>,
    next_batch: Instant,
    summary: Option<SummaryState>,
    /// Events that wait for the connection: at most those of one read.
    written: VecDeque<Event>,
    written_at: Instant,
    #[expect(dead_code, reason = "held for as long as the stream lasts")]
    slot: StreamSlot,
}

/// The summary that a stream last sent.
struct SummaryState {
    due: Instant,
    /// The number of the first change that it may not count.
    until: u64,
    sent: Option<FleetSummary>,
}

impl SummaryState {
    fn new() -> Self {
        Self {
            due: Instant::now(),
            until: 0,
            sent: None,
        }
    }
}

/// Ends when the credentials of the watcher permit nothing any more.
fn change_events(watcher: Watcher) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(watcher, |mut watcher| async move {
        loop {
            if let Some(event) = watcher.written.pop_front() {
                watcher.written_at = Instant::now();
                return Some((Ok(event), watcher));
            }
            watcher.write_more().await?;
        }
    })
}

impl Watcher {
    /// Waits for what is next. None ends the stream.
    async fn write_more(&mut self) -> Option<()> {
        let summary = self
            .summary
            .as_ref()
            .map(|summary| (summary.due, summary.until));
        let is_summary_old = summary.is_some_and(|(_, until)| self.reader.head() > until);
        let due = summary.map_or(self.written_at, |(due, _)| due);
        let batches = self.every.map(|_| self.next_batch);
        tokio::select! {
            () = next_changes(&mut self.reader, batches) => self.write_changes(),
            () = tokio::time::sleep_until(due), if is_summary_old => self.write_summary(),
            still = self.recheck.next() => self.filter.caller = still?,
            () = tokio::time::sleep_until(self.written_at + KEEP_ALIVE) => {
                let id = self.reader.place().to_string();
                self.written.push_back(Event::default().comment("alive").id(id));
            }
        }
        Some(())
    }

    fn write_changes(&mut self) {
        let changes = match self.reader.take(AT_A_TIME) {
            Ok(changes) => changes,
            Err(Missed(missed)) => return self.write_lagged(Some(missed)),
        };
        let registry = self.control.registry();
        let seen = changes
            .iter()
            .filter(|change| self.filter.includes(&change.event, registry));
        match self.every {
            None => {
                let events = seen.map(|change| {
                    let id = self.reader.id_of(change).to_string();
                    let name = text::kind(&change.event);
                    Event::default()
                        .id(id)
                        .event(name)
                        .data(change.text(text::data))
                });
                self.written.extend(events);
            }
            Some(every) => {
                self.next_batch = Instant::now() + every;
                let last = latest(seen);
                if !last.is_empty() {
                    let parts = last.iter().map(|change| {
                        text::batched(text::kind(&change.event), change.text(text::data))
                    });
                    self.write_batch(parts.collect());
                }
            }
        }
    }

    fn write_batch(&mut self, parts: Vec<String>) {
        let data = format!("{{\"changes\":[{}]}}", parts.join(","));
        let id = self.reader.place().to_string();
        self.written
            .push_back(Event::default().id(id).event("changes").data(data));
    }

    fn write_summary(&mut self) {
        let Some(state) = &mut self.summary else {
            return;
        };
        let visible = self.filter.namespaces_seen();
        let (until, summary) = self.control.registry().watched_summary(visible);
        state.until = until;
        state.due = Instant::now() + SUMMARY_EVERY;
        let view = summary_view(&summary);
        if state.sent.as_ref() == Some(&view) {
            return;
        }
        let data = text::json(&view);
        state.sent = Some(view);
        match self.every {
            None => {
                let event = Event::default().event("summary").data(data);
                self.written.push_back(event);
            }
            Some(_) => self.write_batch(vec![text::batched("summary", &data)]),
        }
    }

    /// Its id is where the stream goes on, so that a watcher which resumes from here is not told again.
    fn write_lagged(&mut self, missed: Option<u64>) {
        let data = text::json(&Lagged { missed });
        let id = self.reader.place().to_string();
        self.written
            .push_back(Event::default().id(id).event("lagged").data(data));
    }
}

/// Waits for a change, and with batches until the next one may be sent.
async fn next_changes(reader: &mut ChangeReader, batch: Option<Instant>) {
    if let Some(at) = batch {
        tokio::time::sleep_until(at).await;
    }
    reader.changed().await;
}

/// The last change of each key, in order.
fn latest<'a>(changes: impl DoubleEndedIterator<Item = &'a Arc<Change>>) -> Vec<&'a Arc<Change>> {
    let mut keys = HashSet::new();
    let mut last: Vec<_> = changes
        .rev()
        .filter(|change| change.event.key().is_none_or(|key| keys.insert(key)))
        .collect();
    last.reverse();
    last
}
