//! Frames of an agent as a server reads them: a report stays in its bytes.
//!
//! Statuses are nearly all that agents send. A server reads each straight from the bytes of its report, without a text or a
//! struct for it in between, and only when it is the report's turn. Every other frame is decoded as it arrives.

use bytes::{Buf, Bytes, BytesMut};
use model::{FullName, Invalid, Status};
use prost::Message;
use prost::encoding::wire_type::check_wire_type;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use crate::ask::Output;
use crate::codec::Frame;
use crate::up::{
    EventFrame, Hello, ProcessStatus, REPORT_TAG, Report, ResultFrame, STATUS_TAG, Up, UpKind,
};
use crate::{MAX_IDENTIFIER, MAX_ITEMS, WireError};

/// Begins a frame that is a report.
const REPORT_KEY: u8 = (REPORT_TAG as u8) << 3 | WireType::LengthDelimited as u8;
/// Tags of [`ProcessStatus::namespace`] and [`ProcessStatus::name`].
const NAMESPACE_TAG: u32 = 1;
const NAME_TAG: u32 = 2;

/// A frame of an agent.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time: it is read, taken apart and gone"
)]
pub enum Received {
    Report(ReportBytes),
    Other(Up),
}

/// A report that was not decoded yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportBytes(Bytes);

/// One status of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedStatus<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    pub status: Status,
}

impl Frame for Received {
    fn read(mut bytes: BytesMut) -> Result<Self, WireError> {
        match report_start(&bytes) {
            Some(start) => {
                bytes.advance(start);
                Ok(Self::Report(ReportBytes(bytes.freeze())))
            }
            None => Up::read(bytes).map(Self::from),
        }
    }
}

/// Where the report begins in a frame that is nothing but one.
fn report_start(frame: &[u8]) -> Option<usize> {
    let mut rest = frame.strip_prefix(&[REPORT_KEY])?;
    let len = decode_varint(&mut rest).ok()?;
    (len == rest.len() as u64).then_some(frame.len() - rest.len())
}

impl From<Up> for Received {
    fn from(up: Up) -> Self {
        match up.kind {
            Some(UpKind::Report(report)) => report.into(),
            _ => Self::Other(up),
        }
    }
}

impl From<Report> for Received {
    fn from(report: Report) -> Self {
        Self::Report(ReportBytes(report.encode_to_vec().into()))
    }
}

/// `From` each other frame.
macro_rules! from_others {
    ($($frame:ty),+) => {
        $(
            impl From<$frame> for Received {
                fn from(frame: $frame) -> Self {
                    Self::Other(frame.into())
                }
            }
        )+
    };
}
from_others!(Hello, ResultFrame, EventFrame, Output);

impl ReportBytes {
    /// Whether it is a heartbeat.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn n_bytes(&self) -> usize {
        self.0.len()
    }

    /// The statuses in order. Nothing follows an error.
    pub fn statuses(&self) -> impl Iterator<Item = Result<ReportedStatus<'_>, WireError>> {
        let (mut rest, mut n) = (&self.0[..], 0);
        std::iter::from_fn(move || {
            let next = next_status(&mut rest, &mut n).transpose()?;
            if next.is_err() {
                rest = &[];
            }
            Some(next)
        })
    }
}

fn next_status<'a>(
    report: &mut &'a [u8],
    n: &mut usize,
) -> Result<Option<ReportedStatus<'a>>, WireError> {
    while !report.is_empty() {
        let (tag, wire_type) = decode_key(report)?;
        if tag != STATUS_TAG {
            skip_field(wire_type, tag, report, DecodeContext::default())?;
            continue;
        }
        check_wire_type(WireType::LengthDelimited, wire_type)?;
        *n += 1;
        if *n > MAX_ITEMS {
            return Err(WireError::TooMany);
        }
        return ReportedStatus::read(field(report)?).map(Some);
    }
    Ok(None)
}

/// The bytes of a field that has a length.
fn field<'a>(message: &mut &'a [u8]) -> Result<&'a [u8], WireError> {
    let len = decode_varint(message)?;
    let field = usize::try_from(len).ok();
    let field = field.and_then(|len| message.split_off(..len));
    field.ok_or(WireError::CutOff)
}

impl<'a> ReportedStatus<'a> {
    /// Reads a [`ProcessStatus`] whose names stay where they are.
    fn read(mut bytes: &'a [u8]) -> Result<Self, WireError> {
        let (mut namespace, mut name) = ("", "");
        let mut rest = ProcessStatus::default();
        while !bytes.is_empty() {
            let (tag, wire_type) = decode_key(&mut bytes)?;
            match tag {
                NAMESPACE_TAG => namespace = identifier("namespace", wire_type, &mut bytes)?,
                NAME_TAG => name = identifier("name", wire_type, &mut bytes)?,
                _ => rest.merge_field(tag, wire_type, &mut bytes, DecodeContext::default())?,
            }
        }
        Ok(Self {
            namespace,
            name,
            status: rest.into_status(),
        })
    }

    pub fn full_name(&self) -> Result<FullName, Invalid> {
        FullName::parse_registered(self.namespace, self.name)
    }
}

fn identifier<'a>(
    name: &'static str,
    wire_type: WireType,
    message: &mut &'a [u8],
) -> Result<&'a str, WireError> {
    check_wire_type(WireType::LengthDelimited, wire_type)?;
    let bytes = field(message)?;
    if bytes.len() > MAX_IDENTIFIER {
        return Err(WireError::LongIdentifier { field: name });
    }
    std::str::from_utf8(bytes).map_err(|_| WireError::NoText { field: name })
}

