//! One stream: bytes in both directions, each with a window and an end of its own.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use locks::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::coop::poll_proceed;

use crate::WINDOW;
use crate::connection::Shared;
use crate::frame::{Frame, MAX_PAYLOAD};
use crate::outgoing::keep;

/// Taken before the lock of what waits to be written.
const RANK: u8 = 21;
/// How many places one piece may come from; more is left for the next.
const MAX_PARTS: usize = 8;

/// One end of a stream. Dropping it ends the stream; what was written before still arrives.
#[derive(Debug)]
pub struct Stream {
    id: u32,
    ends: Arc<Ends>,
    connection: Arc<Shared>,
}

/// What the reader of the connection and the user of the stream share.
#[derive(Debug)]
pub(crate) struct Ends(Mutex<State, RANK>);

#[derive(Debug)]
struct State {
    /// Bytes that came and were not taken, from `taken` on.
    incoming: Vec<u8>,
    taken: usize,
    /// What the peer may send now.
    may_receive: u32,
    /// What the peer may send beyond what was taken.
    window: u32,
    may_send: u32,
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// The peer has sent its last byte.
    has_peer_ended: bool,
    /// This side has.
    has_ended: bool,
    /// Either side has given the stream up.
    is_reset: bool,
}

impl Ends {
    /// With what each side may send at first.
    pub(crate) fn new(may_receive: u32, may_send: u32) -> Arc<Self> {
        Arc::new(Self(Mutex::ranked(State {
            incoming: Vec::new(),
            taken: 0,
            may_receive,
            window: may_receive,
            may_send,
            reader: None,
            writer: None,
            has_peer_ended: false,
            has_ended: false,
            is_reset: false,
        })))
    }

    /// Takes a piece from the peer.
    pub(crate) fn receive(&self, bytes: &[u8]) -> Result<(), &'static str> {
        let mut state = self.0.lock();
        if state.is_reset {
            return Ok(());
        }
        if state.has_peer_ended {
            return Err("a piece after the end of its stream");
        }
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let left = state.may_receive.checked_sub(length);
        state.may_receive = left.ok_or("more than the window of a stream")?;
        if state.taken > 0 {
            let taken = std::mem::take(&mut state.taken);
            state.incoming.drain(..taken);
        }
        state.incoming.extend_from_slice(bytes);
        wake(state.reader.take());
        Ok(())
    }

    pub(crate) fn credit(&self, bytes: u32) -> Result<(), &'static str> {
        let mut state = self.0.lock();
        let more = state.may_send.checked_add(bytes);
        state.may_send = more.ok_or("more credit than a stream can have")?;
        wake(state.writer.take());
        Ok(())
    }

    /// Whether the stream is over.
    pub(crate) fn peer_ended(&self) -> bool {
        let mut state = self.0.lock();
        state.has_peer_ended = true;
        wake(state.reader.take());
        state.has_ended
    }

    pub(crate) fn reset(&self) {
        let mut state = self.0.lock();
        state.is_reset = true;
        wake(state.reader.take());
        wake(state.writer.take());
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl State {
    fn waiting(&self) -> &[u8] {
        &self.incoming[self.taken..]
    }

    /// Whether there is something to read: bytes, the end, or the error.
    fn poll_readable(&mut self, cx: &Context<'_>) -> Poll<()> {
        if !self.waiting().is_empty() || self.has_peer_ended || self.is_reset {
            return Poll::Ready(());
        }
        keep(&mut self.reader, cx);
        Poll::Pending
    }

    /// Takes up to so many bytes; 0 is the end. Returns the credit that the peer gets for it.
    fn take(&mut self, into: &mut [u8]) -> io::Result<(usize, Option<u32>)> {
        let waiting = self.waiting();
        let n = waiting.len().min(into.len());
        if n == 0 {
            return match waiting.is_empty() && self.is_reset && !self.has_peer_ended {
                true => Err(reset()),
                false => Ok((0, None)),
            };
        }
        into[..n].copy_from_slice(&waiting[..n]);
        self.taken += n;
        if self.taken == self.incoming.len() {
            // Most streams are idle most of the time: give the memory back.
            self.incoming = Vec::new();
            self.taken = 0;
        }
        Ok((n, self.credit_due()))
    }

    /// Credit is given for half a window at a time, so that short frames need none.
    fn credit_due(&mut self) -> Option<u32> {
        let under_way = self.may_receive + self.waiting().len() as u32;
        if self.has_peer_ended || self.is_reset || under_way > self.window / 2 {
            return None;
        }
        self.window = WINDOW;
        let credit = self.window - under_way;
        self.may_receive += credit;
        Some(credit)
    }

    /// How many bytes may be written now.
    fn poll_window(&mut self, cx: &Context<'_>) -> Poll<io::Result<usize>> {
        if self.is_reset || self.has_ended {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if self.may_send == 0 {
            keep(&mut self.writer, cx);
            return Poll::Pending;
        }
        Poll::Ready(Ok((self.may_send as usize).min(MAX_PAYLOAD)))
    }
}

fn reset() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "the stream was given up")
}

