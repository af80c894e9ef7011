//! Streams the output of a process: its last lines, then new lines as they are written.
//!
//! ```text
//!   Opening ──► Open ──► Resting ──► Open     polled every 250 ms
//!      ▲                    │ the file is gone: another run may have another
//!      └───── Waiting ◄─────┘
//! ```

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use supervisor::{FileChange, Log, LogError, LogRead, LogRequest, ReadUntil, Request, WhichRun};
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
    /// The last run that was read.
    read_run: Option<u32>,
    state: State,
}

#[derive(Debug)]
enum State {
    Opening(oneshot::Receiver<Result<Log, LogError>>),
    Open(Log),
    /// No line has matched so far; read on as soon as everything else was sent.
    Searching(Log),
    /// Sent to its end; polled again at this time.
    Resting(Log, Instant),
    /// No file; requested again at this time.
    Waiting(Instant),
    Refused(String),
}

impl ProcessOutput {
    /// Also returns the request that opens the file.
    pub(super) fn new(logs: Logs) -> (Self, Request) {
        let (state, request) = open(&logs, logs.tail_lines, None);
        let output = Self {
            logs,
            has_begun: false,
            read_run: None,
            state,
        };
        (output, request)
    }

    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        match &self.state {
            State::Searching(_) => Some(now),
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
            State::Open(log) | State::Searching(log) => self.read(log, now),
            State::Resting(mut log, at) if at <= now => match log.follow_writer() {
                Ok(FileChange::Unchanged | FileChange::Restarted) => self.read(log, now),
                Ok(FileChange::Removed) => None,
                Err(error) => Some(NextChunk::Refused(error.to_string())),
            },
            State::Waiting(at) if at <= now => {
                // A new file is read from its beginning.
                let (state, request) = open(&self.logs, u32::MAX, self.read_run);
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
        let is_waiting = matches!(
            self.state,
            State::Searching(_) | State::Resting(..) | State::Waiting(_)
        );
        if piece.is_none() && !self.has_begun && is_waiting {
            self.has_begun = true;
            return Some(NextChunk::Chunk(Vec::new()));
        }
        self.has_begun |= piece.is_some();
        piece
    }

    fn read(&mut self, mut log: Log, now: Instant) -> Option<NextChunk> {
        self.read_run = log.run_number().or(self.read_run);
        let max = match self.logs.grep {
            // With a line that was begun before it must fit into a chunk.
            Some(_) => MAX_CHUNK / 2,
            // With a newline between two runs.
            None => MAX_CHUNK - 1,
        };
        match log.read(max) {
            Err(error) => Some(NextChunk::Refused(error.to_string())),
            Ok(LogRead::Bytes(bytes)) => {
                self.state = State::Open(log);
                Some(NextChunk::Chunk(bytes))
            }
            Ok(LogRead::Skipped) => {
                self.state = State::Searching(log);
                None
            }
            Ok(LogRead::End) if !self.logs.follow => Some(NextChunk::Last(Vec::new())),
            Ok(LogRead::End) => {
                self.state = State::Resting(log, now + POLL_EVERY);
                None
            }
        }
    }
}

fn open(logs: &Logs, tail_lines: u32, after_run: Option<u32>) -> (State, Request) {
    let (answer, log) = oneshot::channel();
    let wanted = LogRequest {
        process: logs.process.clone(),
        run: match (logs.run, logs.previous) {
            (Some(number), _) => WhichRun::Numbered(number),
            (None, true) => WhichRun::Previous,
            (None, false) => WhichRun::Current,
        },
        since: logs.since_ms.map(Duration::from_millis),
        pattern: logs.grep.clone(),
        tail_lines,
        after_run,
        until: match logs.follow {
            true => ReadUntil::Cancelled,
            false => ReadUntil::CurrentEnd,
        },
    };
    (State::Opening(log), Request::Logs(wanted, answer))
}
