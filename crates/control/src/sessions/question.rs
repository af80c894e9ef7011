//! Live questions to connected agents, and their answers as streams.
//!
//! A question belongs to one connection. Answers have backpressure: the agent may send a window of chunks, and more only as the
//! reader takes them, so a slow reader costs neither side memory.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use locks::{Mutex, MutexGuard};
use model::Host;
use model::change::HostId;
use tokio::sync::mpsc;
use wire::ask::{MAX_CHUNK, MAX_OPEN, Question, WINDOW};
use wire::{Ask, Down, Output};

use super::{Outbox, Outboxes, Sessions};
use crate::ControlError;
use crate::replicas::route::RemoteAnswer;

/// How long an agent may take to start. An old version that knows no questions never does.
const START_WITHIN: Duration = Duration::from_secs(10);
/// The longest answer that is collected as a whole.
const MAX_COLLECTED: usize = 32 * 1024 * 1024;

/// The open questions of one connection.
#[derive(Debug, Default)]
pub(crate) struct Questions(Mutex<QuestionTable>);

#[derive(Debug, Default)]
struct QuestionTable {
    last_id: u64,
    open: HashMap<u64, mpsc::Sender<AnswerChunk>>,
    /// Frames for the agent, at most a few for each open question.
    outgoing: VecDeque<(u64, Question)>,
    /// The connection has ended.
    is_closed: bool,
}

#[derive(Debug)]
pub(crate) enum AnswerChunk {
    Chunk(Vec<u8>),
    Last(Vec<u8>),
    Refused(String),
}

enum AskError {
    Closed,
    TooMany,
}

impl Questions {
    fn lock(&self) -> MutexGuard<'_, QuestionTable> {
        self.0.lock()
    }

    fn open(&self, question: Question) -> Result<(u64, mpsc::Receiver<AnswerChunk>), AskError> {
        let mut table = self.lock();
        if table.is_closed {
            return Err(AskError::Closed);
        }
        if table.open.len() >= MAX_OPEN {
            return Err(AskError::TooMany);
        }
        table.last_id += 1;
        let id = table.last_id;
        // One more than the window, for the final chunk.
        let (sender, receiver) = mpsc::channel(WINDOW as usize + 1);
        table.open.insert(id, sender);
        table.outgoing.push_back((id, question));
        Ok((id, receiver))
    }

    fn grant(&self, id: u64, more: u32) {
        let mut table = self.lock();
        let waiting = table.outgoing.iter_mut().find_map(|frame| match frame {
            (of, Question::More { chunks }) if *of == id => Some(chunks),
            _ => None,
        });
        match waiting {
            Some(chunks) => *chunks = chunks.saturating_add(more),
            None => table
                .outgoing
                .push_back((id, Question::More { chunks: more })),
        }
    }

    /// The reader is gone.
    fn cancel(&self, id: u64) {
        let mut table = self.lock();
        if table.open.remove(&id).is_none() {
            return;
        }
        let is_asked = |(of, frame): &(u64, Question)| match frame {
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
            | Question::Check {} => *of == id,
            Question::More { .. } | Question::Cancel => false,
        };
        let never_sent = table.outgoing.iter().any(is_asked);
        table.outgoing.retain(|(of, _)| *of != id);
        if !never_sent {
            table.outgoing.push_back((id, Question::Cancel));
        }
    }

    /// Whether there are frames for the agent.
    pub(super) fn any_to_send(&self) -> bool {
        !self.lock().outgoing.is_empty()
    }

    pub(crate) fn frames(&self) -> Vec<Down> {
        let outgoing = std::mem::take(&mut self.lock().outgoing).into_iter();
        outgoing
            .map(|(id, question)| Ask::new(id, &question).into())
            .collect()
    }

    /// Receives a chunk of an answer; never waits. A chunk beyond the window cancels the question.
    pub(crate) fn answer(&self, output: Output) {
        let mut table = self.lock();
        let Some(reader) = table.open.get(&output.id) else {
            return;
        };
        let is_too_much = output.chunk.len() > MAX_CHUNK || reader.capacity() <= 1;
        let (chunk, is_last) = match output {
            Output { refused, .. } if !refused.is_empty() => (AnswerChunk::Refused(refused), true),
            Output { last: true, .. } => (AnswerChunk::Last(output.chunk), true),
            _ if is_too_much => {
                let reason = "the agent sent more than it was asked for".to_owned();
                table.outgoing.push_back((output.id, Question::Cancel));
                (AnswerChunk::Refused(reason), true)
            }
            _ => (AnswerChunk::Chunk(output.chunk), false),
        };
        // A full channel is impossible here, and a reader that is gone has cancelled already.
        if let Some(reader) = table.open.get(&output.id) {
            let _ = reader.try_send(chunk);
        }
        if is_last {
            table.open.remove(&output.id);
        }
    }

    /// Ends all answers with the connection.
    pub(crate) fn close(&self) {
        let mut table = self.lock();
        table.is_closed = true;
        table.open.clear();
        table.outgoing.clear();
    }
}

