//! The sending half of a session: frames wait in a small buffer and are written concurrently with everything else.

use std::io;

use bytes::BytesMut;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio_util::codec::Encoder;
use wire::{Codec, Down, Up, WireError};

/// Buffered bytes from which on no further frame is queued. One frame may exceed it.
const ROOM: usize = 64 * 1024;

#[derive(Debug)]
pub struct Writer<W> {
    half: W,
    codec: Codec<Down, Up>,
    buffer: BytesMut,
    is_flushed: bool,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub fn new(half: W) -> Self {
        Self {
            half,
            codec: Codec::new(),
            buffer: BytesMut::new(),
            is_flushed: true,
        }
    }

    pub fn queue(&mut self, frame: Up) -> Result<(), WireError> {
        self.codec.encode(frame, &mut self.buffer)?;
        self.is_flushed = false;
        Ok(())
    }

    /// Queues a report whose statuses are encoded ([`wire::codec::push_status`]), for a fleet of simulated agents.
    pub fn queue_report(&mut self, statuses: &[u8]) -> Result<(), WireError> {
        wire::codec::encode_report(statuses, &mut self.buffer)?;
        self.is_flushed = false;
        Ok(())
    }

    pub fn has_room(&self) -> bool {
        self.buffer.len() < ROOM
    }

    pub fn is_busy(&self) -> bool {
        !self.is_flushed
    }

    /// Writes some of the buffer. Cancel-safe.
    pub async fn progress(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            self.half.flush().await?;
            self.is_flushed = true;
            // Frees the memory of a long report.
            self.buffer = BytesMut::new();
            return Ok(());
        }
        match self.half.write_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            _ => Ok(()),
        }
    }

    /// Drops the buffer: the connection is lost.
    pub fn abandon(&mut self) {
        self.buffer = BytesMut::new();
        self.is_flushed = true;
    }

    /// Shuts the stream down. Unwritten frames are sent on the next connection.
    pub async fn close(&mut self) -> io::Result<()> {
        self.half.shutdown().await
    }
}
