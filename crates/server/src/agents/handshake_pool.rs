//! Handshakes are long sums, and a whole fleet may want one at once. They have threads of their own, which step back when
//! the processor is short, so that agents that are connected notice nothing.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How much these threads step back.
const NICE: i32 = 5;

#[derive(Debug)]
pub(super) struct Handshakes {
    acceptor: Acceptor,
    /// None only while it is dropped.
    runtime: Option<Runtime>,
}

#[derive(Clone)]
struct Acceptor(TlsAcceptor);

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Acceptor")
    }
}

impl Handshakes {
    pub(super) fn new(config: ServerConfig) -> io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = Builder::new_multi_thread()
            .worker_threads((cores / 2).max(1))
            .thread_name("handshake")
            .enable_time()
            .on_thread_start(|| {
                // Where it is not allowed, they are threads like any other.
                let _same_as_ever = rustix::process::setpriority_process(None, NICE);
            })
            .build()?;
        Ok(Self {
            acceptor: Acceptor(TlsAcceptor::from(Arc::new(config))),
            runtime: Some(runtime),
        })
    }

    pub(super) async fn shake(
        &self,
        stream: TcpStream,
        within: Duration,
    ) -> io::Result<TlsStream<TcpStream>> {
        let Acceptor(acceptor) = self.acceptor.clone();
        let Some(runtime) = &self.runtime else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let shaking = runtime.spawn(async move {
            tokio::time::timeout(within, acceptor.accept(stream))
                .await
                .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        });
        shaking.await.map_err(io::Error::other)?
    }
}

impl Drop for Handshakes {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // What is under way is of no use to anybody, and a thread of the server must not wait for it.
            runtime.shutdown_background();
        }
    }
}
