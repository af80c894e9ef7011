//! Streams the output of a process: as plain text, or in pieces of JSON with keep-alives between them.

use std::convert::Infallible;
use std::time::Duration;

use api::LogPiece;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use control::{AnswerStream, LogsOf};
use futures_util::{Stream, StreamExt, stream};
use model::access::{Caller, Permission};
use model::{FullName, Host, Invalid, LinePattern};

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
/// How often a stream of pieces without output sends an empty one.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Shows the last lines that a process wrote, and with `follow` what it writes from then on.
#[utoipa::path(get, path = "/api/v1/processes/{namespace}/{name}/logs", operation_id = "process_logs", tag = "processes", params(
    ("namespace" = String, Path), ("name" = String, Path),
    ("host" = Option<String>, Query, description = "CLOUD:IP or IP; may be left out where the process is on one host only"),
    ("label" = Option<String>, Query, description = "Tests of labels, as in the list of processes: only on a host where the process has them"),
    ("tail" = Option<u64>, Query, description = "How many of the last lines, 0 to 100000; 100 if not given"),
    ("follow" = Option<bool>, Query, description = "Whether to go on with what is written later"),
    ("previous" = Option<bool>, Query, description = "The run before the current one, or before the last one of a process that does not run; not with `follow`"),
    ("run" = Option<u32>, Query, description = "The run with this number in the list of runs; not with `follow`, `previous` or `since`"),
    ("since" = Option<String>, Query, description = "Only what was written within this time, such as `30s`, `10m`, `2h` or `1d`, of all kept runs; up to a minute more may be shown"),
    ("grep" = Option<String>, Query, description = "Only lines that match this regular expression, without look-around and back-references; `tail` counts these lines"),
    ("format" = Option<String>, Query, description = "`text`, or `json`: one `LogPiece` on each line, an empty one at least every 10 seconds"),
), responses((status = 200, description = "The output as it is. A last line that begins with `muster:` says why it ends early. With `format=json` a `LogPiece` on each line",
    content((String = "text/plain"), (LogPiece = "application/x-ndjson"))), Refusals))]
pub(crate) async fn logs(
    State(http): State<HttpState>,
    AuthenticatedStream(caller, credentials): AuthenticatedStream,
    PathParams(segments): PathParams<(String, String)>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let request = LogsOf {
        process: full_name(&segments)?,
        host: host(&params)?,
        labels: params.labels()?,
        tail_lines: tail(&params)?,
        follow: params.flag("follow")?.unwrap_or(false),
        previous: params.flag("previous")?.unwrap_or(false),
        since: params.duration("since")?,
        grep: params.text("grep").map(LinePattern::parse).transpose()?,
        run: run(&params)?,
    };
    let format = Format::parse(&params)?;
    let slot = http.stream_slots.take(&caller)?;
    let process = request.process.clone();
    let answer = http.control.sessions().logs(&caller, request).await?;
    let reader = LogReader {
        host: answer.host(),
        answer,
        at_line_start: true,
        format,
        process,
        recheck: CredentialRecheck::new(&http, credentials),
        slot,
    };
    let headers = [
        (header::CONTENT_TYPE, format.content_type()),
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

pub(super) fn host(params: &QueryParams) -> Result<Option<Host>, Invalid> {
    let parsed = params.text("host").map(str::parse).transpose();
    parsed.map_err(|invalid: Invalid| Invalid::new("host", invalid.rule))
}

fn run(params: &QueryParams) -> Result<Option<u32>, Invalid> {
    let number = params.number("run", 1..=u64::from(u32::MAX))?;
    Ok(number.and_then(|number| u32::try_from(number).ok()))
}

fn tail(params: &QueryParams) -> Result<u32, Invalid> {
    let tail = params.number("tail", 0..=MAX_TAIL)?.unwrap_or(DEFAULT_TAIL);
    Ok(u32::try_from(tail).unwrap_or(u32::MAX))
}

/// How the output is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    Json,
}

impl Format {
    fn parse(params: &QueryParams) -> Result<Self, Invalid> {
        match params.text("format") {
            None | Some("text") => Ok(Self::Text),
            Some("json") => Ok(Self::Json),
            Some(other) => {
                let rule = format!("must be text or json, not {other:?}");
                Err(Invalid::new("format", rule))
            }
        }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; charset=utf-8",
            Self::Json => "application/x-ndjson",
        }
    }
}

