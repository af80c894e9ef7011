//! One session: hello, welcome, then frames both ways until one side ends it.
//!
//! Generic over the stream, so that tests need no sockets. Reading, writing and the supervisor run concurrently, so that a
//! slow server never delays a process.
//!
//! A server may ask the agent to move. The agent then connects to another server while the session goes on, and switches
//! over once that one has welcomed it, so that it is connected all the time.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Fuse, FusedFuture};
use futures_util::{FutureExt, StreamExt};
use model::{AgentId, Host, UnixMillis};
use supervisor::Request;
use tokio::io::{AsyncRead, AsyncWrite, WriteHalf};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use wire::{Down, DownKind, Report, WireError};

mod hello;
mod timed_read;
mod writer;

pub(crate) use hello::ConnectionNumbers;
pub use hello::{HelloTemplate, WelcomedConnection, say_hello};

use crate::answer::Answers;
use crate::facts::HostFacts;
use crate::reconcile;
use crate::report::Allowance;
use crate::state::AgentState;
use crate::supervisor_link::SupervisorGone;
use hello::{Reader, WelcomeInfo};
pub use writer::Writer;

const HEARTBEAT: Duration = Duration::from_secs(wire::HEARTBEAT_SECS);
const SILENCE: Duration = Duration::from_secs(wire::SILENCE_SECS);
/// Limit for closing a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Limit for finding another server; after that the agent stays.
const MOVE_TIMEOUT: Duration = Duration::from_secs(30);
/// Limit for the next server's welcome once the present connection has ended.
const NEXT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a switch-over waits for answers to the present server.
const ANSWERS_FIRST: Duration = Duration::from_secs(5);

/// What the hello says about this agent, and its clock.
#[derive(Debug, Clone)]
pub struct AgentInfo {
    pub host: Host,
    pub agent_id: AgentId,
    pub facts: HostFacts,
    /// The host's wall clock.
    pub clock: fn() -> UnixMillis,
}

/// How a session ended.
#[derive(Debug)]
pub struct SessionEnd {
    pub reason: EndReason,
    /// The last server, by its index in the configuration.
    pub server: usize,
    /// How long it lasted after the welcome, if there was one.
    pub lasted: Option<Duration>,
}

#[derive(Debug, thiserror::Error)]
pub enum EndReason {
    #[error("the agent is stopping")]
    Stopping,
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

/// Runs one session to its end. `connect_elsewhere` connects to another server than the given one, if it can.
pub async fn run_session<S>(
    stream: S,
    server: usize,
    info: &AgentInfo,
    state: &mut AgentState,
    stop: &CancellationToken,
    connect_elsewhere: &impl AsyncFn(usize, HelloTemplate) -> Option<WelcomedConnection<S>>,
) -> Result<SessionEnd, SupervisorGone>
where
    S: AsyncRead + AsyncWrite,
{
    let template = HelloTemplate::new(info, state);
    let connection = tokio::select! {
        gone = state.serve_supervisor() => return Err(gone),
        () = stop.cancelled() => Err(EndReason::Stopping),
        connection = say_hello(stream, server, &template) => connection,
    };
    let connection = match connection {
        Ok(connection) => connection,
        Err(reason) => {
            return Ok(SessionEnd {
                reason,
                server,
                lasted: None,
            });
        }
    };
    let answers = state.answers();
    let mut session = Session {
        state,
        info,
        server,
        reader: connection.reader,
        writer: connection.writer,
        answers,
        frame_at: Instant::now(),
        heartbeat_at: Instant::now() + HEARTBEAT,
        welcomed: connection.welcomed,
        allowance: Allowance::new(true),
        is_asked_to_move: false,
        next: None,
        closing: None,
    };
    let reason = match session.begin() {
        Ok(()) => session.run(stop, connect_elsewhere).await?,
        Err(error) => error.into(),
    };
    session.state.set_disconnected();
    // The server may be gone.
    let _ = timeout(CLOSE_TIMEOUT, session.writer.close()).await;
    Ok(SessionEnd {
        reason,
        server: session.server,
        lasted: Some(session.welcomed.since.elapsed()),
    })
}

struct Session<'a, S> {
    state: &'a mut AgentState,
    info: &'a AgentInfo,
    server: usize,
    reader: Reader<S>,
    writer: Writer<WriteHalf<S>>,
    answers: Answers,
    /// When the last frame arrived, or when the agent was last too busy to read one.
    frame_at: Instant,
    /// When the next heartbeat is due. Other traffic does not postpone it: the server answers heartbeats only, and the agent
    /// would otherwise take it for dead.
    heartbeat_at: Instant,
    welcomed: WelcomeInfo,
    /// How many statuses the server takes now.
    allowance: Allowance,
    is_asked_to_move: bool,
    /// A server that has welcomed the agent and waits to take over, and since when.
    next: Option<(WelcomedConnection<S>, Instant)>,
    /// The connection before the switch-over, until it is closed or the time is up.
    closing: Option<(Writer<WriteHalf<S>>, Instant)>,
}

