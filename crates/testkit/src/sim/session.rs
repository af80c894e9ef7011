//! One connection of a simulated agent: hello, welcome, then frames both ways until it ends. Reading and writing run
//! concurrently, as in a real agent, so that neither side can block the other.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use ::agent::config::ServerAddress;
use ::agent::session::Writer;
use futures_util::{FutureExt, StreamExt};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{ReadHalf, WriteHalf};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::codec::FramedRead;
use wire::{Codec, Down, DownKind, Hello, Output, Question, Report, Up, WireError};

use super::agent::{Agent, NextFrame};
use super::counters::Counters;
use super::shared::Load;

const HEARTBEAT: Duration = Duration::from_secs(wire::HEARTBEAT_SECS);
const SILENCE: Duration = Duration::from_secs(wire::SILENCE_SECS);
/// Limit for the TCP connection and the welcome, each.
const STEP: Duration = Duration::from_secs(10);
/// Limit for the TLS handshake, as of a real agent.
const HANDSHAKE: Duration = Duration::from_secs(20);
/// Read buffers begin small: most agents receive little.
const READ_BUFFER: usize = 1024;

/// Opens one connection.
#[derive(Debug)]
pub(super) struct Connector {
    pub(super) server: ServerAddress,
    pub(super) tls: Arc<ClientConfig>,
    /// The source address, if the server is on this machine.
    pub(super) source: Ipv4Addr,
    pub(super) hello: Hello,
}

type AgentWriter = Writer<WriteHalf<TlsStream<TcpStream>>>;

/// A connection after the welcome.
pub(super) struct Connection {
    reader: FramedRead<ReadHalf<TlsStream<TcpStream>>, Codec<Down, Up>>,
    writer: AgentWriter,
    grants_reports: bool,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error("no connection")]
    Io(#[from] io::Error),
    #[error("no conversation")]
    Wire(#[from] WireError),
    #[error("no welcome")]
    NoWelcome,
    #[error("permanently refused")]
    Refused,
}

pub(super) enum SessionEnd {
    Lost,
    Refused,
    /// Another server has welcomed the agent.
    Moved(Box<Connection>),
    /// The agent has become another version.
    Upgraded,
}

impl Connector {
    pub(super) async fn open(self) -> Result<Connection, OpenError> {
        let stream = within(STEP, connect(&self.server, self.source)).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from(wire::enrol::SERVER_NAME).expect("a DNS name");
        let handshake = TlsConnector::from(self.tls).connect(name, stream);
        let (read, write) = tokio::io::split(within(HANDSHAKE, handshake).await?);
        let mut connection = Connection {
            reader: FramedRead::with_capacity(read, Codec::new(), READ_BUFFER),
            writer: Writer::new(write),
            grants_reports: false,
        };
        connection.writer.queue(self.hello.into())?;
        while connection.writer.is_busy() {
            connection.writer.progress().await?;
        }
        let first = timeout(STEP, connection.reader.next()).await;
        match first.ok().flatten().transpose()?.and_then(|down| down.kind) {
            Some(DownKind::Welcome(welcome)) => {
                connection.grants_reports = welcome.grants_reports;
                Ok(connection)
            }
            Some(DownKind::Bye(bye)) if bye.permanent => Err(OpenError::Refused),
            _ => Err(OpenError::NoWelcome),
        }
    }
}

async fn within<T>(
    time: Duration,
    work: impl Future<Output = io::Result<T>>,
) -> Result<T, io::Error> {
    timeout(time, work)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// On loopback each agent has a source address of its own, as the hosts of a fleet have.
async fn connect(server: &ServerAddress, source: Ipv4Addr) -> io::Result<TcpStream> {
    let address = tokio::net::lookup_host((server.host(), server.port()))
        .await?
        .next()
        .ok_or(io::ErrorKind::NotFound)?;
    match address.ip() {
        IpAddr::V4(ip) if ip.is_loopback() => {
            let socket = TcpSocket::new_v4()?;
            socket.bind(SocketAddr::new(source.into(), 0))?;
            socket.connect(address).await
        }
        IpAddr::V4(_) | IpAddr::V6(_) => TcpStream::connect(address).await,
    }
}

/// Counts an agent as connected while it lives.
struct ConnectedGuard<'a>(&'a Counters);

impl<'a> ConnectedGuard<'a> {
    fn new(counters: &'a Counters) -> Self {
        counters.connects.add(1);
        counters.connected.fetch_add(1, Relaxed);
        Self(counters)
    }
}

impl Drop for ConnectedGuard<'_> {
    fn drop(&mut self) {
        self.0.connected.fetch_sub(1, Relaxed);
    }
}

