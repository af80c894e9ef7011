//! A relay: accepts connections of agents that cannot reach the servers, and forwards each to a server.
//!
//! A connection takes this path: accepted within the limits ([`door`]) → a server in rotation, and a stream of one of the
//! connections to it that carry many, or a connection of its own ([`servers`]) → a PROXY protocol header with the agent's
//! address → bytes in both directions ([`forward`]) until either side ends, or both are silent.
//!
//! TLS passes through untouched: a relay has no key, and can neither read nor speak for an agent. It knows nothing of frames,
//! HTTP and the store; its page of metrics ([`metrics`]) is the only thing that it says itself.

mod connection_slots;
mod counters;
mod door;
mod forward;
mod limited_log;
mod metrics;
mod open_files;
mod servers;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, interval_at};

use connection_slots::ConnectionSlots;
use counters::Counters;
pub use counters::Totals;
use door::{Door, DoorKind, DoorLimits};
use metrics::MetricsPage;
use servers::Servers;

/// How often the counters are logged.
const LOG_EVERY: Duration = Duration::from_secs(60);
/// A client of the API may wait for minutes for a response that has not begun, as in a long poll.
const HTTP_IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// How long agents wait at a relay whose servers restart: less than an agent waits for the answer of a server.
pub const WAIT_FOR_SERVER: Duration = Duration::from_secs(8);

/// The settings of a relay, already validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where agents connect.
    pub listen: SocketAddr,
    /// Where the servers listen for agents, each as `HOST:PORT`.
    pub servers: Vec<String>,
    /// A second address, whose connections go to the API of the servers.
    pub http: Option<HttpDoor>,
    /// Where the page of metrics is.
    pub metrics: Option<SocketAddr>,
    /// Connections at the same time, of both addresses together.
    pub max_connections: usize,
    /// The same of one source address.
    pub max_per_address: usize,
    /// Connections to each server that carry all agents; 0: one connection for each agent.
    pub multiplex: usize,
    /// How long to wait for one server.
    pub connect_timeout: Duration,
    /// How long an agent's connection waits while no server can be reached; those of clients of the API are closed at once.
    pub wait_for_server: Duration,
    /// How long both sides of an agent's connection may be silent.
    pub idle_timeout: Duration,
}

/// Where clients of the API connect, and where the servers listen for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpDoor {
    pub listen: SocketAddr,
    pub servers: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    #[error("cannot listen on {address} for {what}")]
    Listen {
        what: &'static str,
        address: SocketAddr,
        source: io::Error,
    },
}

/// A relay whose addresses are bound; [`Relay::run`] starts it.
#[derive(Debug)]
pub struct Relay {
    agents: Door,
    http: Option<Door>,
    metrics: Option<MetricsPage>,
    counters: Arc<Counters>,
}

impl Relay {
    /// Raises the limit of open files and binds the addresses. Must be called within a runtime.
    pub fn bind(settings: &Settings) -> Result<Self, RelayError> {
        let files = open_files::raise_for(settings.max_connections, settings.multiplex > 0);
        let files = Arc::new(Semaphore::new(files.min(Semaphore::MAX_PERMITS)));
        let slots = ConnectionSlots::new(settings.max_connections, settings.max_per_address);
        let counters = Arc::new(Counters::default());
        let door = |kind: DoorKind, listen, servers: &[String], idle_timeout| {
            let (n_links, wait_for_server) = match kind {
                DoorKind::Agents => (settings.multiplex, settings.wait_for_server),
                DoorKind::Http => (0, Duration::ZERO),
            };
            let timeout = settings.connect_timeout;
            let servers = Arc::new(Servers::new(servers, n_links, timeout, files.clone()));
            let limits = DoorLimits {
                slots: slots.clone(),
                files: files.clone(),
                wait_for_server,
                idle_timeout,
            };
            Door::bind(kind, listen, servers, limits, counters.clone()).map_err(|source| {
                RelayError::Listen {
                    what: kind.as_str(),
                    address: listen,
                    source,
                }
            })
        };
        let agents = door(
            DoorKind::Agents,
            settings.listen,
            &settings.servers,
            settings.idle_timeout,
        )?;
        let http = match &settings.http {
            Some(http) => Some(door(
                DoorKind::Http,
                http.listen,
                &http.servers,
                HTTP_IDLE_TIMEOUT,
            )?),
            None => None,
        };
        let metrics = match settings.metrics {
            Some(address) => {
                let listener = door::listen(address);
                let bound = listener.and_then(|it| Ok((it.local_addr()?, it)));
                let (address, listener) = bound.map_err(|source| RelayError::Listen {
                    what: "metrics",
                    address,
                    source,
                })?;
                let doors = [Some(&agents), http.as_ref()];
                Some(MetricsPage {
                    listener,
                    address,
                    counters: counters.clone(),
                    servers: doors.into_iter().flatten().map(Door::servers).collect(),
                })
            }
            None => None,
        };
        Ok(Self {
            agents,
            http,
            metrics,
            counters,
        })
    }

    /// Where agents connect, with the port.
    pub fn agents(&self) -> SocketAddr {
        self.agents.address()
    }

    /// Where clients of the API connect, with the port.
    pub fn http(&self) -> Option<SocketAddr> {
        self.http.as_ref().map(Door::address)
    }

    /// Where the page of metrics is, with the port.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|page| page.address)
    }

    /// Forwards until `stop` resolves, then closes all connections.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Totals {
        let counters = self.counters;
        let http = async {
            match self.http {
                Some(door) => door.run().await,
                None => std::future::pending().await,
            }
        };
        let metrics = async {
            match self.metrics {
                Some(page) => page.run().await,
                None => std::future::pending().await,
            }
        };
        let logging = async {
            let mut ticks = interval_at(Instant::now() + LOG_EVERY, LOG_EVERY);
            loop {
                ticks.tick().await;
                counters.totals().log("relaying");
            }
        };
        tokio::select! {
            () = stop => {}
            () = self.agents.run() => {}
            () = http => {}
            () = metrics => {}
            () = logging => {}
        }
        let totals = counters.totals();
        totals.log("relay stops");
        totals
    }
}
