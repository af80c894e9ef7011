//! The protocol between agents and servers: frames, their bytes, their limits.
//!
//! The path of a frame: [`Up`] or [`Down`] → protobuf → four bytes of length in front → a TLS connection whose ALPN is
//! [`ALPN`]. Each kind of frame is latest-wins or acknowledged, so any frame may be lost or repeated; live questions ([`ask`])
//! end with their connection. This crate opens no sockets.

pub mod ask;
mod bounds;
pub mod codec;
pub mod down;
pub mod enrol;
pub mod host;
mod items;
mod received;
pub mod up;
pub mod version;

pub use ask::{Ask, Output, Question};
pub use bounds::{Bounded, MAX_IDENTIFIER};
pub use codec::{Codec, Frame, WireError};
pub use down::{
    Ack, Bye, Command, Dependencies, DependencyState, Desired, DesiredProcess, Down, DownKind,
    Move, Welcome,
};
pub use items::MAX_ITEMS;
pub use received::{Received, ReportBytes, ReportedStatus};
pub use up::{EventFrame, Hello, ProcessStatus, Report, ResultFrame, Up, UpKind};

/// `From` each frame for the message that carries it.
macro_rules! from_frames {
    ($message:ident, $kind:ident: $($variant:ident($frame:ty)),+) => {
        $(
            impl From<$frame> for $message {
                fn from(frame: $frame) -> Self {
                    Self {
                        kind: Some($kind::$variant(frame)),
                    }
                }
            }
        )+
    };
}
use from_frames;

/// The protocol's name in the TLS handshake.
pub const ALPN: &[u8] = b"muster/1";
/// The longest frame, checked before anything is allocated for it.
pub const MAX_FRAME: usize = 4 * 1024 * 1024;
/// How many bytes of a long list (specs, statuses) one frame carries before the rest goes into the next.
pub const FRAME_BUDGET: usize = 256 * 1024;
/// How often an agent sends an empty report, in addition to all other frames. The server answers each, so both sides know that
/// the other is alive.
pub const HEARTBEAT_SECS: u64 = 10;
/// After how long without a frame to an agent that is alive the server sends an empty acknowledgement by itself. Agents of
/// earlier versions send no heartbeat while they report, and no agent can send one in the middle of a long frame. Longer than a
/// heartbeat, so that heartbeats are not answered twice.
pub const KEEPALIVE_SECS: u64 = 12;
/// How long a peer may be silent before the connection counts as dead.
pub const SILENCE_SECS: u64 = 35;
