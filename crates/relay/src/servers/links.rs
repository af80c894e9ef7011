//! Connections to one server that carry the streams of many agents.
//!
//! They are opened when an agent needs them. A server that does not multiplex is noticed by its answer, and each agent gets a
//! connection of its own; after a while the next agent tries again, because the server may have been upgraded. A server that has
//! multiplexed and gives no answer is one that stops or is busy.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use locks::Mutex;
use multiplex::{Connection, PrefaceError, Stream};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::ServerAddress;
use crate::limited_log::LimitedLog;

/// How long a server that refused to multiplex is not asked again.
const REFUSED_FOR: Duration = Duration::from_secs(5);
/// How long a connection that could not be opened is left alone, and how long an agent waits for one, while another one is open.
const AGAIN: Duration = Duration::from_secs(1);
/// The same as [`REFUSED_FOR`] for one that did not answer: each try makes agents wait.
const SILENT_FOR: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Links {
    links: Vec<Link>,
    next: AtomicUsize,
    /// Until then each agent gets a connection of its own.
    plain_until: Mutex<Option<Instant>>,
    /// The server has: from then on only a foreign answer says that it does not any more.
    has_multiplexed: AtomicBool,
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
            has_multiplexed: AtomicBool::new(false),
            drivers: Mutex::default(),
            refusals: LimitedLog::default(),
        }
    }

    /// A stream of the next connection, which is opened if it is not; of any other if that fails.
    pub(super) async fn stream(
        &self,
        server: &ServerAddress,
        opening: &[u8],
        within: Duration,
    ) -> Result<Stream, NoStream> {
        let asked = Instant::now();
        if self.links.is_empty() || self.is_plain(asked) {
            return Err(NoStream::NotMultiplexed);
        }
        let link = &self.links[self.next.fetch_add(1, Ordering::Relaxed) % self.links.len()];
        if let Some(stream) = link.stream(opening) {
            return Ok(stream);
        }
        let has_other = self.links.iter().any(Link::is_open);
        let mut last = match link.connecting.try_lock() {
            Ok(last) if !(has_other && last.failed_at.is_some_and(|at| asked < at + AGAIN)) => last,
            _ => {
                if let Some(stream) = self.any_stream(opening) {
                    return Ok(stream);
                }
                let Ok(last) = timeout_at(asked + within, link.connecting.lock()).await else {
                    return Err(NoStream::Failed(io::ErrorKind::TimedOut.into()));
                };
                last
            }
        };
        if let Some(stream) = link.stream(opening) {
            return Ok(stream);
        }
        if last.failed_at.is_some_and(|at| at >= asked) {
            return Err(match self.is_plain(asked) {
                true => NoStream::NotMultiplexed,
                false => NoStream::Failed(io::ErrorKind::ConnectionRefused.into()),
            });
        }
        // With another connection the agent need not wait long for this one.
        let within = if has_other { within.min(AGAIN) } else { within };
        match self.connect(server, asked + within).await {
            Ok(connection) => {
                *link.connection.lock() = Some(connection);
                let stream = link.stream(opening);
                stream.ok_or_else(|| NoStream::Failed(io::ErrorKind::ConnectionReset.into()))
            }
            Err(why) => {
                last.failed_at = Some(Instant::now());
                self.any_stream(opening).ok_or(why)
            }
        }
    }

    /// A stream of any connection that is open.
    fn any_stream(&self, opening: &[u8]) -> Option<Stream> {
        self.links.iter().find_map(|link| link.stream(opening))
    }

    /// Whether each agent gets a connection of its own.
    fn is_plain(&self, now: Instant) -> bool {
        let until = *self.plain_until.lock();
        until.is_some_and(|until| now < until)
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
        let has_multiplexed = self.has_multiplexed.load(Ordering::Relaxed);
        let failed = |kind: io::ErrorKind| Err(NoStream::Failed(kind.into()));
        let why = match timeout_at(until, Connection::open(tcp)).await {
            Ok(Ok((connection, driver))) => {
                self.has_multiplexed.store(true, Ordering::Relaxed);
                self.drive(server.name.clone(), driver);
                return Ok(connection);
            }
            Ok(Err(PrefaceError::Malformed)) => return failed(io::ErrorKind::InvalidData),
            Ok(Err(PrefaceError::NotMultiplexed)) => REFUSED_FOR,
            // It stops, has no room, or is busy: a connection for each agent would only make that worse.
            Ok(Err(PrefaceError::Closed | PrefaceError::Io(_))) if has_multiplexed => {
                return failed(io::ErrorKind::ConnectionReset);
            }
            Err(_) if has_multiplexed => return failed(io::ErrorKind::TimedOut),
            Ok(Err(PrefaceError::Closed | PrefaceError::Io(_))) => REFUSED_FOR,
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
    fn is_open(&self) -> bool {
        let connection = self.connection.lock();
        connection.as_ref().is_some_and(Connection::is_open)
    }

    fn stream(&self, opening: &[u8]) -> Option<Stream> {
        let connection = self.connection.lock().clone();
        connection?.stream(opening).ok()
    }
}
