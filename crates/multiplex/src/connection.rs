//! One connection: who opens streams, and the task that moves the frames of all of them.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use locks::Mutex;
use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::frame::{Frame, HEADER, MAX_OPENING, MAX_PAYLOAD};
use crate::outgoing::{Outgoing, closed};
use crate::preface::{Preface, PrefaceError};
use crate::stream::{Ends, Stream};
use crate::{
    ACCEPTOR_WINDOW, ASK_AFTER, ConnectionError, MAX_OUTGOING, MAX_STREAMS, OPENER_WINDOW, SILENCE,
};

/// Taken before the lock of what waits to be written.
const RANK: u8 = 20;
/// How much is read at a time: many frames of idle streams, or some long ones.
const READ: usize = 64 * 1024;
/// After so many bytes at once the other tasks get their turn first: a connection that always has bytes would keep its thread.
const MUCH: usize = 16 * 1024;
/// A buffer of frames that has grown beyond it is given back when it is written.
const KEEP_CAPACITY: usize = 2 * MAX_OUTGOING;
/// How often silence is looked for.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How often a peer is asked for a sign of life when streams are opened.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// How long a connection whose peer has answered nothing gets no further streams: a host that lost power says no more.
const UNANSWERED: Duration = Duration::from_secs(3);
/// How long a connection that has finished waits for the peer to close it: data that nobody reads would destroy what was sent.
const LINGER: Duration = Duration::from_secs(2);

/// What opens streams. The connection goes on without it.
#[derive(Debug, Clone)]
pub struct Connection(Arc<Shared>);

/// What moves the frames; dropping it, or the end of [`Driver::run`], ends all streams.
#[derive(Debug)]
pub struct Driver {
    tcp: TcpStream,
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    streams: Mutex<Streams, RANK>,
    n_streams: AtomicUsize,
    pub(crate) outgoing: Outgoing,
    /// What a new stream may receive, and send.
    may_receive: u32,
    may_send: u32,
    /// The connection ends with its last stream.
    is_finishing: AtomicBool,
    /// Bytes, to see silence and stalls.
    n_read: AtomicU64,
    n_written: AtomicU64,
    is_writing: AtomicBool,
}

#[derive(Debug, Default)]
struct Streams {
    open: HashMap<u32, Arc<Ends>>,
    /// The number of the newest.
    last: u32,
    /// The last time that the peer was asked for a sign of life because of a new stream.
    asked: Option<Asked>,
    is_closed: bool,
}

#[derive(Debug, Clone, Copy)]
struct Asked {
    at: Instant,
    /// How much had come by then.
    n_read: u64,
}

impl Connection {
    /// Begins to multiplex as the side that opens streams. A peer that does not multiplex fails with
    /// [`PrefaceError::NotMultiplexed`].
    pub async fn open(mut tcp: TcpStream) -> Result<(Self, Driver), PrefaceError> {
        let ours = Preface::with_window(OPENER_WINDOW);
        ours.write(&mut tcp).await?;
        let peer = Preface::read(&mut tcp).await?;
        Ok(Self::new(tcp, ours, peer))
    }

    /// The same as the other side, whose peer has sent nothing but the preface.
    pub async fn accept(mut tcp: TcpStream) -> Result<(Self, Driver), PrefaceError> {
        let peer = Preface::read(&mut tcp).await?;
        let ours = Preface::with_window(ACCEPTOR_WINDOW);
        ours.write(&mut tcp).await?;
        Ok(Self::new(tcp, ours, peer))
    }

    fn new(tcp: TcpStream, ours: Preface, peer: Preface) -> (Self, Driver) {
        let shared = Arc::new(Shared {
            streams: Mutex::ranked(Streams::default()),
            n_streams: AtomicUsize::new(0),
            outgoing: Outgoing::default(),
            may_receive: ours.window,
            may_send: peer.window,
            is_finishing: AtomicBool::new(false),
            n_read: AtomicU64::new(0),
            n_written: AtomicU64::new(0),
            is_writing: AtomicBool::new(false),
        });
        let driver = Driver {
            tcp,
            shared: shared.clone(),
        };
        (Self(shared), driver)
    }

