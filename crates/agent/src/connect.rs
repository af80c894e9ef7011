//! Opens a TLS connection to a server and checks its protocol (ALPN).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::config::ServerAddress;
use crate::tls;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longer than for the TCP connection: of a fleet that comes back at once each agent waits for its turn, and a try in vain makes it
/// wait again.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("{server} cannot be reached")]
    Unreachable {
        server: ServerAddress,
        source: io::Error,
    },
    #[error("{server} is not the server that this agent trusts, or does not trust this agent")]
    Tls {
        server: ServerAddress,
        source: io::Error,
    },
    #[error(
        "{server} does not speak {protocol}: is this the address for agents (--agents of the server)?"
    )]
    Protocol {
        server: ServerAddress,
        protocol: String,
    },
}

impl ConnectError {
    /// Whether the server presented another CA than the join token names.
    pub(crate) fn is_wrong_ca(&self) -> bool {
        let Self::Tls { source, .. } = self else {
            return false;
        };
        source.get_ref().and_then(|e| e.downcast_ref()).is_some_and(
            |e: &rustls::Error| matches!(e, rustls::Error::General(text) if text == tls::WRONG_CA),
        )
    }
}

/// Tries one server once.
pub async fn connect(
    server: &ServerAddress,
    config: &Arc<ClientConfig>,
) -> Result<TlsStream<TcpStream>, ConnectError> {
    let unreachable = |source| ConnectError::Unreachable {
        server: server.clone(),
        source,
    };
    let stream = timeout(
        CONNECT_TIMEOUT,
        TcpStream::connect((server.host(), server.port())),
    )
    .await
    .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    .map_err(unreachable)?;
    stream.set_nodelay(true).map_err(unreachable)?;

    let protocol = config.alpn_protocols.first().cloned().unwrap_or_default();
    let handshake = TlsConnector::from(Arc::clone(config)).connect(tls::server_name(), stream);
    let stream = timeout(HANDSHAKE_TIMEOUT, handshake)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        .map_err(|source| ConnectError::Tls {
            server: server.clone(),
            source,
        })?;
    match stream.get_ref().1.alpn_protocol() == Some(&protocol) {
        true => Ok(stream),
        false => Err(ConnectError::Protocol {
            server: server.clone(),
            protocol: String::from_utf8_lossy(&protocol).into_owned(),
        }),
    }
}
