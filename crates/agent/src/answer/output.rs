//! Streams the output of a process: the last lines of its log file, then new lines as they are written.
//!
//! ```text
//!   Opening ──► Open ──► Resting ──► Open     polled every 250 ms
//!      ▲                    │ the file is gone: another run may have another
//!      └───── Waiting ◄─────┘
//! ```

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use supervisor::{FileChange, Log, LogError, LogRequest, ReadUntil, Request};
use tokio::sync::oneshot;
use tokio::time::Instant;
use wire::ask::{Logs, MAX_CHUNK};

use super::NextChunk;

/// How often a followed file is polled.
const POLL_EVERY: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) struct ProcessOutput {
    logs: Logs,
    /// Whether the reader has got a first chunk, perhaps an empty one.
    has_begun: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    Opening(oneshot::Receiver<Result<Log, LogError>>),
    Open(Log),
    /// Sent to its end; polled again at this time.
    Resting(Log, Instant),
    /// No file; requested again at this time.
    Waiting(Instant),
    Refused(String),
}

impl ProcessOutput {
    /// Also returns the request that opens the file.
    pub(super) fn new(logs: Logs) -> (Self, Request) {
        let (state, request) = open(&logs, logs.tail_lines);
        let output = Self {
            logs,
            has_begun: false,
            state,
        };
        (output, request)
    }

    pub(super) fn due(&self) -> Option<Instant> {
        match &self.state {
            State::Resting(_, at) | State::Waiting(at) => Some(*at),
            State::Opening(_) | State::Open(_) | State::Refused(_) => None,
        }
    }

    pub(super) fn poll_ready(&mut self, cx: &mut Context<'_>) -> bool {
        let State::Opening(log) = &mut self.state else {
            return false;
        };
        let Poll::Ready(log) = Pin::new(log).poll(cx) else {
            return false;
        };
        self.state = match log {
            Ok(Ok(log)) => State::Open(log),
            // The process may begin to write any time.
            Ok(Err(LogError::Unavailable(_))) if self.logs.follow => {
                State::Waiting(Instant::now() + POLL_EVERY)
            }
            Ok(Err(no_log)) => State::Refused(no_log.to_string()),
            Err(_) => State::Refused("the supervisor ended".to_owned()),
        };
        true
    }

    pub(super) fn next(&mut self, now: Instant, mut ask: impl FnMut(Request)) -> Option<NextChunk> {
        let state = std::mem::replace(&mut self.state, State::Waiting(now));
        let piece = match state {
            State::Open(log) => self.read(log, now),
            State::Resting(mut log, at) if at <= now => match log.follow_writer() {
                Ok(FileChange::Unchanged | FileChange::Restarted) => self.read(log, now),
                Ok(FileChange::Removed) => None,
                Err(error) => Some(NextChunk::Refused(error.to_string())),
            },
            State::Waiting(at) if at <= now => {
                // A new file is read from its beginning.
                let (state, request) = open(&self.logs, u32::MAX);
                self.state = state;
                ask(request);
                None
            }
            State::Refused(reason) => Some(NextChunk::Refused(reason)),
            State::Opening(_) | State::Resting(..) | State::Waiting(_) => {
                self.state = state;
                None
            }
        };
        let is_waiting = matches!(self.state, State::Resting(..) | State::Waiting(_));
        if piece.is_none() && !self.has_begun && is_waiting {
            self.has_begun = true;
            return Some(NextChunk::Chunk(Vec::new()));
        }
        self.has_begun |= piece.is_some();
        piece
    }

    fn read(&mut self, mut log: Log, now: Instant) -> Option<NextChunk> {
        match log.read(MAX_CHUNK) {
            Err(error) => Some(NextChunk::Refused(error.to_string())),
            Ok(bytes) if !bytes.is_empty() => {
                self.state = State::Open(log);
                Some(NextChunk::Chunk(bytes))
            }
            Ok(_) if !self.logs.follow => Some(NextChunk::Last(Vec::new())),
            Ok(_) => {
                self.state = State::Resting(log, now + POLL_EVERY);
                None
            }
        }
    }
}

fn open(logs: &Logs, tail_lines: u32) -> (State, Request) {
    let (answer, log) = oneshot::channel();
    let wanted = LogRequest {
        process: logs.process.clone(),
        tail_lines,
        until: match logs.follow {
            true => ReadUntil::Cancelled,
            false => ReadUntil::CurrentEnd,
        },
    };
    (State::Opening(log), Request::Logs(wanted, answer))
}