/// When an agent sends frames by itself.
struct Schedule {
    heard_at: Instant,
    /// When the next heartbeat is due; no other traffic postpones it, as in a real agent.
    heartbeat_at: Instant,
    /// When the last heartbeat was sent, until it is answered.
    unanswered: Option<Instant>,
    statuses_at: Option<Instant>,
    event_at: Option<Instant>,
}

type Moving = Pin<Box<dyn Future<Output = Result<Connection, OpenError>> + Send>>;

/// Runs the session until it ends.
pub(super) async fn run_session(mut connection: Connection, agent: &mut Agent) -> SessionEnd {
    let shared = agent.shared.clone();
    let _guard = ConnectedGuard::new(&shared.counters);
    let mut load = shared.load.subscribe();
    let cuts = load.borrow_and_update().cuts;
    // These outlive the frames, so that a frame costs no registration.
    let mut changed = pin!(load_changed(load));
    let mut wake = pin!(sleep_until(Instant::now()));
    let now = Instant::now();
    let mut schedule = Schedule {
        heard_at: now,
        heartbeat_at: now + HEARTBEAT.mul_f64(agent.random.fraction()),
        unanswered: None,
        statuses_at: None,
        event_at: None,
    };
    let mut moving: Option<Moving> = None;
    agent.rewind(now, connection.grants_reports);
    // The first report may be empty: it says that there is nothing to report.
    if agent.processes.len() == 0 && connection.writer.queue(Report::default().into()).is_err() {
        return SessionEnd::Lost;
    }
    loop {
        if fill(agent, &mut connection.writer, &mut schedule).is_err() {
            return SessionEnd::Lost;
        }
        // Mostly the connection takes all at once.
        while connection.writer.is_busy()
            && let Some(written) = connection.writer.progress().now_or_never()
        {
            if written.is_err() {
                return SessionEnd::Lost;
            }
        }
        if agent.upgrade.is_due && !connection.writer.is_busy() {
            return SessionEnd::Upgraded;
        }
        let wake_at = schedule.wake_at(agent, &connection.writer);
        if wake.deadline() != wake_at {
            wake.as_mut().reset(wake_at);
        }
        let Connection { reader, writer, .. } = &mut connection;
        tokio::select! {
            frame = reader.next() => {
                schedule.heard_at = Instant::now();
                let Some(Ok(frame)) = frame else { return SessionEnd::Lost };
                match frame.kind {
                    Some(DownKind::Bye(bye)) if bye.permanent => return SessionEnd::Refused,
                    Some(DownKind::Bye(_)) => return SessionEnd::Lost,
                    Some(DownKind::Move(_)) if moving.is_none() => {
                        moving = agent.connector_elsewhere().map(|connector| Box::pin(connector.open()) as Moving);
                    }
                    Some(kind) => {
                        schedule.answered(&kind, &shared.counters);
                        if let Some(output) = take(agent, kind)
                            && writer.queue(output.into()).is_err()
                        {
                            return SessionEnd::Lost;
                        }
                    }
                    None => {}
                }
            }
            written = writer.progress(), if writer.is_busy() => if written.is_err() { return SessionEnd::Lost },
            moved = ready(&mut moving) => {
                moving = None;
                if let Ok(elsewhere) = moved {
                    shared.counters.moved.add(1);
                    return SessionEnd::Moved(Box::new(elsewhere));
                }
            }
            load = &mut changed => {
                let Some(load) = load.filter(|load| load.borrow().cuts == cuts) else {
                    return SessionEnd::Lost;
                };
                changed.set(load_changed(load));
                (schedule.statuses_at, schedule.event_at) = (None, None);
            }
            () = &mut wake => {}
        }
        if schedule.heard_at.elapsed() >= SILENCE {
            return SessionEnd::Lost;
        }
    }
}