#[cfg(test)]
mod tests {
    use model::status::{Exit, HealthResult, LastExit, ProbeResults, ProcessState};
    use model::{Flag, State, UnixMillis};
    use proptest::prelude::{ProptestConfig, any, prop, proptest};
    use tokio_util::codec::{Decoder, Encoder};

    use super::*;
    use crate::{Codec, Down};

    fn full() -> Status {
        let health = |message: &str| HealthResult {
            ok: true,
            checked_at: UnixMillis(7),
            message: message.to_owned(),
        };
        Status {
            state: State::Running,
            process_state: ProcessState::Ready,
            pid: 7,
            version: "1.2".into(),
            started_at: UnixMillis(1_700_000_000_000),
            reported_at: UnixMillis(1_700_000_000_001),
            cpu: 1.5,
            mem: 2.5,
            fd: 9,
            disk: u64::MAX,
            net: 3,
            message: "up".into(),
            flag: Some(Flag::Stopped),
            managed: Some(false),
            next_at: UnixMillis(5),
            restarts: 4,
            last_exit: Some(LastExit::new(Exit::Signal(9), UnixMillis(3))),
            health: Some(health("fine")),
            probes: ProbeResults {
                ready: Some(health("ready")),
                live: None,
            },
            restart_needed: true,
        }
    }

    fn report(statuses: &[Status]) -> Report {
        let name = |n: usize| FullName::parse("gse", &format!("p{n}")).expect("a name");
        let statuses = statuses.iter().enumerate();
        Report {
            statuses: statuses
                .map(|(n, status)| ProcessStatus::new(&name(n), status))
                .collect(),
        }
    }

    fn received(up: impl Into<Up>) -> Received {
        let mut bytes = BytesMut::new();
        Codec::<Down, Up>::new()
            .encode(up.into(), &mut bytes)
            .unwrap();
        let read = Codec::<Received, Down>::new().decode(&mut bytes);
        read.unwrap().expect("the frame is whole")
    }

    fn bytes_of(report: Report) -> ReportBytes {
        match received(report) {
            Received::Report(report) => report,
            Received::Other(up) => panic!("no report: {up:?}"),
        }
    }

    #[test]
    fn every_field_of_a_status_is_read() {
        let said = [full(), Status::default(), full()];
        let report = bytes_of(report(&said));
        let read: Vec<_> = report.statuses().map(Result::unwrap).collect();
        for (n, (read, said)) in read.iter().zip(&said).enumerate() {
            assert_eq!((read.namespace, read.name), ("gse", &*format!("p{n}")));
            assert_eq!(read.status, *said);
        }
        assert_eq!(read.len(), 3);
    }

    #[test]
    fn a_heartbeat_is_an_empty_report_and_another_frame_is_decoded() {
        assert!(bytes_of(Report::default()).is_empty());
        let hello = Hello {
            hostname: "h".into(),
            ..Hello::default()
        };
        assert_eq!(received(hello.clone()), hello.into());
        // The kind of a frame may come in several fields, whose lists are joined.
        let mut frame = Up::from(report(&[full()])).encode_to_vec();
        frame.extend(Up::from(report(&[full()])).encode_to_vec());
        let Received::Report(both) = Received::read(frame[..].into()).unwrap() else {
            panic!("no report");
        };
        assert_eq!(both.statuses().map(Result::unwrap).count(), 2);
    }

    #[test]
    fn what_is_too_long_cut_off_or_no_text_ends_a_report() {
        let whole = report(&[full(), full()]).encode_to_vec();
        for cut in 1..whole.len() {
            let cut = ReportBytes(Bytes::copy_from_slice(&whole[..cut]));
            let (good, bad): (Vec<_>, Vec<_>) = cut.statuses().partition(Result::is_ok);
            assert!(good.len() < 2 && bad.len() <= 1);
        }
        let last = |status: ProcessStatus| {
            let statuses = vec![status];
            let report = bytes_of(Report { statuses });
            report.statuses().last().unwrap().unwrap_err()
        };
        let long = ProcessStatus {
            name: "n".repeat(MAX_IDENTIFIER + 1),
            ..ProcessStatus::default()
        };
        assert!(matches!(
            last(long),
            WireError::LongIdentifier { field: "name" }
        ));
        let garbled = ReportBytes(Bytes::from_static(&[0x0A, 3, 0x12, 1, 0xFF]));
        let error = garbled.statuses().next().unwrap().unwrap_err();
        assert!(matches!(error, WireError::NoText { field: "name" }));
        let number = ReportBytes(Bytes::from_static(&[9, 0, 0, 0, 0, 0, 0, 0, 0]));
        assert!(matches!(
            number.statuses().next(),
            Some(Err(WireError::Malformed(_)))
        ));
        let many = ReportBytes([0x0A, 0].repeat(MAX_ITEMS + 1).into());
        assert!(matches!(
            many.statuses().last(),
            Some(Err(WireError::TooMany))
        ));
        assert_eq!(many.statuses().count(), MAX_ITEMS + 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_report_is_read_as_its_decoder_reads_it(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let read: Result<Vec<_>, _> = ReportBytes(bytes.clone().into())
                .statuses()
                .map(|read| read.map(|read| (read.namespace.to_owned(), read.name.to_owned(), read.status)))
                .collect();
            let decoded = Report::decode(&bytes[..]);
            assert_eq!(read.is_ok(), decoded.is_ok());
            if let (Ok(read), Ok(decoded)) = (read, decoded) {
                let decoded: Vec<_> = decoded
                    .statuses
                    .into_iter()
                    .map(|one| (one.namespace.clone(), one.name.clone(), one.into_status()))
                    .collect();
                // NaN is no equal of itself.
                assert_eq!(format!("{read:?}"), format!("{decoded:?}"));
            }
        }
    }
}
