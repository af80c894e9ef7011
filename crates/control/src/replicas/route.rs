//! Live questions to agents that other replicas hold.
//!
//! The replica that holds the agent keeps the answer open, and returns the chunks that have arrived with each request. So a slow
//! reader slows the agent, and an answer whose reader is gone expires.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bus::{Bus, MAX_PAYLOAD, ReplicaId, Request};
use locks::{Mutex, MutexGuard};
use model::Host;
use model::bounds::MAX_MESSAGE;
use model::change::HostId;
use model::text::sanitize_lines;
use prost::Message as _;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout};
use wire::Ask;
use wire::ask::Question;

use super::Replicas;
use crate::sessions::{AnswerChunk, LocalAnswer};
use crate::{ControlError, secrets, stopped};

/// How long a request waits for the first chunk before its reply is empty.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// How many chunks go into one reply: each is at most 64 KiB.
const CHUNKS_PER_REPLY: usize = 6;
/// An answer without further requests expires after this time.
const EXPIRES_AFTER: Duration = Duration::from_secs(20);
/// How many answers are open for other replicas.
const MAX_STREAMS: usize = 4096;
/// How many requests are handled at a time.
const AT_A_TIME: usize = 512;
/// How much of a long question goes into one message.
const PART_BYTES: usize = MAX_PAYLOAD / 2;
/// How many bytes of incomplete questions are kept in total.
const MAX_PARTS_BYTES: usize = 64 * 1024 * 1024;

#[derive(Clone, PartialEq, prost::Message)]
struct RouteMessage {
    #[prost(oneof = "RouteRequest", tags = "1, 2, 3, 4")]
    request: Option<RouteRequest>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum RouteRequest {
    /// A part of a question that is too long for one message.
    #[prost(message, tag = "1")]
    QuestionPart(QuestionPart),
    #[prost(message, tag = "2")]
    Open(Open),
    /// More of an answer.
    #[prost(uint64, tag = "3")]
    Next(u64),
    #[prost(uint64, tag = "4")]
    Close(u64),
}

#[derive(Clone, PartialEq, prost::Message)]
struct QuestionPart {
    #[prost(uint64, tag = "1")]
    key: u64,
    #[prost(bytes = "vec", tag = "2")]
    bytes: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Open {
    #[prost(uint32, tag = "1")]
    host: u32,
    /// Of the parts before; 0 without any.
    #[prost(uint64, tag = "2")]
    key: u64,
    /// The end of the question, or all of it.
    #[prost(bytes = "vec", tag = "3")]
    ask: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RouteReply {
    #[prost(uint64, tag = "1")]
    stream: u64,
    #[prost(bytes = "vec", repeated, tag = "2")]
    chunks: Vec<Vec<u8>>,
    #[prost(enumeration = "AnswerEnd", tag = "3")]
    end: i32,
    #[prost(string, tag = "4")]
    reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
enum AnswerEnd {
    /// There may be more.
    NotYet = 0,
    Last = 1,
    Refused = 2,
    Disconnected = 3,
    TooMany = 4,
}

/// Answers that are open for other replicas.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    table: Mutex<RouteTable>,
}

#[derive(Debug, Default)]
struct RouteTable {
    streams: HashMap<u64, OpenAnswer>,
    parts: HashMap<u64, (Instant, Vec<u8>)>,
}

#[derive(Debug, Clone)]
struct OpenAnswer {
    local: Arc<tokio::sync::Mutex<LocalAnswer>>,
    used_at: Instant,
}

impl Routes {
    fn table(&self) -> MutexGuard<'_, RouteTable> {
        self.table.lock()
    }
}

/// Serves the other replicas until the stop signal.
pub(crate) async fn run(replicas: Arc<Replicas>, mut stop: watch::Receiver<bool>) {
    if replicas.core.is_alone {
        return;
    }
    let mut requests = replicas.core.bus.requests();
    let turns = Arc::new(Semaphore::new(AT_A_TIME));
    let mut sweep = tokio::time::interval(EXPIRES_AFTER / 4);
    loop {
        let request = tokio::select! {
            request = requests.recv() => request,
            _ = sweep.tick() => {
                replicas.routes.table().sweep(Instant::now());
                continue;
            }
            () = stopped(&mut stop) => return,
        };
        let Some(request) = request else { return };
        let Ok(turn) = turns.clone().acquire_owned().await else {
            return;
        };
        let replicas = replicas.clone();
        tokio::spawn(async move {
            replicas.serve(request).await;
            drop(turn);
        });
    }
}

impl RouteTable {
    fn sweep(&mut self, now: Instant) {
        self.streams
            .retain(|_, stream| now.duration_since(stream.used_at) < EXPIRES_AFTER);
        self.parts
            .retain(|_, (began, _)| now.duration_since(*began) < EXPIRES_AFTER);
    }

