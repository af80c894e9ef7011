//! Many streams over one TCP connection between a relay and a server.
//!
//! Bytes take this path: [`Stream`] at the relay → a frame ([`frame`]) in the buffer of the connection ([`outgoing`]), beside
//! frames of other streams → one write → the reader of the other side ([`connection`]) → the buffer of that stream → [`Stream`]
//! at the server. Both sides say first which version they speak ([`preface`]).
//!
//! Each direction of a stream has a window: the sender stops when the reader has not taken so much, and the other streams go on.
//! A stream without bytes on their way has no buffer.
//!
//! It knows nothing of agents, addresses and TLS: what opens a stream and what it carries are bytes.

mod connection;
mod frame;
mod outgoing;
mod preface;
mod stream;

use std::io;
use std::time::Duration;

pub use connection::{Connection, Driver};
pub use frame::{Frame, FrameError, HEADER, MAX_OPENING, MAX_PAYLOAD};
pub use preface::{MAGIC, PREFACE, Preface, PrefaceError};
pub use stream::Stream;

/// What a stream may receive at the side that opened it before its reader takes anything: the answer to a TLS handshake.
pub const OPENER_WINDOW: u32 = 16 * 1024;
/// The same at the side that accepts it: enough for the first bytes of a TLS handshake. Thousands of streams of strangers may
/// wait there.
pub const ACCEPTOR_WINDOW: u32 = 4 * 1024;
/// What a stream may receive beyond what its reader has taken, once it takes something.
pub const WINDOW: u32 = 64 * 1024;
/// Streams of one connection at the same time.
pub const MAX_STREAMS: usize = 1 << 20;
/// How much waits to be written to a connection before streams wait.
pub const MAX_OUTGOING: usize = 256 * 1024;
/// The same with frames that are no stream's bytes. Beyond it the peer neither reads nor stops asking.
pub const MAX_OUTGOING_WITH_CONTROL: usize = 4 * 1024 * 1024;
/// How long a connection may be without a byte from the peer before it is asked for one.
pub const ASK_AFTER: Duration = Duration::from_secs(10);
/// How long a peer may say nothing, or read nothing of what waits for it.
pub const SILENCE: Duration = Duration::from_secs(30);

/// Why a connection ended, and all of its streams with it.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Preface(#[from] PrefaceError),
    #[error("sends a frame that is malformed: {0}")]
    Frame(#[from] FrameError),
    #[error("breaks the rules of streams: {0}")]
    Rules(&'static str),
    #[error("has said nothing for {SILENCE:?}")]
    Silent,
    #[error("has read nothing for {SILENCE:?}")]
    Stalled,
    #[error("asks for more answers than it reads")]
    Flooding,
    #[error("closed the connection")]
    Closed,
}
