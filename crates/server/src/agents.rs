//! The listener for agents: TLS, then either enrolment or a session, by ALPN.
//!
//! A peer that has not authenticated gets little: a few seconds, small frames, a limited number of connections for its
//! address ([`address_limits`]), and handshakes on threads of their own ([`handshake_pool`]). The address of an agent that comes
//! through a relay is in a header before TLS ([`relayed`]); a relay may bring many over one connection ([`relay_connection`]).
//! Each session is one task that reads and writes; an agent that does not read is disconnected and delays no other.

mod address_limits;
mod certificate;
mod enrol;
mod handshake_pool;
mod leaf;
mod relay_connection;
mod relayed;
mod session;
mod settings;
mod socket;
mod tickets;

pub use address_limits::AgentLimits;
pub use relayed::Relays;
pub use session::serve;
pub use settings::AgentListenerSettings;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use control::{Certificate, Control, Refused};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{CipherSuite, HandshakeKind, RootCertStore};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, timeout};
use tokio_rustls::server::TlsStream;
use tokio_util::task::TaskTracker;

use crate::ca::{Ca, CaError};
use crate::http::listen::HttpListenerSettings;
use crate::shed::{ShedCounters, ShedReason};
use crate::{limits, stopped};
use address_limits::{AddressLimiter, UnauthenticatedSlot};
use handshake_pool::{Configs, HandshakePool};
use leaf::ServerLeaf;
use relayed::{Accepted, Beginning, HeaderError, Origin};
use session::Frames;
use socket::AgentSocket;
use tickets::Tickets;
use wire::Hello;

/// How many connections wait in the kernel to be accepted: a whole fleet may reconnect at once.
const BACKLOG: u32 = 4096;
/// How many handshakes go on at a time.
const MAX_HANDSHAKES: usize = 256;
/// How many connections may be unauthenticated, and how many streams of relays. Further connections are closed at once, further
/// streams wait: they cost little, and a fleet that came back at once would be idle between its tries.
const MAX_UNAUTHENTICATED: usize = 8_192;
/// How long a connection waits for its handshake to begin: an agent waits no longer either.
const HANDSHAKE_QUEUE_TIMEOUT: Duration = Duration::from_secs(20);
/// How many tickets an agent gets at most for one handshake: each costs a little, and a kilobyte.
const MAX_TICKETS: usize = 8;
/// How many connections beyond the limit are still accepted, to refuse them with the reason.
const MAX_REFUSED_POLITELY: usize = 64;
const NO_DESCRIPTORS: &str =
    "this server has no room for more agents: raise its limit of open files";
/// How many connections of relays may carry many agents: each has buffers.
const MAX_RELAY_CONNECTIONS: usize = 1_024;
/// How many streams of one connection of a relay may be unauthenticated or wait for that, and of all. Each has a few kilobytes;
/// further ones are closed at once.
const MAX_WAITING_OF_RELAY: usize = 32_768;
const MAX_WAITING_STREAMS: usize = 131_072;
/// How many agents relays bring in connections that carry many, by default: each costs memory, and no descriptor.
const MAX_RELAYED_AGENTS: usize = 1_000_000;
/// How long to wait after a failed accept, for example without free descriptors.
pub(crate) const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// The listener for agents; [`AgentListener::run`] starts it.
pub struct AgentListener {
    control: Control,
    ca: Arc<Ca>,
    handshakes: Arc<HandshakePool>,
    limits: AgentLimits,
    relays: Relays,
    listener: TcpListener,
    max_connections: usize,
    max_streams: usize,
    max_waiting: MaxWaiting,
    shed: Arc<ShedCounters>,
}

/// How many streams of relays may wait for their handshake.
#[derive(Debug, Clone, Copy)]
struct MaxWaiting {
    of_relay: usize,
    of_all: usize,
}

impl std::fmt::Debug for AgentListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentListener")
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}

