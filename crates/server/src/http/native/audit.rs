//! The audit trail: who changed what, when, from where.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use control::{AuditFilter, AuditLines};
use futures_util::{Stream, StreamExt, stream};
use model::access::{Audit, Caller};
use model::{Invalid, UnixMillis};
use serde::Serialize;
use utoipa::ToSchema;

use super::ApiError;
use super::answer::{fit, ok};
use super::caller::Asking;
use super::events::moment;
use super::read::Params;
use super::responses::Refusals;
use crate::http::HttpState;
use crate::http::stream_slots::StreamSlot;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditList {
    audit: Vec<AuditRow>,
    /// `before` of the next page; null at the end.
    next: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditRow {
    id: u64,
    #[schema(value_type = i64)]
    at: UnixMillis,
    app: String,
    user: String,
    from: String,
    request_id: String,
    /// `register`, `operate`, `app.create`, …
    action: String,
    object: String,
    detail: String,
}

impl AuditRow {
    fn of(id: u64, line: Audit) -> Self {
        Self {
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
}

fn filter(params: &Params) -> Result<AuditFilter, Invalid> {
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
    Asking(caller): Asking,
    params: Params,
) -> Result<Response, ApiError> {
    let limit = params.limit()? as u32;
    let before = params.number("before", 0..=i64::MAX as u64)?;
    let filter = filter(&params)?;
    let found = http
        .control
        .access()
        .audit(&caller, &filter, limit, before)
        .await?;
    let n_found = found.lines.len();
    let rows = found.lines.into_iter();
    let audit = fit(rows.map(|(id, line)| AuditRow::of(id, line)));
    let next = match audit.last() {
        Some(last) if audit.len() < n_found => Some(last.id),
        _ => found.next,
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

/// How many lines are read at a time.
const AT_A_TIME: u32 = 1000;
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
    Asking(caller): Asking,
    params: Params,
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
    let place = http.stream_slots.take(&caller)?;
    // Read before anything is answered, so that a refusal is one.
    let first = http
        .control
        .access()
        .audit(&caller, &filter, AT_A_TIME, None)
        .await?;
    let exporting = Exporting {
        http,
        caller,
        filter,
        format,
        next: Some(Next::Read(first)),
        place,
    };
    let (content_type, head) = match format {
        Format::JsonLines => ("application/x-ndjson", ""),
        Format::Csv => ("text/csv; charset=utf-8; header=present", COLUMNS),
    };
    let head = stream::once(async move { Ok(Bytes::from_static(head.as_bytes())) });
    // Whoever compresses a body may ask once more after its end.
    let body = head.chain(pages(exporting)).fuse();
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, Body::from_stream(body)).into_response())
}

struct Exporting {
    http: HttpState,
    caller: Caller,
    filter: AuditFilter,
    format: Format,
    next: Option<Next>,
    #[expect(dead_code, reason = "held for as long as the export lasts")]
    place: StreamSlot,
}

enum Next {
    Read(AuditLines),
    From(u64),
}

/// Page by page, as fast as they are taken.
fn pages(exporting: Exporting) -> impl Stream<Item = Result<Bytes, control::ControlError>> {
    stream::unfold(exporting, |mut exporting| async move {
        let lines = match exporting.next.take()? {
            Next::Read(lines) => lines,
            Next::From(before) => {
                let control = exporting.http.control.clone();
                let (caller, filter) = (&exporting.caller, &exporting.filter);
                match control
                    .access()
                    .audit(caller, filter, AT_A_TIME, Some(before))
                    .await
                {
                    Ok(lines) => lines,
                    Err(error) => return Some((Err(error), exporting)),
                }
            }
        };
        exporting.next = lines.next.map(Next::From);
        let mut text = Vec::new();
        for (id, line) in lines.lines {
            exporting.format.write(&mut text, &AuditRow::of(id, line));
        }
        Some((Ok(text.into()), exporting))
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

/// One field of CSV. A spreadsheet must not take what somebody sent for a formula.
fn field(text: &str) -> String {
    let harmless = match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    };
    match harmless.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", harmless.replace('"', "\"\"")),
        false => harmless,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_csv_is_one_field_and_no_formula() {
        assert_eq!(field("plain text"), "plain text");
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("say \"no\"\n"), "\"say \"\"no\"\"\n\"");
        assert_eq!(field("=cmd|x"), "'=cmd|x");
        assert_eq!(field("-1,2"), "\"'-1,2\"");
    }
}