impl<S: AsyncRead + AsyncWrite> Session<'_, S> {
    async fn run(
        &mut self,
        stop: &CancellationToken,
        connect_elsewhere: &impl AsyncFn(usize, HelloTemplate) -> Option<WelcomedConnection<S>>,
    ) -> Result<EndReason, SupervisorGone> {
        // Boxed: most sessions never move.
        let search_from = |from, template| {
            let search = timeout(MOVE_TIMEOUT, connect_elsewhere(from, template));
            Box::pin(search.map(|found| found.ok().flatten())).fuse()
        };
        let mut search = pin!(Fuse::terminated());
        loop {
            if let Err(error) = self.take_over().and_then(|()| self.fill(Instant::now())) {
                return Ok(error.into());
            }
            if search.is_terminated() && self.wants_to_move() {
                let template = HelloTemplate::new(self.info, self.state);
                search.set(search_from(self.server, template));
            }
            let wake_at = self.wake_at();
            let went_on = tokio::select! {
                () = stop.cancelled() => return Ok(EndReason::Stopping),
                exchanged = self.state.exchange() => {
                    exchanged?;
                    Ok(())
                }
                // Backpressure: read no further frame before the supervisor has taken the requests of the last.
                frame = self.reader.next(), if self.state.is_idle() => {
                    self.frame_at = Instant::now();
                    self.take(frame)
                }
                written = self.writer.progress(), if self.writer.is_busy() => match written {
                    Ok(()) => Ok(()),
                    Err(error) => Err(self.pending_bye().await.unwrap_or(EndReason::Wire(error.into()))),
                },
                found = &mut search => {
                    self.set_next(found);
                    Ok(())
                }
                () = close(&mut self.closing) => {
                    self.closing = None;
                    Ok(())
                }
                () = self.answers.ready() => Ok(()),
                () = sleep_until(wake_at) => Ok(()),
            };
            if !self.state.is_idle() {
                self.frame_at = Instant::now();
            }
            let silence = match self.heard_at().elapsed() >= SILENCE {
                true => Err(EndReason::Silent),
                false => Ok(()),
            };
            let Err(reason) = went_on.and(silence) else {
                continue;
            };
            // The present server may close first, because the next one tells it before it sends the welcome.
            if !search.is_terminated() {
                tokio::select! {
                    () = stop.cancelled() => return Ok(EndReason::Stopping),
                    gone = self.state.serve_supervisor() => return Err(gone),
                    found = timeout(NEXT_TIMEOUT, &mut search) => self.set_next(found.ok().flatten()),
                }
            }
            if !self.has_fresh_next() {
                return Ok(reason);
            }
            self.answers = self.state.answers();
            self.writer.abandon();
        }
    }

    /// Begins a session on a new connection.
    fn begin(&mut self) -> Result<(), WireError> {
        self.state.rewind();
        self.state.set_connected();
        self.allowance = Allowance::new(self.welcomed.grants_reports);
        self.heartbeat_at = Instant::now() + HEARTBEAT;
        // The first report may be empty: it says that there is nothing to report.
        match self.state.due() {
            Some(_) => Ok(()),
            None => self.writer.queue(Report::default().into()),
        }
    }

    /// Takes the result of the search for another server.
    fn set_next(&mut self, found: Option<WelcomedConnection<S>>) {
        if found.is_none() {
            tracing::warn!("no other server accepts this agent: it stays connected here");
        }
        self.next = found.map(|connection| (connection, Instant::now()));
    }

    /// Whether to search for another server. A next server with a stale digest is kept until a fresh one replaces it, so that
    /// the agent does not count as disconnected.
    fn wants_to_move(&mut self) -> bool {
        match &self.next {
            Some(_) => !self.has_fresh_next(),
            None => std::mem::take(&mut self.is_asked_to_move),
        }
    }

    /// Whether there is a next server whose digest is still right. If the present server has changed the held processes since
    /// that hello, the next one would not know.
    fn has_fresh_next(&self) -> bool {
        let next = self.next.as_ref();
        // Asked at every turn, and the digest is over all processes: without a next server it is not needed.
        next.is_some_and(|(next, _)| next.sent_digest == self.state.held_digest())
    }

    /// Switches to the next server, if there is one and the present one has its answers.
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
        tracing::info!("moved to another server");
        let writer = std::mem::replace(&mut self.writer, next.writer);
        self.closing = Some((writer, Instant::now() + CLOSE_TIMEOUT));
        self.reader = next.reader;
        self.server = next.server;
        self.welcomed = next.welcomed;
        self.answers = self.state.answers();
        self.frame_at = Instant::now();
        self.begin()
    }

    /// After a write error: the bye that the server may have sent before it closed.
    async fn pending_bye(&mut self) -> Option<EndReason> {
        let listen = async {
            while let Some(Ok(frame)) = self.reader.next().await {
                if let Err(reason) = self.take(Some(Ok(frame))) {
                    return Some(reason);
                }
            }
            None
        };
        timeout(CLOSE_TIMEOUT, listen).await.ok().flatten()
    }

    /// When the last byte arrived: a part of a long frame is a sign of life.
    fn heard_at(&self) -> Instant {
        self.frame_at.max(self.reader.get_ref().read_at())
    }

    /// Queues what is due, as far as there is room. The heartbeat goes first, because reports and output may take all room.
    fn fill(&mut self, now: Instant) -> Result<(), WireError> {
        if now >= self.heartbeat_at && self.writer.has_room() {
            self.writer.queue(Report::default().into())?;
            self.heartbeat_at = now + HEARTBEAT;
        }
        while self.writer.has_room()
            && let Some(frame) = self.state.next_frame(now, &mut self.allowance)
        {
            self.writer.queue(frame)?;
        }
        while self.writer.has_room()
            && let Some(output) = self.answers.next(now, |request| self.state.submit(request))
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
        let report_at = self.state.due().filter(|_| self.allowance.may_report());
        let report_at = report_at.unwrap_or(heartbeat_at);
        let look_at = self.answers.due(Instant::now()).unwrap_or(heartbeat_at);
        silent_at.min(heartbeat_at).min(report_at).min(look_at)
    }

    fn take(&mut self, frame: Option<Result<Down, WireError>>) -> Result<(), EndReason> {
        let frame = frame.ok_or(EndReason::Closed)??;
        match frame.kind {
            Some(DownKind::Desired(desired)) => self.state.desired(desired),
            Some(DownKind::Command(command)) => {
                let now = (self.info.clock)();
                self.state.command(&command, self.welcomed.clock, now);
            }
            Some(DownKind::Ack(ack)) => {
                self.allowance.grant(ack.may_report);
                self.state.acknowledge(ack);
            }
            Some(DownKind::Bye(bye)) => return Err(bye.into()),
            Some(DownKind::Ask(ask)) => {
                if let Some(request) = self.answers.take(&ask) {
                    self.state.submit(request);
                }
            }
            Some(DownKind::Move(asked)) => {
                tracing::info!(reason = asked.reason, "the server asks the agent to move");
                self.is_asked_to_move = true;
            }
            Some(DownKind::Dependencies(dependencies)) => {
                let answers = reconcile::dependency_answers(dependencies);
                self.state.submit(Request::Dependencies(answers));
            }
            // A frame of a newer server.
            Some(DownKind::Welcome(_)) | None => {}
        }
        Ok(())
    }
}

/// Closes the connection before the switch-over.
async fn close<W: AsyncWrite + Unpin>(closing: &mut Option<(Writer<W>, Instant)>) {
    match closing {
        Some((writer, until)) => {
            let _ = timeout_at(*until, writer.close()).await;
        }
        None => std::future::pending().await,
    }
}

impl From<wire::Bye> for EndReason {
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
