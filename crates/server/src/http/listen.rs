//! Where callers connect: HTTP/1.1, plain or over TLS.
//!
//! Whoever connects gets little on credit: a bounded number of connections in all and from each address, a few seconds for
//! the handshake and for the head of a request, and as long as they read for an answer. What is beyond the bounds is closed
//! at once and costs the others nothing. There are never more connections than descriptors for them ([`crate::limits`]), and
//! idle ones make room for new ones ([`places`]).

mod certificate;
mod places;
mod reading;

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

pub use certificate::{CertificateError, TlsFiles};

use super::{HttpState, Origin};
use crate::shed::Reason;
use crate::{limits, stopped};
use certificate::Certificate;
use places::{Busy, NoPlace, Place, Places};
use reading::WhileRead;

/// How long to wait when no connection can be accepted, for example for want of descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// How many idle connections are closed then, and how many of those that gave their places up may still be open.
const ROOM_AT_A_TIME: usize = 16;
/// How long the last bytes of an answer may take on a connection that gave its place up.
const LAST_BYTES: Duration = Duration::from_secs(1);
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
    /// Pages of these origins may act for a user, beside those of the server itself: where a proxy has TLS.
    pub origins: Vec<Origin>,
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
            origins: Vec::new(),
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
        let shed = state.shed.clone();
        let shares = limits::shares(self.door.max_connections);
        if shares.callers < self.door.max_connections {
            tracing::warn!(
                connections = shares.callers,
                wanted = self.door.max_connections,
                "the limit of open files allows the API fewer connections: raise `ulimit -n` or LimitNOFILE"
            );
        }
        let places = Places::new(shares.callers, self.door.max_connections_per_address);
        // Descriptors: one that gave its place up has its own until it is closed.
        let descriptors = Arc::new(Semaphore::new(shares.callers + ROOM_AT_A_TIME));
        let serving = Arc::new(Serving {
            router: super::router(state.with_origins(self.door.origins.clone())),
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
            // They close within moments; what keeps one open is not waited for.
            let closed = descriptors.clone().acquire_owned();
            let descriptor = tokio::time::timeout(ACCEPT_AGAIN, closed).await;
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = stopped(&mut stop) => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    shed.note(Reason::Accept, &error);
                    for _ in 0..places.make_room(ROOM_AT_A_TIME) {
                        shed.note(Reason::Idle, "no connection can be accepted");
                    }
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                    continue;
                }
            };
            let place = match places.take(peer.ip()) {
                Ok(taking) => {
                    if taking.is_of_another {
                        shed.note(Reason::Idle, "its place was needed");
                    }
                    taking.place
                }
                Err(why) => {
                    let reason = match why {
                        NoPlace::InAll => Reason::Connections,
                        NoPlace::FromAddress => Reason::ConnectionsOfAddress,
                    };
                    shed.note(reason, format_args!("{peer}: {why}"));
                    continue;
                }
            };
            let (serving, stop) = (serving.clone(), stop.clone());
            connections.spawn(async move {
                let _descriptor = descriptor;
                if let Err(error) = serving.connection(stream, peer, &place, stop).await {
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
        place: &Arc<Place>,
        stop: watch::Receiver<bool>,
    ) -> io::Result<()> {
        // Small answers should not wait for more of themselves.
        stream.set_nodelay(true)?;
        let stream = WhileRead::new(stream, self.door.read_within);
        let Some(tls) = &self.tls else {
            return self.http(stream, peer, None, place, stop).await;
        };
        // They do not wait for each other: strangers who say nothing would keep everybody waiting.
        let shaking = tokio::time::timeout(self.door.handshake_within, tls.accept(stream));
        let stream = tokio::select! {
            shaken = shaking => shaken.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??,
            () = place.given_up() => return Ok(()),
        };
        self.http(stream, peer, Some(OverTls), place, stop).await
    }

    async fn http(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: SocketAddr,
        over_tls: Option<OverTls>,
        place: &Arc<Place>,
        mut stop: watch::Receiver<bool>,
    ) -> io::Result<()> {
        let has_asked = AtomicBool::new(false);
        let service = service_fn(|request: Request<Incoming>| {
            has_asked.store(true, Ordering::Relaxed);
            let busy = place.busy();
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            if let Some(over_tls) = over_tls {
                request.extensions_mut().insert(over_tls);
            }
            let answering = self.router.clone().oneshot(request);
            async move {
                let response = answering.await?;
                // The connection is idle again when it has been handed all of the answer.
                Ok::<_, Infallible>(response.map(|body| Answer { body, _busy: busy }))
            }
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
            () = place.given_up() => {
                // A request may have come in this very moment: then it is answered.
                if !place.is_busy() {
                    if !has_asked.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    connection.as_mut().graceful_shutdown();
                    let ended = tokio::time::timeout(LAST_BYTES, connection).await;
                    return ended.map_or(Ok(()), |ended| ended.map_err(io::Error::other));
                }
                connection.as_mut().graceful_shutdown();
            }
        }
        connection.await.map_err(io::Error::other)
    }
}

/// The body of an answer. The connection is busy until it is dropped.
struct Answer {
    body: Body,
    _busy: Busy,
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
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