    /// A new stream, unless the peer owes a sign of life, with up to [`MAX_OPENING`] bytes that say what it is. It may be used at once.
    pub fn stream(&self, opening: &[u8]) -> io::Result<Stream> {
        if opening.len() > MAX_OPENING {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut streams = self.0.streams.lock();
        if streams.is_closed || streams.last == u32::MAX || streams.open.len() >= MAX_STREAMS {
            return Err(closed());
        }
        self.0.ask_for_life(&mut streams)?;
        streams.last += 1;
        let id = streams.last;
        let ends = Ends::new(self.0.may_receive, self.0.may_send);
        streams.open.insert(id, ends.clone());
        self.0.n_streams.fetch_add(1, Ordering::Relaxed);
        // Under the lock, because the peer wants the numbers in order.
        let opening = Frame::Open {
            stream: id,
            opening,
        };
        self.0.outgoing.control(opening);
        Ok(Stream::new(id, ends, self.0.clone()))
    }

    /// Whether it can open streams.
    pub fn is_open(&self) -> bool {
        let streams = self.0.streams.lock();
        !streams.is_closed && streams.last < u32::MAX
    }

    pub fn n_streams(&self) -> usize {
        self.0.n_streams.load(Ordering::Relaxed)
    }

    /// Refuses further streams of the peer, and ends when there are none.
    pub fn finish(&self) {
        self.0.is_finishing.store(true, Ordering::SeqCst);
        self.0.outgoing.wake_writer();
    }
}

impl Shared {
    /// Asks the peer now and then; fails if it has said nothing at all since it was asked.
    fn ask_for_life(&self, streams: &mut Streams) -> io::Result<()> {
        let (now, n_read) = (Instant::now(), self.n_read.load(Ordering::Relaxed));
        if let Some(asked) = streams.asked {
            let has_answered = asked.n_read != n_read;
            if !has_answered && now >= asked.at + UNANSWERED {
                return Err(io::ErrorKind::TimedOut.into());
            }
            if !has_answered || now < asked.at + ASK_EVERY {
                return Ok(());
            }
        }
        streams.asked = Some(Asked { at: now, n_read });
        self.outgoing.control(Frame::Ping);
        Ok(())
    }

    /// The stream is over.
    pub(crate) fn forget(&self, id: u32) {
        let known = self.streams.lock().open.remove(&id);
        if known.is_some() {
            self.outgoing.forget(id);
            let before = self.n_streams.fetch_sub(1, Ordering::SeqCst);
            if before == 1 && self.is_finishing.load(Ordering::SeqCst) {
                self.outgoing.wake_writer();
            }
        }
    }

    fn is_finished(&self) -> bool {
        self.is_finishing.load(Ordering::SeqCst) && self.n_streams.load(Ordering::SeqCst) == 0
    }

    /// Ends all streams.
    fn close(&self) {
        let open = {
            let mut streams = self.streams.lock();
            streams.is_closed = true;
            std::mem::take(&mut streams.open)
        };
        self.n_streams.store(0, Ordering::SeqCst);
        self.outgoing.close();
        open.values().for_each(|ends| ends.reset());
    }

    /// The stream of a frame; None if it is over.
    fn find(&self, stream: u32) -> Result<Option<Arc<Ends>>, ConnectionError> {
        let streams = self.streams.lock();
        match streams.open.get(&stream) {
            Some(ends) => Ok(Some(ends.clone())),
            None if stream <= streams.last => Ok(None),
            None => Err(ConnectionError::Rules(
                "a frame of a stream that was not opened",
            )),
        }
    }

    fn take(
        self: &Arc<Self>,
        frame: Frame<'_>,
        on_stream: &mut Option<impl FnMut(Stream, &[u8])>,
    ) -> Result<(), ConnectionError> {
        let broken = ConnectionError::Rules;
        match frame {
            Frame::Open { stream, opening } => {
                let Some(on_stream) = on_stream else {
                    return Err(broken("this side opens streams"));
                };
                if let Some(new) = self.accept(stream)? {
                    on_stream(new, opening);
                }
            }
            Frame::Data { stream, bytes } => {
                if let Some(ends) = self.find(stream)? {
                    ends.receive(bytes).map_err(broken)?;
                }
            }
            Frame::Credit { stream, bytes } => {
                if let Some(ends) = self.find(stream)? {
                    ends.credit(bytes).map_err(broken)?;
                }
            }
            Frame::End { stream } => {
                if let Some(ends) = self.find(stream)?
                    && ends.peer_ended()
                {
                    self.forget(stream);
                }
            }
            Frame::Reset { stream } => {
                if let Some(ends) = self.find(stream)? {
                    ends.reset();
                    self.forget(stream);
                }
            }
            Frame::Ping => self.outgoing.control(Frame::Pong),
            Frame::Pong => {}
        }
        Ok(())
    }

