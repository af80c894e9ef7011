//! Live questions to connected agents, and their answers as streams.
//!
//! A question belongs to one connection. Between an agent and a reader there is at most a window of chunks: the agent gets
//! leave for more only as the reader takes them, so a reader that is slow or stuck costs neither side any memory.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use locks::{Mutex, MutexGuard};
use model::Host;
use model::change::HostId;
use tokio::sync::mpsc;
use wire::ask::{MAX_CHUNK, MAX_OPEN, Question, WINDOW};
use wire::{Ask, Down, Output};

use crate::replicas::route::Elsewhere;
use crate::sessions::Outbox;
use crate::{Control, ControlError};

/// How long an agent may take to begin. One that knows no questions never does.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How much of an answer that is needed whole is collected.
const MAX_WHOLE: usize = 32 * 1024 * 1024;

/// What is open on one connection.
#[derive(Debug, Default)]
pub(crate) struct Questions(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    last_id: u64,
    open: HashMap<u64, mpsc::Sender<Piece>>,
    /// What the agent should hear, at most a few words for each that is open.
    outgoing: VecDeque<(u64, Question)>,
    /// The connection has ended.
    is_closed: bool,
}

#[derive(Debug)]
pub(crate) enum Piece {
    Chunk(Vec<u8>),
    Last(Vec<u8>),
    Refused(String),
}

enum NotAsked {
    Closed,
    TooMany,
}

