//! `muster-agent relay` and `muster relay`: the configuration of a relay, and its process.

mod config;

use std::io;
use std::net::SocketAddr;

pub use config::{EXAMPLES, RelayArgs, RelayConfig};
use relay::{Relay, RelayError};
use tokio::signal::unix::{SignalKind, signal};

use crate::config::ConfigError;
use crate::log;

/// More threads forward no faster, and each has its own buffers.
const MAX_THREADS: usize = 4;

/// Where a relay that is up listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelayAddresses {
    pub agents: SocketAddr,
    pub http: Option<SocketAddr>,
    pub metrics: Option<SocketAddr>,
}

impl std::fmt::Display for RelayAddresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "relay for agents on {}", self.agents)?;
        if let Some(http) = self.http {
            write!(f, ", for the API on {http}")?;
        }
        match self.metrics {
            Some(metrics) => write!(f, ", metrics on {metrics}"),
            None => Ok(()),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RelayCommandError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Relay(#[from] RelayError),
    #[error("the relay cannot run here")]
    Io(#[from] io::Error),
}

/// Runs a relay until SIGTERM or SIGINT. `announce` is called when it accepts connections.
pub fn run(
    config: &RelayConfig,
    announce: impl FnOnce(RelayAddresses),
) -> Result<(), RelayCommandError> {
    log::init(config.log, config.log_format);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.min(MAX_THREADS))
        .thread_name("relay")
        .enable_all()
        .build()?;
    let settings = &config.settings;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let relay = Relay::bind(settings)?;
        let addresses = RelayAddresses {
            agents: relay.agents(),
            http: relay.http(),
            metrics: relay.metrics(),
        };
        let servers = settings.servers.join(",");
        tracing::info!(agents = %addresses.agents, servers, "relay is up");
        if let (Some(listen), Some(http)) = (addresses.http, &settings.http) {
            tracing::info!(http = %listen, servers = http.servers.join(","), "relay for the API is up");
        }
        announce(addresses);
        let stop = async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        relay.run(stop).await;
        Ok(())
    })
}
