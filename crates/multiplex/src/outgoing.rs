//! What waits to be written to a connection: frames of all streams in one buffer, so that one write carries many.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::task::{Context, Poll, Waker};

use locks::Mutex;

use crate::frame::{Frame, encode_data};
use crate::{MAX_OUTGOING, MAX_OUTGOING_WITH_CONTROL};

/// A stream takes this lock while it holds its own.
const RANK: u8 = 22;
/// How many streams that wait for room are woken at a time, at most: of thousands, most would find the buffer full again.
const WAKE: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Outgoing(Mutex<State, RANK>);

#[derive(Debug, Default)]
struct State {
    frames: Vec<u8>,
    /// How many bytes of them open streams: those are no answers to the peer.
    opening: usize,
    /// The task that writes, while it has nothing to write.
    writer: Option<Waker>,
    waiting: Waiting,
    is_closed: bool,
}

/// Streams that wait for room.
#[derive(Debug, Default)]
struct Waiting {
    streams: HashMap<u32, WaitingStream>,
    /// In this order; also some that do not wait any more.
    order: VecDeque<u32>,
}

#[derive(Debug)]
struct WaitingStream {
    waker: Waker,
    /// How much it wants to write.
    length: usize,
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
            let length = parts.iter().map(|part| part.len()).sum();
            let waker = cx.waker().clone();
            state.waiting.add(stream, WaitingStream { waker, length });
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
            let before = state.frames.len();
            frame.encode(&mut state.frames);
            if matches!(frame, Frame::Open { .. }) {
                state.opening += state.frames.len() - before;
            }
            state.wake_writer();
        }
    }

    /// The stream wants to write nothing more.
    pub(crate) fn forget(&self, stream: u32) {
        self.0.lock().waiting.streams.remove(&stream);
    }

    /// Whether the peer makes this side answer and does not read the answers.
    pub(crate) fn is_flooded(&self) -> bool {
        let state = self.0.lock();
        state.frames.len() - state.opening > MAX_OUTGOING_WITH_CONTROL
    }

    /// Takes everything that waits, and leaves an empty buffer.
    pub(crate) fn poll_take(&self, cx: &mut Context<'_>, into: &mut Vec<u8>) -> Poll<()> {
        let mut state = self.0.lock();
        let woken = state.waiting.next();
        let is_empty = state.frames.is_empty();
        if is_empty {
            keep(&mut state.writer, cx);
        } else {
            into.clear();
            std::mem::swap(&mut state.frames, into);
            state.opening = 0;
        }
        drop(state);
        if is_empty && !woken.is_empty() {
            // Those that are woken may have nothing to write any more: then the next get their turn.
            cx.waker().wake_by_ref();
        }
        woken.into_iter().for_each(Waker::wake);
        match is_empty {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
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
        state.opening = 0;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        let streams = waiting.streams.into_values();
        streams.for_each(|stream| stream.waker.wake());
    }
}

impl State {
    fn wake_writer(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
    }
}

impl Waiting {
    /// A stream that waits already keeps its place.
    fn add(&mut self, stream: u32, waiting: WaitingStream) {
        if self.streams.insert(stream, waiting).is_none() {
            self.order.push_back(stream);
        }
    }

    /// Removes those that wait the longest, as many as there is room for in an empty buffer.
    fn next(&mut self) -> Vec<Waker> {
        let (mut woken, mut length) = (Vec::new(), 0);
        while woken.len() < WAKE && length < MAX_OUTGOING {
            let Some(stream) = self.order.pop_front() else {
                break;
            };
            if let Some(waiting) = self.streams.remove(&stream) {
                length += waiting.length;
                woken.push(waiting.waker);
            }
        }
        woken
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;
    use crate::MAX_PAYLOAD;

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn polled<T>(
        counter: &Arc<Counter>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let waker = Waker::from(counter.clone());
        poll(&mut Context::from_waker(&waker))
    }

    /// A full buffer, and so many streams that wait for room, each with a piece of this length.
    fn full(n_waiting: usize, length: usize) -> (Outgoing, Vec<Arc<Counter>>) {
        let (outgoing, filler) = (Outgoing::default(), Arc::new(Counter::default()));
        let piece = vec![7; MAX_PAYLOAD];
        while polled(&filler, |cx| outgoing.poll_data(cx, 1, &[&piece])).is_ready() {}
        outgoing.forget(1);
        let streams: Vec<_> = (0..n_waiting).map(|_| Arc::default()).collect();
        for (id, stream) in (2..).zip(&streams) {
            let write = |cx: &mut Context<'_>| outgoing.poll_data(cx, id, &[&piece[..length]]);
            // The second time it keeps its place.
            for _ in 0..2 {
                assert!(polled(stream, write).is_pending());
            }
        }
        (outgoing, streams)
    }

    fn woken(streams: &[Arc<Counter>]) -> Vec<usize> {
        let counts = streams.iter().map(|it| it.0.load(Ordering::SeqCst));
        counts.collect()
    }

    #[test]
    fn those_that_wait_the_longest_are_woken_first_and_not_all_at_once() {
        let (outgoing, streams) = full(WAKE + 10, 1);
        let writer = Arc::new(Counter::default());
        let mut frames = Vec::new();
        // One of them has given up.
        outgoing.forget(3);
        assert!(polled(&writer, |cx| outgoing.poll_take(cx, &mut frames)).is_ready());
        let expected: Vec<usize> = (0..WAKE + 10)
            .map(|n| usize::from(n != 1 && n <= WAKE))
            .collect();
        assert_eq!(woken(&streams), expected);
        // None of them writes: the others are woken all the same.
        assert!(polled(&writer, |cx| outgoing.poll_take(cx, &mut frames)).is_pending());
        assert_eq!(woken(&streams).iter().sum::<usize>(), WAKE + 9);
        assert_eq!(writer.0.load(Ordering::SeqCst), 1, "it looks again");
        assert!(polled(&writer, |cx| outgoing.poll_take(cx, &mut frames)).is_pending());
        assert_eq!(writer.0.load(Ordering::SeqCst), 1, "none waits");
    }

    #[test]
    fn as_many_are_woken_as_there_is_room_for() {
        let (outgoing, streams) = full(WAKE, MAX_PAYLOAD);
        let (writer, mut frames) = (Arc::new(Counter::default()), Vec::new());
        assert!(polled(&writer, |cx| outgoing.poll_take(cx, &mut frames)).is_ready());
        let n = woken(&streams).iter().sum::<usize>();
        assert_eq!(n, MAX_OUTGOING.div_ceil(MAX_PAYLOAD));
    }

    #[test]
    fn streams_that_are_opened_are_no_flood() {
        let outgoing = Outgoing::default();
        let opening = Frame::Open {
            stream: 1,
            opening: &[7; 500],
        };
        for _ in 0..=MAX_OUTGOING_WITH_CONTROL / 500 {
            outgoing.control(opening);
        }
        assert!(!outgoing.is_flooded());
        let (writer, mut frames) = (Arc::new(Counter::default()), Vec::new());
        assert!(polled(&writer, |cx| outgoing.poll_take(cx, &mut frames)).is_ready());
        for _ in 0..=MAX_OUTGOING_WITH_CONTROL / 8 {
            outgoing.control(Frame::Pong);
        }
        assert!(outgoing.is_flooded());
    }
}
