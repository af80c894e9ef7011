//! What waits to be written to a connection: frames of all streams in one buffer, so that one write carries many.

use std::collections::HashMap;
use std::io;
use std::task::{Context, Poll, Waker};

use locks::Mutex;

use crate::frame::{Frame, encode_data};
use crate::{MAX_OUTGOING, MAX_OUTGOING_WITH_CONTROL};

/// A stream takes this lock while it holds its own.
const RANK: u8 = 22;

#[derive(Debug, Default)]
pub(crate) struct Outgoing(Mutex<State, RANK>);

#[derive(Debug, Default)]
struct State {
    frames: Vec<u8>,
    /// The task that writes, while it has nothing to write.
    writer: Option<Waker>,
    /// Streams that wait for room.
    waiting: HashMap<u32, Waker>,
    is_closed: bool,
}

impl Outgoing {
    /// Appends a piece of a stream, if there is room; the parts are not longer than a payload.
    pub(crate) fn poll_data(
        &self,
        cx: &mut Context<'_>,
        stream: u32,
        parts: &[&[u8]],
    ) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        if state.is_closed {
            return Poll::Ready(Err(closed()));
        }
        if state.frames.len() >= MAX_OUTGOING {
            state.waiting.insert(stream, cx.waker().clone());
            return Poll::Pending;
        }
        encode_data(&mut state.frames, stream, parts);
        state.wake_writer();
        Poll::Ready(Ok(()))
    }

    /// Appends a frame that is no piece of a stream. These never wait: there are at most a few for each stream, and one for each
    /// frame of the peer.
    pub(crate) fn control(&self, frame: Frame<'_>) {
        let mut state = self.0.lock();
        if !state.is_closed {
            frame.encode(&mut state.frames);
            state.wake_writer();
        }
    }

    /// Whether the peer makes this side answer and does not read the answers.
    pub(crate) fn is_flooded(&self) -> bool {
        self.0.lock().frames.len() > MAX_OUTGOING_WITH_CONTROL
    }

    /// Takes everything that waits, and leaves an empty buffer.
    pub(crate) fn poll_take(&self, cx: &mut Context<'_>, into: &mut Vec<u8>) -> Poll<()> {
        let mut state = self.0.lock();
        if state.frames.is_empty() {
            keep(&mut state.writer, cx);
            return Poll::Pending;
        }
        into.clear();
        std::mem::swap(&mut state.frames, into);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_values().for_each(Waker::wake);
        Poll::Ready(())
    }

    /// Makes the writer look again.
    pub(crate) fn wake_writer(&self) {
        self.0.lock().wake_writer();
    }

    /// From now on nothing is taken, and nothing waits.
    pub(crate) fn close(&self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        state.frames = Vec::new();
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_values().for_each(Waker::wake);
    }
}

impl State {
    fn wake_writer(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
    }
}

pub(crate) fn keep(place: &mut Option<Waker>, cx: &Context<'_>) {
    match place {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *place = Some(cx.waker().clone()),
    }
}

pub(crate) fn closed() -> io::Error {
    io::Error::new(
        io::ErrorKind::ConnectionReset,
        "the connection of the stream has ended",
    )
}