/// An answer as it arrives. Dropping it cancels the question.
#[derive(Debug)]
pub struct AnswerStream {
    host: Host,
    first: Option<AnswerChunk>,
    source: Option<AnswerSource>,
}

/// Where an answer comes from.
#[derive(Debug)]
enum AnswerSource {
    Local(LocalAnswer),
    Remote(RemoteAnswer),
}

impl AnswerSource {
    async fn next(&mut self) -> Option<AnswerChunk> {
        match self {
            Self::Local(local) => local.next().await,
            Self::Remote(remote) => remote.next().await,
        }
    }
}

/// An answer of an agent that is connected here.
#[derive(Debug)]
pub(crate) struct LocalAnswer {
    id: u64,
    outbox: Arc<Outbox>,
    chunks: mpsc::Receiver<AnswerChunk>,
    /// Taken chunks that have not been granted again yet.
    taken: u32,
}

impl AnswerStream {
    /// Where it comes from.
    pub fn host(&self) -> Host {
        self.host
    }

    /// An answer that is complete already.
    pub(crate) fn known(host: Host, bytes: Vec<u8>) -> Self {
        Self {
            host,
            first: Some(AnswerChunk::Last(bytes)),
            source: None,
        }
    }

    /// The next bytes; None at the end. An error says why the answer ended early, and is the last item.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>, String>> {
        let chunk = match self.first.take() {
            Some(chunk) => Some(chunk),
            None => self.source.as_mut()?.next().await,
        };
        match chunk {
            Some(AnswerChunk::Chunk(bytes)) => Some(Ok(bytes)),
            Some(AnswerChunk::Last(bytes)) => {
                self.source = None;
                (!bytes.is_empty()).then_some(Ok(bytes))
            }
            Some(AnswerChunk::Refused(reason)) => {
                self.source = None;
                Some(Err(reason))
            }
            None => {
                self.source = None;
                Some(Err(format!("the agent of host {} disconnected", self.host)))
            }
        }
    }

    /// The whole answer.
    pub(crate) async fn whole(mut self) -> Result<Vec<u8>, ControlError> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await {
            whole.extend(bytes.map_err(ControlError::Away)?);
            if whole.len() > MAX_COLLECTED {
                let message = format!("the answer of host {} is too large", self.host);
                return Err(ControlError::Busy(message));
            }
        }
        Ok(whole)
    }
}

/// Why there is no whole answer.
#[derive(Debug)]
pub(crate) enum Unfinished {
    /// The agent refused, with this reason.
    Refused(String),
    Disconnected,
    TooLate,
    TooLong,
}