    /// False when there is no room.
    fn add_part(&mut self, part: QuestionPart, now: Instant) -> bool {
        let kept: usize = self.parts.values().map(|(_, bytes)| bytes.len()).sum();
        if kept + part.bytes.len() > MAX_PARTS_BYTES {
            return false;
        }
        let (_, bytes) = self.parts.entry(part.key).or_insert((now, Vec::new()));
        bytes.extend(part.bytes);
        true
    }
}

impl Replicas {
    async fn serve(&self, request: Request) {
        let Ok(routed) = RouteMessage::decode(&request.payload[..]) else {
            return;
        };
        let reply = match routed.request {
            Some(RouteRequest::QuestionPart(part)) => {
                let fits = self.routes.table().add_part(part, Instant::now());
                match fits {
                    true => RouteReply::default(),
                    false => ended(AnswerEnd::TooMany, "too many long questions at once"),
                }
            }
            Some(RouteRequest::Open(open)) => self.open_answer(open).await,
            Some(RouteRequest::Next(stream)) => self.next_chunks(stream).await,
            Some(RouteRequest::Close(stream)) => {
                self.routes.table().streams.remove(&stream);
                RouteReply::default()
            }
            None => return,
        };
        // The requesting replica may be gone.
        let _ = request.reply.send(reply.encode_to_vec());
    }

    async fn open_answer(&self, open: Open) -> RouteReply {
        let mut bytes = Vec::new();
        if open.key != 0 {
            let parts = self.routes.table().parts.remove(&open.key);
            bytes = parts.map(|(_, bytes)| bytes).unwrap_or_default();
        }
        bytes.extend(open.ask);
        let question = Ask::decode(&bytes[..])
            .ok()
            .and_then(|ask| ask.question().ok());
        let Some(question) = question else {
            return ended(AnswerEnd::Refused, "the question makes no sense");
        };
        let host = HostId(open.host);
        let Some(address) = self.core.fleet().host(host).map(|view| view.host) else {
            return ended(AnswerEnd::Disconnected, "");
        };
        let local = match self.core.outboxes.ask(host, address, question) {
            Ok(local) => local,
            Err(ControlError::Busy(reason)) => return ended(AnswerEnd::TooMany, &reason),
            Err(_) => return ended(AnswerEnd::Disconnected, ""),
        };
        let stream = secrets::random_u64();
        {
            let mut table = self.routes.table();
            if table.streams.len() >= MAX_STREAMS {
                return ended(
                    AnswerEnd::TooMany,
                    "too many questions of other replicas are open",
                );
            }
            let local = Arc::new(tokio::sync::Mutex::new(local));
            let used_at = Instant::now();
            table.streams.insert(stream, OpenAnswer { local, used_at });
        }
        self.next_chunks(stream).await
    }

    async fn next_chunks(&self, stream: u64) -> RouteReply {
        let local = {
            let mut table = self.routes.table();
            let Some(open) = table.streams.get_mut(&stream) else {
                return ended(AnswerEnd::Disconnected, "");
            };
            open.used_at = Instant::now();
            open.local.clone()
        };
        let mut reply = RouteReply {
            stream,
            ..RouteReply::default()
        };
        let mut local = local.lock().await;
        let mut chunk = match timeout(ANSWER_WITHIN, local.next()).await {
            Ok(Some(chunk)) => Some(chunk),
            Ok(None) => {
                reply.set_end(AnswerEnd::Disconnected);
                None
            }
            Err(_) => None,
        };
        while let Some(next) = chunk.take() {
            match next {
                AnswerChunk::Chunk(bytes) => reply.chunks.push(bytes),
                AnswerChunk::Last(bytes) => {
                    reply.chunks.push(bytes);
                    reply.set_end(AnswerEnd::Last);
                }
                AnswerChunk::Refused(reason) => {
                    reply.reason = reason;
                    reply.set_end(AnswerEnd::Refused);
                }
            }
            if reply.end() == AnswerEnd::NotYet && reply.chunks.len() < CHUNKS_PER_REPLY {
                chunk = local.try_next();
            }
        }
        if reply.end() != AnswerEnd::NotYet {
            self.routes.table().streams.remove(&stream);
        }
        reply
    }

