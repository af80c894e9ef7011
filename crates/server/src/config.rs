//! What a server is told before it starts. Everything here is right already: bad values never get this far.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::CmdbConfig;
use crate::agents::DoorSettings;
use crate::http::listen::HttpDoor;

#[derive(Clone)]
pub struct Config {
    /// Where the store, the certificates and the local CLI's credentials are.
    pub data: PathBuf,
    /// Where the API listens.
    pub http: SocketAddr,
    /// How callers are dealt with there.
    pub http_door: HttpDoor,
    /// Where agents connect.
    pub agents: SocketAddr,
    /// How agents are dealt with there.
    pub door: DoorSettings,
    /// None: SQLite in the data directory.
    pub store_url: Option<String>,
    /// The NATS servers where replicas meet; none: they meet in the store, which is slower.
    pub bus: Vec<String>,
    /// Whom to trust about NATS servers; None: whom the system trusts.
    pub bus_ca: Option<PathBuf>,
    /// Fixed values for the first app and the first join token; made up when absent.
    pub app_code: Option<String>,
    pub app_secret: Option<String>,
    pub join_token: Option<String>,
    /// Where topology comes from that nobody gives us.
    pub cmdb: Option<CmdbConfig>,
    /// Whom to trust about https:// webhooks and the CMDB; None: whom the public trusts.
    pub outgoing_ca: Option<PathBuf>,
}

/// Secrets stay out of logs.
impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("data", &self.data)
            .field("http", &self.http)
            .field("http_door", &self.http_door)
            .field("agents", &self.agents)
            .field("door", &self.door)
            .field("bus_ca", &self.bus_ca)
            .field("app_code", &self.app_code)
            .field("cmdb", &self.cmdb)
            .finish_non_exhaustive()
    }
}
