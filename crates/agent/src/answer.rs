//! Answers to the server's live questions: held processes, process output, configuration files, checks of the host.
//!
//! Belongs to one connection and ends with it. Output has the lowest priority: one chunk at a time, round robin over the
//! questions, and never more than a window ahead of its reader.

mod blocking;
mod check;
mod config_file;
mod output;
mod upgrade;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use model::FullName;
use model::figures::FigureSeries;
use model::held::HeldReport;
use model::run_history::RunRecord;
use serde::Serialize;
use supervisor::Request;
use tokio::sync::oneshot;
use tokio::time::Instant;
use wire::ask::{MAX_CHUNK, MAX_OPEN, Question, WINDOW};
use wire::{Ask, Output};

use blocking::BlockingTask;
pub(crate) use check::HostChecker;
pub(crate) use config_file::HostFiles;
use output::ProcessOutput;
pub(crate) use upgrade::UpgradeFolder;

/// The open questions of one connection.
#[derive(Debug)]
pub(crate) struct Answers {
    files: HostFiles,
    upgrades: UpgradeFolder,
    checker: HostChecker,
    open: VecDeque<Answer>,
}

#[derive(Debug)]
struct Answer {
    id: u64,
    /// Chunks that may be sent before the reader asks for more.
    credit: u32,
    source: AnswerSource,
}

/// Where the chunks come from.
#[derive(Debug)]
enum AnswerSource {
    /// The supervisor has not answered yet.
    Held(oneshot::Receiver<HeldReport>),
    /// The same; none if the process is not held.
    Figures(FullName, oneshot::Receiver<Option<FigureSeries>>),
    Runs(FullName, oneshot::Receiver<Option<Vec<RunRecord>>>),
    /// The whole answer, and how much of it was sent.
    Bytes(Vec<u8>, usize),
    Output(ProcessOutput),
    /// A file is being written or read, or the host is being checked.
    Task(BlockingTask),
    Refused(String),
}

/// What to send next for one question.
#[derive(Debug, PartialEq, Eq)]
enum NextChunk {
    Chunk(Vec<u8>),
    Last(Vec<u8>),
    Refused(String),
}

impl Answers {
    pub(crate) fn new(files: HostFiles, upgrades: UpgradeFolder, checker: HostChecker) -> Self {
        Self {
            files,
            upgrades,
            checker,
            open: VecDeque::new(),
        }
    }