/// Resolves when another load is asked for; none when there will be no other.
async fn load_changed(mut load: watch::Receiver<Load>) -> Option<watch::Receiver<Load>> {
    load.changed().await.ok().map(|()| load)
}

async fn ready(moving: &mut Option<Moving>) -> Result<Connection, OpenError> {
    match moving {
        Some(moving) => moving.await,
        None => std::future::pending().await,
    }
}

fn take(agent: &mut Agent, kind: DownKind) -> Option<Output> {
    match kind {
        DownKind::Desired(desired) => agent.desired(desired),
        DownKind::Command(command) => agent.command(&command),
        DownKind::Ack(ack) => agent.acknowledge(&ack),
        DownKind::Ask(ask) => {
            let question = ask.question();
            if let Ok(question) = &question
                && let Some(answer) = agent.upgrade.answer(ask.id, question)
            {
                return Some(answer);
            }
            let asks = !matches!(question, Ok(Question::More { .. } | Question::Cancel));
            let reason = "a simulated agent has nothing to show";
            return asks.then(|| Output::refuse(ask.id, reason));
        }
        DownKind::Welcome(_) | DownKind::Bye(_) | DownKind::Move(_) | DownKind::Dependencies(_) => {
        }
    }
    None
}

/// Queues what is due, as far as there is room.
fn fill(
    agent: &mut Agent,
    writer: &mut AgentWriter,
    schedule: &mut Schedule,
) -> Result<(), WireError> {
    let now = Instant::now();
    agent.end_operations(now);
    schedule.plan(agent, now);
    if !writer.has_room() {
        return Ok(());
    }
    if schedule.statuses_at.is_some_and(|at| at <= now) {
        schedule.statuses_at = None;
        agent.processes.mark_all_dirty(now);
        schedule.statuses_at = agent.status_period().map(|period| now + period);
    }
    if schedule.event_at.is_some_and(|at| at <= now) {
        schedule.event_at = agent.event_period().map(|period| now + period);
        agent.crash();
    }
    if schedule.heartbeat_at <= now {
        writer.queue(Report::default().into())?;
        schedule.heartbeat_at = now + HEARTBEAT;
        schedule.unanswered = Some(now);
    }
    while writer.has_room()
        && let Some(frame) = agent.next_frame(now)
    {
        match frame {
            NextFrame::Report(report) => writer.queue_report(&report.bytes)?,
            NextFrame::Other(frame) => writer.queue(frame)?,
        }
    }
    Ok(())
}

impl Schedule {
    /// Schedules the first status report and event at random, so that agents are not in step.
    fn plan(&mut self, agent: &mut Agent, now: Instant) {
        if self.statuses_at.is_none()
            && let Some(period) = agent.status_period()
        {
            self.statuses_at = Some(now + period.mul_f64(agent.random.fraction()));
        }
        if self.event_at.is_none()
            && let Some(period) = agent.event_period()
        {
            self.event_at = Some(now + period.mul_f64(agent.random.fraction()));
        }
    }

    /// An acknowledgement of nothing is the answer to a heartbeat.
    fn answered(&mut self, kind: &DownKind, counters: &Counters) {
        if let DownKind::Ack(ack) = kind
            && ack.results.is_empty()
            && let Some(sent_at) = self.unanswered.take()
        {
            counters.heartbeats.add(sent_at.elapsed());
        }
    }

    fn wake_at(&self, agent: &Agent, writer: &AgentWriter) -> Instant {
        let silent_at = self.heard_at + SILENCE;
        let operation_at = agent.operations.due();
        if !writer.has_room() {
            return operation_at.unwrap_or(silent_at).min(silent_at);
        }
        [
            operation_at,
            Some(self.heartbeat_at),
            agent.report_due(),
            self.statuses_at,
            self.event_at,
        ]
        .into_iter()
        .flatten()
        .fold(silent_at, Instant::min)
    }
}