    /// Asks the agent through the replica that holds it.
    pub(crate) async fn ask_peer(
        &self,
        replica: ReplicaId,
        id: HostId,
        host: Host,
        question: Question,
    ) -> Result<RemoteAnswer, ControlError> {
        let bus = self.core.bus.clone();
        let ask = Ask::new(0, &question).encode_to_vec();
        let mut parts: VecDeque<&[u8]> = ask.chunks(PART_BYTES).collect();
        let last = parts.pop_back().unwrap_or_default();
        let key = match parts.is_empty() {
            true => 0,
            false => secrets::random_u64().max(1),
        };
        for part in parts {
            let part = QuestionPart {
                key,
                bytes: part.to_vec(),
            };
            let reply = request(&bus, replica, host, RouteRequest::QuestionPart(part)).await?;
            if reply.end() == AnswerEnd::TooMany {
                return Err(ControlError::Busy(reply.reason));
            }
        }
        let open = Open {
            host: id.0,
            key,
            ask: last.to_vec(),
        };
        let reply = request(&bus, replica, host, RouteRequest::Open(open)).await?;
        if reply.end() == AnswerEnd::TooMany {
            return Err(ControlError::Busy(reply.reason));
        }
        let mut answer = RemoteAnswer {
            bus,
            replica,
            host,
            stream: reply.stream,
            chunks: VecDeque::new(),
            has_ended: false,
        };
        answer.take(reply);
        Ok(answer)
    }
}

fn ended(end: AnswerEnd, reason: &str) -> RouteReply {
    let mut reply = RouteReply {
        reason: reason.to_owned(),
        ..RouteReply::default()
    };
    reply.set_end(end);
    reply
}

async fn request(
    bus: &Bus,
    replica: ReplicaId,
    host: Host,
    request: RouteRequest,
) -> Result<RouteReply, ControlError> {
    let payload = RouteMessage {
        request: Some(request),
    }
    .encode_to_vec();
    let away = |why: String| {
        ControlError::Away(format!(
            "the agent of host {host} is at another replica: {why}"
        ))
    };
    let answer = bus.request(replica, payload).await;
    let answer = answer.map_err(|error| away(error.to_string()))?;
    RouteReply::decode(&answer[..]).map_err(|error| away(error.to_string()))
}

/// An answer through another replica. Dropping it closes it there.
#[derive(Debug)]
pub(crate) struct RemoteAnswer {
    bus: Bus,
    replica: ReplicaId,
    host: Host,
    stream: u64,
    chunks: VecDeque<AnswerChunk>,
    has_ended: bool,
}

impl RemoteAnswer {
    fn take(&mut self, mut reply: RouteReply) {
        let end = reply.end();
        sanitize_lines(&mut reply.reason, MAX_MESSAGE);
        self.has_ended = end != AnswerEnd::NotYet;
        self.chunks
            .extend(reply.chunks.into_iter().map(AnswerChunk::Chunk));
        match end {
            AnswerEnd::Last => self.chunks.push_back(AnswerChunk::Last(Vec::new())),
            AnswerEnd::Refused => self.chunks.push_back(AnswerChunk::Refused(reply.reason)),
            AnswerEnd::NotYet | AnswerEnd::Disconnected | AnswerEnd::TooMany => {}
        }
    }

    /// None when the agent, or the replica, is gone.
    pub(crate) async fn next(&mut self) -> Option<AnswerChunk> {
        loop {
            if let Some(chunk) = self.chunks.pop_front() {
                return Some(chunk);
            }
            if self.has_ended {
                return None;
            }
            let next = RouteRequest::Next(self.stream);
            match request(&self.bus, self.replica, self.host, next).await {
                Ok(reply) => self.take(reply),
                Err(_) => self.has_ended = true,
            }
        }
    }
}

impl Drop for RemoteAnswer {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let (bus, replica, stream) = (self.bus.clone(), self.replica, self.stream);
        let payload = RouteMessage {
            request: Some(RouteRequest::Close(stream)),
        }
        .encode_to_vec();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // If the message is lost, the answer expires there.
            runtime.spawn(async move { bus.request(replica, payload).await });
        }
    }
}
