//! Config → store → control → listeners.

use std::net::SocketAddr;

use crate::Config;

#[derive(Debug, thiserror::Error)]
pub enum BootError {
    #[error("{0}")]
    Data(String),
}

/// A server that is up.
#[derive(Debug)]
pub struct Running {
    /// Where the API listens, the port filled in.
    pub http: SocketAddr,
    /// Where agents connect, the port filled in.
    pub agents: SocketAddr,
    /// A join token for an agent on this machine, with the fingerprint of the CA.
    pub join_token: Option<String>,
}

#[allow(clippy::todo)]
pub async fn start(_config: Config) -> Result<Running, BootError> {
    todo!()
}

#[allow(clippy::todo)]
impl Running {
    /// Drains and ends.
    pub async fn stop(self) {
        todo!()
    }

    /// Resolves when the server cannot go on, with the reason.
    pub async fn finished(&mut self) -> BootError {
        todo!()
    }
}
