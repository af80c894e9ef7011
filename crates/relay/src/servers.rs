//! The servers behind a relay: each connection goes to the next one, and one that cannot be reached is skipped for a while.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use locks::Mutex;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout};

use crate::counters::add;
use crate::limited_log::LimitedLog;

/// How long a server that could not be reached is tried only after all others.
const SKIP: Duration = Duration::from_secs(5);
/// How long the addresses behind a name are used without asking again: a whole fleet may reconnect at once.
const RESOLVED_FOR: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Servers {
    servers: Vec<Server>,
    next: AtomicUsize,
    connect_timeout: Duration,
}

#[derive(Debug)]
struct Server {
    /// `HOST:PORT`
    name: String,
    skipped_until: Mutex<Option<Instant>>,
    resolved: Mutex<Option<Resolved>>,
    n_ok: AtomicU64,
    n_failed: AtomicU64,
    failures: LimitedLog,
}

#[derive(Debug, Clone)]
struct Resolved {
    at: Instant,
    addresses: Vec<SocketAddr>,
}

impl Servers {
    pub(crate) fn new(names: &[String], connect_timeout: Duration) -> Self {
        let server = |name: &String| Server {
            name: name.clone(),
            skipped_until: Mutex::default(),
            resolved: Mutex::default(),
            n_ok: AtomicU64::new(0),
            n_failed: AtomicU64::new(0),
            failures: LimitedLog::default(),
        };
        Self {
            servers: names.iter().map(server).collect(),
            next: AtomicUsize::new(0),
            connect_timeout,
        }
    }

    /// Connects to the next server that answers, and tries each at most once.
    pub(crate) async fn connect(&self) -> Option<TcpStream> {
        for index in self.order(Instant::now()) {
            let server = &self.servers[index];
            let connecting = timeout(self.connect_timeout, server.connect());
            let connected = connecting
                .await
                .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            match connected {
                Ok(stream) => {
                    *server.skipped_until.lock() = None;
                    add(&server.n_ok, 1);
                    return Some(stream);
                }
                Err(error) => {
                    *server.skipped_until.lock() = Some(Instant::now() + SKIP);
                    add(&server.n_failed, 1);
                    let why = format_args!("{}: {error}", server.name);
                    server.failures.warn("a server cannot be reached", why);
                }
            }
        }
        None
    }

    /// How often each server was reached, and was not.
    pub(crate) fn tries(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let servers = self.servers.iter();
        servers.map(move |one| (one.name.as_str(), read(&one.n_ok), read(&one.n_failed)))
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

impl Server {
    async fn connect(&self) -> io::Result<TcpStream> {
        let mut last = io::ErrorKind::AddrNotAvailable.into();
        for address in self.addresses().await? {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
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
        let servers = Servers::new(&names, Duration::from_secs(1));
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