/// Binds the address, so that a wrong one is known before anything else is opened.
pub fn bind(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Lets the kernel accept connections, as soon as the server can take them. An agent that comes earlier is refused at once and
/// tries again soon, or goes to another replica; otherwise it would wait in a full queue of the kernel for seconds.
pub fn listen(socket: TcpSocket) -> std::io::Result<TcpListener> {
    socket.listen(BACKLOG)
}

impl AgentListener {
    pub fn new(
        control: Control,
        ca: Arc<Ca>,
        listener: TcpListener,
        limits: AgentLimits,
    ) -> Result<Self, CaError> {
        let leaf = ServerLeaf::new(ca.clone(), SystemTime::now())?;
        let mut roots = RootCertStore::empty();
        roots
            .add(ca.certificate().clone())
            .expect("our own CA is a good root");
        let mut provider = rustls::crypto::ring::default_provider();
        // A handshake hashes a lot, and processors have instructions for SHA-256 alone.
        provider
            .cipher_suites
            .sort_by_key(|it| it.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
        let provider = Arc::new(provider);
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .allow_unauthenticated()
                .build()
                .expect("one root and no revocation lists");
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring has the default versions")
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::new(leaf));
        config.ignore_client_order = true;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        let mut sessions = config.clone();
        config.alpn_protocols = vec![wire::enrol::ALPN.to_vec()];
        sessions.alpn_protocols = vec![wire::ALPN.to_vec()];
        sessions.ticketer = Arc::new(Tickets::new(ca.ticket_secret(), SystemTime::now));
        // To an agent that does not ask for more.
        sessions.send_tls13_tickets = 1;
        sessions.max_tls13_tickets = MAX_TICKETS;
        let configs = Configs {
            sessions: Arc::new(sessions),
            enrolments: Arc::new(config),
        };
        Ok(Self {
            control,
            ca,
            handshakes: Arc::new(HandshakePool::new(configs)?),
            limits,
            relays: Relays::default(),
            listener,
            max_connections: limits::shares(HttpListenerSettings::default().max_connections).agents,
            max_streams: MAX_RELAYED_AGENTS,
            max_waiting: MaxWaiting {
                of_relay: MAX_WAITING_OF_RELAY,
                of_all: MAX_WAITING_STREAMS,
            },
            shed: Arc::default(),
        })
    }

    /// Leaves descriptors for so many connections of callers, and counts refused connections in `shed`.
    #[must_use]
    pub(crate) fn beside(mut self, callers: usize, shed: Arc<ShedCounters>) -> Self {
        self.max_connections = limits::shares(callers).agents;
        self.shed = shed;
        self
    }

    /// Accepts PROXY headers from these addresses.
    #[must_use]
    pub fn with_relays(mut self, relays: Relays) -> Self {
        self.relays = relays;
        self
    }

    /// Accepts so many agents in connections of relays that carry many; with 0, no such connection.
    #[must_use]
    pub fn with_relayed_agents(mut self, max: usize) -> Self {
        self.max_streams = max;
        self
    }

    /// For tests that cannot open thousands of connections.
    #[must_use]
    pub fn with_max_connections(mut self, max: usize) -> Self {
        self.max_connections = max;
        self
    }

    /// For tests that cannot open thousands of streams: how many of one relay may wait for their handshake, and of all.
    #[must_use]
    pub fn with_max_waiting(mut self, of_relay: usize, of_all: usize) -> Self {
        self.max_waiting = MaxWaiting { of_relay, of_all };
        self
    }

    /// Accepts until `stop` is true, then waits for the sessions to end.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let listener = self.listener;
        let door = Arc::new(Door {
            control: self.control,
            ca: self.ca,
            handshakes: self.handshakes,
            handshake_permits: Semaphore::new(MAX_HANDSHAKES),
            unauthenticated: Arc::new(Semaphore::new(MAX_UNAUTHENTICATED)),
            unauthenticated_streams: Arc::new(Semaphore::new(MAX_UNAUTHENTICATED)),
            waiting_streams: Arc::new(Semaphore::new(self.max_waiting.of_all)),
            limiter: AddressLimiter::new(self.limits, self.max_connections + self.max_streams),
            relays: self.relays,
            shed: self.shed,
            timeout: self.limits.timeout,
            max_connections: self.max_connections,
            max_streams: self.max_streams,
            max_waiting_of_relay: self.max_waiting.of_relay,
            connections: TaskTracker::new(),
            relay_connections: Semaphore::new(MAX_RELAY_CONNECTIONS),
            streams: TaskTracker::new(),
            stop: stop.clone(),
        });
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stopped(&mut stop) => break,
            };
            match accepted {
                Ok((stream, peer)) => door.admit(stream, peer),
                Err(error) => {
                    door.shed.count(ShedReason::Accept, &error);
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            }
        }
        // Agents and relays that come now are refused at once, and go to another server.
        drop(listener);
        door.control
            .sessions()
            .disconnect_all("the server is stopping");
        door.streams.close();
        door.streams.wait().await;
        door.connections.close();
        door.connections.wait().await;
    }
}