impl AnswerStream {
    /// The whole answer, or how it ended.
    pub(crate) async fn finish(mut self, within: Duration) -> Result<Vec<u8>, Unfinished> {
        let collecting = async {
            let mut whole = Vec::new();
            loop {
                let chunk = match (self.first.take(), self.source.as_mut()) {
                    (Some(chunk), _) => Some(chunk),
                    (None, Some(source)) => source.next().await,
                    (None, None) => None,
                };
                match chunk {
                    Some(AnswerChunk::Chunk(bytes)) => whole.extend(bytes),
                    Some(AnswerChunk::Last(bytes)) => {
                        whole.extend(bytes);
                        return Ok(whole);
                    }
                    Some(AnswerChunk::Refused(reason)) => return Err(Unfinished::Refused(reason)),
                    None => return Err(Unfinished::Disconnected),
                }
                if whole.len() > MAX_COLLECTED {
                    return Err(Unfinished::TooLong);
                }
            }
        };
        let collected = tokio::time::timeout(within, collecting).await;
        collected.unwrap_or(Err(Unfinished::TooLate))
    }
}

impl LocalAnswer {
    pub(crate) async fn next(&mut self) -> Option<AnswerChunk> {
        let chunk = self.chunks.recv().await?;
        self.count_taken();
        Some(chunk)
    }

    /// The next one, if it has arrived already.
    pub(crate) fn try_next(&mut self) -> Option<AnswerChunk> {
        let chunk = self.chunks.try_recv().ok()?;
        self.count_taken();
        Some(chunk)
    }

    fn count_taken(&mut self) {
        self.taken += 1;
        if self.taken >= WINDOW / 2 {
            self.outbox.questions.grant(self.id, self.taken);
            self.outbox.wake();
            self.taken = 0;
        }
    }
}

impl Drop for LocalAnswer {
    fn drop(&mut self) {
        self.outbox.questions.cancel(self.id);
        self.outbox.wake();
    }
}

impl Sessions {
    /// Asks the agent of a host, and waits until it starts to answer. A refusal becomes `NotFound`.
    pub(crate) async fn ask(
        &self,
        host: Host,
        question: Question,
    ) -> Result<AnswerStream, ControlError> {
        let answer = self.start_question(host, question, START_WITHIN).await?;
        match answer.first {
            Some(AnswerChunk::Refused(reason)) => Err(ControlError::NotFound(reason)),
            Some(AnswerChunk::Chunk(_) | AnswerChunk::Last(_)) | None => Ok(answer),
        }
    }

    /// Asks the agent of a host, and waits for the first chunk, which may be a refusal.
    pub(crate) async fn start_question(
        &self,
        host: Host,
        question: Question,
        within: Duration,
    ) -> Result<AnswerStream, ControlError> {
        let id = self.core.fleet().host_id(&host);
        let id = id.ok_or_else(|| ControlError::NotFound(format!("host {host} is not known")))?;
        let mut source = match self.replicas.holder(id) {
            None => AnswerSource::Local(self.core.outboxes.ask(id, host, question)?),
            Some(replica) => {
                AnswerSource::Remote(self.replicas.ask_peer(replica, id, host, question).await?)
            }
        };
        let first = tokio::time::timeout(within, source.next()).await;
        match first {
            Ok(Some(chunk)) => Ok(AnswerStream {
                host,
                first: Some(chunk),
                source: Some(source),
            }),
            Ok(None) => Err(away(host)),
            Err(_) => Err(ControlError::Away(format!(
                "the agent of host {host} did not answer in {} s: it may be older than this server",
                within.as_secs()
            ))),
        }
    }
}

impl Outboxes {
    /// Asks an agent that is connected here.
    pub(crate) fn ask(
        &self,
        id: HostId,
        host: Host,
        question: Question,
    ) -> Result<LocalAnswer, ControlError> {
        let outbox = self.outbox(id).ok_or_else(|| away(host))?;
        let (id, chunks) = match outbox.questions.open(question) {
            Ok(opened) => opened,
            Err(AskError::Closed) => return Err(away(host)),
            Err(AskError::TooMany) => {
                let message = format!("host {host} has {MAX_OPEN} questions open already");
                return Err(ControlError::Busy(message));
            }
        };
        outbox.wake();
        Ok(LocalAnswer {
            id,
            outbox,
            chunks,
            taken: 0,
        })
    }
}

pub(crate) fn away(host: Host) -> ControlError {
    ControlError::Away(format!("the agent of host {host} is not connected"))
}
