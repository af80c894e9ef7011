//! One connection: hello, welcome, then both lanes until one side ends it, or until another server has taken over.
//!
//! Generic over the stream, so that tests need no sockets. Nothing here waits for one thing only: reading, writing and
//! the supervisor go on beside each other, so that a slow server never holds up a process.
//!
//! A server may ask the agent to move. Then the next server is greeted while this session goes on, and takes its place
//! once it has welcomed the agent: in between there is no moment without a server.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Fuse, FusedFuture};
use futures_util::{FutureExt, StreamExt};
use model::{AgentId, Host, UnixMillis};
use tokio::io::{AsyncRead, AsyncWrite, WriteHalf};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use wire::{Down, DownKind, Report, WireError};

mod greeting;
mod timed_read;
mod writer;

pub(crate) use greeting::Numbers;
pub use greeting::{Greeted, Introduction, greet};

use crate::answer::Answers;
use crate::facts::Facts;
use crate::hand::Hand;
use crate::keeper::SupervisorGone;
use greeting::{Reader, Welcomed};
use writer::Writer;

const HEARTBEAT: Duration = Duration::from_secs(wire::HEARTBEAT_SECS);
const SILENCE: Duration = Duration::from_secs(wire::SILENCE_SECS);
/// How long saying goodbye may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a move may take; after that the agent stays.
const MOVE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the next server may take to welcome the agent when the present one has let go of it.
const NEXT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a server that has welcomed the agent waits while answers to the present one are under way.
const ANSWERS_FIRST: Duration = Duration::from_secs(5);

/// Who speaks.
#[derive(Debug, Clone)]
pub struct Speaker {
    pub host: Host,
    pub agent_id: AgentId,
    pub facts: Facts,
    /// The host's clock on the wall.
    pub clock: fn() -> UnixMillis,
}

/// How a session ended.
#[derive(Debug)]
pub struct Ended {
    pub why: Why,
    /// The server that it was with in the end, by its place in the list.
    pub server: usize,
    /// How long it lasted after the welcome; none when there was no welcome.
    pub lasted: Option<Duration>,
}

#[derive(Debug, thiserror::Error)]
pub enum Why {
    #[error("the agent is leaving")]
    Leaving,
    #[error("the server closed the connection")]
    Closed,
    #[error("the server has been silent for {} s", SILENCE.as_secs())]
    Silent,
    #[error("the server ended the session: {reason}")]
    Bye {
        reason: String,
        permanent: bool,
        rejoin: bool,
    },
    #[error("the connection failed")]
    Wire(#[from] WireError),
    #[error("the server chose protocol version {0}, which this agent does not speak")]
    Version(u32),
    #[error("the server did not begin with a welcome")]
    NoWelcome,
}

/// Talks until the connection ends, one way or another. `elsewhere` greets another server than the one given, if it can.
pub async fn talk<S>(
    stream: S,
    server: usize,
    speaker: &Speaker,
    hand: &mut Hand,
    stop: &CancellationToken,
    elsewhere: &impl AsyncFn(usize, Introduction) -> Option<Greeted<S>>,
) -> Result<Ended, SupervisorGone>
where
    S: AsyncRead + AsyncWrite,
{
    let introduction = Introduction::new(speaker, hand);
    let greeted = tokio::select! {
        gone = hand.attend() => return Err(gone),
        () = stop.cancelled() => Err(Why::Leaving),
        greeted = greet(stream, server, &introduction) => greeted,
    };
    let greeted = match greeted {
        Ok(greeted) => greeted,
        Err(why) => {
            return Ok(Ended {
                why,
                server,
                lasted: None,
            });
        }
    };
    let answers = Answers::new(hand.files());
    let mut session = Session {
        hand,
        speaker,
        server,
        reader: greeted.reader,
        writer: greeted.writer,
        answers,
        heard_at: Instant::now(),
        heartbeat_at: Instant::now() + HEARTBEAT,
        welcomed: greeted.welcomed,
        is_asked_to_move: false,
        next: None,
        parting: None,
    };
    let why = match session.begin() {
        Ok(()) => session.run(stop, elsewhere).await?,
        Err(error) => error.into(),
    };
    session.hand.parted();
    let _gone_already = timeout(CLOSE_TIMEOUT, session.writer.close()).await;
    Ok(Ended {
        why,
        server: session.server,
        lasted: Some(session.welcomed.since.elapsed()),
    })
}

struct Session<'a, S> {
    hand: &'a mut Hand,
    speaker: &'a Speaker,
    server: usize,
    reader: Reader<S>,
    writer: Writer<WriteHalf<S>>,
    answers: Answers,
    /// When the last frame arrived, or when the agent last had no time to read one.
    heard_at: Instant,
    /// When the next heartbeat is due. The server answers heartbeats only, so no other traffic postpones one: an agent
    /// that reports all the time would otherwise hear nothing and take the server for dead.
    heartbeat_at: Instant,
    welcomed: Welcomed,
    is_asked_to_move: bool,
    /// Another server that has welcomed the agent, and since when it waits.
    next: Option<(Greeted<S>, Instant)>,
    /// The connection that this one took over from, until it is closed or this time has come.
    parting: Option<(Writer<WriteHalf<S>>, Instant)>,
}