impl Stream {
    pub(crate) fn new(id: u32, ends: Arc<Ends>, connection: Arc<Shared>) -> Self {
        Self {
            id,
            ends,
            connection,
        }
    }

    /// Waits for a byte or the end, and copies what has come without taking it; 0 is the end.
    pub async fn peek(&self, into: &mut [u8]) -> io::Result<usize> {
        std::future::poll_fn(|cx| {
            let mut state = self.ends.0.lock();
            ready!(state.poll_readable(cx));
            let waiting = state.waiting();
            let n = waiting.len().min(into.len());
            into[..n].copy_from_slice(&waiting[..n]);
            let is_broken = waiting.is_empty() && state.is_reset && !state.has_peer_ended;
            Poll::Ready(if is_broken { Err(reset()) } else { Ok(n) })
        })
        .await
    }

    /// Waits until the peer has ended the stream or given it up, whatever is still to be read. Shares its place with reads: only
    /// one of both may wait at a time.
    pub async fn ended(&self) {
        std::future::poll_fn(|cx| {
            let mut state = self.ends.0.lock();
            if state.has_peer_ended || state.is_reset {
                return Poll::Ready(());
            }
            keep(&mut state.reader, cx);
            Poll::Pending
        })
        .await;
    }

    /// Whether [`Stream::try_read`] returns something.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        let proceed = ready!(poll_proceed(cx));
        ready!(self.ends.0.lock().poll_readable(cx));
        proceed.made_progress();
        Poll::Ready(())
    }

    /// Takes what has come; 0 is the end.
    pub fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        let mut state = self.ends.0.lock();
        if state.waiting().is_empty() && !state.has_peer_ended && !state.is_reset {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let (n, credit) = state.take(into)?;
        if let Some(bytes) = credit {
            let stream = self.id;
            self.connection
                .outgoing
                .control(Frame::Credit { stream, bytes });
        }
        Ok(n)
    }

    /// Writes some of these bytes as one piece.
    pub fn poll_write_parts(
        &self,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let proceed = ready!(poll_proceed(cx));
        let mut state = self.ends.0.lock();
        let mut room = ready!(state.poll_window(cx))?;
        let most = room;
        let mut fitting: [&[u8]; MAX_PARTS] = [&[]; MAX_PARTS];
        for (place, part) in fitting.iter_mut().zip(parts) {
            *place = &part[..part.len().min(room)];
            room -= place.len();
        }
        let n = most - room;
        if n > 0 {
            let outgoing = &self.connection.outgoing;
            ready!(outgoing.poll_data(cx, self.id, &fitting))?;
            state.may_send -= n as u32;
        }
        proceed.made_progress();
        Poll::Ready(Ok(n))
    }

    /// Says that this side has sent its last byte.
    pub fn end(&self) {
        let is_over = {
            let mut state = self.ends.0.lock();
            if state.is_reset || std::mem::replace(&mut state.has_ended, true) {
                return;
            }
            let stream = self.id;
            self.connection.outgoing.control(Frame::End { stream });
            state.has_peer_ended
        };
        if is_over {
            self.connection.forget(self.id);
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        {
            let mut state = self.ends.0.lock();
            state.incoming = Vec::new();
            if state.is_reset || (state.has_ended && state.has_peer_ended) {
                return;
            }
            state.is_reset = true;
            let stream = self.id;
            self.connection.outgoing.control(Frame::Reset { stream });
        }
        self.connection.forget(self.id);
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_read_ready(cx));
        let n = self.try_read(into.initialize_unfilled())?;
        into.advance(n);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_parts(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_parts(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Nothing is held back: the connection writes as soon as it can.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.end();
        Poll::Ready(Ok(()))
    }
}
