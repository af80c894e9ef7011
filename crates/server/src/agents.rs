//! The listener for agents: TLS, then either enrolment or a session, by ALPN.
//!
//! A peer that has not authenticated gets little: a few seconds, small frames, a limited number of connections for its
//! address ([`address_limits`]), and handshakes on threads of their own ([`handshake_pool`]). The address of an agent that comes
//! through a relay is in a header before TLS ([`relayed`]). Each session is one task that reads and writes; an agent that does
//! not read is disconnected and delays no other.

mod address_limits;
mod certificate;
mod enrol;
mod handshake_pool;
mod leaf;
mod relayed;
mod session;
mod settings;
mod tickets;

pub use address_limits::AgentLimits;
pub use relayed::Relays;
pub use session::serve;
pub use settings::AgentListenerSettings;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use control::{Certificate, Control, Refused};
use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;
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
use handshake_pool::HandshakePool;
use leaf::ServerLeaf;
use relayed::{HeaderError, Origin};
use tickets::Tickets;

/// How many connections wait in the kernel to be accepted: a whole fleet may reconnect at once.
const BACKLOG: u32 = 4096;
/// How many handshakes go on at a time.
const MAX_HANDSHAKES: usize = 256;
/// How many connections may be unauthenticated; further ones are closed at once.
const MAX_UNAUTHENTICATED: usize = 8_192;
/// How long a connection waits for its handshake to begin: an agent waits no longer either.
const HANDSHAKE_QUEUE_TIMEOUT: Duration = Duration::from_secs(10);
/// How many connections beyond the limit are still accepted, to refuse them with the reason.
const MAX_REFUSED_POLITELY: usize = 64;
/// How long to wait after a failed accept, for example without free descriptors.
pub(crate) const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// The listener for agents; [`AgentListener::run`] starts it.
pub struct AgentListener {
    control: Control,
    ca: Arc<Ca>,
    handshakes: Arc<HandshakePool>,
    limiter: Arc<AddressLimiter>,
    timeout: Duration,
    relays: Arc<Relays>,
    listener: TcpListener,
    max_connections: usize,
    shed: Arc<ShedCounters>,
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
        let provider = Arc::new(rustls::crypto::ring::default_provider());
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
        config.alpn_protocols = vec![wire::ALPN.to_vec(), wire::enrol::ALPN.to_vec()];
        config.ticketer = Arc::new(Tickets::new(ca.ticket_secret(), SystemTime::now));
        // An agent has one session at a time.
        config.send_tls13_tickets = 1;
        Ok(Self {
            control,
            ca,
            handshakes: Arc::new(HandshakePool::new(config)?),
            limiter: AddressLimiter::new(limits),
            timeout: limits.timeout,
            relays: Arc::default(),
            listener,
            max_connections: limits::shares(HttpListenerSettings::default().max_connections).agents,
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
        self.relays = Arc::new(relays);
        self
    }

    /// For tests that cannot open thousands of connections.
    #[must_use]
    pub fn with_max_connections(mut self, max: usize) -> Self {
        self.max_connections = max;
        self
    }

    /// Accepts until `stop` is true, then waits for the sessions to end.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let connections = TaskTracker::new();
        let unauthenticated = Arc::new(Semaphore::new(MAX_UNAUTHENTICATED));
        let handshake_permits = Arc::new(Semaphore::new(MAX_HANDSHAKES));
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = stopped(&mut stop) => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    self.shed.count(ShedReason::Accept, &error);
                    tokio::time::sleep(ACCEPT_RETRY).await;
                    continue;
                }
            };
            let max = self.max_connections;
            if connections.len() >= max + MAX_REFUSED_POLITELY {
                let why = format_args!("{peer}: at most {max} agents can connect");
                self.shed.count(ShedReason::AgentConnections, why);
                continue;
            }
            // Thousands of agents may come through a relay at once: the limits count their own addresses, which come later.
            let is_relay = self.relays.contains(peer.ip());
            let slot = match is_relay {
                true => None,
                false => match self.limiter.admit(peer.ip(), Instant::now()) {
                    Ok(slot) => Some(slot),
                    Err(error) => {
                        let why = format_args!("{peer}: {error}");
                        self.shed.count(ShedReason::AgentAddress, why);
                        continue;
                    }
                },
            };
            let Ok(permit) = unauthenticated.clone().try_acquire_owned() else {
                self.shed.count(ShedReason::AgentUnauthenticated, peer);
                continue;
            };
            let is_full = connections.len() >= max;
            if is_full {
                self.shed.count(ShedReason::AgentConnections, peer);
            }
            let connection = AgentConnection {
                control: self.control.clone(),
                ca: self.ca.clone(),
                handshakes: self.handshakes.clone(),
                handshake_permits: handshake_permits.clone(),
                limiter: self.limiter.clone(),
                shed: self.shed.clone(),
                timeout: self.timeout,
                is_full,
                stop: stop.clone(),
            };
            connections.spawn(async move {
                if let Err(error) = connection.serve(stream, peer, slot, permit).await {
                    tracing::debug!(%peer, %error, "agent connection ended");
                }
            });
        }
        self.control
            .sessions()
            .disconnect_all("the server is stopping");
        connections.close();
        connections.wait().await;
    }
}