    /// A stream that the peer opened; None beyond the limit.
    fn accept(self: &Arc<Self>, stream: u32) -> Result<Option<Stream>, ConnectionError> {
        let mut streams = self.streams.lock();
        if stream <= streams.last {
            return Err(ConnectionError::Rules("the number of a stream comes again"));
        }
        streams.last = stream;
        if streams.open.len() >= MAX_STREAMS || self.is_finishing.load(Ordering::SeqCst) {
            self.outgoing.control(Frame::Reset { stream });
            return Ok(None);
        }
        let ends = Ends::new(self.may_receive, self.may_send);
        streams.open.insert(stream, ends.clone());
        self.n_streams.fetch_add(1, Ordering::SeqCst);
        Ok(Some(Stream::new(stream, ends, self.clone())))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Driver {
    /// Moves frames until the connection ends, as the side that opens streams.
    pub async fn run(self) -> Result<(), ConnectionError> {
        self.run_with(None::<fn(Stream, &[u8])>).await
    }

    /// The same as the other side: `on_stream` gets each new stream with its opening, and must not block.
    pub async fn serve(self, on_stream: impl FnMut(Stream, &[u8])) -> Result<(), ConnectionError> {
        self.run_with(Some(on_stream)).await
    }

    async fn run_with(
        self,
        mut on_stream: Option<impl FnMut(Stream, &[u8])>,
    ) -> Result<(), ConnectionError> {
        tokio::select! {
            ended = self.read(&mut on_stream) => ended,
            ended = self.write() => ended,
            ended = self.watch() => ended,
        }
    }

    async fn read(
        &self,
        on_stream: &mut Option<impl FnMut(Stream, &[u8])>,
    ) -> Result<(), ConnectionError> {
        const { assert!(READ >= 2 * (HEADER + MAX_PAYLOAD)) };
        let mut buffer = vec![0; READ];
        let mut filled = 0;
        loop {
            self.tcp.readable().await?;
            let n = match self.tcp.try_read(&mut buffer[filled..]) {
                Ok(0) if self.shared.is_finished() => return Ok(()),
                Ok(0) => return Err(ConnectionError::Closed),
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error.into()),
            };
            self.shared.n_read.fetch_add(n as u64, Ordering::Relaxed);
            filled += n;
            let mut begun = 0;
            while let Some((frame, length)) = Frame::decode(&buffer[begun..filled])? {
                self.shared.take(frame, on_stream)?;
                begun += length;
            }
            buffer.copy_within(begun..filled, 0);
            filled -= begun;
            if self.shared.outgoing.is_flooded() {
                return Err(ConnectionError::Flooding);
            }
            if n >= MUCH {
                tokio::task::yield_now().await;
            }
        }
    }

    async fn write(&self) -> Result<(), ConnectionError> {
        let mut frames = Vec::new();
        let outgoing = &self.shared.outgoing;
        loop {
            let has_frames = std::future::poll_fn(|cx| match outgoing.poll_take(cx, &mut frames) {
                Poll::Ready(()) => Poll::Ready(true),
                Poll::Pending if self.shared.is_finished() => Poll::Ready(false),
                Poll::Pending => Poll::Pending,
            });
            if !has_frames.await {
                SockRef::from(&self.tcp).shutdown(Shutdown::Write)?;
                tokio::time::sleep(LINGER).await;
                return Ok(());
            }
            self.shared.is_writing.store(true, Ordering::Relaxed);
            let mut written = 0;
            while written < frames.len() {
                self.tcp.writable().await?;
                match self.tcp.try_write(&frames[written..]) {
                    Ok(n) => {
                        self.shared.n_written.fetch_add(n as u64, Ordering::Relaxed);
                        written += n;
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error.into()),
                }
            }
            if written >= MUCH {
                tokio::task::yield_now().await;
            }
            frames.clear();
            frames.shrink_to(KEEP_CAPACITY);
            self.shared.is_writing.store(false, Ordering::Relaxed);
        }
    }

    /// Asks a silent peer for a sign of life, and gives it up.
    async fn watch(&self) -> Result<(), ConnectionError> {
        let read = || self.shared.n_read.load(Ordering::Relaxed);
        let written = || self.shared.n_written.load(Ordering::Relaxed);
        let mut heard = (read(), Instant::now());
        let mut wrote = (written(), Instant::now());
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            let now = Instant::now();
            if read() != heard.0 {
                heard = (read(), now);
            }
            let is_writing = self.shared.is_writing.load(Ordering::Relaxed);
            if written() != wrote.0 || !is_writing {
                wrote = (written(), now);
            }
            if now - heard.1 >= SILENCE {
                return Err(ConnectionError::Silent);
            }
            if now - wrote.1 >= SILENCE {
                return Err(ConnectionError::Stalled);
            }
            if now - heard.1 >= ASK_AFTER {
                self.shared.outgoing.control(Frame::Ping);
            }
        }
    }
}
