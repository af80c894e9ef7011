//! Where agents connect: TLS, then either enrolment or a session, told apart by ALPN.
//!
//! A peer that has not shown who it is gets little: a few seconds, small frames, and a bounded number of handshakes at a
//! time. Each session is one task that reads and writes; an agent that does not read is dropped and costs nobody else.

mod enrol;
mod session;

pub use session::serve;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use control::Control;
use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use crate::ca::{Ca, CaError};
use crate::stopped;

/// How many connections the kernel may hold for us while we are busy: a whole fleet may reconnect at once.
const BACKLOG: u32 = 4096;
/// How many handshakes go on at a time.
const MAX_HANDSHAKES: usize = 256;
/// How long a peer may take over the handshake and its first frame.
const GREETING: Duration = Duration::from_secs(15);
/// How long to wait when no connection can be accepted, for example for want of descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// The agents' door, not yet open.
pub struct Agents {
    control: Control,
    ca: Arc<Ca>,
    acceptor: TlsAcceptor,
    listener: TcpListener,
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
    pub fn new(control: Control, ca: Arc<Ca>, listener: TcpListener) -> Result<Self, CaError> {
        let leaf = ca.server_leaf()?;
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
            .with_single_cert(leaf.chain, leaf.key)
            .expect("the key was made for the certificate");
        config.alpn_protocols = vec![wire::ALPN.to_vec(), wire::enrol::ALPN.to_vec()];
        Ok(Self {
            control,
            ca,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            listener,
        })
    }

    /// Accepts until told to stop, then waits for the sessions to end.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let connections = TaskTracker::new();
        let handshakes = Arc::new(Semaphore::new(MAX_HANDSHAKES));
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = stopped(&mut stop) => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept agents");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                    continue;
                }
            };
            let door = Door {
                control: self.control.clone(),
                ca: self.ca.clone(),
                acceptor: self.acceptor.clone(),
                handshakes: handshakes.clone(),
                stop: stop.clone(),
            };
            connections.spawn(async move {
                if let Err(error) = door.serve(stream, peer).await {
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
    acceptor: TlsAcceptor,
    handshakes: Arc<Semaphore>,
    stop: watch::Receiver<bool>,
}

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
    async fn serve(self, stream: TcpStream, peer: SocketAddr) -> Result<(), ConnectionError> {
        stream.set_nodelay(true)?;
        let stream = {
            let _turn = self
                .handshakes
                .acquire()
                .await
                .map_err(|_| ConnectionError::Closed)?;
            let handshake = self.acceptor.accept(stream);
            tokio::time::timeout(GREETING, handshake)
                .await
                .map_err(|_| ConnectionError::TooSlow)??
        };
        let (_, tls) = stream.get_ref();
        match tls.alpn_protocol() {
            Some(wire::enrol::ALPN) => {
                let enrolment = enrol::serve(&self.control, &self.ca, stream, peer);
                tokio::time::timeout(GREETING, enrolment)
                    .await
                    .map_err(|_| ConnectionError::TooSlow)?
            }
            Some(wire::ALPN) => {
                let certified = tls
                    .peer_certificates()
                    .and_then(|chain| session::host_of(chain.first()?));
                let certified = certified.ok_or_else(|| {
                    ConnectionError::Refused("no certificate of this fleet".to_owned())
                })?;
                session::serve(&self.control, stream, certified, self.stop).await
            }
            _ => Err(ConnectionError::Refused(
                "speaks no protocol of ours".to_owned(),
            )),
        }
    }
}
