//! Frames: eight bytes of header, then the payload.
//!
//! | bytes | what |
//! |---|---|
//! | 0 | kind |
//! | 1 | 0 |
//! | 2, 3 | length of the payload |
//! | 4 to 7 | number of the stream; 0 in a ping and its answer |
//!
//! Numbers are big-endian. The opener numbers its streams upwards from 1 and uses no number twice.

/// The length of a header.
pub const HEADER: usize = 8;
/// The longest piece of a stream in one frame: a TLS record with its header.
pub const MAX_PAYLOAD: usize = 16 * 1024 + 256;
/// The longest opening of a stream.
pub const MAX_OPENING: usize = 512;

const OPEN: u8 = 1;
const DATA: u8 = 2;
const CREDIT: u8 = 3;
const END: u8 = 4;
const RESET: u8 = 5;
const PING: u8 = 6;
const PONG: u8 = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A new stream, and what its opener says about it.
    Open {
        stream: u32,
        opening: &'a [u8],
    },
    Data {
        stream: u32,
        bytes: &'a [u8],
    },
    /// The sender of this frame has room for so many more bytes of the stream.
    Credit {
        stream: u32,
        bytes: u32,
    },
    /// The sender of this frame has sent the last byte of the stream.
    End {
        stream: u32,
    },
    /// The sender of this frame neither sends nor reads more of the stream.
    Reset {
        stream: u32,
    },
    /// Wants a [`Frame::Pong`].
    Ping,
    Pong,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("kind {0} is unknown")]
    Kind(u8),
    #[error("the byte after its kind is not 0")]
    Reserved,
    #[error("kind {kind} has a payload of {length} bytes")]
    Length { kind: u8, length: usize },
    #[error("kind {kind} is of stream {stream}")]
    Stream { kind: u8, stream: u32 },
    #[error("a credit of {0} bytes")]
    Credit(u32),
}

impl<'a> Frame<'a> {
    /// The first frame of these bytes and its length; None if it is not complete. A bad header is refused before its payload
    /// has come.
    pub fn decode(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, FrameError> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let kind = header[0];
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let stream = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        if header[1] != 0 {
            return Err(FrameError::Reserved);
        }
        let lengths = match kind {
            OPEN => 0..=MAX_OPENING,
            DATA => 1..=MAX_PAYLOAD,
            CREDIT => 4..=4,
            END | RESET | PING | PONG => 0..=0,
            _ => return Err(FrameError::Kind(kind)),
        };
        if !lengths.contains(&length) {
            return Err(FrameError::Length { kind, length });
        }
        let is_of_connection = matches!(kind, PING | PONG);
        if (stream == 0) != is_of_connection {
            return Err(FrameError::Stream { kind, stream });
        }
        let Some(payload) = rest.get(..length) else {
            return Ok(None);
        };
        let frame = match kind {
            OPEN => Self::Open {
                stream,
                opening: payload,
            },
            DATA => Self::Data {
                stream,
                bytes: payload,
            },
            CREDIT => {
                let bytes = payload.try_into().map_or(0, u32::from_be_bytes);
                if bytes == 0 {
                    return Err(FrameError::Credit(bytes));
                }
                Self::Credit { stream, bytes }
            }
            END => Self::End { stream },
            RESET => Self::Reset { stream },
            PING => Self::Ping,
            _ => Self::Pong,
        };
        Ok(Some((frame, HEADER + length)))
    }

    /// Appends the frame. Its payload must not be longer than the limit of its kind.
    pub fn encode(&self, to: &mut Vec<u8>) {
        match *self {
            Self::Open { stream, opening } => put(to, OPEN, stream, &[opening]),
            Self::Data { stream, bytes } => put(to, DATA, stream, &[bytes]),
            Self::Credit { stream, bytes } => put(to, CREDIT, stream, &[&bytes.to_be_bytes()]),
            Self::End { stream } => put(to, END, stream, &[]),
            Self::Reset { stream } => put(to, RESET, stream, &[]),
            Self::Ping => put(to, PING, 0, &[]),
            Self::Pong => put(to, PONG, 0, &[]),
        }
    }
}

/// Appends a piece of a stream that lies in several places.
pub(crate) fn encode_data(to: &mut Vec<u8>, stream: u32, parts: &[&[u8]]) {
    put(to, DATA, stream, parts);
}

