//! Answers to live questions: what is held, what processes write, and what became of files.
//!
//! Belongs to one connection and ends with it. Output goes out last of all, a chunk at a time and one question after the
//! other, and never more than a window ahead of its reader: what the reader has not taken stays in its file.

mod config_file;
mod output;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use model::held::HeldReport;
use supervisor::Request;
use tokio::sync::oneshot;
use tokio::time::Instant;
use wire::ask::{MAX_CHUNK, MAX_OPEN, Question, WINDOW};
use wire::{Ask, Output};

pub(crate) use config_file::Files;
use config_file::Working;
use output::Written;

/// Every question that is open.
#[derive(Debug)]
pub(crate) struct Answers {
    files: Files,
    open: VecDeque<Answer>,
}

#[derive(Debug)]
struct Answer {
    id: u64,
    /// Chunks that may go out before the reader wants more.
    credit: u32,
    source: Source,
}

/// Where the chunks come from.
#[derive(Debug)]
enum Source {
    /// The supervisor has not said yet.
    Held(oneshot::Receiver<HeldReport>),
    /// Known whole; from here on it has to be sent.
    Known(Vec<u8>, usize),
    Written(Written),
    /// A file is being written or read.
    Working(Working),
    Refused(String),
}

/// What goes out next.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Chunk(Vec<u8>),
    Last(Vec<u8>),
    Refused(String),
}

impl Answers {
    pub(crate) fn new(files: Files) -> Self {
        Self {
            files,
            open: VecDeque::new(),
        }
    }

    /// Takes a question, or a word about one. What has to be asked of the supervisor is given back.
    pub(crate) fn take(&mut self, ask: &Ask) -> Option<Request> {
        let question = match ask.question() {
            Ok(question) => question,
            Err(invalid) => {
                let reason = format!("this agent does not know the question: {invalid}");
                self.push(ask.id, Source::Refused(reason));
                return None;
            }
        };
        match question {
            Question::More { chunks } => {
                let answer = self.open.iter_mut().find(|answer| answer.id == ask.id)?;
                answer.credit = answer.credit.saturating_add(chunks).min(WINDOW);
                None
            }
            Question::Cancel => {
                self.open.retain(|answer| answer.id != ask.id);
                None
            }
            Question::Held {}
            | Question::Logs(_)
            | Question::WriteFile(_)
            | Question::ReadFile(_)
                if self.open.len() >= MAX_OPEN =>
            {
                let reason = "too many questions at once".to_owned();
                self.push(ask.id, Source::Refused(reason));
                None
            }
            Question::WriteFile(write) => {
                let source = self.files.write(write);
                self.push(ask.id, source);
                None
            }
            Question::ReadFile(read) => {
                let source = self.files.read(read);
                self.push(ask.id, source);
                None
            }
            Question::Held {} => {
                let (answer, report) = oneshot::channel();
                self.push(ask.id, Source::Held(report));
                Some(Request::Held(answer))
            }
            Question::Logs(logs) => {
                let (written, request) = Written::new(logs);
                self.push(ask.id, Source::Written(written));
                Some(request)
            }
        }
    }

    /// Refusals may exceed the limit, but not without one.
    fn push(&mut self, id: u64, source: Source) {
        if self.open.len() < 2 * MAX_OPEN {
            self.open.push_back(Answer {
                id,
                credit: WINDOW,
                source,
            });
        }
    }

    /// The next chunk of whoever's turn it is. What has to be asked of the supervisor goes to `ask`.
    pub(crate) fn next(&mut self, now: Instant, mut ask: impl FnMut(Request)) -> Option<Output> {
        for _ in 0..self.open.len() {
            let mut answer = self.open.pop_front()?;
            let piece = match answer.credit {
                0 => None,
                _ => answer.source.next(now, &mut ask),
            };
            let (chunk, last, refused) = match piece {
                None => {
                    self.open.push_back(answer);
                    continue;
                }
                Some(Piece::Chunk(chunk)) => (chunk, false, String::new()),
                Some(Piece::Last(chunk)) => (chunk, true, String::new()),
                Some(Piece::Refused(reason)) => (Vec::new(), true, reason),
            };
            let output = Output {
                id: answer.id,
                chunk,
                last,
                refused,
            };
            if !last {
                answer.credit -= 1;
                self.open.push_back(answer);
            }
            return Some(output);
        }
        None
    }

    /// When a file should be looked at again.
    pub(crate) fn due(&self) -> Option<Instant> {
        let due = |answer: &Answer| match &answer.source {
            Source::Written(written) if answer.credit > 0 => written.due(),
            Source::Held(_)
            | Source::Known(..)
            | Source::Written(_)
            | Source::Working(_)
            | Source::Refused(_) => None,
        };
        self.open.iter().filter_map(due).min()
    }

    /// Whether something is being answered that has an end of its own, unlike what a process goes on to write.
    pub(crate) fn is_busy(&self) -> bool {
        self.open.iter().any(|answer| match &answer.source {
            Source::Held(_) | Source::Known(..) | Source::Working(_) | Source::Refused(_) => true,
            Source::Written(_) => false,
        })
    }

    /// Resolves when the supervisor has said something that was waited for. May be cancelled without loss.
    pub(crate) async fn heard(&mut self) {
        poll_fn(|cx| {
            let mut answers = self.open.iter_mut();
            match answers.any(|answer| answer.source.hear(cx)) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}

impl Source {
    fn next(&mut self, now: Instant, ask: impl FnMut(Request)) -> Option<Piece> {
        match self {
            Self::Held(_) => None,
            Self::Refused(reason) => Some(Piece::Refused(std::mem::take(reason))),
            Self::Written(written) => written.next(now, ask),
            Self::Working(working) => working.next(),
            Self::Known(bytes, at) => {
                let end = bytes.len().min(*at + MAX_CHUNK);
                let chunk = bytes[*at..end].to_vec();
                *at = end;
                Some(match end == bytes.len() {
                    true => Piece::Last(chunk),
                    false => Piece::Chunk(chunk),
                })
            }
        }
    }

    /// True when the supervisor has said what was waited for.
    fn hear(&mut self, cx: &mut Context<'_>) -> bool {
        match self {
            Self::Held(report) => {
                let Poll::Ready(report) = Pin::new(report).poll(cx) else {
                    return false;
                };
                let known = report.map(|report| serde_json::to_vec(&report));
                *self = match known {
                    Ok(Ok(bytes)) => Self::Known(bytes, 0),
                    Ok(Err(error)) => Self::Refused(error.to_string()),
                    Err(_) => Self::Refused("the supervisor ended".to_owned()),
                };
                true
            }
            Self::Written(written) => written.hear(cx),
            Self::Working(working) => {
                let Poll::Ready(done) = working.poll(cx) else {
                    return false;
                };
                *self = match done {
                    Ok(bytes) => Self::Known(bytes, 0),
                    Err(reason) => Self::Refused(reason),
                };
                true
            }
            Self::Known(..) | Self::Refused(_) => false,
        }
    }
}
