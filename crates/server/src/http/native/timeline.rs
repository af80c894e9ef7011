//! What happened to a process or a host, in order.

use api::{TimelineList, TimelineRow};
use axum::extract::State;
use axum::response::Response;
use control::{TimelineEntry, TimelineFilter, TimelineWord};
use model::{FullName, Host, Invalid};

use super::ApiError;
use super::caller::Authenticated;
use super::events::moment;
use super::refusals::Refusals;
use super::request::QueryParams;
use super::response::{fit, ok};
use crate::http::HttpState;

fn timeline_row(entry: &TimelineEntry) -> TimelineRow<'_> {
    TimelineRow {
        id: entry.id.as_str().into(),
        at: entry.at,
        kind: entry.kind.as_str().into(),
        code: entry.code.as_str().into(),
        params: std::borrow::Cow::Borrowed(&entry.params),
        text: entry.text.as_str().into(),
        process: entry.process.as_ref().map(ToString::to_string),
        host: entry.host.map(Into::into),
        user: entry.user.as_str().into(),
        app: entry.app.as_str().into(),
        from: entry.from.as_str().into(),
        task_id: entry.task.as_deref().map(Into::into),
        job_id: entry.job,
    }
}

/// Lists what happened, the newest first: events, operations and who asked for them, agents that came and went, specs, config
/// files, health. Kept for 30 days.
#[utoipa::path(get, path = "/api/v1/timeline", operation_id = "timeline", tag = "events", params(
    ("process" = Option<String>, Query, description = "Only of this process: NAMESPACE/NAME; with a host also of its agent"),
    ("host" = Option<String>, Query, description = "Only on this host: CLOUD:IP or IP"),
    ("kinds" = Option<String>, Query, description = "Some of event, operation, agent, spec, config and health, repeated or \
        separated by commas"),
    ("since" = Option<String>, Query, description = "Not before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d"),
    ("until" = Option<String>, Query, description = "Only before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d"),
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
    ("before" = Option<String>, Query, description = "`next` of the page before"),
), responses((status = 200, description = "What happened", body = TimelineList), Refusals))]
pub(crate) async fn timeline(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let process = params.text("process").map(|text| {
        let name: Result<FullName, _> = text.parse();
        name.map_err(|_| {
            let rule = format!("must be NAMESPACE/NAME, not {text:?}");
            Invalid::new("process", rule)
        })
    });
    let host = params.text("host").map(|text| {
        let host: Result<Host, Invalid> = text.parse();
        host.map_err(|error| Invalid::new("host", error.rule))
    });
    let filter = TimelineFilter {
        limit: params.limit()?,
        before: params.text("before").map(str::to_owned),
        process: process.transpose()?,
        host: host.transpose()?,
        kinds: params.list("kinds", parse_word)?,
        since: moment(&params, "since")?,
        until: moment(&params, "until")?,
    };
    let view = http.control.events().timeline(&caller, filter).await?;
    Ok(ok(&TimelineList {
        entries: fit(view.entries.iter().map(timeline_row)),
        next: view.next,
    }))
}

fn parse_word(text: &str) -> Result<TimelineWord, Invalid> {
    let mut words = TimelineWord::ALL.into_iter();
    words.find(|word| word.as_str() == text).ok_or_else(|| {
        let known = TimelineWord::ALL.map(TimelineWord::as_str).join(", ");
        Invalid::new("kinds", format!("must be some of {known}, not {text:?}"))
    })
}
