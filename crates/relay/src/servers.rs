//! The servers behind a relay: each connection goes to the next one, and one that cannot be reached is skipped for a while.
//!
//! A connection of an agent becomes a stream of a connection to the server that carries many ([`links`]), or gets a connection
//! of its own.

mod links;
mod waiting;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use locks::Mutex;
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::counters::add;
use crate::limited_log::LimitedLog;
pub(crate) use links::LinkCounts;
use links::{Links, NoStream};
use waiting::Waiting;

/// How long a server that could not be reached is tried only after all others.
const SKIP: Duration = Duration::from_secs(5);
/// How long the addresses behind a name are used without asking again: a whole fleet may reconnect at once.
const RESOLVED_FOR: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Servers {
    servers: Vec<Server>,
    next: AtomicUsize,
    connect_timeout: Duration,
    files: Arc<Semaphore>,
    waiting: Waiting,
}

/// Where bytes of a client go.
#[derive(Debug)]
pub(crate) enum Upstream {
    Connection {
        tcp: TcpStream,
        /// What it takes of the limit of open files.
        _file: OwnedSemaphorePermit,
    },
    Stream(multiplex::Stream),
}

/// Why a client cannot be forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoUpstream {
    /// No server can be reached.
    Servers,
    /// A server needs a connection for each client, and no more files can be open.
    OpenFiles,
}

#[derive(Debug)]
struct Server {
    address: ServerAddress,
    links: Links,
    skipped_until: Mutex<Option<Instant>>,
    n_ok: AtomicU64,
    n_failed: AtomicU64,
    failures: LimitedLog,
}

/// A name and the addresses behind it.
#[derive(Debug)]
struct ServerAddress {
    /// `HOST:PORT`
    name: String,
    resolved: Mutex<Option<Resolved>>,
}

#[derive(Debug, Clone)]
struct Resolved {
    at: Instant,
    addresses: Vec<SocketAddr>,
}

/// What is known of a server, for the page of metrics.
#[derive(Debug)]
pub(crate) struct ServerCounts<'a> {
    pub(crate) name: &'a str,
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    pub(crate) links: LinkCounts,
}

impl Servers {
    /// `n_links` connections to each server carry all streams; with 0 each client has a connection of its own, which takes one
    /// of the `files`.
    pub(crate) fn new(
        names: &[String],
        n_links: usize,
        connect_timeout: Duration,
        files: Arc<Semaphore>,
    ) -> Self {
        let server = |name: &String| Server {
            address: ServerAddress {
                name: name.clone(),
                resolved: Mutex::default(),
            },
            links: Links::new(n_links),
            skipped_until: Mutex::default(),
            n_ok: AtomicU64::new(0),
            n_failed: AtomicU64::new(0),
            failures: LimitedLog::default(),
        };
        Self {
            servers: names.iter().map(server).collect(),
            next: AtomicUsize::new(0),
            connect_timeout,
            files,
            waiting: Waiting::default(),
        }
    }

    /// Connects to the next server that answers, and tries each at most once. The server gets `opening` first, before the
    /// bytes of the client.
    pub(crate) async fn connect(&self, opening: &[u8]) -> Result<Upstream, NoUpstream> {
        for index in self.order(Instant::now()) {
            let server = &self.servers[index];
            match self.connect_to(server, opening).await {
                Ok(upstream) => {
                    *server.skipped_until.lock() = None;
                    add(&server.n_ok, 1);
                    return Ok(upstream);
                }
                Err(Some(error)) => {
                    *server.skipped_until.lock() = Some(Instant::now() + SKIP);
                    add(&server.n_failed, 1);
                    let why = format_args!("{}: {error}", server.address.name);
                    server.failures.warn("a server cannot be reached", why);
                }
                Err(None) => return Err(NoUpstream::OpenFiles),
            }
        }
        Err(NoUpstream::Servers)
    }

    /// Fails without an error if no more files can be open.
    async fn connect_to(
        &self,
        server: &Server,
        opening: &[u8],
    ) -> Result<Upstream, Option<io::Error>> {
        let (address, within) = (&server.address, self.connect_timeout);
        match server.links.stream(address, opening, within).await {
            Ok(stream) => return Ok(Upstream::Stream(stream)),
            Err(NoStream::Failed(error)) => return Err(Some(error)),
            Err(NoStream::NotMultiplexed) => {}
        }
        let file = self.files.clone().try_acquire_owned().map_err(|_| None)?;
        let connecting = async {
            let mut stream = address.connect().await?;
            tokio::io::AsyncWriteExt::write_all(&mut stream, opening).await?;
            Ok(stream)
        };
        let connected = timeout(within, connecting).await;
        match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(tcp) => Ok(Upstream::Connection { tcp, _file: file }),
            Err(error) => Err(Some(error)),
        }
    }

    /// How often each server was reached, and was not.
    pub(crate) fn counts(&self) -> impl Iterator<Item = ServerCounts<'_>> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.servers.iter().map(move |one| ServerCounts {
            name: one.address.name.as_str(),
            ok: read(&one.n_ok),
            failed: read(&one.n_failed),
            links: one.links.counts(),
        })
    }

    /// All servers: first those that are not skipped, from the next in rotation on; then the skipped ones.
    fn order(&self, now: Instant) -> Vec<usize> {
        let n = self.servers.len();
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let rotated = (0..n).map(|step| first.wrapping_add(step) % n);
        let is_skipped = |index: &usize| {
            let until = *self.servers[*index].skipped_until.lock();
            until.is_some_and(|until| now < until)
        };
        let (skipped, mut order): (Vec<usize>, Vec<usize>) = rotated.partition(is_skipped);
        order.extend(skipped);
        order
    }
}

impl ServerAddress {
    async fn connect(&self) -> io::Result<TcpStream> {
        let mut last = io::ErrorKind::AddrNotAvailable.into();
        for address in self.addresses().await? {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    crate::door::set_options(&stream)?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let known = self.resolved.lock().clone();
        if let Some(known) = &known
            && known.at.elapsed() < RESOLVED_FOR
        {
            return Ok(known.addresses.clone());
        }
        match lookup_host(self.name.as_str()).await {
            Ok(found) => {
                let addresses: Vec<SocketAddr> = found.collect();
                let at = Instant::now();
                *self.resolved.lock() = Some(Resolved {
                    at,
                    addresses: addresses.clone(),
                });
                Ok(addresses)
            }
            // The name service is away: the servers are probably where they were.
            Err(error) => known.map(|known| known.addresses).ok_or(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_rotate_and_a_skipped_server_comes_last() {
        let names = ["a:1", "b:1", "c:1"].map(str::to_owned);
        let files = Arc::new(Semaphore::new(1));
        let servers = Servers::new(&names, 2, Duration::from_secs(1), files);
        let now = Instant::now();
        assert_eq!(servers.order(now), [0, 1, 2]);
        assert_eq!(servers.order(now), [1, 2, 0]);
        *servers.servers[2].skipped_until.lock() = Some(now + SKIP);
        assert_eq!(servers.order(now), [0, 1, 2]);
        assert_eq!(servers.order(now), [0, 1, 2]);
        assert_eq!(servers.order(now), [1, 0, 2]);
        assert_eq!(
            servers.order(now + SKIP),
            [2, 0, 1],
            "it is tried again after a while"
        );
    }
}