impl<S: AsyncRead + AsyncWrite> Session<'_, S> {
    async fn run(
        &mut self,
        stop: &CancellationToken,
        elsewhere: &impl AsyncFn(usize, Introduction) -> Option<Greeted<S>>,
    ) -> Result<Why, SupervisorGone> {
        // In a box, because most sessions never move.
        let seek = |from, introduction| {
            let seeking = timeout(MOVE_TIMEOUT, elsewhere(from, introduction));
            Box::pin(seeking.map(|found| found.ok().flatten())).fuse()
        };
        let mut seeking = pin!(Fuse::terminated());
        loop {
            if let Err(error) = self.take_over().and_then(|()| self.fill(Instant::now())) {
                return Ok(error.into());
            }
            if seeking.is_terminated() && self.wants_to_move() {
                let introduction = Introduction::new(self.speaker, self.hand);
                seeking.set(seek(self.server, introduction));
            }
            let wake_at = self.wake_at();
            let went_on = tokio::select! {
                () = stop.cancelled() => return Ok(Why::Leaving),
                turn = self.hand.turn() => {
                    turn?;
                    Ok(())
                }
                // A server that asks faster than the supervisor takes has to wait.
                frame = self.reader.next(), if self.hand.is_idle() => {
                    self.heard_at = Instant::now();
                    self.take(frame)
                }
                written = self.writer.progress(), if self.writer.is_busy() => match written {
                    Ok(()) => Ok(()),
                    Err(error) => Err(self.last_words().await.unwrap_or(Why::Wire(error.into()))),
                },
                found = &mut seeking => {
                    self.found(found);
                    Ok(())
                }
                () = close(&mut self.parting) => {
                    self.parting = None;
                    Ok(())
                }
                () = self.answers.heard() => Ok(()),
                () = sleep_until(wake_at) => Ok(()),
            };
            if !self.hand.is_idle() {
                self.heard_at = Instant::now();
            }
            let silence = match self.heard_at().elapsed() >= SILENCE {
                true => Err(Why::Silent),
                false => Ok(()),
            };
            let Err(why) = went_on.and(silence) else {
                continue;
            };
            // A server that is left may let go first: the next one has said so before it said welcome.
            if !seeking.is_terminated() {
                tokio::select! {
                    () = stop.cancelled() => return Ok(Why::Leaving),
                    gone = self.hand.attend() => return Err(gone),
                    found = timeout(NEXT_TIMEOUT, &mut seeking) => self.found(found.ok().flatten()),
                }
            }
            if !self.has_fresh_next() {
                return Ok(why);
            }
            self.answers = Answers::new(self.hand.files());
            self.writer.abandon();
        }
    }

    /// What a session begins with, on a connection that was just welcomed.
    fn begin(&mut self) -> Result<(), WireError> {
        self.hand.rewind();
        self.hand.welcomed();
        self.heartbeat_at = Instant::now() + HEARTBEAT;
        // With nothing to report the first report is empty, and says just that.
        match self.hand.due() {
            Some(_) => Ok(()),
            None => self.writer.queue(Report::default().into()),
        }
    }

    /// What came of the search for another server.
    fn found(&mut self, found: Option<Greeted<S>>) {
        if found.is_none() {
            tracing::warn!("no other server takes this agent: it stays where it is");
        }
        self.next = found.map(|greeted| (greeted, Instant::now()));
    }

    /// Whether another server has to be sought. One that knows the wrong things is kept until there is a better one, so
    /// that nobody takes the agent for gone.
    fn wants_to_move(&mut self) -> bool {
        match &self.next {
            Some(_) => !self.has_fresh_next(),
            None => std::mem::take(&mut self.is_asked_to_move),
        }
    }

    /// Whether the next server is there and was told what is still true. Otherwise the present one has changed what we
    /// hold since then, and the next would never know.
    fn has_fresh_next(&self) -> bool {
        let digest = self.hand.held_digest();
        let next = self.next.as_ref();
        next.is_some_and(|(next, _)| next.said_digest == digest)
    }

    /// Lets the next server take over, if there is one and the present one has its answers.
    fn take_over(&mut self) -> Result<(), WireError> {
        let is_busy = self.answers.is_busy() || self.writer.is_busy();
        let is_fresh = self.has_fresh_next();
        let is_ready = |(_, since): &mut (_, Instant)| {
            is_fresh && (!is_busy || since.elapsed() >= ANSWERS_FIRST)
        };
        let Some((next, _)) = self.next.take_if(is_ready) else {
            return Ok(());
        };
        self.is_asked_to_move = false;
        tracing::info!("another server takes over");
        let writer = std::mem::replace(&mut self.writer, next.writer);
        self.parting = Some((writer, Instant::now() + CLOSE_TIMEOUT));
        self.reader = next.reader;
        self.server = next.server;
        self.welcomed = next.welcomed;
        self.answers = Answers::new(self.hand.files());
        self.heard_at = Instant::now();
        self.begin()
    }

    /// A server that hears nothing any more may have said why before.
    async fn last_words(&mut self) -> Option<Why> {
        let listen = async {
            while let Some(Ok(frame)) = self.reader.next().await {
                if let Err(why) = self.take(Some(Ok(frame))) {
                    return Some(why);
                }
            }
            None
        };
        timeout(CLOSE_TIMEOUT, listen).await.ok().flatten()
    }

    /// When the server last gave a sign of life: a part of a long frame is one.
    fn heard_at(&self) -> Instant {
        self.heard_at.max(self.reader.get_ref().read_at())
    }

    /// Queues what should be sent now, as much as there is room for. The heartbeat goes first, because reports and output
    /// may take all the room there is.
    fn fill(&mut self, now: Instant) -> Result<(), WireError> {
        if now >= self.heartbeat_at && self.writer.has_room() {
            self.writer.queue(Report::default().into())?;
            self.heartbeat_at = now + HEARTBEAT;
        }
        while self.writer.has_room()
            && let Some(frame) = self.hand.next_frame(now)
        {
            self.writer.queue(frame)?;
        }
        while self.writer.has_room()
            && let Some(output) = self.answers.next(now, |request| self.hand.ask(request))
        {
            self.writer.queue(output.into())?;
        }
        Ok(())
    }

    fn wake_at(&self) -> Instant {
        let taken_over_at = self.next.as_ref().map(|(_, since)| *since + ANSWERS_FIRST);
        let silent_at = self.heard_at() + SILENCE;
        let silent_at = taken_over_at.map_or(silent_at, |at| at.min(silent_at));
        if self.writer.is_busy() {
            return silent_at;
        }
        let heartbeat_at = self.heartbeat_at;
        let report_at = self.hand.due().unwrap_or(heartbeat_at);
        let look_at = self.answers.due().unwrap_or(heartbeat_at);
        silent_at.min(heartbeat_at).min(report_at).min(look_at)
    }

    fn take(&mut self, frame: Option<Result<Down, WireError>>) -> Result<(), Why> {
        let frame = frame.ok_or(Why::Closed)??;
        match frame.kind {
            Some(DownKind::Desired(desired)) => self.hand.desired(desired),
            Some(DownKind::Command(command)) => {
                let now = (self.speaker.clock)();
                self.hand.command(&command, self.welcomed.clock, now);
            }
            Some(DownKind::Ack(ack)) => self.hand.acknowledge(ack),
            Some(DownKind::Bye(bye)) => return Err(bye.into()),
            Some(DownKind::Ask(ask)) => {
                if let Some(request) = self.answers.take(&ask) {
                    self.hand.ask(request);
                }
            }
            Some(DownKind::Move(asked)) => {
                tracing::info!(reason = asked.reason, "the server asks the agent to move");
                self.is_asked_to_move = true;
            }
            // A newer server may say more than we understand.
            Some(DownKind::Welcome(_)) | None => {}
        }
        Ok(())
    }
}

/// Ends a connection that another took over from; what it had is the other's by now.
async fn close<W: AsyncWrite + Unpin>(parting: &mut Option<(Writer<W>, Instant)>) {
    match parting {
        Some((writer, until)) => {
            let _gone_already = timeout_at(*until, writer.close()).await;
        }
        None => std::future::pending().await,
    }
}

impl From<wire::Bye> for Why {
    fn from(bye: wire::Bye) -> Self {
        Self::Bye {
            reason: bye.reason,
            permanent: bye.permanent,
            rejoin: bye.rejoin,
        }
    }
}

/// The host's clock.
pub(crate) fn now() -> UnixMillis {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    UnixMillis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
