//! A relay that runs, and a server behind it that does what a test says.

use std::net::SocketAddr;
use std::time::Duration;

use multiplex::{Connection, MAGIC};
use relay::{HttpDoor, Relay, Settings, Totals};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// The header of a connection over IPv4.
pub(crate) const HEADER: usize = 28;

/// Which of both sides can carry many agents over one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) relay: usize,
    pub(crate) server: bool,
}

/// Both can; the relay is old, or is told not to; the server is old.
pub(crate) const MODES: [Mode; 3] = [
    Mode {
        relay: 2,
        server: true,
    },
    Mode {
        relay: 0,
        server: true,
    },
    Mode {
        relay: 2,
        server: false,
    },
];

impl Mode {
    pub(crate) fn multiplexes(self) -> bool {
        self.relay > 0 && self.server
    }
}

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

pub(crate) fn settings(mode: Mode, servers: &[SocketAddr]) -> Settings {
    Settings {
        listen: any(),
        servers: servers.iter().map(ToString::to_string).collect(),
        http: None,
        metrics: None,
        max_connections: 100,
        max_per_address: 100,
        multiplex: mode.relay,
        connect_timeout: Duration::from_secs(5),
        wait_for_server: PATIENCE,
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

/// A server for agents, without what an agent says.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    agents: Mutex<mpsc::Receiver<Agent>>,
    accepting: JoinHandle<()>,
}

/// The bytes of one agent, as they come to the server.
pub(crate) struct Agent {
    pub(crate) header: Vec<u8>,
    pub(crate) bytes: Box<dyn Bytes>,
    /// It shares a connection with others.
    pub(crate) is_stream: bool,
}

pub(crate) trait Bytes: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Bytes for T {}

impl TestServer {
    pub(crate) async fn start(mode: Mode) -> Self {
        Self::start_on(listener().await, mode)
    }

    pub(crate) fn start_on(listener: TcpListener, mode: Mode) -> Self {
        let address = listener.local_addr().unwrap();
        let (sender, agents) = mpsc::channel(1024);
        // Dropping the set ends every connection.
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((tcp, _)) = listener.accept().await {
                connections.spawn(serve(tcp, mode.server, sender.clone()));
            }
        });
        Self {
            address,
            agents: Mutex::new(agents),
            accepting,
        }
    }

    /// The next agent.
    pub(crate) async fn accept(&self) -> Agent {
        let mut agents = self.agents.lock().await;
        let accepted = tokio::time::timeout(PATIENCE, agents.recv());
        accepted.await.expect("a connection").unwrap()
    }

    pub(crate) async fn kill(self) {
        self.accepting.abort();
        self.accepting.await.ok();
    }
}

async fn serve(mut tcp: TcpStream, multiplexes: bool, agents: mpsc::Sender<Agent>) {
    let mut first = [0];
    if tcp.peek(&mut first).await.is_ok_and(|n| n > 0) && first[0] == MAGIC[0] {
        if multiplexes {
            let (_, driver) = Connection::accept(tcp).await.unwrap();
            let on_stream = |stream, opening: &[u8]| {
                let agent = Agent {
                    header: opening.to_vec(),
                    bytes: Box::new(stream),
                    is_stream: true,
                };
                agents.try_send(agent).ok();
            };
            driver.serve(on_stream).await.ok();
        } else {
            // What an old server takes for the beginning of TLS.
            tcp.write_all(b"\x15\x03\x03\0\x02\x02\x46").await.ok();
        }
        return;
    }
    let mut header = vec![0; HEADER];
    if tcp.read_exact(&mut header).await.is_ok() {
        let agent = Agent {
            header,
            bytes: Box::new(tcp),
            is_stream: false,
        };
        agents.send(agent).await.ok();
    }
}

/// Waits until the peer has closed the connection, in whichever way.
pub(crate) async fn closed(stream: &mut (impl AsyncRead + Unpin + ?Sized)) {
    let mut bytes = [0; 64];
    let reading = async { while stream.read(&mut bytes).await.is_ok_and(|n| n > 0) {} };
    tokio::time::timeout(PATIENCE, reading)
        .await
        .expect("the connection ends");
}