/// What all connections share.
struct Door {
    control: Control,
    ca: Arc<Ca>,
    handshakes: Arc<HandshakePool>,
    handshake_permits: Semaphore,
    unauthenticated: Arc<Semaphore>,
    unauthenticated_streams: Arc<Semaphore>,
    /// Of all relays.
    waiting_streams: Arc<Semaphore>,
    limiter: Arc<AddressLimiter>,
    relays: Relays,
    shed: Arc<ShedCounters>,
    timeout: Duration,
    max_connections: usize,
    max_streams: usize,
    max_waiting_of_relay: usize,
    connections: TaskTracker,
    relay_connections: Semaphore,
    /// Agents in connections of relays that carry many.
    streams: TaskTracker,
    stop: watch::Receiver<bool>,
}

impl Door {
    /// Serves a new connection, within the limits.
    fn admit(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        let (max, n_connections) = (self.max_connections, self.connections.len());
        if n_connections >= max + MAX_REFUSED_POLITELY {
            let why = format_args!("{peer}: at most {max} agents can connect");
            self.shed.count(ShedReason::AgentConnections, why);
            return;
        }
        // Thousands of agents may come through a relay at once: the limits count their own addresses, which come later.
        let slot = match self.relays.contains(peer.ip()) {
            true => None,
            false => match self.limiter.admit(peer.ip(), Instant::now()) {
                Ok(slot) => Some(slot),
                Err(error) => {
                    let why = format_args!("{peer}: {error}");
                    self.shed.count(ShedReason::AgentAddress, why);
                    return;
                }
            },
        };
        // A relay is no stranger, until it turns out to bring one agent: thousands of others must not keep it out.
        let place = match slot {
            Some(slot) => match self.unauthenticated.clone().try_acquire_owned() {
                Ok(permit) => Some((slot, permit)),
                Err(_) => {
                    self.shed.count(ShedReason::AgentUnauthenticated, peer);
                    return;
                }
            },
            None => None,
        };
        let full = (n_connections >= max).then_some(NO_DESCRIPTORS);
        if full.is_some() {
            self.shed.count(ShedReason::AgentConnections, peer);
        }
        let connection = AgentConnection {
            door: self.clone(),
            full,
        };
        self.connections.spawn(async move {
            if let Err(error) = connection.begin(stream, peer, place).await {
                tracing::debug!(%peer, %error, "agent connection ended");
            }
        });
    }
}

/// One connection of an agent, or its stream in a connection of a relay.
struct AgentConnection {
    door: Arc<Door>,
    /// Why the agent gets no session, if there is no room for it.
    full: Option<&'static str>,
}

/// What an agent holds until it authenticates.
struct Unauthenticated {
    slot: UnauthenticatedSlot,
    /// One of all connections, or of all streams.
    _permit: OwnedSemaphorePermit,
    /// What a stream has held since it came, while it waited for the other: one of its relay's connection, and one of all.
    _of_relays: Option<[OwnedSemaphorePermit; 2]>,
}

