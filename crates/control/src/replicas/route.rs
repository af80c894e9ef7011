//! Live questions to agents that other replicas hold.
//!
//! The replica that holds the agent keeps the answer open, and hands out what has come each time it is asked. So a reader
//! that is slow slows the agent, as it does here, and one that is gone is noticed by its silence.

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

use crate::question::{Live, Piece};
use crate::{Control, ControlError, secrets, stopped};

/// How long an answer is waited for before the asker is told that there is nothing yet.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// How many pieces go into one reply: each is at most 64 KiB.
const PIECES_AT_A_TIME: usize = 6;
/// An answer that nobody asked on about is not kept for longer.
const KEPT_FOR: Duration = Duration::from_secs(20);
/// How many answers are open for other replicas.
const MAX_STREAMS: usize = 4096;
/// How many requests are worked on at a time.
const AT_A_TIME: usize = 512;
/// How much of a long question goes into one message.
const PART_BYTES: usize = MAX_PAYLOAD / 2;
/// How much of long questions is kept for all askers together.
const MAX_PARTS_BYTES: usize = 64 * 1024 * 1024;

#[derive(Clone, PartialEq, prost::Message)]
struct Routed {
    #[prost(oneof = "What", tags = "1, 2, 3, 4")]
    what: Option<What>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum What {
    /// A part of a question that is too long for one message.
    #[prost(message, tag = "1")]
    Part(Part),
    #[prost(message, tag = "2")]
    Open(Open),
    /// More of an answer.
    #[prost(uint64, tag = "3")]
    Next(u64),
    #[prost(uint64, tag = "4")]
    Close(u64),
}

#[derive(Clone, PartialEq, prost::Message)]
struct Part {
    #[prost(uint64, tag = "1")]
    key: u64,
    #[prost(bytes = "vec", tag = "2")]
    bytes: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Open {
    #[prost(uint32, tag = "1")]
    host: u32,
    /// Of the parts that came before; 0 when there were none.
    #[prost(uint64, tag = "2")]
    key: u64,
    /// The end of the question, or all of it.
    #[prost(bytes = "vec", tag = "3")]
    ask: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Reply {
    #[prost(uint64, tag = "1")]
    stream: u64,
    #[prost(bytes = "vec", repeated, tag = "2")]
    chunks: Vec<Vec<u8>>,
    #[prost(enumeration = "End", tag = "3")]
    end: i32,
    #[prost(string, tag = "4")]
    reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
enum End {
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
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    streams: HashMap<u64, Stream>,
    parts: HashMap<u64, (Instant, Vec<u8>)>,
}

#[derive(Debug, Clone)]
struct Stream {
    live: Arc<tokio::sync::Mutex<Live>>,
    used: Instant,
}

impl Routes {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }
}

/// Serves the other replicas until told to stop.
pub(crate) async fn run(control: Control, mut stop: watch::Receiver<bool>) {
    if control.is_alone() {
        return;
    }
    let mut requests = control.0.bus.requests();
    let turns = Arc::new(Semaphore::new(AT_A_TIME));
    let mut sweep = tokio::time::interval(KEPT_FOR / 4);
    loop {
        let request = tokio::select! {
            request = requests.recv() => request,
            _ = sweep.tick() => {
                control.0.routes.table().sweep(Instant::now());
                continue;
            }
            () = stopped(&mut stop) => return,
        };
        let Some(request) = request else { return };
        let Ok(turn) = turns.clone().acquire_owned().await else {
            return;
        };
        let control = control.clone();
        tokio::spawn(async move {
            control.serve_routed(request).await;
            drop(turn);
        });
    }
}

impl Table {
    fn sweep(&mut self, now: Instant) {
        self.streams
            .retain(|_, stream| now.duration_since(stream.used) < KEPT_FOR);
        self.parts
            .retain(|_, (began, _)| now.duration_since(*began) < KEPT_FOR);
    }

    /// False when there is no room.
    fn add_part(&mut self, part: Part, now: Instant) -> bool {
        let kept: usize = self.parts.values().map(|(_, bytes)| bytes.len()).sum();
        if kept + part.bytes.len() > MAX_PARTS_BYTES {
            return false;
        }
        let (_, bytes) = self.parts.entry(part.key).or_insert((now, Vec::new()));
        bytes.extend(part.bytes);
        true
    }
}

impl Control {
    async fn serve_routed(&self, request: Request) {
        let Ok(routed) = Routed::decode(&request.payload[..]) else {
            return;
        };
        let reply = match routed.what {
            Some(What::Part(part)) => {
                let fits = self.0.routes.table().add_part(part, Instant::now());
                match fits {
                    true => Reply::default(),
                    false => ended(End::TooMany, "too many long questions at once"),
                }
            }
            Some(What::Open(open)) => self.open_routed(open).await,
            Some(What::Next(stream)) => self.next_routed(stream).await,
            Some(What::Close(stream)) => {
                self.0.routes.table().streams.remove(&stream);
                Reply::default()
            }
            None => return,
        };
        // An asker that is gone asks for nothing more.
        let _ = request.reply.send(reply.encode_to_vec());
    }

    async fn open_routed(&self, open: Open) -> Reply {
        let mut bytes = Vec::new();
        if open.key != 0 {
            let parts = self.0.routes.table().parts.remove(&open.key);
            bytes = parts.map(|(_, bytes)| bytes).unwrap_or_default();
        }
        bytes.extend(open.ask);
        let question = Ask::decode(&bytes[..])
            .ok()
            .and_then(|ask| ask.question().ok());
        let Some(question) = question else {
            return ended(End::Refused, "the question makes no sense");
        };
        let host = HostId(open.host);
        let Some(address) = self.fleet().host(host).map(|view| view.host) else {
            return ended(End::Disconnected, "");
        };
        let live = match self.open_here(host, address, question) {
            Ok(live) => live,
            Err(ControlError::Busy(reason)) => return ended(End::TooMany, &reason),
            Err(_) => return ended(End::Disconnected, ""),
        };
        let stream = secrets::random_u64();
        {
            let mut table = self.0.routes.table();
            if table.streams.len() >= MAX_STREAMS {
                return ended(
                    End::TooMany,
                    "too many questions of other replicas are open",
                );
            }
            let live = Arc::new(tokio::sync::Mutex::new(live));
            let used = Instant::now();
            table.streams.insert(stream, Stream { live, used });
        }
        self.next_routed(stream).await
    }

    async fn next_routed(&self, stream: u64) -> Reply {
        let live = {
            let mut table = self.0.routes.table();
            let Some(open) = table.streams.get_mut(&stream) else {
                return ended(End::Disconnected, "");
            };
            open.used = Instant::now();
            open.live.clone()
        };
        let mut reply = Reply {
            stream,
            ..Reply::default()
        };
        let mut live = live.lock().await;
        let mut piece = match timeout(ANSWER_WITHIN, live.next()).await {
            Ok(Some(piece)) => Some(piece),
            Ok(None) => {
                reply.set_end(End::Disconnected);
                None
            }
            Err(_) => None,
        };
        while let Some(next) = piece.take() {
            match next {
                Piece::Chunk(bytes) => reply.chunks.push(bytes),
                Piece::Last(bytes) => {
                    reply.chunks.push(bytes);
                    reply.set_end(End::Last);
                }
                Piece::Refused(reason) => {
                    reply.reason = reason;
                    reply.set_end(End::Refused);
                }
            }
            if reply.end() == End::NotYet && reply.chunks.len() < PIECES_AT_A_TIME {
                piece = live.ready();
            }
        }
        if reply.end() != End::NotYet {
            self.0.routes.table().streams.remove(&stream);
        }
        reply
    }

    /// Asks the replica that holds an agent to ask it.
    pub(crate) async fn open_elsewhere(
        &self,
        replica: ReplicaId,
        id: HostId,
        host: Host,
        question: Question,
    ) -> Result<Elsewhere, ControlError> {
        let bus = self.0.bus.clone();
        let ask = Ask::new(0, &question).encode_to_vec();
        let mut parts: VecDeque<&[u8]> = ask.chunks(PART_BYTES).collect();
        let last = parts.pop_back().unwrap_or_default();
        let key = match parts.is_empty() {
            true => 0,
            false => secrets::random_u64().max(1),
        };
        for part in parts {
            let part = Part {
                key,
                bytes: part.to_vec(),
            };
            let reply = request(&bus, replica, host, What::Part(part)).await?;
            if reply.end() == End::TooMany {
                return Err(ControlError::Busy(reply.reason));
            }
        }
        let open = Open {
            host: id.0,
            key,
            ask: last.to_vec(),
        };
        let reply = request(&bus, replica, host, What::Open(open)).await?;
        if reply.end() == End::TooMany {
            return Err(ControlError::Busy(reply.reason));
        }
        let mut elsewhere = Elsewhere {
            bus,
            replica,
            host,
            stream: reply.stream,
            pieces: VecDeque::new(),
            is_over: false,
        };
        elsewhere.take(reply);
        Ok(elsewhere)
    }
}

fn ended(end: End, reason: &str) -> Reply {
    let mut reply = Reply {
        reason: reason.to_owned(),
        ..Reply::default()
    };
    reply.set_end(end);
    reply
}

async fn request(
    bus: &Bus,
    replica: ReplicaId,
    host: Host,
    what: What,
) -> Result<Reply, ControlError> {
    let payload = Routed { what: Some(what) }.encode_to_vec();
    let away = |why: String| {
        ControlError::Away(format!(
            "the agent of host {host} is at another replica: {why}"
        ))
    };
    let answer = bus.request(replica, payload).await;
    let answer = answer.map_err(|error| away(error.to_string()))?;
    Reply::decode(&answer[..]).map_err(|error| away(error.to_string()))
}

/// An answer that comes through another replica. Dropping it closes it there.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    bus: Bus,
    replica: ReplicaId,
    host: Host,
    stream: u64,
    pieces: VecDeque<Piece>,
    is_over: bool,
}

impl Elsewhere {
    fn take(&mut self, mut reply: Reply) {
        let end = reply.end();
        sanitize_lines(&mut reply.reason, MAX_MESSAGE);
        self.is_over = end != End::NotYet;
        self.pieces
            .extend(reply.chunks.into_iter().map(Piece::Chunk));
        match end {
            End::Last => self.pieces.push_back(Piece::Last(Vec::new())),
            End::Refused => self.pieces.push_back(Piece::Refused(reply.reason)),
            End::NotYet | End::Disconnected | End::TooMany => {}
        }
    }

    /// None when the agent, or the replica, is gone.
    pub(crate) async fn next(&mut self) -> Option<Piece> {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                return Some(piece);
            }
            if self.is_over {
                return None;
            }
            let next = What::Next(self.stream);
            match request(&self.bus, self.replica, self.host, next).await {
                Ok(reply) => self.take(reply),
                Err(_) => self.is_over = true,
            }
        }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let (bus, replica, stream) = (self.bus.clone(), self.replica, self.stream);
        let payload = Routed {
            what: Some(What::Close(stream)),
        }
        .encode_to_vec();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // Unheard, it is closed there after a while.
            runtime.spawn(async move { bus.request(replica, payload).await });
        }
    }
}
