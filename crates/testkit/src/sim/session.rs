//! One connection of a simulated agent: hello, welcome, then both lanes until it ends. Reading and writing go on beside
//! each other, as in a real agent, so that neither side can block the other.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use ::agent::config::ServerAddress;
use bytes::BytesMut;
use futures_util::StreamExt;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::codec::{Encoder, FramedRead};
use wire::{Codec, Down, DownKind, Hello, Output, Question, Report, Up, WireError};

use super::agent::Agent;
use super::tally::Tally;

const HEARTBEAT: Duration = Duration::from_secs(wire::HEARTBEAT_SECS);
const SILENCE: Duration = Duration::from_secs(wire::SILENCE_SECS);
/// How long a server may take to accept, again to shake hands, and again to say welcome.
const STEP: Duration = Duration::from_secs(10);
/// With this much waiting to be written, nothing more is said.
const ROOM: usize = 64 * 1024;
/// Read buffers begin small: most agents hear little.
const READ_BUFFER: usize = 1024;

/// What it takes to open a connection.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) server: ServerAddress,
    pub(super) tls: Arc<ClientConfig>,
    /// The address to come from, where the server is on this machine.
    pub(super) source: Ipv4Addr,
    pub(super) hello: Hello,
}

/// A connection that the server has welcomed.
pub(super) struct Connection {
    reader: FramedRead<ReadHalf<TlsStream<TcpStream>>, Codec<Down, Up>>,
    outgoing: Outgoing,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error("no connection")]
    Io(#[from] io::Error),
    #[error("no conversation")]
    Wire(#[from] WireError),
    #[error("no welcome")]
    NoWelcome,
    #[error("refused until somebody changes something")]
    Refused,
}

pub(super) enum Ended {
    Lost,
    Refused,
    /// Another server has welcomed us.
    Moved(Box<Connection>),
}

impl Opening {
    pub(super) async fn open(self) -> Result<Connection, OpenError> {
        let stream = within(STEP, connect(&self.server, self.source)).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from(wire::enrol::SERVER_NAME).expect("a DNS name");
        let handshake = TlsConnector::from(self.tls).connect(name, stream);
        let (read, write) = tokio::io::split(within(STEP, handshake).await?);
        let mut connection = Connection {
            reader: FramedRead::with_capacity(read, Codec::new(), READ_BUFFER),
            outgoing: Outgoing {
                half: write,
                buffer: BytesMut::new(),
                is_flushed: true,
            },
        };
        connection.outgoing.queue(self.hello)?;
        while connection.outgoing.is_busy() {
            connection.outgoing.progress().await?;
        }
        let first = timeout(STEP, connection.reader.next()).await;
        match first.ok().flatten().transpose()?.and_then(|down| down.kind) {
            Some(DownKind::Welcome(_)) => Ok(connection),
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

/// On loopback each agent comes from an address of its own, as the hosts of a fleet do.
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

struct Outgoing {
    half: WriteHalf<TlsStream<TcpStream>>,
    buffer: BytesMut,
    is_flushed: bool,
}

impl Outgoing {
    fn queue(&mut self, frame: impl Into<Up>) -> Result<(), WireError> {
        Codec::<Down, Up>::new().encode(frame.into(), &mut self.buffer)?;
        self.is_flushed = false;
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.buffer.len() < ROOM
    }

    fn is_busy(&self) -> bool {
        !self.is_flushed
    }

    /// Writes some of what waits. May be cancelled without loss.
    async fn progress(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            self.half.flush().await?;
            self.is_flushed = true;
            self.buffer = BytesMut::new();
            return Ok(());
        }
        match self.half.write_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            _ => Ok(()),
        }
    }
}

/// Counts an agent as connected while it lives.
struct Counted<'a>(&'a Tally);

impl<'a> Counted<'a> {
    fn new(tally: &'a Tally) -> Self {
        tally.connects.add(1);
        tally.connected.fetch_add(1, Relaxed);
        Self(tally)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.connected.fetch_sub(1, Relaxed);
    }
}

/// When an agent says something of its own accord.
struct Schedule {
    heard_at: Instant,
    /// When the next heartbeat is due; no other traffic postpones it, as in a real agent.
    heartbeat_at: Instant,
    statuses_at: Option<Instant>,
    event_at: Option<Instant>,
}

type Moving = Pin<Box<dyn Future<Output = Result<Connection, OpenError>> + Send>>;

/// Talks until the connection ends, one way or another.
pub(super) async fn talk(mut connection: Connection, agent: &mut Agent) -> Ended {
    let shared = agent.shared.clone();
    let _counted = Counted::new(&shared.tally);
    let mut load = shared.load.subscribe();
    let cuts = load.borrow_and_update().cuts;
    let now = Instant::now();
    let mut schedule = Schedule {
        heard_at: now,
        heartbeat_at: now + HEARTBEAT,
        statuses_at: None,
        event_at: None,
    };
    let mut moving: Option<Moving> = None;
    agent.rewind(now);
    // With nothing to report the first report is empty, and says just that.
    if agent.processes.len() == 0 && connection.outgoing.queue(Report::default()).is_err() {
        return Ended::Lost;
    }
    loop {
        if fill(agent, &mut connection.outgoing, &mut schedule).is_err() {
            return Ended::Lost;
        }
        let wake_at = schedule.wake_at(agent, &connection.outgoing);
        let Connection { reader, outgoing } = &mut connection;
        tokio::select! {
            frame = reader.next() => {
                schedule.heard_at = Instant::now();
                let Some(Ok(frame)) = frame else { return Ended::Lost };
                match frame.kind {
                    Some(DownKind::Bye(bye)) if bye.permanent => return Ended::Refused,
                    Some(DownKind::Bye(_)) => return Ended::Lost,
                    Some(DownKind::Move(_)) if moving.is_none() => {
                        moving = agent.opening_elsewhere().map(|opening| Box::pin(opening.open()) as Moving);
                    }
                    Some(kind) => {
                        if let Some(output) = take(agent, kind)
                            && outgoing.queue(output).is_err()
                        {
                            return Ended::Lost;
                        }
                    }
                    None => {}
                }
            }
            written = outgoing.progress(), if outgoing.is_busy() => if written.is_err() { return Ended::Lost },
            moved = ready(&mut moving) => {
                moving = None;
                if let Ok(elsewhere) = moved {
                    shared.tally.moved.add(1);
                    return Ended::Moved(Box::new(elsewhere));
                }
            }
            changed = load.changed() => {
                if changed.is_err() || load.borrow().cuts != cuts {
                    return Ended::Lost;
                }
                (schedule.statuses_at, schedule.event_at) = (None, None);
            }
            () = sleep_until(wake_at) => {}
        }
        if schedule.heard_at.elapsed() >= SILENCE {
            return Ended::Lost;
        }
    }
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
            let asks = !matches!(ask.question(), Ok(Question::More { .. } | Question::Cancel));
            let reason = "a simulated agent has nothing to show";
            return asks.then(|| Output::refuse(ask.id, reason));
        }
        DownKind::Welcome(_) | DownKind::Bye(_) | DownKind::Move(_) => {}
    }
    None
}

