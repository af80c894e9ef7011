//! Four bytes of length, then a protobuf message whose texts are bounded ([`Bounded`]). Its length and the number of its items
//! are checked before anything is allocated for it.

use std::marker::PhantomData;

use bytes::{Buf, BufMut, BytesMut};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use tokio_util::codec::{Decoder, Encoder};

use crate::up::{REPORT_TAG, STATUS_TAG};
use crate::{Bounded, MAX_FRAME, MAX_IDENTIFIER, MAX_ITEMS, items};

const LENGTH: usize = 4;

#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error("a frame of {len} bytes is longer than the limit of {limit}")]
    TooLong { len: usize, limit: usize },
    #[error("a frame that lists more than {MAX_ITEMS} items")]
    TooMany,
    #[error("a frame whose {field} is longer than {MAX_IDENTIFIER} bytes")]
    LongIdentifier { field: &'static str },
    #[error("a frame whose {field} is no text")]
    NoText { field: &'static str },
    #[error("a frame whose end is missing")]
    CutOff,
    #[error("a frame that is no message")]
    Malformed(#[from] prost::DecodeError),
    #[error("the connection failed")]
    Io(#[from] std::io::Error),
}

/// A frame as its reader wants it.
pub trait Frame: Sized {
    /// Reads the bytes of one frame, without their length.
    fn read(bytes: BytesMut) -> Result<Self, WireError>;
}

impl<M: Message + Default + Bounded> Frame for M {
    fn read(bytes: BytesMut) -> Result<Self, WireError> {
        if !items::are_few(&bytes) {
            return Err(WireError::TooMany);
        }
        let mut frame = M::decode(bytes)?;
        frame.bound()?;
        Ok(frame)
    }
}

/// Reads frames of type `In` and writes frames of type `Out`.
#[derive(Debug)]
pub struct Codec<In, Out> {
    limit: usize,
    types: PhantomData<fn(Out) -> In>,
}

impl<In, Out> Codec<In, Out> {
    pub fn new() -> Self {
        Self::with_limit(MAX_FRAME)
    }

    /// A tighter limit, for peers that are not authenticated yet.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit: limit.min(MAX_FRAME),
            types: PhantomData,
        }
    }
}

impl<In, Out> Default for Codec<In, Out> {
    fn default() -> Self {
        Self::new()
    }
}

impl<In: Frame, Out> Decoder for Codec<In, Out> {
    type Item = In;
    type Error = WireError;

    fn decode(&mut self, bytes: &mut BytesMut) -> Result<Option<In>, WireError> {
        let Some(header) = bytes.first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let len = u32::from_be_bytes(*header) as usize;
        if len > self.limit {
            return Err(WireError::TooLong {
                len,
                limit: self.limit,
            });
        }
        if bytes.len() < LENGTH + len {
            bytes.reserve(LENGTH + len - bytes.len());
            return Ok(None);
        }
        bytes.advance(LENGTH);
        In::read(bytes.split_to(len)).map(Some)
    }
}

impl<In, Out: Message> Encoder<Out> for Codec<In, Out> {
    type Error = WireError;

    fn encode(&mut self, message: Out, bytes: &mut BytesMut) -> Result<(), WireError> {
        let len = message.encoded_len();
        if len > self.limit {
            return Err(WireError::TooLong {
                len,
                limit: self.limit,
            });
        }
        bytes.reserve(LENGTH + len);
        bytes.put_u32(len as u32);
        message.encode_raw(bytes);
        Ok(())
    }
}

/// Appends the frame of a report to `bytes`, from its statuses as [`push_status`] wrote them.
pub fn encode_report(statuses: &[u8], bytes: &mut BytesMut) -> Result<(), WireError> {
    let header = 1 + encoded_len_varint(statuses.len() as u64);
    let len = header + statuses.len();
    if len > MAX_FRAME {
        let limit = MAX_FRAME;
        return Err(WireError::TooLong { len, limit });
    }
    bytes.reserve(LENGTH + len);
    bytes.put_u32(len as u32);
    encode_key(REPORT_TAG, WireType::LengthDelimited, bytes);
    encode_varint(statuses.len() as u64, bytes);
    bytes.put_slice(statuses);
    Ok(())
}

/// Appends a status to those of a report: a message that encodes as [`crate::ProcessStatus`] does. `scratch` is overwritten.
pub fn push_status(status: &impl Message, scratch: &mut Vec<u8>, statuses: &mut Vec<u8>) {
    scratch.clear();
    status.encode_raw(scratch);
    encode_key(STATUS_TAG, WireType::LengthDelimited, statuses);
    encode_varint(scratch.len() as u64, statuses);
    statuses.extend_from_slice(scratch);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, any, prop, proptest};

    use super::*;
    use crate::{Down, Up, UpKind};

    fn encode<M: Message>(message: M) -> BytesMut {
        let mut bytes = BytesMut::new();
        Codec::<Up, M>::new().encode(message, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_length_over_the_limit_is_refused_before_allocating() {
        let mut bytes = BytesMut::from(&[0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3][..]);
        let before = bytes.capacity();
        let error = Codec::<Up, Down>::new().decode(&mut bytes).unwrap_err();
        assert!(matches!(error, WireError::TooLong { .. }), "{error}");
        assert_eq!(bytes.capacity(), before);
    }

    #[test]
    fn a_frame_that_would_become_much_larger_than_its_bytes_is_refused() {
        let mut bytes = BytesMut::new();
        // A report of empty statuses, each of two bytes.
        let statuses = [0x0A, 0].repeat(MAX_ITEMS + 1);
        let mut report = vec![0x12];
        prost::encoding::encode_varint(statuses.len() as u64, &mut report);
        report.extend(statuses);
        bytes.put_u32(report.len() as u32);
        bytes.put_slice(&report);
        let error = Codec::<Up, Down>::new().decode(&mut bytes).unwrap_err();
        assert!(matches!(error, WireError::TooMany), "{error}");
    }

    #[test]
    fn a_report_of_encoded_statuses_is_the_same_frame() {
        let status = |n: usize| crate::ProcessStatus {
            namespace: "gse".into(),
            name: format!("p{n}"),
            pid: n as i32,
            cpu: 1.5,
            ..Default::default()
        };
        for n in [0, 1, 300] {
            let statuses: Vec<_> = (0..n).map(status).collect();
            let (mut scratch, mut encoded, mut bytes) = (Vec::new(), Vec::new(), BytesMut::new());
            for status in &statuses {
                push_status(status, &mut scratch, &mut encoded);
            }
            encode_report(&encoded, &mut bytes).unwrap();
            assert_eq!(bytes, encode(Up::from(crate::Report { statuses })));
        }
    }

    #[test]
    fn a_frame_over_the_limit_is_not_sent() {
        let hello = crate::Hello {
            hostname: "x".repeat(200),
            ..Default::default()
        };
        let mut codec = Codec::<Down, Up>::with_limit(100);
        assert!(codec.encode(hello.into(), &mut BytesMut::new()).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn no_bytes_panic_the_decoder(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut buffer = BytesMut::from(&bytes[..]);
            let mut codec = Codec::<Up, Down>::new();
            while let Ok(Some(_)) = codec.decode(&mut buffer) {}
            // The same bytes behind a right length reach the protobuf decoder, too.
            let mut framed = BytesMut::new();
            framed.put_u32(bytes.len() as u32);
            framed.put_slice(&bytes);
            if let Ok(Some(Up { kind: Some(UpKind::Report(report)) })) = codec.decode(&mut framed) {
                for status in report.statuses {
                    let _ = status.full_name();
                    let _ = status.into_status();
                }
            }
        }

        #[test]
        fn frames_cut_anywhere_come_out_whole(cut in 0usize..200, seq in any::<u64>()) {
            let event = crate::EventFrame { seq, reason: "r".repeat(100), ..Default::default() };
            let bytes = encode(Up::from(event.clone()));
            let cut = cut.min(bytes.len());
            let mut codec = Codec::<Up, Down>::new();
            let mut buffer = BytesMut::from(&bytes[..cut]);
            let first = codec.decode(&mut buffer).unwrap();
            assert_eq!(first.is_some(), cut == bytes.len());
            buffer.extend_from_slice(&bytes[cut..]);
            let whole = first.or_else(|| codec.decode(&mut buffer).unwrap());
            assert_eq!(whole, Some(Up::from(event)));
            assert!(buffer.is_empty());
        }
    }
}
