//! Copies bytes between two connections, in both directions, in one task.
//!
//! Each thread has one buffer for all connections. A connection keeps only the bytes that the other side has not taken yet, at
//! most one buffer in each direction, and reads no more until they are gone: backpressure passes through. So an idle connection
//! has no buffer at all.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::net::Shutdown;
use std::pin::pin;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use crate::counters::{Counters, add};

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

/// Forwards until both sides have ended, one has failed, or no byte was taken for `idle_timeout`.
pub(crate) async fn forward(
    client: &TcpStream,
    server: &TcpStream,
    idle_timeout: Duration,
    counters: &Counters,
) -> Result<(), ForwardError> {
    let mut up = Direction::new(client, server, &counters.bytes_up);
    let mut down = Direction::new(server, client, &counters.bytes_down);
    let mut idle = pin!(sleep_until(Instant::now() + idle_timeout));
    let mut moved_at = Instant::now();
    poll_fn(|cx| {
        let mut is_over = true;
        let mut has_moved = false;
        for direction in [&mut up, &mut down] {
            match direction.poll(cx, &mut has_moved) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                Poll::Pending => is_over = false,
            }
        }
        if is_over {
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

struct Direction<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
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
}

impl<'a> Direction<'a> {
    fn new(from: &'a TcpStream, to: &'a TcpStream, bytes: &'a AtomicU64) -> Self {
        Self {
            from,
            to,
            held: Vec::new(),
            written: 0,
            state: State::Open,
            bytes,
        }
    }

    /// Moves bytes until either side blocks; ready when the direction has ended.
    fn poll(&mut self, cx: &mut Context<'_>, has_moved: &mut bool) -> Poll<io::Result<()>> {
        loop {
            if !self.held.is_empty() {
                ready!(self.to.poll_write_ready(cx))?;
                *has_moved |= self.write_held()?;
                continue;
            }
            match self.state {
                State::Open => {
                    ready!(self.from.poll_read_ready(cx))?;
                    *has_moved |= self.copy()?;
                }
                State::Ending => {
                    self.state = State::Ended;
                    SockRef::from(self.to).shutdown(Shutdown::Write)?;
                }
                State::Ended => return Poll::Ready(Ok(())),
            }
        }
    }

    /// Reads once and writes what the other side takes; the rest is held.
    fn copy(&mut self) -> io::Result<bool> {
        SHARED.with_borrow_mut(|buffer| {
            let n = match self.from.try_read(buffer) {
                Ok(0) => {
                    self.state = State::Ending;
                    return Ok(true);
                }
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            };
            let taken = self.write(&buffer[..n])?;
            if taken < n {
                self.held = buffer[taken..n].to_vec();
                self.written = 0;
            }
            Ok(true)
        })
    }

    fn write_held(&mut self) -> io::Result<bool> {
        let taken = self.write(&self.held[self.written..])?;
        self.written += taken;
        if self.written == self.held.len() {
            // Most connections never hold anything: give the memory back.
            self.held = Vec::new();
        }
        Ok(taken > 0)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self.to.try_write(bytes) {
            Ok(n) => {
                add(self.bytes, n as u64);
                Ok(n)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(error),
        }
    }
}
