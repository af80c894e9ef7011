//! TLS handshakes on threads of their own, with a lower priority.
//!
//! A handshake is CPU work, and a whole fleet may reconnect at once: sessions of connected agents must not wait for it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::server::{Acceptor, ClientHello};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use super::socket::AgentSocket;

/// The niceness of these threads.
const NICE: i32 = 5;

pub(super) struct HandshakePool {
    configs: Configs,
    /// None only while it is dropped.
    runtime: Option<Runtime>,
}

/// How the server speaks TLS, by what the agent wants.
#[derive(Clone)]
pub(super) struct Configs {
    pub(super) sessions: Arc<ServerConfig>,
    /// Resumes nothing: an agent that enrols has no certificate yet, and one that renews its certificate must show it.
    pub(super) enrolments: Arc<ServerConfig>,
}

impl Configs {
    fn of(self, hello: &ClientHello<'_>) -> Arc<ServerConfig> {
        let offers = |protocol: &[u8]| {
            let offered = hello.alpn();
            offered.is_some_and(|mut offered| offered.any(|it| it == protocol))
        };
        match offers(wire::enrol::ALPN) {
            true => self.enrolments,
            false => self.sessions,
        }
    }
}

impl HandshakePool {
    pub(super) fn new(configs: Configs) -> io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = Builder::new_multi_thread()
            .worker_threads((cores / 2).max(1))
            .thread_name("handshake")
            .enable_time()
            .on_thread_start(|| {
                // Where it is not allowed, the threads keep the normal priority.
                rustix::process::setpriority_process(None, NICE).ok();
            })
            .build()?;
        Ok(Self {
            configs,
            runtime: Some(runtime),
        })
    }

    pub(super) async fn accept(
        &self,
        stream: AgentSocket,
        within: Duration,
    ) -> io::Result<TlsStream<AgentSocket>> {
        let configs = self.configs.clone();
        let Some(runtime) = &self.runtime else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let handshake = runtime.spawn(async move {
            // It waited for this thread: without the agent the work would be in vain.
            if stream.has_ended() {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let handshake = async {
                let begun = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
                let config = configs.of(&begun.client_hello());
                begun.into_stream(config).await
            };
            tokio::time::timeout(within, handshake)
                .await
                .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        });
        handshake.await.map_err(io::Error::other)?
    }
}

impl Drop for HandshakePool {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A worker of another runtime may drop this, and must not block on handshakes under way.
            runtime.shutdown_background();
        }
    }
}
