//! One address that clients connect to, and the servers behind it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use proxy_header::{ProxiedAddress, ProxyHeader};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::Interest;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use crate::connection_slots::{ConnectionSlot, ConnectionSlots, NoSlot};
use crate::counters::{Counters, add};
use crate::forward::{ForwardError, forward};
use crate::limited_log::LimitedLog;
use crate::servers::{NoUpstream, Servers, Upstream};

/// How many connections wait in the kernel to be accepted: a whole fleet may reconnect at once.
const BACKLOG: u32 = 4096;
/// How long to wait after a failed accept, for example without free descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// When and how often the kernel checks a silent peer.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DoorKind {
    /// A PROXY header tells the server the agent's address: it opens the stream of the agent, or its connection.
    Agents,
    /// The API takes no header.
    Http,
}

impl DoorKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Http => "the API",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Door {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// What all connections of a door share.
#[derive(Debug)]
struct Shared {
    kind: DoorKind,
    servers: Arc<Servers>,
    limits: DoorLimits,
    counters: Arc<Counters>,
    over_limit: LimitedLog,
    without_server: LimitedLog,
    accept_failed: LimitedLog,
}

/// Limits of connections.
#[derive(Debug, Clone)]
pub(crate) struct DoorLimits {
    /// Of both doors together.
    pub(crate) slots: Arc<ConnectionSlots>,
    /// One for each open file that a connection may be.
    pub(crate) files: Arc<Semaphore>,
    /// How long a client waits while no server can be reached.
    pub(crate) wait_for_server: Duration,
    /// How long both sides of a connection may be silent.
    pub(crate) idle_timeout: Duration,
}

impl Door {
    pub(crate) fn bind(
        kind: DoorKind,
        address: SocketAddr,
        servers: Arc<Servers>,
        limits: DoorLimits,
        counters: Arc<Counters>,
    ) -> io::Result<Self> {
        let listener = listen(address)?;
        let address = listener.local_addr()?;
        let shared = Shared {
            kind,
            servers,
            limits,
            counters,
            over_limit: LimitedLog::default(),
            without_server: LimitedLog::default(),
            accept_failed: LimitedLog::default(),
        };
        Ok(Self {
            listener,
            address,
            shared: Arc::new(shared),
        })
    }

    pub(crate) fn servers(&self) -> Arc<Servers> {
        self.shared.servers.clone()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts and forwards; dropping the future closes every connection.
    pub(crate) async fn run(self) {
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            let (client, from) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    let log = &self.shared.accept_failed;
                    log.warn("a connection cannot be accepted", error);
                    tokio::time::sleep(ACCEPT_RETRY).await;
                    continue;
                }
            };
            match self.shared.admit(from) {
                Ok(slot) => {
                    let shared = self.shared.clone();
                    connections.spawn(async move { shared.serve(client, from, slot).await });
                }
                Err(refused) => self.shared.count_over_limit(from, refused),
            }
        }
    }
}

impl Shared {
    /// A slot and an open file.
    fn admit(&self, from: SocketAddr) -> Result<(ConnectionSlot, OwnedSemaphorePermit), NoSlot> {
        let slot = self.limits.slots.take(from.ip())?;
        let file = self.limits.files.clone().try_acquire_owned();
        Ok((slot, file.map_err(|_| NoSlot::OpenFiles)?))
    }

    fn count_over_limit(&self, from: SocketAddr, refused: NoSlot) {
        add(&self.counters.over_limit, 1);
        let why = format_args!("{from}: {refused}");
        let log = &self.over_limit;
        log.warn("a connection was closed because of a limit", why);
    }

    async fn serve(
        &self,
        client: TcpStream,
        from: SocketAddr,
        _slot: (ConnectionSlot, OwnedSemaphorePermit),
    ) {
        let opening = match self.opening(&client, from) {
            Ok(opening) => opening,
            Err(error) => {
                tracing::debug!(%from, %error, "connection ended");
                return;
            }
        };
        let patience = self.limits.wait_for_server;
        let connecting = self
            .servers
            .connect_within(patience, &opening, gone(&client));
        let server = match connecting.await {
            Ok(server) => server,
            Err(NoUpstream::Servers) => {
                add(&self.counters.without_server, 1);
                let log = &self.without_server;
                log.warn("a connection was closed: no server can be reached", from);
                return;
            }
            Err(NoUpstream::OpenFiles) => return self.count_over_limit(from, NoSlot::OpenFiles),
        };
        drop(opening);
        add(&self.counters.forwarded, 1);
        let _open = self.counters.count_open();
        match self.forward(client, server).await {
            Ok(()) => tracing::debug!(%from, "connection ended"),
            Err(error) => {
                if matches!(error, ForwardError::Idle(_)) {
                    add(&self.counters.idle, 1);
                }
                tracing::debug!(%from, %error, "connection ended");
            }
        }
    }

    /// What a server learns about the client before its first byte.
    fn opening(&self, client: &TcpStream, from: SocketAddr) -> io::Result<Vec<u8>> {
        match self.kind {
            DoorKind::Agents => header(from, client.local_addr()?),
            DoorKind::Http => Ok(Vec::new()),
        }
    }

    async fn forward(&self, client: TcpStream, server: Upstream) -> Result<(), ForwardError> {
        set_options(&client)?;
        forward(&client, &server, self.limits.idle_timeout, &self.counters).await
    }
}

/// Waits until the client has sent its last byte, whatever it sent before: a client that waits for a server never does that and
/// stays.
async fn gone(client: &TcpStream) {
    // Bytes that wait do not wake it: no connection has urgent ones, because none is registered for them.
    client.ready(Interest::PRIORITY).await.ok();
}

/// Options of every connection.
pub(crate) fn set_options(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_AFTER)
        .with_interval(KEEPALIVE_EVERY);
    SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The PROXY protocol header that names the agent's address and the one that it connected to.
fn header(from: SocketAddr, to: SocketAddr) -> io::Result<Vec<u8>> {
    // A socket for both families has IPv4 addresses in IPv6 form.
    let canonical =
        |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let proxied = ProxiedAddress::stream(canonical(from), canonical(to));
    let mut bytes = Vec::new();
    let encoded = ProxyHeader::with_address(proxied).encode_v2(&mut bytes);
    encoded.map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_bytes_of_the_specification() {
        let bytes = |from: &str, to: &str| header(from.parse().unwrap(), to.parse().unwrap());
        let v4 = b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\x0a\x00\x00\x07\x0a\x00\x00\x01\x04\xd2\x1b\xbd";
        assert_eq!(bytes("10.0.0.7:1234", "10.0.0.1:7101").unwrap(), v4);
        let mapped = bytes("[::ffff:10.0.0.7]:1234", "[::ffff:10.0.0.1]:7101");
        assert_eq!(mapped.unwrap(), v4);
        let v6 = bytes("[fd00::7]:1234", "[fd00::1]:7101").unwrap();
        assert_eq!(v6[12..16], [0x21, 0x21, 0, 36]);
        assert_eq!((v6.len(), v6[16], v6[31], v6[47]), (52, 0xfd, 7, 1));
    }
}
