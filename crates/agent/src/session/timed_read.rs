//! A read half that records when bytes last arrived: a long frame on a slow network takes minutes, and each byte is a sign
//! of life.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct TimedRead<R> {
    half: R,
    read_at: Instant,
}

impl<R> TimedRead<R> {
    pub(super) fn new(half: R) -> Self {
        Self {
            half,
            read_at: Instant::now(),
        }
    }

    pub(super) fn read_at(&self) -> Instant {
        self.read_at
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for TimedRead<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.half).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.read_at = Instant::now();
        }
        polled
    }
}