/// What one connection needs.
struct AgentConnection {
    control: Control,
    ca: Arc<Ca>,
    handshakes: Arc<HandshakePool>,
    handshake_permits: Arc<Semaphore>,
    limiter: Arc<AddressLimiter>,
    shed: Arc<ShedCounters>,
    timeout: Duration,
    is_full: bool,
    stop: watch::Receiver<bool>,
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
    async fn serve(
        self,
        mut stream: TcpStream,
        peer: SocketAddr,
        slot: Option<UnauthenticatedSlot>,
        permit: OwnedSemaphorePermit,
    ) -> Result<(), ConnectionError> {
        stream.set_nodelay(true)?;
        let (origin, slot) = self.admit_address(&mut stream, peer, slot).await?;
        let stream = self.handshake(stream, &slot).await?;
        // What a connection holds until it authenticates: a slot of its address, and one of all.
        let unauthenticated = (slot, permit);
        let (_, tls) = stream.get_ref();
        let certificate = tls
            .peer_certificates()
            .and_then(|chain| certificate::read(chain.first()?, crate::http::now()));
        match tls.alpn_protocol() {
            Some(wire::enrol::ALPN) => {
                let enrolment =
                    enrol::serve(&self.control, &self.ca, stream, origin.agent, certificate);
                timeout(self.timeout, enrolment)
                    .await
                    .map_err(|_| ConnectionError::TooSlow)?
            }
            Some(wire::ALPN) => {
                let certificate = certificate.ok_or_else(|| {
                    ConnectionError::Refused("no certificate of this fleet".to_owned())
                })?;
                let (frames, hello) = session::read_hello(stream, self.timeout).await?;
                drop(unauthenticated);
                match self.admit(certificate).await {
                    Ok(host) => {
                        let place = (host, origin.relay);
                        session::run(&self.control, frames, hello, place, self.stop).await
                    }
                    Err(refused) => session::refuse(frames, &hello, refused).await,
                }
            }
            _ => Err(ConnectionError::Refused(
                "speaks no protocol of ours".to_owned(),
            )),
        }
    }

    /// Finds out which address the agent has, and whether that may have another connection. A relay's own slot is `None`.
    async fn admit_address(
        &self,
        stream: &mut TcpStream,
        peer: SocketAddr,
        slot: Option<UnauthenticatedSlot>,
    ) -> Result<(Origin, UnauthenticatedSlot), ConnectionError> {
        let refuse = |error: HeaderError| {
            if !matches!(error, HeaderError::TooSlow | HeaderError::Io(_)) {
                let why = format_args!("{peer} {error}");
                self.shed.count(ShedReason::AgentProxyHeader, why);
            }
            ConnectionError::Header(error.to_string())
        };
        let read = relayed::read_origin(stream, peer, slot.is_none(), self.timeout).await;
        let origin = read.map_err(refuse)?;
        let slot = match slot {
            Some(slot) => slot,
            None => {
                let agent = origin.agent;
                let admitted = self.limiter.admit(agent.ip(), Instant::now());
                admitted.map_err(|error| {
                    let why = format_args!("{agent} through {peer}: {error}");
                    self.shed.count(ShedReason::AgentAddress, why);
                    ConnectionError::Refused(error.to_string())
                })?
            }
        };
        if origin.relay.is_some() {
            let checked = relayed::refuse_second_header(stream, self.timeout).await;
            checked.map_err(refuse)?;
        }
        Ok((origin, slot))
    }

    async fn handshake(
        &self,
        stream: TcpStream,
        slot: &UnauthenticatedSlot,
    ) -> Result<TlsStream<TcpStream>, ConnectionError> {
        let permits = async {
            let of_address = slot.handshakes.acquire().await?;
            let of_all = self.handshake_permits.acquire().await?;
            Ok::<_, tokio::sync::AcquireError>((of_address, of_all))
        };
        let _permits = timeout(HANDSHAKE_QUEUE_TIMEOUT, permits)
            .await
            .map_err(|_| ConnectionError::TooSlow)?
            .map_err(|_| ConnectionError::Closed)?;
        Ok(self.handshakes.accept(stream, self.timeout).await?)
    }

    /// The host whose agent the peer is.
    async fn admit(
        &self,
        certificate: Result<Certificate, Refused>,
    ) -> Result<model::Host, Refused> {
        let certificate = certificate?;
        if self.is_full {
            return Err(Refused::for_now(
                "this server has no room for more agents: raise its limit of open files",
            ));
        }
        // Another replica may have just enrolled or revoked it.
        self.control.replicas().catch_up().await;
        self.control.enrolment().check_certificate(certificate)?;
        Ok(certificate.host)
    }
}