    /// Takes a question, or more credit or a cancellation for one. Returns the request to the supervisor, if any.
    pub(crate) fn take(&mut self, ask: &Ask) -> Option<Request> {
        let question = match ask.question() {
            Ok(question) => question,
            Err(invalid) => {
                let reason = format!("this agent does not know the question: {invalid}");
                self.push(ask.id, AnswerSource::Refused(reason));
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
            | Question::SelectedLogs(_)
            | Question::RunLogs(_)
            | Question::WriteFile(_)
            | Question::ReadFile(_)
            | Question::UpgradePart(_)
            | Question::Upgrade(_)
            | Question::UpgradeState {}
            | Question::Figures(_)
            | Question::Runs(_)
            | Question::Check {}
                if self.open.len() >= MAX_OPEN =>
            {
                let reason = "too many questions at once".to_owned();
                self.push(ask.id, AnswerSource::Refused(reason));
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
            Question::UpgradePart(part) => {
                let source = self.upgrades.part(part);
                self.push(ask.id, source);
                None
            }
            Question::Upgrade(wanted) => {
                let source = self.upgrades.upgrade(wanted);
                self.push(ask.id, source);
                None
            }
            Question::UpgradeState {} => {
                let source = self.upgrades.state();
                self.push(ask.id, source);
                None
            }
            Question::Check {} => {
                let source = self.checker.begin();
                self.push(ask.id, source);
                None
            }
            Question::Held {} => {
                let (answer, report) = oneshot::channel();
                self.push(ask.id, AnswerSource::Held(report));
                Some(Request::Held(answer))
            }
            Question::Figures(wanted) => {
                let (answer, figures) = oneshot::channel();
                let source = AnswerSource::Figures(wanted.process.clone(), figures);
                self.push(ask.id, source);
                Some(Request::Figures(wanted.process, answer))
            }
            Question::Runs(wanted) => {
                let (answer, runs) = oneshot::channel();
                self.push(ask.id, AnswerSource::Runs(wanted.process.clone(), runs));
                Some(Request::Runs(wanted.process, answer))
            }
            Question::Logs(logs) | Question::SelectedLogs(logs) | Question::RunLogs(logs) => {
                let (output, request) = ProcessOutput::new(logs);
                self.push(ask.id, AnswerSource::Output(output));
                Some(request)
            }
        }
    }

    /// Refusals may exceed [`MAX_OPEN`], up to twice as many.
    fn push(&mut self, id: u64, source: AnswerSource) {
        if self.open.len() < 2 * MAX_OPEN {
            self.open.push_back(Answer {
                id,
                credit: WINDOW,
                source,
            });
        }
    }

    /// The next chunk, round robin. Requests to the supervisor go to `ask`.
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
                Some(NextChunk::Chunk(chunk)) => (chunk, false, String::new()),
                Some(NextChunk::Last(chunk)) => (chunk, true, String::new()),
                Some(NextChunk::Refused(reason)) => (Vec::new(), true, reason),
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

    /// When to poll a followed file again.
    pub(crate) fn due(&self, now: Instant) -> Option<Instant> {
        let due = |answer: &Answer| match &answer.source {
            AnswerSource::Output(written) if answer.credit > 0 => written.due(now),
            AnswerSource::Held(_)
            | AnswerSource::Figures(..)
            | AnswerSource::Runs(..)
            | AnswerSource::Bytes(..)
            | AnswerSource::Output(_)
            | AnswerSource::Task(_)
            | AnswerSource::Refused(_) => None,
        };
        self.open.iter().filter_map(due).min()
    }

    /// Whether an answer is open that ends by itself, unlike followed output.
    pub(crate) fn is_busy(&self) -> bool {
        self.open.iter().any(|answer| match &answer.source {
            AnswerSource::Held(_)
            | AnswerSource::Figures(..)
            | AnswerSource::Runs(..)
            | AnswerSource::Bytes(..)
            | AnswerSource::Task(_)
            | AnswerSource::Refused(_) => true,
            AnswerSource::Output(_) => false,
        })
    }

    /// Resolves when a source has become ready. Cancel-safe.
    pub(crate) async fn ready(&mut self) {
        poll_fn(|cx| {
            let mut answers = self.open.iter_mut();
            match answers.any(|answer| answer.source.poll_ready(cx)) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}

impl AnswerSource {
    fn next(&mut self, now: Instant, ask: impl FnMut(Request)) -> Option<NextChunk> {
        match self {
            Self::Held(_) | Self::Figures(..) | Self::Runs(..) => None,
            Self::Refused(reason) => Some(NextChunk::Refused(std::mem::take(reason))),
            Self::Output(written) => written.next(now, ask),
            Self::Task(working) => working.next(),
            Self::Bytes(bytes, at) => {
                let end = bytes.len().min(*at + MAX_CHUNK);
                let chunk = bytes[*at..end].to_vec();
                *at = end;
                Some(match end == bytes.len() {
                    true => NextChunk::Last(chunk),
                    false => NextChunk::Chunk(chunk),
                })
            }
        }
    }

    /// True when the awaited result has arrived.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> bool {
        match self {
            Self::Held(report) => {
                let Poll::Ready(report) = Pin::new(report).poll(cx) else {
                    return false;
                };
                let known = report.map(|report| serde_json::to_vec(&report));
                *self = match known {
                    Ok(Ok(bytes)) => Self::Bytes(bytes, 0),
                    Ok(Err(error)) => Self::Refused(error.to_string()),
                    Err(_) => Self::Refused("the supervisor ended".to_owned()),
                };
                true
            }
            Self::Figures(process, figures) => {
                let Poll::Ready(figures) = Pin::new(figures).poll(cx) else {
                    return false;
                };
                *self = Self::of_process(process, figures);
                true
            }
            Self::Runs(process, runs) => {
                let Poll::Ready(runs) = Pin::new(runs).poll(cx) else {
                    return false;
                };
                *self = Self::of_process(process, runs);
                true
            }
            Self::Output(written) => written.poll_ready(cx),
            Self::Task(working) => {
                let Poll::Ready(done) = working.poll(cx) else {
                    return false;
                };
                *self = match done {
                    Ok(bytes) => Self::Bytes(bytes, 0),
                    Err(reason) => Self::Refused(reason),
                };
                true
            }
            Self::Bytes(..) | Self::Refused(_) => false,
        }
    }

    /// What the supervisor answered about a process; none if it is not held.
    fn of_process<T: Serialize>(
        process: &FullName,
        answer: Result<Option<T>, oneshot::error::RecvError>,
    ) -> Self {
        match answer.map(|answer| answer.map(|it| serde_json::to_vec(&it))) {
            Ok(Some(Ok(bytes))) => Self::Bytes(bytes, 0),
            Ok(Some(Err(error))) => Self::Refused(error.to_string()),
            Ok(None) => Self::Refused(format!("the agent does not hold {process}")),
            Err(_) => Self::Refused("the supervisor ended".to_owned()),
        }
    }
}
