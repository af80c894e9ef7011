//! The bytes of one agent: a connection of its own, or a stream of a relay's connection.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
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
