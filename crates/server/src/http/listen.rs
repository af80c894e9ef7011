//! Where callers connect: HTTP/1.1, plain or over TLS.
//!
//! Whoever connects gets little on credit: a bounded number of connections in all and from each address, a few seconds for
//! the handshake and for the head of a request, and as long as they read for an answer. What is beyond the bounds is closed
//! at once and costs the others nothing.

mod certificate;
mod places;
mod reading;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

pub use certificate::{CertificateError, TlsFiles};

use super::HttpState;
use crate::stopped;
use certificate::Certificate;
use places::Places;
use reading::WhileRead;

/// How long to wait when no connection can be accepted, for example for want of descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// The longest head of a request, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// What callers are allowed before anything is known of them.
#[derive(Debug, Clone)]
pub struct HttpDoor {
    /// None: plain HTTP.
    pub tls: Option<TlsFiles>,
    /// How many connections there may be.
    pub max_connections: usize,
    /// How many of them may come from one address.
    pub max_connections_per_address: usize,
    /// How long the handshake may take.
    pub handshake_within: Duration,
    /// How long the head of a request may take, and how long a connection may be idle before the next.
    pub head_within: Duration,
    /// How long a caller may read nothing of an answer.
    pub read_within: Duration,
}

impl Default for HttpDoor {
    fn default() -> Self {
        Self {
            tls: None,
            max_connections: 8192,
            max_connections_per_address: 1024,
            handshake_within: Duration::from_secs(10),
            head_within: Duration::from_secs(30),
            read_within: Duration::from_secs(60),
        }
    }
}

/// Says that a request came over TLS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverTls;

/// The door, not yet open: its certificate has been read.
#[derive(Debug)]
pub struct HttpListener {
    listener: TcpListener,
    certificate: Option<Arc<Certificate>>,
    door: HttpDoor,
}

impl HttpListener {
    pub fn new(listener: TcpListener, door: HttpDoor) -> Result<Self, CertificateError> {
        let certificate = door.tls.as_ref().map(Certificate::read).transpose()?;
        Ok(Self {
            listener,
            certificate: certificate.map(Arc::new),
            door,
        })
    }

    /// Where it listens, the port filled in.
    pub fn address(&self) -> SocketAddr {
        let address = self.listener.local_addr();
        address.expect("a bound socket has an address")
    }

    /// A URL for clients on this machine, under a name that the certificate has.
    pub fn url(&self) -> String {
        let reachable = reachable(self.address());
        match &self.certificate {
            None => format!("http://{reachable}"),
            Some(certificate) => certificate.url(reachable),
        }
    }

    pub(crate) fn certificate_file(&self) -> Option<&Path> {
        let files = self.door.tls.as_ref();
        files.map(|files| files.chain.as_path())
    }

    /// Accepts until told to stop, then waits for the requests under way.
    pub async fn run(self, state: HttpState, mut stop: watch::Receiver<bool>) {
        let connections = TaskTracker::new();
        let places = Places::new(
            self.door.max_connections,
            self.door.max_connections_per_address,
        );
        let serving = Arc::new(Serving {
            router: super::router(state),
            tls: self
                .certificate
                .clone()
                .map(|certificate| TlsAcceptor::from(Arc::new(certificate::config(certificate)))),
            door: self.door,
        });
        let rereading = self.certificate.map(|certificate| {
            let stop = stop.clone();
            tokio::spawn(async move { certificate.keep_up(stop).await })
        });
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = stopped(&mut stop) => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept callers");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                    continue;
                }
            };
            let place = match places.take(peer.ip()) {
                Ok(place) => place,
                Err(why) => {
                    tracing::debug!(%peer, %why, "a connection was closed at once");
                    continue;
                }
            };
            let (serving, stop) = (serving.clone(), stop.clone());
            connections.spawn(async move {
                let _place = place;
                if let Err(error) = serving.connection(stream, peer, stop).await {
                    tracing::debug!(%peer, %error, "a connection ended");
                }
            });
        }
        drop(self.listener);
        connections.close();
        connections.wait().await;
        if let Some(rereading) = rereading {
            // It ends with the same signal.
            let _ = rereading.await;
        }
    }
}

/// What every connection needs.
struct Serving {
    router: axum::Router,
    tls: Option<TlsAcceptor>,
    door: HttpDoor,
}

impl Serving {
    async fn connection(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        stop: watch::Receiver<bool>,
    ) -> io::Result<()> {
        // Small answers should not wait for more of themselves.
        stream.set_nodelay(true)?;
        let stream = WhileRead::new(stream, self.door.read_within);
        let Some(tls) = &self.tls else {
            return self.http(stream, peer, None, stop).await;
        };
        // They do not wait for each other: strangers who say nothing would keep everybody waiting.
        let shaking = tls.accept(stream);
        let stream = tokio::time::timeout(self.door.handshake_within, shaking)
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        self.http(stream, peer, Some(OverTls), stop).await
    }

    async fn http(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: SocketAddr,
        over_tls: Option<OverTls>,
        mut stop: watch::Receiver<bool>,
    ) -> io::Result<()> {
        let service = service_fn(|request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            if let Some(over_tls) = over_tls {
                request.extensions_mut().insert(over_tls);
            }
            self.router.clone().oneshot(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.door.head_within)
            .max_header_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            ended = &mut connection => return ended.map_err(io::Error::other),
            () = stopped(&mut stop) => connection.as_mut().graceful_shutdown(),
        }
        connection.await.map_err(io::Error::other)
    }
}

/// An address that a client on this machine can use.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
