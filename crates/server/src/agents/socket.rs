//! The bytes of one agent: a connection of its own, or a stream of a relay's connection.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

#[derive(Debug)]
pub(super) enum AgentSocket {
    Connection(TcpStream),
    Stream(multiplex::Stream),
}

impl AgentSocket {
    /// Waits for bytes or the end, and copies them without taking them.
    pub(super) async fn peek(&self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Connection(tcp) => tcp.peek(into).await,
            Self::Stream(stream) => stream.peek(into).await,
        }
    }

    /// Waits until the agent has ended its side, whatever it sent before. An agent that waits for its handshake never does that
    /// and stays. Must not wait beside a read.
    pub(super) async fn ended(&self) {
        match self {
            // Bytes that wait do not wake it: no connection has urgent ones, because none is registered for them. What fails
            // here fails again at the next read.
            Self::Connection(tcp) => drop(tcp.ready(Interest::PRIORITY).await),
            Self::Stream(stream) => stream.ended().await,
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended().now_or_never().is_some()
    }
}

impl AsyncRead for AgentSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Connection(tcp) => Pin::new(tcp).poll_read(cx, into),
            Self::Stream(stream) => Pin::new(stream).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for AgentSocket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Connection(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Self::Stream(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Connection(tcp) => Pin::new(tcp).poll_write_vectored(cx, parts),
            Self::Stream(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Connection(tcp) => Pin::new(tcp).poll_flush(cx),
            Self::Stream(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Connection(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Self::Stream(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn an_end_is_seen_behind_bytes_that_nobody_reads() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut agent = TcpStream::connect(address).await.unwrap();
        let (tcp, _) = listener.accept().await.unwrap();
        let socket = AgentSocket::Connection(tcp);
        agent.write_all(b"hello").await.unwrap();
        let mut bytes = [0; 8];
        assert_eq!(socket.peek(&mut bytes).await.unwrap(), 5);
        assert!(!socket.has_ended());
        drop(agent);
        socket.ended().await;
        assert!(socket.has_ended());
        assert_eq!(socket.peek(&mut bytes).await.unwrap(), 5);
    }
}