/// Queues what should be said now, as much as there is room for.
fn fill(
    agent: &mut Agent,
    outgoing: &mut Outgoing,
    schedule: &mut Schedule,
) -> Result<(), WireError> {
    let now = Instant::now();
    agent.end_operations(now);
    schedule.plan(agent, now);
    if !outgoing.has_room() {
        return Ok(());
    }
    if schedule.statuses_at.is_some_and(|at| at <= now) {
        schedule.statuses_at = None;
        agent.processes.soil_all(now);
        schedule.statuses_at = agent.status_period().map(|period| now + period);
    }
    if schedule.event_at.is_some_and(|at| at <= now) {
        schedule.event_at = agent.event_period().map(|period| now + period);
        agent.crash();
    }
    if schedule.heartbeat_at <= now {
        outgoing.queue(Report::default())?;
        schedule.heartbeat_at = now + HEARTBEAT;
    }
    while outgoing.has_room()
        && let Some(frame) = agent.next_frame(now)
    {
        outgoing.queue(frame)?;
    }
    Ok(())
}

impl Schedule {
    /// Gives each lane its first moment, by chance, so that agents do not speak in step.
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

    fn wake_at(&self, agent: &Agent, outgoing: &Outgoing) -> Instant {
        let silent_at = self.heard_at + SILENCE;
        let operation_at = agent.operations.due();
        if !outgoing.has_room() {
            return operation_at.unwrap_or(silent_at).min(silent_at);
        }
        [
            operation_at,
            Some(self.heartbeat_at),
            agent.processes.due(),
            self.statuses_at,
            self.event_at,
        ]
        .into_iter()
        .flatten()
        .fold(silent_at, Instant::min)
    }
}
