//! Frames over a connection that is idle most of the time: between two frames it holds no buffer.
//!
//! Ten thousand idle buffers would be most of the memory of connected agents. So bytes are read into a buffer on the stack
//! and kept only while they are part of a frame, and outgoing frames are encoded when they are sent.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::{Instant, timeout};
use tokio_util::codec::{Decoder, Encoder};
use wire::{Codec, Down, Received, WireError};

/// How much is read at a time.
const READ: usize = 8 * 1024;
/// With so many bytes encoded, they are written before more is encoded.
const WRITE: usize = 64 * 1024;
/// How long an agent may read nothing of what it is sent. A slow network takes longer for a long frame, but some bytes of it
/// arrive all the time.
const MAX_STALL: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(in crate::agents) struct Frames<S> {
    stream: S,
    codec: Codec<Received, Down>,
    /// Bytes of a frame that is not complete, and of what came with it.
    incoming: BytesMut,
    heard_at: Instant,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Frames<S> {
    /// Refuses frames that are longer than `limit`.
    pub(super) fn with_limit(stream: S, limit: usize) -> Self {
        Self {
            stream,
            codec: Codec::with_limit(limit),
            incoming: BytesMut::new(),
            heard_at: Instant::now(),
        }
    }

    /// From now on the general limit of frames applies.
    pub(super) fn lift_limit(&mut self) {
        self.codec = Codec::new();
    }

    /// When the last bytes were read: a part of a long frame is a sign of life, too.
    pub(super) fn heard_at(&self) -> Instant {
        self.heard_at
    }

    /// Does not count the time since then as silence, because the server did not read.
    pub(super) fn excuse_since(&mut self, since: Instant) {
        self.heard_at += since.elapsed();
    }

    /// The next frame; none at the end of the stream. May be cancelled without loss.
    pub(super) async fn next(&mut self) -> Result<Option<Received>, WireError> {
        loop {
            if let Some(frame) = self.codec.decode(&mut self.incoming)? {
                if self.incoming.is_empty() {
                    self.incoming = BytesMut::new();
                }
                return Ok(Some(frame));
            }
            let read = std::future::poll_fn(|context| self.poll_read(context));
            if read.await? == 0 {
                return match self.incoming.is_empty() {
                    true => Ok(None),
                    false => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                };
            }
        }
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut scratch = [MaybeUninit::<u8>::uninit(); READ];
        let mut scratch = ReadBuf::uninit(&mut scratch);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut scratch))?;
        self.incoming.extend_from_slice(scratch.filled());
        self.heard_at = Instant::now();
        Poll::Ready(Ok(scratch.filled().len()))
    }

    /// Writes all frames.
    pub(super) async fn send(&mut self, frames: Vec<Down>) -> Result<(), WireError> {
        let mut outgoing = BytesMut::new();
        for frame in frames {
            self.codec.encode(frame, &mut outgoing)?;
            if outgoing.len() >= WRITE {
                self.write(&mut outgoing).await?;
            }
        }
        self.write(&mut outgoing).await?;
        Ok(in_time(self.stream.flush()).await?)
    }

    async fn write(&mut self, bytes: &mut BytesMut) -> io::Result<()> {
        while !bytes.is_empty() {
            if in_time(self.stream.write_buf(bytes)).await? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }

    pub(super) async fn close(&mut self) -> io::Result<()> {
        in_time(self.stream.shutdown()).await
    }
}

async fn in_time<T>(step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(MAX_STALL, step)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;
    use wire::{Report, Up};

    use super::*;

    fn bytes_of(frames: &[Up]) -> BytesMut {
        let mut bytes = BytesMut::new();
        for frame in frames {
            let mut codec = Codec::<Down, Up>::new();
            codec.encode(frame.clone(), &mut bytes).unwrap();
        }
        bytes
    }

    fn report(n: usize) -> Up {
        let status = wire::ProcessStatus {
            name: "n".repeat(100),
            ..Default::default()
        };
        let statuses = vec![status; n];
        Report { statuses }.into()
    }

    #[tokio::test]
    async fn frames_are_decoded_and_leave_no_buffer() {
        let sent = [report(0), report(500), report(1)];
        let (mut near, far) = duplex(1000);
        let mut frames = Frames::with_limit(far, wire::MAX_FRAME);
        let bytes = bytes_of(&sent);
        tokio::spawn(async move { near.write_all(&bytes).await });
        for expected in sent {
            let frame = frames.next().await.unwrap().unwrap();
            assert_eq!(frame, expected.into());
        }
        assert_eq!(frames.incoming.capacity(), 0);
        assert_eq!(frames.next().await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_truncated_frame_is_an_error_and_a_long_one_is_refused() {
        let bytes = bytes_of(&[report(10)]);
        let (mut near, far) = duplex(64 * 1024);
        near.write_all(&bytes[..bytes.len() - 1]).await.unwrap();
        drop(near);
        let mut frames = Frames::with_limit(far, wire::MAX_FRAME);
        assert!(matches!(frames.next().await, Err(WireError::Io(_))));

        let (mut near, far) = duplex(64 * 1024);
        near.write_all(&bytes).await.unwrap();
        let mut frames = Frames::with_limit(far, 100);
        assert!(matches!(
            frames.next().await,
            Err(WireError::TooLong { .. })
        ));
    }

    #[tokio::test]
    async fn a_cancelled_read_loses_nothing() {
        let bytes = bytes_of(&[report(3)]);
        let (mut near, far) = duplex(64 * 1024);
        let mut frames = Frames::with_limit(far, wire::MAX_FRAME);
        for byte in bytes.chunks(1) {
            let cancelled = frames.next();
            tokio::select! {
                biased;
                _ = cancelled => panic!("no frame is complete yet"),
                written = near.write_all(byte) => written.unwrap(),
            }
        }
        let frame = frames.next().await.unwrap().unwrap();
        assert_eq!(frame, report(3).into());
    }
}
