//! The listener of the API: HTTP/1.1, plain or over TLS.
//!
//! An unauthenticated peer gets little: a limited number of connections in all and from each address, a few seconds for the
//! handshake and for the head of a request, and a response only as long as it reads. A connection beyond the limits is
//! closed at once. There are never more connections than descriptors for them ([`crate::limits`]), and idle ones are evicted
//! for new ones ([`connection_slots`]).

mod certificate;
mod connection_slots;
mod write_timeout;

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
use crate::agents::ACCEPT_RETRY;
use crate::shed::ShedReason;
use crate::{limits, stopped};
use certificate::Certificate;
use connection_slots::{BusyGuard, ConnectionSlot, ConnectionSlots, NoSlot};
use write_timeout::WriteTimeout;

/// How many idle connections are evicted after a failed accept, and how many evicted ones may still be open.
const MAX_EVICTED: usize = 16;
/// How long the last bytes of a response may take on an evicted connection.
const EVICTION_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest head of a request, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// The limits of the listener, its certificate, and the origins of browsers.
#[derive(Debug, Clone)]
pub struct HttpListenerSettings {
    /// None: plain HTTP.
    pub tls: Option<TlsFiles>,
    pub max_connections: usize,
    pub max_connections_per_address: usize,
    pub handshake_timeout: Duration,
    /// How long the head of a request may take, and how long a connection may be idle before the next.
    pub head_timeout: Duration,
    /// How long a caller may read nothing of a response.
    pub write_timeout: Duration,
    /// How often the files of the certificate are checked for changes.
    pub certificate_poll: Duration,
    /// Pages of these origins may act for a user, beside those of the server itself: for a proxy that terminates TLS.
    pub origins: Vec<Origin>,
}

impl Default for HttpListenerSettings {
    fn default() -> Self {
        Self {
            tls: None,
            max_connections: 8192,
            max_connections_per_address: 1024,
            handshake_timeout: Duration::from_secs(10),
            head_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(60),
            certificate_poll: Duration::from_secs(2),
            origins: Vec::new(),
        }
    }
}

/// Marks a request that came over TLS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverTls;

/// The listener of the API with its certificate; [`HttpListener::run`] starts it.
#[derive(Debug)]
pub struct HttpListener {
    listener: TcpListener,
    certificate: Option<Arc<Certificate>>,
    settings: HttpListenerSettings,
}

impl HttpListener {
    pub fn new(
        listener: TcpListener,
        settings: HttpListenerSettings,
    ) -> Result<Self, CertificateError> {
        let certificate = settings.tls.as_ref().map(Certificate::read).transpose()?;
        Ok(Self {
            listener,
            certificate: certificate.map(Arc::new),
            settings,
        })
    }