/// Why an agent's connection ended.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    #[error("the peer took too long")]
    TooSlow,
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Wire(#[from] wire::WireError),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Header(String),
    #[error("the peer closed the connection")]
    Closed,
}

impl AgentConnection {
    /// Finds out what comes over a connection, and serves it.
    async fn begin(
        self,
        stream: TcpStream,
        peer: SocketAddr,
        place: Option<(UnauthenticatedSlot, OwnedSemaphorePermit)>,
    ) -> Result<(), ConnectionError> {
        stream.set_nodelay(true)?;
        let mut socket = AgentSocket::Connection(stream);
        let accepted = Accepted {
            is_relay: place.is_none(),
            multiplexes: self.door.max_streams > 0,
        };
        let within = self.door.timeout;
        let beginning = async {
            let read = relayed::read_beginning(&mut socket, peer, accepted, within).await;
            read.map_err(|error| self.refuse_header(peer, error))
        };
        let origin = match self.door.unless_stopped(beginning).await? {
            Beginning::Agent(origin) => origin,
            Beginning::Multiplexed => {
                let AgentSocket::Connection(stream) = socket else {
                    return Err(ConnectionError::Closed);
                };
                // Few connections take this path: the others do not hold its memory.
                return Box::pin(relay_connection::serve(self.door, stream, peer)).await;
            }
        };
        let (slot, permit) = match place {
            Some(place) => place,
            None => self.admit_relayed(origin.agent, peer)?,
        };
        let unauthenticated = Unauthenticated {
            slot,
            _permit: permit,
            _of_relays: None,
        };
        self.serve(socket, origin, unauthenticated).await
    }

    /// What an agent needs whose relay opened a connection for it.
    fn admit_relayed(
        &self,
        agent: SocketAddr,
        relay: SocketAddr,
    ) -> Result<(UnauthenticatedSlot, OwnedSemaphorePermit), ConnectionError> {
        let door = &self.door;
        let slot = door.limiter.admit(agent.ip(), Instant::now());
        let slot = slot.map_err(|error| {
            let why = format_args!("{agent} through {relay}: {error}");
            door.shed.count(ShedReason::AgentAddress, why);
            ConnectionError::Refused(error.to_string())
        })?;
        let permit = door.unauthenticated.clone().try_acquire_owned();
        let permit = permit.map_err(|_| {
            door.shed.count(ShedReason::AgentUnauthenticated, agent);
            ConnectionError::Refused("too many connections have not authenticated".to_owned())
        })?;
        Ok((slot, permit))
    }

    /// Serves an agent whose address is known and may have another connection.
    async fn serve(
        self,
        socket: AgentSocket,
        origin: Origin,
        unauthenticated: Unauthenticated,
    ) -> Result<(), ConnectionError> {
        let door = self.door;
        let authenticated = Box::pin(door.authenticate(socket, origin, unauthenticated));
        let Some((frames, hello, certificate)) = authenticated.await? else {
            return Ok(());
        };
        match door.admit_agent(certificate, self.full).await {
            Ok(host) => {
                let place = (host, origin.relay);
                session::run(&door.control, frames, hello, place, door.stop.clone()).await
            }
            Err(refused) => session::refuse(frames, &hello, refused).await,
        }
    }

    fn refuse_header(&self, peer: SocketAddr, error: HeaderError) -> ConnectionError {
        self.door.refuse_header(peer, &error);
        ConnectionError::Header(error.to_string())
    }
}

/// On the heap, because futures hold it in several places.
type AgentTls = Box<TlsStream<AgentSocket>>;

/// An agent that has shown its certificate and said hello.
type SaidHello = (Frames<AgentTls>, Hello, Result<Certificate, Refused>);

impl Door {
    fn refuse_header(&self, peer: SocketAddr, error: &HeaderError) {
        if !matches!(error, HeaderError::TooSlow | HeaderError::Io(_)) {
            let why = format_args!("{peer} {error}");
            self.shed.count(ShedReason::AgentProxyHeader, why);
        }
    }

