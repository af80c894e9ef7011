//! A relay that runs, and a server behind it that does what a test says.

use std::net::SocketAddr;
use std::time::Duration;

use relay::{HttpDoor, Relay, Settings, Totals};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// The header of a connection over IPv4.
pub(crate) const HEADER: usize = 28;

pub(crate) struct TestRelay {
    pub(crate) agents: SocketAddr,
    pub(crate) http: Option<SocketAddr>,
    pub(crate) metrics: Option<SocketAddr>,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Totals>,
}

pub(crate) fn any() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

pub(crate) fn settings(servers: &[SocketAddr]) -> Settings {
    Settings {
        listen: any(),
        servers: servers.iter().map(ToString::to_string).collect(),
        http: None,
        metrics: None,
        max_connections: 100,
        max_per_address: 100,
        connect_timeout: Duration::from_secs(5),
        idle_timeout: PATIENCE * 2,
    }
}

pub(crate) fn http_door(servers: &[SocketAddr]) -> HttpDoor {
    HttpDoor {
        listen: any(),
        servers: servers.iter().map(ToString::to_string).collect(),
    }
}

impl TestRelay {
    pub(crate) fn start(settings: &Settings) -> Self {
        let relay = Relay::bind(settings).unwrap();
        let (stop, stopped) = oneshot::channel();
        let (agents, http, metrics) = (relay.agents(), relay.http(), relay.metrics());
        let running = tokio::spawn(relay.run(async {
            stopped.await.ok();
        }));
        Self {
            agents,
            http,
            metrics,
            stop,
            running,
        }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.agents).await.unwrap()
    }

    pub(crate) async fn stop(self) -> Totals {
        self.stop.send(()).unwrap();
        self.running.await.unwrap()
    }
}

pub(crate) async fn listener() -> TcpListener {
    TcpListener::bind(any()).await.unwrap()
}

/// The next connection of the relay, without its header.
pub(crate) async fn accept(listener: &TcpListener) -> TcpStream {
    let accepted = tokio::time::timeout(PATIENCE, listener.accept());
    let (mut stream, _) = accepted.await.expect("a connection").unwrap();
    stream.read_exact(&mut [0; HEADER]).await.unwrap();
    stream
}

/// Waits until the peer has closed the connection, in whichever way.
pub(crate) async fn closed(stream: &mut TcpStream) {
    let mut bytes = [0; 64];
    let reading = async { while stream.read(&mut bytes).await.is_ok_and(|n| n > 0) {} };
    tokio::time::timeout(PATIENCE, reading)
        .await
        .expect("the connection ends");
}