fn put(to: &mut Vec<u8>, kind: u8, stream: u32, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let length = u16::try_from(length).expect("no payload is longer than its limit");
    to.reserve(HEADER + usize::from(length));
    to.extend_from_slice(&[kind, 0]);
    to.extend_from_slice(&length.to_be_bytes());
    to.extend_from_slice(&stream.to_be_bytes());
    parts.iter().for_each(|part| to.extend_from_slice(part));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Owned {
        Open(u32, Vec<u8>),
        Data(u32, Vec<u8>),
        Credit(u32, u32),
        End(u32),
        Reset(u32),
        Ping,
        Pong,
    }

    impl Owned {
        fn frame(&self) -> Frame<'_> {
            match self {
                Self::Open(stream, opening) => Frame::Open {
                    stream: *stream,
                    opening,
                },
                Self::Data(stream, bytes) => Frame::Data {
                    stream: *stream,
                    bytes,
                },
                Self::Credit(stream, bytes) => Frame::Credit {
                    stream: *stream,
                    bytes: *bytes,
                },
                Self::End(stream) => Frame::End { stream: *stream },
                Self::Reset(stream) => Frame::Reset { stream: *stream },
                Self::Ping => Frame::Ping,
                Self::Pong => Frame::Pong,
            }
        }
    }

    fn frames() -> impl Strategy<Value = Vec<Owned>> {
        let id = 1..=u32::MAX;
        let bytes = |least, most| proptest::collection::vec(any::<u8>(), least..=most);
        let one = prop_oneof![
            (id.clone(), bytes(0, MAX_OPENING)).prop_map(|(id, it)| Owned::Open(id, it)),
            (id.clone(), bytes(1, 300)).prop_map(|(id, it)| Owned::Data(id, it)),
            (id.clone(), 1..=u32::MAX).prop_map(|(id, n)| Owned::Credit(id, n)),
            id.clone().prop_map(Owned::End),
            id.prop_map(Owned::Reset),
            Just(Owned::Ping),
            Just(Owned::Pong),
        ];
        proptest::collection::vec(one, 1..20)
    }

    proptest! {
        #[test]
        fn frames_come_back_however_they_are_cut(sent in frames(), cut in 1_usize..64) {
            let mut bytes = Vec::new();
            sent.iter().for_each(|one| one.frame().encode(&mut bytes));
            let (mut begun, mut end, mut read) = (0, 0, 0);
            while begun < bytes.len() {
                match Frame::decode(&bytes[begun..end]).unwrap() {
                    Some((frame, length)) => {
                        prop_assert_eq!(frame, sent[read].frame());
                        (begun, read) = (begun + length, read + 1);
                    }
                    None => {
                        prop_assert!(end < bytes.len(), "the last frame is complete");
                        end = (end + cut).min(bytes.len());
                    }
                }
            }
            prop_assert_eq!(read, sent.len());
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(Some((frame, length))) = Frame::decode(&bytes) {
                let mut again = Vec::new();
                frame.encode(&mut again);
                prop_assert_eq!(&again[..], &bytes[..length]);
            }
        }
    }

    #[test]
    fn frames_have_bytes_that_stay() {
        let encoded = |frame: Frame<'_>| {
            let mut bytes = Vec::new();
            frame.encode(&mut bytes);
            bytes
        };
        let open = encoded(Frame::Open {
            stream: 258,
            opening: b"abc",
        });
        assert_eq!(open, b"\x01\0\0\x03\0\0\x01\x02abc");
        let data = encoded(Frame::Data {
            stream: 1,
            bytes: b"x",
        });
        assert_eq!(data, b"\x02\0\0\x01\0\0\0\x01x");
        let credit = encoded(Frame::Credit {
            stream: 1,
            bytes: 0x1000,
        });
        assert_eq!(credit, b"\x03\0\0\x04\0\0\0\x01\0\0\x10\0");
        assert_eq!(encoded(Frame::End { stream: 1 }), b"\x04\0\0\0\0\0\0\x01");
        assert_eq!(encoded(Frame::Reset { stream: 1 }), b"\x05\0\0\0\0\0\0\x01");
        assert_eq!(encoded(Frame::Ping), b"\x06\0\0\0\0\0\0\0");
        assert_eq!(encoded(Frame::Pong), b"\x07\0\0\0\0\0\0\0");
    }

    #[test]
    fn a_bad_header_is_refused_without_its_payload() {
        for (bytes, expected) in [
            (b"\x08\0\0\0\0\0\0\x01", FrameError::Kind(8)),
            (b"\x00\0\0\0\0\0\0\x01", FrameError::Kind(0)),
            (b"\x02\x01\0\x01\0\0\0\x01", FrameError::Reserved),
            (
                b"\x02\0\xff\xff\0\0\0\x01",
                FrameError::Length {
                    kind: 2,
                    length: 65535,
                },
            ),
            (
                b"\x02\0\0\0\0\0\0\x01",
                FrameError::Length { kind: 2, length: 0 },
            ),
            (
                b"\x01\0\x02\x01\0\0\0\x01",
                FrameError::Length {
                    kind: 1,
                    length: 513,
                },
            ),
            (
                b"\x03\0\0\x03\0\0\0\x01",
                FrameError::Length { kind: 3, length: 3 },
            ),
            (
                b"\x02\0\0\x01\0\0\0\0",
                FrameError::Stream { kind: 2, stream: 0 },
            ),
            (
                b"\x06\0\0\0\0\0\0\x01",
                FrameError::Stream { kind: 6, stream: 1 },
            ),
        ] {
            assert_eq!(Frame::decode(bytes), Err(expected), "{bytes:?}");
        }
        let none = b"\x03\0\0\x04\0\0\0\x01\0\0\0\0";
        assert_eq!(Frame::decode(none), Err(FrameError::Credit(0)));
    }
}