impl Questions {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock()
    }

    fn open(&self, question: Question) -> Result<(u64, mpsc::Receiver<Piece>), NotAsked> {
        let mut table = self.table();
        if table.is_closed {
            return Err(NotAsked::Closed);
        }
        if table.open.len() >= MAX_OPEN {
            return Err(NotAsked::TooMany);
        }
        table.last_id += 1;
        let id = table.last_id;
        // One more than the window, for the last word.
        let (sender, receiver) = mpsc::channel(WINDOW as usize + 1);
        table.open.insert(id, sender);
        table.outgoing.push_back((id, question));
        Ok((id, receiver))
    }

    fn grant(&self, id: u64, more: u32) {
        let mut table = self.table();
        let waiting = table.outgoing.iter_mut().find_map(|said| match said {
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

    /// Nobody wants to know any more.
    fn cancel(&self, id: u64) {
        let mut table = self.table();
        if table.open.remove(&id).is_none() {
            return;
        }
        let is_asked = |(of, said): &(u64, Question)| match said {
            Question::Held {}
            | Question::Logs(_)
            | Question::WriteFile(_)
            | Question::ReadFile(_) => *of == id,
            Question::More { .. } | Question::Cancel => false,
        };
        let never_sent = table.outgoing.iter().any(is_asked);
        table.outgoing.retain(|(of, _)| *of != id);
        if !never_sent {
            table.outgoing.push_back((id, Question::Cancel));
        }
    }

    pub(crate) fn frames(&self) -> Vec<Down> {
        let said = std::mem::take(&mut self.table().outgoing);
        said.into_iter()
            .map(|(id, question)| Ask::new(id, &question).into())
            .collect()
    }

    /// Takes part of an answer; never waits. An agent that sends more than its window gets no more of that question.
    pub(crate) fn answer(&self, output: Output) {
        let mut table = self.table();
        let Some(reader) = table.open.get(&output.id) else {
            return;
        };
        let is_too_much = output.chunk.len() > MAX_CHUNK || reader.capacity() <= 1;
        let (piece, is_last) = match output {
            Output { refused, .. } if !refused.is_empty() => (Piece::Refused(refused), true),
            Output { last: true, .. } => (Piece::Last(output.chunk), true),
            _ if is_too_much => {
                let reason = "the agent sent more than it was asked for".to_owned();
                table.outgoing.push_back((output.id, Question::Cancel));
                (Piece::Refused(reason), true)
            }
            _ => (Piece::Chunk(output.chunk), false),
        };
        // A reader that is gone has cancelled already; room for this piece there is.
        if let Some(reader) = table.open.get(&output.id) {
            let _ = reader.try_send(piece);
        }
        if is_last {
            table.open.remove(&output.id);
        }
    }

    /// The connection has ended, and with it every answer.
    pub(crate) fn close(&self) {
        let mut table = self.table();
        table.is_closed = true;
        table.open.clear();
        table.outgoing.clear();
    }
}

/// An answer as it comes in. Dropping it tells the agent to stop.
#[derive(Debug)]
pub struct AnswerStream {
    host: Host,
    first: Option<Piece>,
    source: Option<Source>,
}

/// Where an answer comes from.
#[derive(Debug)]
enum Source {
    Here(Live),
    Elsewhere(Elsewhere),
}

impl Source {
    async fn next(&mut self) -> Option<Piece> {
        match self {
            Self::Here(live) => live.next().await,
            Self::Elsewhere(elsewhere) => elsewhere.next().await,
        }
    }
}

/// An answer of an agent that is connected here.
#[derive(Debug)]
pub(crate) struct Live {
    id: u64,
    outbox: Arc<Outbox>,
    pieces: mpsc::Receiver<Piece>,
    /// Taken, and the agent has no leave for as many more yet.
    taken: u32,
}

impl AnswerStream {
    /// An answer that is known already.
    pub(crate) fn known(host: Host, bytes: Vec<u8>) -> Self {
        Self {
            host,
            first: Some(Piece::Last(bytes)),
            source: None,
        }
    }

    /// The next bytes, none at the end; an error says why it ended early, and is the last.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>, String>> {
        let piece = match self.first.take() {
            Some(piece) => Some(piece),
            None => self.source.as_mut()?.next().await,
        };
        match piece {
            Some(Piece::Chunk(bytes)) => Some(Ok(bytes)),
            Some(Piece::Last(bytes)) => {
                self.source = None;
                (!bytes.is_empty()).then_some(Ok(bytes))
            }
            Some(Piece::Refused(reason)) => {
                self.source = None;
                Some(Err(reason))
            }
            None => {
                self.source = None;
                Some(Err(format!("the agent of host {} disconnected", self.host)))
            }
        }
    }

    /// The answer as a whole.
    pub(crate) async fn whole(mut self) -> Result<Vec<u8>, ControlError> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next().await {
            whole.extend(bytes.map_err(ControlError::Away)?);
            if whole.len() > MAX_WHOLE {
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
    /// The agent says why.
    Refused(String),
    Disconnected,
    TooLate,
    TooLong,
}

impl AnswerStream {
    /// The answer as a whole, for those who mind how it ended.
    pub(crate) async fn finish(mut self, within: Duration) -> Result<Vec<u8>, Unfinished> {
        let collecting = async {
            let mut whole = Vec::new();
            loop {
                let piece = match (self.first.take(), self.source.as_mut()) {
                    (Some(piece), _) => Some(piece),
                    (None, Some(source)) => source.next().await,
                    (None, None) => None,
                };
                match piece {
                    Some(Piece::Chunk(bytes)) => whole.extend(bytes),
                    Some(Piece::Last(bytes)) => {
                        whole.extend(bytes);
                        return Ok(whole);
                    }
                    Some(Piece::Refused(reason)) => return Err(Unfinished::Refused(reason)),
                    None => return Err(Unfinished::Disconnected),
                }
                if whole.len() > MAX_WHOLE {
                    return Err(Unfinished::TooLong);
                }
            }
        };
        let collected = tokio::time::timeout(within, collecting).await;
        collected.unwrap_or(Err(Unfinished::TooLate))
    }
}

impl Live {
    pub(crate) async fn next(&mut self) -> Option<Piece> {
        let piece = self.pieces.recv().await?;
        self.took_one();
        Some(piece)
    }

    /// One more that has come already.
    pub(crate) fn ready(&mut self) -> Option<Piece> {
        let piece = self.pieces.try_recv().ok()?;
        self.took_one();
        Some(piece)
    }

    fn took_one(&mut self) {
        self.taken += 1;
        if self.taken >= WINDOW / 2 {
            self.outbox.questions.grant(self.id, self.taken);
            self.outbox.wake();
            self.taken = 0;
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.outbox.questions.cancel(self.id);
        self.outbox.wake();
    }
}

impl Control {
    /// Asks the agent of a host, and waits until it begins to answer. What it refuses does not exist.
    pub(crate) async fn ask(
        &self,
        host: Host,
        question: Question,
    ) -> Result<AnswerStream, ControlError> {
        let answer = self.begin_to_ask(host, question, ANSWER_WITHIN).await?;
        match answer.first {
            Some(Piece::Refused(reason)) => Err(ControlError::NotFound(reason)),
            Some(Piece::Chunk(_) | Piece::Last(_)) | None => Ok(answer),
        }
    }

    /// Asks the agent of a host, and waits for the beginning of its answer, which may be a refusal.
    pub(crate) async fn begin_to_ask(
        &self,
        host: Host,
        question: Question,
        within: Duration,
    ) -> Result<AnswerStream, ControlError> {
        let id = self.fleet().host_id(&host);
        let id = id.ok_or_else(|| ControlError::NotFound(format!("host {host} is not known")))?;
        let mut source = match self.0.replicas.holder(id) {
            None => Source::Here(self.open_here(id, host, question)?),
            Some(replica) => {
                Source::Elsewhere(self.open_elsewhere(replica, id, host, question).await?)
            }
        };
        let first = tokio::time::timeout(within, source.next()).await;
        match first {
            Ok(Some(piece)) => Ok(AnswerStream {
                host,
                first: Some(piece),
                source: Some(source),
            }),
            Ok(None) => Err(away(host)),
            Err(_) => Err(ControlError::Away(format!(
                "the agent of host {host} did not answer in {} s: it may be older than this server",
                within.as_secs()
            ))),
        }
    }

    /// Asks an agent that is connected here.
    pub(crate) fn open_here(
        &self,
        id: HostId,
        host: Host,
        question: Question,
    ) -> Result<Live, ControlError> {
        let outbox = self.0.sessions.outbox(id).ok_or_else(|| away(host))?;
        let (id, pieces) = match outbox.questions.open(question) {
            Ok(opened) => opened,
            Err(NotAsked::Closed) => return Err(away(host)),
            Err(NotAsked::TooMany) => {
                let message = format!("host {host} has {MAX_OPEN} questions open already");
                return Err(ControlError::Busy(message));
            }
        };
        outbox.wake();
        Ok(Live {
            id,
            outbox,
            pieces,
            taken: 0,
        })
    }
}

pub(crate) fn away(host: Host) -> ControlError {
    ControlError::Away(format!("the agent of host {host} is not connected"))
}
