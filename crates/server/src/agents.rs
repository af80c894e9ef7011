//! Where agents connect: TLS, then either enrolment or a session, told apart by ALPN.
//!
//! A peer that has not shown who it is gets little: a few seconds, small frames, a bounded number of connections for its
//! address ([`gate`]), and handshakes on threads of their own ([`handshakes`]). Each session is one task that reads and
//! writes; an agent that does not read is dropped and costs nobody else.

mod certificate;
mod enrol;
mod gate;
mod handshakes;
mod leaf;
mod session;
mod settings;

pub use gate::Limits;
pub use session::serve;
pub use settings::DoorSettings;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use control::{Certificate, Control, Refused};
use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout};
use tokio_rustls::server::TlsStream;
use tokio_util::task::TaskTracker;

use crate::ca::{Ca, CaError};
use crate::http::listen::HttpDoor;
use crate::shed::{Reason, Shed};
use crate::{limits, stopped};
use gate::{Gate, Pass};
use handshakes::Handshakes;
use leaf::ServerLeaf;

/// How many connections the kernel may hold for us while we are busy: a whole fleet may reconnect at once.
const BACKLOG: u32 = 4096;
/// How many handshakes go on at a time.
const MAX_HANDSHAKES: usize = 256;
/// How many connections wait for theirs; further ones are closed at once.
const MAX_STRANGERS: usize = 8_192;
/// How long a connection waits for its turn: an agent waits no longer either.
const TURN_WITHIN: Duration = Duration::from_secs(10);
/// How many connections beyond the last that there is room for are still told so.
const TOLD_SO: usize = 64;
/// How long to wait when no connection can be accepted, for example for want of descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// The agents' door, not yet open.
pub struct Agents {
    control: Control,
    ca: Arc<Ca>,
    handshakes: Arc<Handshakes>,
    gate: Arc<Gate>,
    patience: Duration,
    listener: TcpListener,
    /// How many connections there is room for.
    room: usize,
    shed: Arc<Shed>,
}

impl std::fmt::Debug for Agents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agents")
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}

/// Takes the address, so that a wrong one is known before anything else is opened.
pub fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl Agents {
    pub fn new(
        control: Control,
        ca: Arc<Ca>,
        listener: TcpListener,
        limits: Limits,
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
        // An agent stays for weeks, and shows its certificate whenever it comes: tickets would be made for nobody.
        config.send_tls13_tickets = 0;
        Ok(Self {
            control,
            ca,
            handshakes: Arc::new(Handshakes::new(config)?),
            gate: Gate::new(limits),
            patience: limits.patience,
            listener,
            room: limits::shares(HttpDoor::default().max_connections).agents,
            shed: Arc::default(),
        })
    }

    /// Shares the descriptors with so many callers, and counts whom it turns away here.
    #[must_use]
    pub(crate) fn beside(mut self, callers: usize, shed: Arc<Shed>) -> Self {
        self.room = limits::shares(callers).agents;
        self.shed = shed;
        self
    }

    /// For tests that cannot open thousands of connections.
    #[must_use]
    pub fn with_room(mut self, room: usize) -> Self {
        self.room = room;
        self
    }

    /// Accepts until told to stop, then waits for the sessions to end.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let connections = TaskTracker::new();
        let strangers = Arc::new(Semaphore::new(MAX_STRANGERS));
        let turns = Arc::new(Semaphore::new(MAX_HANDSHAKES));
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = stopped(&mut stop) => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    self.shed.note(Reason::Accept, &error);
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                    continue;
                }
            };
            if connections.len() >= self.room + TOLD_SO {
                let why = format_args!("{peer}: there is room for {} agents", self.room);
                self.shed.note(Reason::AgentRoom, why);
                continue;
            }
            let pass = match self.gate.enter(peer.ip(), Instant::now()) {
                Ok(pass) => pass,
                Err(error) => {
                    let why = format_args!("{peer}: {error}");
                    self.shed.note(Reason::AgentAddress, why);
                    continue;
                }
            };
            let Ok(place) = strangers.clone().try_acquire_owned() else {
                self.shed.note(Reason::AgentStrangers, peer);
                continue;
            };
            let is_full = connections.len() >= self.room;
            if is_full {
                self.shed.note(Reason::AgentRoom, peer);
            }
            let door = Door {
                control: self.control.clone(),
                ca: self.ca.clone(),
                handshakes: self.handshakes.clone(),
                turns: turns.clone(),
                patience: self.patience,
                is_full,
                stop: stop.clone(),
            };
            connections.spawn(async move {
                if let Err(error) = door.serve(stream, peer, (pass, place)).await {
                    tracing::debug!(%peer, %error, "agent connection ended");
                }
            });
        }
        self.control.say_bye("the server is stopping");
        connections.close();
        connections.wait().await;
    }
}

/// What one connection needs.
struct Door {
    control: Control,
    ca: Arc<Ca>,
    handshakes: Arc<Handshakes>,
    turns: Arc<Semaphore>,
    patience: Duration,
    is_full: bool,
    stop: watch::Receiver<bool>,
}

/// A connection's leave to be here without having shown who it is.
type Stranger = (Pass, tokio::sync::OwnedSemaphorePermit);

/// Why a connection of an agent ended.
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
    #[error("the peer closed the connection")]
    Closed,
}

impl Door {
    async fn serve(
        self,
        stream: TcpStream,
        peer: SocketAddr,
        stranger: Stranger,
    ) -> Result<(), ConnectionError> {
        stream.set_nodelay(true)?;
        let stream = self.shake(stream, &stranger.0).await?;
        let (_, tls) = stream.get_ref();
        let certificate = tls
            .peer_certificates()
            .and_then(|chain| certificate::read(chain.first()?, crate::http::now()));
        match tls.alpn_protocol() {
            Some(wire::enrol::ALPN) => {
                let enrolment = enrol::serve(&self.control, &self.ca, stream, peer, certificate);
                timeout(self.patience, enrolment)
                    .await
                    .map_err(|_| ConnectionError::TooSlow)?
            }
            Some(wire::ALPN) => {
                let certificate = certificate.ok_or_else(|| {
                    ConnectionError::Refused("no certificate of this fleet".to_owned())
                })?;
                let (session, hello) = session::greeted(stream, self.patience).await?;
                drop(stranger);
                match self.admit(certificate).await {
                    Ok(host) => {
                        session::attend(&self.control, session, hello, host, self.stop).await
                    }
                    Err(refused) => session::turn_away(session, &hello, refused).await,
                }
            }
            _ => Err(ConnectionError::Refused(
                "speaks no protocol of ours".to_owned(),
            )),
        }
    }

    async fn shake(
        &self,
        stream: TcpStream,
        pass: &Pass,
    ) -> Result<TlsStream<TcpStream>, ConnectionError> {
        let turn = async {
            let of_address = pass.turns.acquire().await?;
            Ok::<_, tokio::sync::AcquireError>((of_address, self.turns.acquire().await?))
        };
        let _turn = timeout(TURN_WITHIN, turn)
            .await
            .map_err(|_| ConnectionError::TooSlow)?
            .map_err(|_| ConnectionError::Closed)?;
        Ok(self.handshakes.shake(stream, self.patience).await?)
    }

    /// The host that a peer may speak for.
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
        // What another replica has just enrolled or revoked counts here, too.
        self.control.settled().await;
        self.control.check_certificate(certificate)?;
        Ok(certificate.host)
    }
}