    /// The address it listens on, with the port.
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
        let files = self.settings.tls.as_ref();
        files.map(|files| files.chain.as_path())
    }

    /// Accepts until `stop` is true, then waits for the requests under way.
    pub async fn run(self, state: HttpState, mut stop: watch::Receiver<bool>) {
        let connections = TaskTracker::new();
        let shed = state.shed.clone();
        let shares = limits::shares(self.settings.max_connections);
        if shares.callers < self.settings.max_connections {
            tracing::warn!(
                connections = shares.callers,
                wanted = self.settings.max_connections,
                "the limit of open files allows the API fewer connections: raise `ulimit -n` or LimitNOFILE"
            );
        }
        let slots = ConnectionSlots::new(shares.callers, self.settings.max_connections_per_address);
        // An evicted connection has its descriptor until it is closed.
        let descriptors = Arc::new(Semaphore::new(shares.callers + MAX_EVICTED));
        let serving = Arc::new(Serving {
            router: super::router(state.with_origins(self.settings.origins.clone())),
            tls: self
                .certificate
                .clone()
                .map(|certificate| TlsAcceptor::from(Arc::new(certificate::config(certificate)))),
            settings: self.settings,
        });
        let following = self.certificate.map(|certificate| {
            let (every, stop) = (serving.settings.certificate_poll, stop.clone());
            tokio::spawn(async move { certificate.follow_files(every, stop).await })
        });
        loop {
            // Evicted connections close within moments; a connection that does not is not waited for.
            let closed = descriptors.clone().acquire_owned();
            let descriptor = tokio::time::timeout(ACCEPT_RETRY, closed).await;
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = stopped(&mut stop) => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    shed.count(ShedReason::Accept, &error);
                    for _ in 0..slots.evict_idle(MAX_EVICTED) {
                        shed.count(ShedReason::Idle, "no connection can be accepted");
                    }
                    tokio::time::sleep(ACCEPT_RETRY).await;
                    continue;
                }
            };
            let slot = match slots.take(peer.ip()) {
                Ok(taken) => {
                    if taken.has_evicted {
                        shed.count(ShedReason::Idle, "its slot was needed");
                    }
                    taken.slot
                }
                Err(why) => {
                    let reason = match why {
                        NoSlot::InAll => ShedReason::Connections,
                        NoSlot::FromAddress => ShedReason::ConnectionsOfAddress,
                    };
                    shed.count(reason, format_args!("{peer}: {why}"));
                    continue;
                }
            };
            let (serving, stop) = (serving.clone(), stop.clone());
            connections.spawn(async move {
                let _descriptor = descriptor;
                if let Err(error) = serving.connection(stream, peer, &slot, stop).await {
                    tracing::debug!(%peer, %error, "a connection ended");
                }
            });
        }
        drop(self.listener);
        connections.close();
        connections.wait().await;
        if let Some(following) = following {
            // It ends with the same signal.
            following.await.ok();
        }
    }
}

/// What every connection needs.
struct Serving {
    router: axum::Router,
    tls: Option<TlsAcceptor>,
    settings: HttpListenerSettings,
}

impl Serving {
    async fn connection(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        slot: &Arc<ConnectionSlot>,
        stop: watch::Receiver<bool>,
    ) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let stream = WriteTimeout::new(stream, self.settings.write_timeout);
        let Some(tls) = &self.tls else {
            return self.http(stream, peer, None, slot, stop).await;
        };
        // Handshakes have no queue: silent peers would fill it.
        let handshake = tokio::time::timeout(self.settings.handshake_timeout, tls.accept(stream));
        let stream = tokio::select! {
            ended = handshake => ended.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??,
            () = slot.evicted() => return Ok(()),
        };
        self.http(stream, peer, Some(OverTls), slot, stop).await
    }

    async fn http(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: SocketAddr,
        over_tls: Option<OverTls>,
        slot: &Arc<ConnectionSlot>,
        mut stop: watch::Receiver<bool>,
    ) -> io::Result<()> {
        let has_had_request = AtomicBool::new(false);
        let service = service_fn(|request: Request<Incoming>| {
            has_had_request.store(true, Ordering::Relaxed);
            let busy = slot.busy();
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            if let Some(over_tls) = over_tls {
                request.extensions_mut().insert(over_tls);
            }
            let response = self.router.clone().oneshot(request);
            async move {
                let response = response.await?;
                // The connection is idle again when it has all of the response.
                Ok::<_, Infallible>(response.map(|body| ResponseBody { body, _busy: busy }))
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.settings.head_timeout)
            .max_header_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            ended = &mut connection => return ended.map_err(io::Error::other),
            () = stopped(&mut stop) => connection.as_mut().graceful_shutdown(),
            () = slot.evicted() => {
                // A request may have come at the same moment: then it is answered.
                if !slot.is_busy() {
                    if !has_had_request.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    connection.as_mut().graceful_shutdown();
                    let ended = tokio::time::timeout(EVICTION_TIMEOUT, connection).await;
                    return ended.map_or(Ok(()), |ended| ended.map_err(io::Error::other));
                }
                connection.as_mut().graceful_shutdown();
            }
        }
        connection.await.map_err(io::Error::other)
    }
}

/// The body of a response. The connection is busy until it is dropped.
struct ResponseBody {
    body: Body,
    _busy: BusyGuard,
}

impl hyper::body::Body for ResponseBody {
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