    /// Handshake and hello of an agent that opens a session; an enrolment is served here, and gives None.
    async fn authenticate(
        &self,
        socket: AgentSocket,
        origin: Origin,
        unauthenticated: Unauthenticated,
    ) -> Result<Option<SaidHello>, ConnectionError> {
        let handshake = async {
            if let Some(relay) = origin.relay {
                let checked = relayed::refuse_second_header(&socket, self.timeout).await;
                checked.map_err(|error| {
                    self.refuse_header(relay, &error);
                    ConnectionError::Header(error.to_string())
                })?;
            }
            self.handshake(socket, origin, &unauthenticated.slot).await
        };
        let stream = self.unless_stopped(handshake).await?;
        let (_, tls) = stream.get_ref();
        let certificate = tls
            .peer_certificates()
            .and_then(|chain| certificate::read(chain.first()?, crate::http::now()));
        match tls.alpn_protocol() {
            Some(wire::enrol::ALPN) => {
                if tls.handshake_kind() == Some(HandshakeKind::Resumed) {
                    let reason = "an enrolment must not resume a session";
                    return Err(ConnectionError::Refused(reason.to_owned()));
                }
                let enrolment =
                    enrol::serve(&self.control, &self.ca, stream, origin.agent, certificate);
                let enrolled = timeout(self.timeout, enrolment).await;
                enrolled.map_err(|_| ConnectionError::TooSlow)??;
                Ok(None)
            }
            Some(wire::ALPN) => {
                let certificate = certificate.ok_or_else(|| {
                    ConnectionError::Refused("no certificate of this fleet".to_owned())
                })?;
                let hello = session::read_hello(stream, self.timeout);
                let (frames, hello) = self.unless_stopped(hello).await?;
                Ok(Some((frames, hello, certificate)))
            }
            _ => Err(ConnectionError::Refused(
                "speaks no protocol of ours".to_owned(),
            )),
        }
    }

    /// Gives up what no agent has got an answer to when the server stops. An enrolment is not among it: its token may be used up.
    async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, ConnectionError>>,
    ) -> Result<T, ConnectionError> {
        let mut stop = self.stop.clone();
        tokio::select! {
            done = work => done,
            () = stopped(&mut stop) => Err(ConnectionError::Closed),
        }
    }

    async fn handshake(
        &self,
        socket: AgentSocket,
        origin: Origin,
        slot: &UnauthenticatedSlot,
    ) -> Result<AgentTls, ConnectionError> {
        let permits = async {
            let of_address = slot.handshakes.acquire().await?;
            let of_all = self.handshake_permits.acquire().await?;
            Ok::<_, tokio::sync::AcquireError>((of_address, of_all))
        };
        let queued = tokio::select! {
            biased;
            // The fleet that came back at once has agents that have given up meanwhile.
            () = socket.ended() => return Err(ConnectionError::Closed),
            queued = timeout(HANDSHAKE_QUEUE_TIMEOUT, permits) => queued,
        };
        let permits = queued.map_err(|_| {
            self.shed
                .count(ShedReason::AgentUnauthenticated, origin.agent);
            ConnectionError::TooSlow
        })?;
        let _permits = permits.map_err(|_| ConnectionError::Closed)?;
        let accepted = self.handshakes.accept(socket, self.timeout).await?;
        Ok(Box::new(accepted))
    }

    /// The host whose agent the peer is.
    async fn admit_agent(
        &self,
        certificate: Result<Certificate, Refused>,
        full: Option<&'static str>,
    ) -> Result<model::Host, Refused> {
        let certificate = certificate?;
        if let Some(full) = full {
            return Err(Refused::for_now(full));
        }
        // Another replica may have just enrolled or revoked it.
        self.control.replicas().catch_up().await;
        self.control.enrolment().check_certificate(certificate)?;
        Ok(certificate.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_future<A, B, C, D, F>(_: impl FnOnce(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_task_of_a_session_is_small() {
        let size = size_of_future(AgentConnection::serve);
        assert!(size < 3 * 1024, "{size} bytes for each connected agent");
    }
}