/// What a reader gets next.
enum ReaderItem {
    Bytes(Vec<u8>),
    KeepAlive,
    /// The output ends early.
    EndsEarly(String),
}

/// One reader.
struct LogReader {
    answer: AnswerStream,
    at_line_start: bool,
    format: Format,
    process: FullName,
    host: Host,
    recheck: CredentialRecheck,
    #[expect(dead_code, reason = "held for as long as the stream lasts")]
    slot: StreamSlot,
}

impl LogReader {
    /// None at the end of the output.
    async fn next(&mut self, http: &HttpState) -> Option<ReaderItem> {
        let mut keep_alive = std::pin::pin!(tokio::time::sleep(KEEP_ALIVE));
        loop {
            let still = tokio::select! {
                next = self.answer.next() => return next.map(|next| match next {
                    Ok(bytes) => ReaderItem::Bytes(bytes),
                    Err(reason) => ReaderItem::EndsEarly(reason),
                }),
                () = http.stopping() => {
                    return Some(ReaderItem::EndsEarly("the server is stopping".to_owned()));
                }
                () = &mut keep_alive, if self.format == Format::Json => {
                    return Some(ReaderItem::KeepAlive);
                }
                still = self.recheck.next() => still,
            };
            let registry = http.control.registry();
            let (host, process) = (&self.host, &self.process);
            let may =
                |caller: &Caller| registry.may_process(caller, Permission::Operate, host, process);
            if !still.as_ref().is_some_and(may) {
                return Some(ReaderItem::EndsEarly("you may read it no more".to_owned()));
            }
        }
    }

    fn written(&mut self, item: &ReaderItem) -> Vec<u8> {
        match self.format {
            Format::Text => self.text(item),
            Format::Json => piece(item),
        }
    }

    /// The bytes as they are; a last line says why a stream ends early.
    fn text(&mut self, item: &ReaderItem) -> Vec<u8> {
        match item {
            ReaderItem::Bytes(bytes) => {
                let last = bytes.last().map(|last| *last == b'\n');
                self.at_line_start = last.unwrap_or(self.at_line_start);
                bytes.clone()
            }
            ReaderItem::KeepAlive => Vec::new(),
            ReaderItem::EndsEarly(reason) => {
                let newline = if self.at_line_start { "" } else { "\n" };
                format!("{newline}muster: {reason}; the output ends here\n").into_bytes()
            }
        }
    }
}

/// One line of JSON.
fn piece(item: &ReaderItem) -> Vec<u8> {
    let piece = match item {
        ReaderItem::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => LogPiece {
                text: text.to_owned(),
                ..LogPiece::default()
            },
            Err(_) => LogPiece {
                base64: STANDARD.encode(bytes),
                ..LogPiece::default()
            },
        },
        ReaderItem::KeepAlive => LogPiece::default(),
        ReaderItem::EndsEarly(reason) => LogPiece {
            end: reason.clone(),
            ..LogPiece::default()
        },
    };
    let mut line = serde_json::to_vec(&piece).expect("a piece has only string keys");
    line.push(b'\n');
    line
}

fn lines(reader: LogReader, http: HttpState) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(Some(reader), move |reader| {
        let http = http.clone();
        async move {
            let mut reader = reader?;
            let item = reader.next(&http).await?;
            let bytes = reader.written(&item);
            let reader = match item {
                ReaderItem::Bytes(_) | ReaderItem::KeepAlive => Some(reader),
                ReaderItem::EndsEarly(_) => None,
            };
            Some((Ok(bytes.into()), reader))
        }
    })
}
