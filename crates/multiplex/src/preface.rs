//! The first bytes of each side: that it multiplexes, in which version, and how much each stream may send at first.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How a preface begins. Neither TLS nor a PROXY header begins like that: a server that does not multiplex refuses it at once.
pub const MAGIC: [u8; 8] = *b"MUSTERMX";
/// The length of a preface.
pub const PREFACE: usize = 16;
const VERSION: u16 = 1;
/// The windows that a peer may announce.
const WINDOWS: std::ops::RangeInclusive<u32> = 1..=16 * 1024 * 1024;

/// What one side says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preface {
    /// The newest version that it speaks; the older one of both is spoken.
    pub version: u16,
    /// How many bytes each stream may send to it before it gives credit.
    pub window: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum PrefaceError {
    /// It said something else.
    #[error("does not multiplex")]
    NotMultiplexed,
    /// It said nothing: it does not multiplex, or has no room, or stops.
    #[error("closed the connection before it said whether it multiplexes")]
    Closed,
    #[error("announces a version or a window that makes no sense")]
    Malformed,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Preface {
    pub(crate) fn with_window(window: u32) -> Self {
        Self {
            version: VERSION,
            window,
        }
    }

    pub fn to_bytes(self) -> [u8; PREFACE] {
        let mut bytes = [0; PREFACE];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&self.version.to_be_bytes());
        bytes[12..].copy_from_slice(&self.window.to_be_bytes());
        bytes
    }

    /// Later versions may use the two bytes between version and window.
    pub fn parse(bytes: &[u8; PREFACE]) -> Result<Self, PrefaceError> {
        if bytes[..8] != MAGIC {
            return Err(PrefaceError::NotMultiplexed);
        }
        let version = u16::from_be_bytes([bytes[8], bytes[9]]);
        let window = u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
        match version > 0 && WINDOWS.contains(&window) {
            true => Ok(Self { version, window }),
            false => Err(PrefaceError::Malformed),
        }
    }

    pub(crate) async fn write(self, to: &mut TcpStream) -> io::Result<()> {
        to.write_all(&self.to_bytes()).await
    }

    /// Reads the preface of the peer. Stops at the first byte that is none of it: the peer may send nothing more.
    pub(crate) async fn read(from: &mut TcpStream) -> Result<Self, PrefaceError> {
        let mut bytes = [0; PREFACE];
        let mut n = 0;
        while n < PREFACE {
            match from.read(&mut bytes[n..]).await? {
                0 => return Err(PrefaceError::Closed),
                read => n += read,
            }
            let known = n.min(MAGIC.len());
            if bytes[..known] != MAGIC[..known] {
                return Err(PrefaceError::NotMultiplexed);
            }
        }
        Self::parse(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preface_has_sixteen_bytes_that_stay() {
        let preface = Preface {
            version: 1,
            window: 0x4000,
        };
        let bytes = preface.to_bytes();
        assert_eq!(&bytes, b"MUSTERMX\0\x01\0\0\0\0\x40\0");
        assert_eq!(Preface::parse(&bytes).unwrap(), preface);
    }

    #[test]
    fn what_is_no_preface_is_told_from_a_bad_one() {
        let parse = |change: fn(&mut [u8; PREFACE])| {
            let mut bytes = Preface::with_window(0x4000).to_bytes();
            change(&mut bytes);
            Preface::parse(&bytes)
        };
        assert!(parse(|_| {}).is_ok());
        // A newer peer: it may use what is reserved.
        let newer = parse(|bytes| (bytes[8], bytes[10], bytes[11]) = (1, 7, 7));
        assert_eq!(newer.unwrap().version, 257);
        let other = parse(|bytes| bytes[0] = 22);
        assert!(matches!(other, Err(PrefaceError::NotMultiplexed)));
        for bad in [
            parse(|bytes| bytes[8..10].fill(0)),
            parse(|bytes| bytes[12..].fill(0)),
            parse(|bytes| bytes[12] = 2),
        ] {
            assert!(matches!(bad, Err(PrefaceError::Malformed)), "{bad:?}");
        }
    }
}
