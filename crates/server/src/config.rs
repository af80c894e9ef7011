//! The configuration of a server, already validated.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::CmdbConfig;
use crate::agents::AgentListenerSettings;
use crate::http::listen::HttpListenerSettings;

#[derive(Clone)]
pub struct Config {
    /// The directory of the store, the certificates and the local CLI's credentials.
    pub data: PathBuf,
    /// Where the API listens.
    pub http: SocketAddr,
    pub http_listener: HttpListenerSettings,
    /// Where agents connect.
    pub agents: SocketAddr,
    pub agent_listener: AgentListenerSettings,
    /// None: SQLite in the data directory.
    pub store_url: Option<String>,
    /// The NATS servers between replicas; none: they exchange messages through the store, which is slower.
    pub bus: Vec<String>,
    /// The root certificates for NATS servers; None: those of the system.
    pub bus_ca: Option<PathBuf>,
    /// Fixed values for the first app and the first join token; random ones when absent.
    pub app_code: Option<String>,
    pub app_secret: Option<String>,
    pub join_token: Option<String>,
    /// The source of topology that is not imported through the API.
    pub cmdb: Option<CmdbConfig>,
    /// The root certificates for https:// webhooks and the CMDB; None: the public ones.
    pub outgoing_ca: Option<PathBuf>,
}

/// Secrets stay out of logs.
impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("data", &self.data)
            .field("http", &self.http)
            .field("http_listener", &self.http_listener)
            .field("agents", &self.agents)
            .field("agent_listener", &self.agent_listener)
            .field("bus_ca", &self.bus_ca)
            .field("app_code", &self.app_code)
            .field("cmdb", &self.cmdb)
            .finish_non_exhaustive()
    }
}
