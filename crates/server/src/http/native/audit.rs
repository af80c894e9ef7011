//! Lists and exports the audit trail.

use api::{AuditList, AuditRow};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use control::{AuditFilter, AuditLines};
use futures_util::{Stream, StreamExt, stream};
use model::Invalid;
use model::access::{Audit, Caller};

use super::ApiError;
use super::caller::Authenticated;
use super::events::moment;
use super::refusals::Refusals;
use super::request::QueryParams;
use super::response::{fit, ok};
use crate::http::HttpState;
use crate::http::stream_slots::StreamSlot;

fn row(id: u64, line: Audit) -> AuditRow {
    AuditRow {
        id,
        at: line.at,
        app: line.app,
        user: line.user,
        from: line.from,
        request_id: line.request_id,
        action: line.action,
        object: line.object,
        detail: line.detail,
    }
}

fn filter(params: &QueryParams) -> Result<AuditFilter, Invalid> {
    let owned = |name: &str| params.text(name).map(str::to_owned);
    Ok(AuditFilter {
        app: owned("app"),
        user: owned("user"),
        action: owned("action"),
        from: owned("from"),
        object: owned("object"),
        since: moment(params, "since")?,
        until: moment(params, "until")?,
    })
}

/// Lists the audit trail, the newest first.
#[utoipa::path(get, path = "/api/v1/audit", operation_id = "list_audit", tag = "access", params(
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
    ("before" = Option<u64>, Query, description = "Only lines older than this one: `next` of the page before"),
    ("app" = Option<String>, Query, description = "Only what this app did"),
    ("user" = Option<String>, Query, description = "Only what this user did"),
    ("action" = Option<String>, Query, description = "Only this action"),
    ("from" = Option<String>, Query, description = "Only what came from this address"),
    ("object" = Option<String>, Query, description = "Only objects that hold this text"),
    ("since" = Option<String>, Query, description = "Not before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d"),
    ("until" = Option<String>, Query, description = "Only before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d"),
), responses((status = 200, description = "Lines of the trail; a page may be short, or even empty, though more follow: `next` tells",
    body = AuditList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let limit = params.limit()? as u32;
    let before = params.number("before", 0..=i64::MAX as u64)?;
    let filter = filter(&params)?;
    let found = http
        .control
        .access()
        .audit(&caller, &filter, limit, before)
        .await?;
    let ids: Vec<u64> = found.lines.iter().map(|(id, _)| *id).collect();
    let rows = found.lines.into_iter();
    let audit = fit(rows.map(|(id, line)| row(id, line)));
    let next = match audit.len() < ids.len() {
        true => audit.len().checked_sub(1).map(|last| ids[last]),
        false => found.next,
    };
    Ok(ok(&AuditList { audit, next }))
}

/// How an export is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// One JSON object a line.
    JsonLines,
    Csv,
}

/// How many lines one read of the store returns.
const BATCH: u32 = 1000;
const COLUMNS: &str = "id,at,app,user,from,request_id,action,object,detail\r\n";

/// Writes all of the audit trail that matches, the newest first, as it is read.
#[utoipa::path(get, path = "/api/v1/audit/export", operation_id = "export_audit", tag = "access", params(
    ("format" = Option<String>, Query, description = "jsonl (one JSON object a line) or csv; jsonl if not given"),
    ("app" = Option<String>, Query, description = "Only what this app did"),
    ("user" = Option<String>, Query, description = "Only what this user did"),
    ("action" = Option<String>, Query, description = "Only this action"),
    ("from" = Option<String>, Query, description = "Only what came from this address"),
    ("object" = Option<String>, Query, description = "Only objects that hold this text"),
    ("since" = Option<String>, Query, description = "Not before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d"),
    ("until" = Option<String>, Query, description = "Only before: Unix milliseconds, or as long ago as 90s, 15m, 1h, 7d"),
), responses((status = 200, description = "The lines. An export that cannot be finished is broken off, not ended",
    body = String, content_type = "application/x-ndjson"), Refusals))]
pub(crate) async fn export(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let format = match params.text("format") {
        None | Some("jsonl") => Format::JsonLines,
        Some("csv") => Format::Csv,
        Some(other) => {
            let rule = format!("must be jsonl or csv, not {other:?}");
            return Err(Invalid::new("format", rule).into());
        }
    };
    let filter = filter(&params)?;
    let slot = http.stream_slots.take(&caller)?;
    // Before the response begins, so that a refusal still has its status.
    let first = http
        .control
        .access()
        .audit(&caller, &filter, BATCH, None)
        .await?;
    let export = Export {
        http,
        caller,
        filter,
        format,
        next: Some(NextBatch::Read(first)),
        slot,
    };
    let (content_type, head) = match format {
        Format::JsonLines => ("application/x-ndjson", ""),
        Format::Csv => ("text/csv; charset=utf-8; header=present", COLUMNS),
    };
    let head = stream::once(async move { Ok(Bytes::from_static(head.as_bytes())) });
    // The compression layer may poll a body once more after its end.
    let body = head.chain(pages(export)).fuse();
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, Body::from_stream(body)).into_response())
}

struct Export {
    http: HttpState,
    caller: Caller,
    filter: AuditFilter,
    format: Format,
    next: Option<NextBatch>,
    #[expect(dead_code, reason = "held for as long as the export lasts")]
    slot: StreamSlot,
}

enum NextBatch {
    Read(AuditLines),
    Before(u64),
}

/// Reads the next batch when the client has taken the one before.
fn pages(export: Export) -> impl Stream<Item = Result<Bytes, control::ControlError>> {
    stream::unfold(export, |mut export| async move {
        let lines = match export.next.take()? {
            NextBatch::Read(lines) => lines,
            NextBatch::Before(before) => {
                let control = export.http.control.clone();
                let (caller, filter) = (&export.caller, &export.filter);
                match control
                    .access()
                    .audit(caller, filter, BATCH, Some(before))
                    .await
                {
                    Ok(lines) => lines,
                    Err(error) => return Some((Err(error), export)),
                }
            }
        };
        export.next = lines.next.map(NextBatch::Before);
        let mut text = Vec::new();
        for (id, line) in lines.lines {
            export.format.write(&mut text, &row(id, line));
        }
        Some((Ok(text.into()), export))
    })
}

impl Format {
    fn write(self, out: &mut Vec<u8>, row: &AuditRow) {
        match self {
            Self::JsonLines => {
                serde_json::to_writer(&mut *out, row).expect("a row has only string keys");
                out.push(b'\n');
            }
            Self::Csv => {
                let at = row.at.to_rfc3339();
                let texts = [
                    &row.app,
                    &row.user,
                    &row.from,
                    &row.request_id,
                    &row.action,
                    &row.object,
                    &row.detail,
                ];
                let fields: Vec<String> = texts.into_iter().map(|text| field(text)).collect();
                let line = format!("{},{at},{}\r\n", row.id, fields.join(","));
                out.extend_from_slice(line.as_bytes());
            }
        }
    }
}

/// One field of CSV. A leading quote stops spreadsheets from running foreign text as a formula.
fn field(text: &str) -> String {
    let escaped = match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    };
    match escaped.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", escaped.replace('"', "\"\"")),
        false => escaped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_fields_are_quoted_and_never_formulas() {
        assert_eq!(field("plain text"), "plain text");
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("say \"no\"\n"), "\"say \"\"no\"\"\n\"");
        assert_eq!(field("=cmd|x"), "'=cmd|x");
        assert_eq!(field("-1,2"), "\"'-1,2\"");
    }
}
