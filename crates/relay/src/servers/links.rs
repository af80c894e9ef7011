//! Connections to one server that carry the streams of many agents.
//!
//! They are opened when an agent needs them. A server that does not multiplex is noticed by its answer, and each agent gets a
//! connection of its own; after a while the next agent tries again, because the server may have been upgraded.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use locks::Mutex;
use multiplex::{Connection, PrefaceError, Stream};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::ServerAddress;
use crate::limited_log::LimitedLog;

/// How long a server that refused to multiplex is not asked again.
const REFUSED_FOR: Duration = Duration::from_secs(5);
/// The same for one that did not answer: each try makes agents wait.
const SILENT_FOR: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Links {
    links: Vec<Link>,
    next: AtomicUsize,
    /// Until then each agent gets a connection of its own.
    plain_until: Mutex<Option<Instant>>,
    /// Moves the frames. Dropping it ends all connections.
    drivers: Mutex<JoinSet<()>>,
    refusals: LimitedLog,
}

#[derive(Debug, Default)]
struct Link {
    /// Read by each new stream.
    connection: Mutex<Option<Connection>>,
    /// Held by the task that connects, so that others wait for it instead of connecting as well.
    connecting: tokio::sync::Mutex<LastTry>,
}

#[derive(Debug, Default)]
struct LastTry {
    failed_at: Option<Instant>,
}

/// Why an agent gets no stream.
#[derive(Debug)]
pub(super) enum NoStream {
    /// The agent needs a connection of its own.
    NotMultiplexed,
    Failed(io::Error),
}

/// How many connections carry streams, and how many streams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LinkCounts {
    pub(crate) connections: usize,
    pub(crate) streams: usize,
}

impl Links {
    pub(super) fn new(n: usize) -> Self {
        Self {
            links: (0..n).map(|_| Link::default()).collect(),
            next: AtomicUsize::new(0),
            plain_until: Mutex::default(),
            drivers: Mutex::default(),
            refusals: LimitedLog::default(),
        }
    }

    /// A stream of the next connection, which is opened if it is not.
    pub(super) async fn stream(
        &self,
        server: &ServerAddress,
        opening: &[u8],
        within: Duration,
    ) -> Result<Stream, NoStream> {
        let asked = Instant::now();
        let plain_until = *self.plain_until.lock();
        if self.links.is_empty() || plain_until.is_some_and(|until| asked < until) {
            return Err(NoStream::NotMultiplexed);
        }
        let link = &self.links[self.next.fetch_add(1, Ordering::Relaxed) % self.links.len()];
        if let Some(stream) = link.stream(opening) {
            return Ok(stream);
        }
        let until = asked + within;
        let failed = |error: io::Error| NoStream::Failed(error);
        let Ok(mut last) = timeout_at(until, link.connecting.lock()).await else {
            return Err(failed(io::ErrorKind::TimedOut.into()));
        };
        if let Some(stream) = link.stream(opening) {
            return Ok(stream);
        }
        if last.failed_at.is_some_and(|at| at >= asked) {
            let plain_until = *self.plain_until.lock();
            return Err(match plain_until.is_some_and(|until| asked < until) {
                true => NoStream::NotMultiplexed,
                false => failed(io::ErrorKind::ConnectionRefused.into()),
            });
        }
        match self.connect(server, until).await {
            Ok(connection) => {
                *link.connection.lock() = Some(connection);
                let stream = link.stream(opening);
                stream.ok_or_else(|| failed(io::ErrorKind::ConnectionReset.into()))
            }
            Err(why) => {
                last.failed_at = Some(Instant::now());
                Err(why)
            }
        }
    }

    async fn connect(
        &self,
        server: &ServerAddress,
        until: Instant,
    ) -> Result<Connection, NoStream> {
        let connected = timeout_at(until, server.connect()).await;
        let tcp = connected
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(NoStream::Failed)?;
        let why = match timeout_at(until, Connection::open(tcp)).await {
            Ok(Ok((connection, driver))) => {
                self.drive(server.name.clone(), driver);
                return Ok(connection);
            }
            Ok(Err(PrefaceError::Malformed)) => {
                return Err(NoStream::Failed(io::ErrorKind::InvalidData.into()));
            }
            Ok(Err(PrefaceError::NotMultiplexed | PrefaceError::Io(_))) => REFUSED_FOR,
            Err(_) => SILENT_FOR,
        };
        *self.plain_until.lock() = Some(Instant::now() + why);
        let name = &server.name;
        let message = "a server does not take many agents over one connection: each gets its own";
        self.refusals.warn(message, name);
        Err(NoStream::NotMultiplexed)
    }

    fn drive(&self, server: String, driver: multiplex::Driver) {
        let mut drivers = self.drivers.lock();
        while drivers.try_join_next().is_some() {}
        drivers.spawn(async move {
            if let Err(error) = driver.run().await {
                tracing::warn!(server, %error, "a connection to a server ended, with its agents");
            }
        });
    }

    pub(super) fn counts(&self) -> LinkCounts {
        let mut counts = LinkCounts::default();
        for link in &self.links {
            if let Some(connection) = &*link.connection.lock()
                && connection.is_open()
            {
                counts.connections += 1;
                counts.streams += connection.n_streams();
            }
        }
        counts
    }
}

impl Link {
    fn stream(&self, opening: &[u8]) -> Option<Stream> {
        let connection = self.connection.lock().clone();
        connection?.stream(opening).ok()
    }
}
