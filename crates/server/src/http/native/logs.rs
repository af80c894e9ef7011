//! Streams the output of a process as plain text.

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
use super::caller::AuthenticatedStream;
use super::recheck::CredentialRecheck;
use super::refusals::Refusals;
use super::request::{PathParams, QueryParams, full_name};
use crate::http::HttpState;
use crate::http::stream_slots::StreamSlot;

/// How many lines come first without `tail`.
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
    AuthenticatedStream(caller, credentials): AuthenticatedStream,
    PathParams(segments): PathParams<(String, String)>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let request = LogsOf {
        process: full_name(&segments)?,
        host: host(&params)?,
        tail_lines: tail(&params)?,
        follow: params.flag("follow")?.unwrap_or(false),
    };
    let slot = http.stream_slots.take(&caller)?;
    let namespace = request.process.namespace.clone();
    let answer = http.control.sessions().logs(&caller, request).await?;
    let reader = LogReader {
        answer,
        at_line_start: true,
        namespace,
        recheck: CredentialRecheck::new(&http, credentials),
        slot,
    };
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        // Proxies must not buffer lines to compress or collect them.
        (header::CONTENT_ENCODING, "identity"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ]
    .map(|(name, value)| (name, HeaderValue::from_static(value)));
    // The server may poll a body once more after its end.
    let lines = lines(reader, http).fuse();
    Ok((headers, Body::from_stream(lines)).into_response())
}

fn host(params: &QueryParams) -> Result<Option<Host>, Invalid> {
    let parsed = params.text("host").map(str::parse).transpose();
    parsed.map_err(|invalid: Invalid| Invalid::new("host", invalid.rule))
}

fn tail(params: &QueryParams) -> Result<u32, Invalid> {
    let tail = params.number("tail", 0..=MAX_TAIL)?.unwrap_or(DEFAULT_TAIL);
    Ok(u32::try_from(tail).unwrap_or(u32::MAX))
}

/// One reader.
struct LogReader {
    answer: AnswerStream,
    at_line_start: bool,
    namespace: Namespace,
    recheck: CredentialRecheck,
    #[expect(dead_code, reason = "held for as long as the stream lasts")]
    slot: StreamSlot,
}

impl LogReader {
    /// None at the end of the output; an error where the stream ends early.
    async fn next(&mut self, http: &HttpState) -> Option<Result<Vec<u8>, String>> {
        loop {
            let still = tokio::select! {
                next = self.answer.next() => return next,
                () = http.stopping() => return Some(Err("the server is stopping".to_owned())),
                still = self.recheck.next() => still,
            };
            let may = |caller: &Caller| caller.may(Permission::Operate, &self.namespace);
            if !still.as_ref().is_some_and(may) {
                return Some(Err("you may read it no more".to_owned()));
            }
        }
    }
}

/// The bytes as they come; a last line says why a stream ends early.
fn lines(reader: LogReader, http: HttpState) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(Some(reader), move |reader| {
        let http = http.clone();
        async move {
            let mut reader = reader?;
            let (bytes, reader) = match reader.next(&http).await? {
                Ok(bytes) => {
                    let last = bytes.last().map(|last| *last == b'\n');
                    reader.at_line_start = last.unwrap_or(reader.at_line_start);
                    (bytes, Some(reader))
                }
                Err(reason) => {
                    let newline = if reader.at_line_start { "" } else { "\n" };
                    let notice = format!("{newline}muster: {reason}; the output ends here\n");
                    (notice.into_bytes(), None)
                }
            };
            Some((Ok(bytes.into()), reader))
        }
    })
}
