//! The frame around a message between processes, the same by NATS and by mail. A frame of a later version with an unknown body
//! is ignored.

use bytes::Bytes;
use prost::Message as _;

use crate::{BusError, MAX_PAYLOAD, Message, ReplicaId};
use model::change::Revision;

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Frame {
    #[prost(fixed64, tag = "1")]
    pub(crate) from: u64,
    /// None: all other replicas.
    #[prost(fixed64, optional, tag = "2")]
    pub(crate) to: Option<u64>,
    /// Counts the messages of the sender to all, or those to this one replica, from one on.
    #[prost(uint64, tag = "3")]
    pub(crate) sequence: u64,
    #[prost(oneof = "Body", tags = "4, 5, 6, 7, 8, 9")]
    pub(crate) body: Option<Body>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Body {
    #[prost(uint64, tag = "4")]
    Committed(u64),
    #[prost(bytes = "bytes", tag = "5")]
    Soft(Bytes),
    #[prost(message, tag = "6")]
    Request(RequestBody),
    #[prost(message, tag = "7")]
    Response(ResponseBody),
    /// The sender is running.
    #[prost(message, tag = "8")]
    Hello(Hello),
    /// The sender stops.
    #[prost(message, tag = "9")]
    Goodbye(()),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct RequestBody {
    /// Chosen by the caller.
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) payload: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ResponseBody {
    /// The id of the request.
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    #[prost(oneof = "Outcome", tags = "2, 3, 4, 5")]
    pub(crate) outcome: Option<Outcome>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Outcome {
    #[prost(bytes = "vec", tag = "2")]
    Payload(Vec<u8>),
    /// The replica is running, but takes no requests.
    #[prost(message, tag = "3")]
    NoResponder(()),
    /// The request was taken but not answered.
    #[prost(message, tag = "4")]
    Unanswered(()),
    /// The response had so many bytes.
    #[prost(uint64, tag = "5")]
    TooLarge(u64),
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct Hello {
    /// Only mail reaches the sender.
    #[prost(bool, tag = "1")]
    pub(crate) only_mail: bool,
}

impl Frame {
    pub(crate) fn encode(&self) -> Vec<u8> {
        self.encode_to_vec()
    }

    /// None if these are not the bytes of a frame. The payload of a message is a part of them, not a copy.
    pub(crate) fn parse(bytes: Bytes) -> Option<Self> {
        Self::decode(bytes).ok()
    }
}

impl From<Message> for Body {
    fn from(message: Message) -> Self {
        match message {
            Message::Committed(revision) => Self::Committed(revision.0),
            Message::Soft(payload) => Self::Soft(payload),
        }
    }
}

impl Body {
    /// The message to subscribers, if it is one.
    pub(crate) fn into_message(self) -> Option<Message> {
        match self {
            Self::Committed(revision) => Some(Message::Committed(Revision(revision))),
            Self::Soft(payload) => Some(Message::Soft(payload)),
            Self::Request(_) | Self::Response(_) | Self::Hello(_) | Self::Goodbye(()) => None,
        }
    }
}

impl Outcome {
    /// The response of a responder, unless it is too large.
    pub(crate) fn of(payload: Vec<u8>) -> Self {
        if payload.len() > MAX_PAYLOAD {
            Self::TooLarge(payload.len() as u64)
        } else {
            Self::Payload(payload)
        }
    }

    pub(crate) fn into_result(self, replica: ReplicaId) -> Result<Vec<u8>, BusError> {
        match self {
            Self::Payload(payload) => Ok(payload),
            Self::NoResponder(()) => Err(BusError::NoResponder { replica }),
            Self::Unanswered(()) => Err(BusError::TimedOut { replica }),
            Self::TooLarge(n_bytes) => Err(BusError::TooLarge {
                n_bytes: n_bytes as usize,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_of_a_later_version_has_no_body_here() {
        // Field 15, a string: an unknown body.
        let later = [9, 1, 0, 0, 0, 0, 0, 0, 0, 24, 5, 122, 2, b'h', b'i'];
        let frame = Frame::parse(Bytes::copy_from_slice(&later)).unwrap();
        assert_eq!((frame.from, frame.sequence, frame.body), (1, 5, None));
    }

    #[test]
    fn random_bytes_are_no_frame() {
        assert_eq!(Frame::parse(Bytes::from_static(b"\xff\xff hello")), None);
    }
}
