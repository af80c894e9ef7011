//! Copies bytes between two connections, in both directions, in one task.
//!
//! Each thread has one buffer for all connections. A connection keeps only the bytes that the other side has not taken yet, at
//! most one buffer in each direction, and reads no more until they are gone: backpressure passes through. So an idle connection
//! has no buffer at all.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::pin::pin;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use crate::counters::{Counters, add};
use crate::servers::Upstream;

/// One TLS record.
const BUFFER: usize = 16 * 1024;

thread_local! {
    static SHARED: RefCell<Box<[u8]>> = RefCell::new(vec![0; BUFFER].into());
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForwardError {
    #[error("both sides were silent for {0:?}")]
    Idle(Duration),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// One of the two connections.
pub(crate) trait Side {
    /// Whether [`Side::try_read`] may return something.
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    fn try_read(&self, into: &mut [u8]) -> io::Result<usize>;
    fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;
    /// Says that nothing more is written.
    fn end(&self) -> io::Result<()>;
}

impl Side for TcpStream {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_read_ready(cx)
    }

    fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        Self::try_read(self, into)
    }

    fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            // Without asking first: most often there is room.
            match self.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
            ready!(self.poll_write_ready(cx))?;
        }
    }

    fn end(&self) -> io::Result<()> {
        SockRef::from(self).shutdown(Shutdown::Write)
    }
}

impl Side for multiplex::Stream {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_read_ready(cx).map(Ok)
    }

    fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        Self::try_read(self, into)
    }

    fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_parts(cx, &[IoSlice::new(bytes)])
    }

    fn end(&self) -> io::Result<()> {
        Self::end(self);
        Ok(())
    }
}

/// Forwards between a client and a server.
pub(crate) async fn forward(
    client: &TcpStream,
    server: &Upstream,
    idle_timeout: Duration,
    counters: &Counters,
) -> Result<(), ForwardError> {
    match server {
        Upstream::Connection { tcp, .. } => between(client, tcp, idle_timeout, counters).await,
        Upstream::Stream(server) => between(client, server, idle_timeout, counters).await,
    }
}

/// Forwards until both sides have ended, one has failed, or no byte was taken for `idle_timeout`.
async fn between(
    client: &impl Side,
    server: &impl Side,
    idle_timeout: Duration,
    counters: &Counters,
) -> Result<(), ForwardError> {
    let mut up = Direction::new(client, server, &counters.bytes_up);
    let mut down = Direction::new(server, client, &counters.bytes_down);
    let mut idle = pin!(sleep_until(Instant::now() + idle_timeout));
    let mut moved_at = Instant::now();
    poll_fn(|cx| {
        let mut has_moved = false;
        let up_ended = up.poll(cx, &mut has_moved)?;
        let down_ended = down.poll(cx, &mut has_moved)?;
        if down.is_refused() {
            // The client is gone: there is nothing left to do.
            return Poll::Ready(Ok(()));
        }
        // A server that takes nothing more may have said why: that still reaches the client.
        if down_ended.is_ready() && (up_ended.is_ready() || up.is_refused()) {
            return Poll::Ready(Ok(()));
        }
        if has_moved {
            moved_at = Instant::now();
        }
        while idle.as_mut().poll(cx).is_ready() {
            if moved_at.elapsed() >= idle_timeout {
                return Poll::Ready(Err(ForwardError::Idle(idle_timeout)));
            }
            idle.as_mut().reset(moved_at + idle_timeout);
        }
        Poll::Pending
    })
    .await
}

struct Direction<'a, F, T> {
    from: &'a F,
    to: &'a T,
    /// Bytes that were read and not taken yet, from `written` on.
    held: Vec<u8>,
    written: usize,
    state: State,
    bytes: &'a AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// `from` has sent its last byte.
    Ending,
    /// `to` has got it, and knows that it was the last.
    Ended,
    /// `to` takes nothing more. What `from` still sends is read all the same: unread, it would destroy at the end of the connection
    /// what was sent to `from`.
    Refused,
    /// The same, and `from` has sent its last byte.
    RefusedAndEnded,
}

impl<'a, F: Side, T: Side> Direction<'a, F, T> {
    fn new(from: &'a F, to: &'a T, bytes: &'a AtomicU64) -> Self {
        Self {
            from,
            to,
            held: Vec::new(),
            written: 0,
            state: State::Open,
            bytes,
        }
    }

    fn is_refused(&self) -> bool {
        matches!(self.state, State::Refused | State::RefusedAndEnded)
    }

    /// Moves bytes until either side blocks; ready when the direction has ended. Fails if `from` does.
    fn poll(&mut self, cx: &mut Context<'_>, has_moved: &mut bool) -> Poll<io::Result<()>> {
        loop {
            if !self.held.is_empty() {
                *has_moved |= ready!(self.write_held(cx));
                continue;
            }
            match self.state {
                State::Open | State::Refused => {
                    ready!(self.from.poll_readable(cx))?;
                    *has_moved |= self.copy(cx)?;
                }
                State::Ending => {
                    self.state = match self.to.end() {
                        Ok(()) => State::Ended,
                        Err(_) => State::RefusedAndEnded,
                    };
                }
                State::Ended | State::RefusedAndEnded => return Poll::Ready(Ok(())),
            }
        }
    }

    /// Reads once and writes what the other side takes; the rest is held.
    fn copy(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        SHARED.with_borrow_mut(|buffer| {
            let n = match self.from.try_read(buffer) {
                Ok(0) => {
                    self.state = match self.state {
                        State::Refused => State::RefusedAndEnded,
                        _ => State::Ending,
                    };
                    return Ok(true);
                }
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            };
            if self.state == State::Refused {
                return Ok(false);
            }
            let taken = match self.to.poll_write(cx, &buffer[..n]) {
                Poll::Ready(Ok(taken)) => taken,
                Poll::Ready(Err(error)) => {
                    self.refuse(&error);
                    return Ok(false);
                }
                Poll::Pending => 0,
            };
            add(self.bytes, taken as u64);
            if taken < n {
                self.held = buffer[taken..n].to_vec();
                self.written = 0;
            }
            Ok(true)
        })
    }

    fn write_held(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let taken = match ready!(self.to.poll_write(cx, &self.held[self.written..])) {
            Ok(taken) => taken,
            Err(error) => {
                self.refuse(&error);
                return Poll::Ready(false);
            }
        };
        add(self.bytes, taken as u64);
        self.written += taken;
        if self.written == self.held.len() {
            // Most connections never hold anything: give the memory back.
            self.held = Vec::new();
        }
        Poll::Ready(taken > 0)
    }

    fn refuse(&mut self, error: &io::Error) {
        tracing::debug!(%error, "a side takes nothing more");
        self.held = Vec::new();
        self.state = State::Refused;
    }
}
