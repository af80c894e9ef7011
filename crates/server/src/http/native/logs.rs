//! What a process writes, as it is written: text, without an envelope.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use control::{AnswerStream, LogsOf};
use futures_util::{Stream, StreamExt, stream};
use model::access::{Caller, Permission};
use model::{Host, Invalid, Namespace};

use super::ApiError;
use super::caller::AskingForLong;
use super::lasting::Lasting;
use super::read::{Params, Segments, full_name};
use super::responses::Refusals;
use crate::http::HttpState;
use crate::http::stream_slots::StreamSlot;

/// Lines that come first when the caller names no number.
const DEFAULT_TAIL: u64 = 100;
const MAX_TAIL: u64 = 100_000;

/// Shows the last lines that a process wrote, and with `follow` what it writes from then on.
#[utoipa::path(get, path = "/api/v1/processes/{namespace}/{name}/logs", operation_id = "process_logs", tag = "processes", params(
    ("namespace" = String, Path), ("name" = String, Path),
    ("host" = Option<String>, Query, description = "CLOUD:IP or IP; may be left out where the process is on one host only"),
    ("tail" = Option<u64>, Query, description = "How many of the last lines, 0 to 100000; 100 if not given"),
    ("follow" = Option<bool>, Query, description = "Whether to go on with what is written later"),
), responses((status = 200, description = "The output as it is. A last line that begins with `muster:` says why it ends early",
    body = String, content_type = "text/plain"), Refusals))]
pub(crate) async fn logs(
    State(http): State<HttpState>,
    AskingForLong(caller, credentials): AskingForLong,
    Segments(segments): Segments<(String, String)>,
    params: Params,
) -> Result<Response, ApiError> {
    let wanted = LogsOf {
        process: full_name(&segments)?,
        host: host(&params)?,
        tail_lines: tail(&params)?,
        follow: params.flag("follow")?.unwrap_or(false),
    };
    let place = http.stream_slots.take(&caller)?;
    let namespace = wanted.process.namespace.clone();
    let answer = http.control.sessions().logs(&caller, wanted).await?;
    let reading = Reading {
        answer,
        at_line_start: true,
        namespace,
        lasting: Lasting::new(&http, credentials),
        place,
    };
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        // Nobody on the way may keep lines back to compress or to collect them.
        (header::CONTENT_ENCODING, "identity"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ]
    .map(|(name, value)| (name, HeaderValue::from_static(value)));
    // Whoever passes a body on may ask once more after its end.
    let lines = lines(reading, http).fuse();
    Ok((headers, Body::from_stream(lines)).into_response())
}

fn host(params: &Params) -> Result<Option<Host>, Invalid> {
    let parsed = params.text("host").map(str::parse).transpose();
    parsed.map_err(|invalid: Invalid| Invalid::new("host", invalid.rule))
}

fn tail(params: &Params) -> Result<u32, Invalid> {
    let tail = params.number("tail", 0..=MAX_TAIL)?.unwrap_or(DEFAULT_TAIL);
    Ok(u32::try_from(tail).unwrap_or(u32::MAX))
}

/// One reader.
struct Reading {
    answer: AnswerStream,
    at_line_start: bool,
    namespace: Namespace,
    lasting: Lasting,
    #[expect(dead_code, reason = "held for as long as the stream lasts")]
    place: StreamSlot,
}

impl Reading {
    /// None at the end; an error is an end that is none of the process's.
    async fn next(&mut self, http: &HttpState) -> Option<Result<Vec<u8>, String>> {
        loop {
            let still = tokio::select! {
                next = self.answer.next() => return next,
                () = http.stopping() => return Some(Err("the server is stopping".to_owned())),
                still = self.lasting.asked_again() => still,
            };
            let may = |caller: &Caller| caller.may(Permission::Operate, &self.namespace);
            if !still.as_ref().is_some_and(may) {
                return Some(Err("you may read it no more".to_owned()));
            }
        }
    }
}

/// The bytes as they come. An end that is none of the process's is told in a line of its own.
fn lines(reading: Reading, http: HttpState) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(Some(reading), move |reading| {
        let http = http.clone();
        async move {
            let mut reading = reading?;
            let (bytes, reading) = match reading.next(&http).await? {
                Ok(bytes) => {
                    let last = bytes.last().map(|last| *last == b'\n');
                    reading.at_line_start = last.unwrap_or(reading.at_line_start);
                    (bytes, Some(reading))
                }
                Err(reason) => {
                    let newline = if reading.at_line_start { "" } else { "\n" };
                    let words = format!("{newline}muster: {reason}; the output ends here\n");
                    (words.into_bytes(), None)
                }
            };
            Some((Ok(bytes.into()), reading))
        }
    })
}
