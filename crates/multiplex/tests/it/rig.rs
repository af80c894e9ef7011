//! Two sides of one connection over loopback.

use std::time::Duration;

use multiplex::{Connection, ConnectionError, PREFACE, Preface, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

type Ended = JoinHandle<Result<(), ConnectionError>>;

/// The side that opens streams, and the streams as they come to the other.
pub(crate) struct Pair {
    pub(crate) opener: Connection,
    pub(crate) acceptor: Connection,
    accepted: mpsc::Receiver<(Stream, Vec<u8>)>,
    pub(crate) opener_ended: Ended,
    pub(crate) acceptor_ended: Ended,
}

pub(crate) async fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (here, there) = tokio::join!(TcpStream::connect(address), listener.accept());
    (here.unwrap(), there.unwrap().0)
}

/// The side that accepts, driven, with what comes to it.
async fn accept(tcp: TcpStream) -> (Connection, mpsc::Receiver<(Stream, Vec<u8>)>, Ended) {
    let (connection, driver) = Connection::accept(tcp).await.unwrap();
    let (sender, accepted) = mpsc::channel(4096);
    let ended = tokio::spawn(driver.serve(move |stream, opening| {
        sender.try_send((stream, opening.to_vec())).ok();
    }));
    (connection, accepted, ended)
}

impl Pair {
    pub(crate) async fn new() -> Self {
        let (here, there) = sockets().await;
        let (opened, accepted) = tokio::join!(Connection::open(here), accept(there));
        let (opener, driver) = opened.unwrap();
        let (acceptor, accepted, acceptor_ended) = accepted;
        Self {
            opener,
            acceptor,
            accepted,
            opener_ended: tokio::spawn(driver.run()),
            acceptor_ended,
        }
    }

    /// Both ends of a new stream.
    pub(crate) async fn stream(&mut self) -> (Stream, Stream) {
        let here = self.opener.stream(b"who").unwrap();
        let (there, opening) = self.next().await.unwrap();
        assert_eq!(opening, b"who");
        (here, there)
    }

    pub(crate) async fn next(&mut self) -> Option<(Stream, Vec<u8>)> {
        in_time(self.accepted.recv()).await
    }
}

/// A side that accepts, and a socket that says what a test wants.
pub(crate) struct Raw {
    pub(crate) tcp: TcpStream,
    pub(crate) acceptor: Connection,
    pub(crate) accepted: mpsc::Receiver<(Stream, Vec<u8>)>,
    pub(crate) ended: Ended,
}

impl Raw {
    pub(crate) async fn new() -> Self {
        let (mut tcp, there) = sockets().await;
        let preface = Preface {
            version: 1,
            window: 1000,
        };
        tcp.write_all(&preface.to_bytes()).await.unwrap();
        let (acceptor, accepted, ended) = accept(there).await;
        let mut answer = [0; PREFACE];
        tcp.read_exact(&mut answer).await.unwrap();
        Preface::parse(&answer).unwrap();
        Self {
            tcp,
            acceptor,
            accepted,
            ended,
        }
    }

    /// Writes these bytes, and returns why the connection ended.
    pub(crate) async fn refused(mut self, bytes: &[u8]) -> ConnectionError {
        self.tcp.write_all(bytes).await.unwrap();
        in_time(self.ended).await.unwrap().unwrap_err()
    }
}

pub(crate) async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("in time")
}

/// Bytes that say where they are in the stream.
pub(crate) fn pattern(from: usize, len: usize) -> Vec<u8> {
    (from..from + len).map(|n| (n % 251) as u8).collect()
}
