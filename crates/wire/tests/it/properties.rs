//! Any frame survives a round trip, and no bytes make the decoder, or the code that reads decoded frames, panic.

mod damage;
mod frames;

use bytes::{BufMut, BytesMut};
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;
use tokio_util::codec::{Decoder, Encoder};
use wire::enrol::{Enrol, Enrolled, JoinToken};
use wire::{Bounded, Codec, Down, DownKind, Up, UpKind};

use damage::{damage, harm};
use frames::{down, text, up};

/// The limit under which bytes are decoded here.
const LIMIT: usize = 4096;

/// Reads everything that a server reads of a frame.
fn take_up(frame: Up) {
    match frame.kind {
        Some(UpKind::Report(report)) => {
            for status in report.statuses {
                let _ = status.full_name();
                status.into_status();
            }
        }
        Some(UpKind::Result(result)) => drop(result.outcome()),
        Some(UpKind::Event(event)) => drop(event.event()),
        Some(UpKind::Hello(_) | UpKind::Output(_)) | None => {}
    }
}

/// Reads everything that an agent reads of a frame.
fn take_down(frame: Down) {
    match frame.kind {
        Some(DownKind::Desired(desired)) => {
            for process in desired.processes {
                let _ = (process.full_name(), process.spec(), process.labels());
            }
            desired
                .forget
                .iter()
                .for_each(|name| drop(name.full_name()));
            desired
                .groups
                .iter()
                .for_each(|groups| drop(groups.groups()));
        }
        Some(DownKind::Ask(ask)) => drop(ask.question()),
        Some(DownKind::Dependencies(dependencies)) => {
            for state in &dependencies.states {
                drop(state.dependency());
            }
        }
        Some(
            DownKind::Welcome(_)
            | DownKind::Command(_)
            | DownKind::Ack(_)
            | DownKind::Bye(_)
            | DownKind::Move(_),
        )
        | None => {}
    }
}

/// Decodes as a connection does, up to the first error. Nothing is reserved beyond the limit.
fn decode_all<M: Message + Default + Bounded>(bytes: &[u8]) -> Vec<M> {
    let mut codec = Codec::<M, M>::with_limit(LIMIT);
    let mut buffer = BytesMut::from(bytes);
    let mut frames = Vec::new();
    while let Ok(Some(frame)) = codec.decode(&mut buffer) {
        frames.push(frame);
    }
    assert!(buffer.capacity() <= 2 * (bytes.len() + LIMIT + 4));
    frames
}

fn encode_all<M: Message>(frames: Vec<M>) -> BytesMut {
    let mut bytes = BytesMut::new();
    let mut codec = Codec::<Up, M>::new();
    for frame in frames {
        codec.encode(frame, &mut bytes).unwrap();
    }
    bytes
}

/// Frames that arrive in chunks of any size.
fn round<M: Message + Default + Bounded + Clone + PartialEq + std::fmt::Debug>(
    frames: &[M],
    cuts: &[usize],
) {
    let mut bytes = encode_all(frames.to_vec());
    let mut codec = Codec::<M, M>::new();
    let (mut buffer, mut read) = (BytesMut::new(), Vec::new());
    let mut cuts = cuts.iter().cycle();
    while !bytes.is_empty() {
        let cut = cuts.next().copied().unwrap_or(1).min(bytes.len());
        buffer.extend_from_slice(&bytes.split_to(cut));
        while let Some(frame) = codec.decode(&mut buffer).unwrap() {
            read.push(frame);
        }
    }
    let mut said = frames.to_vec();
    said.iter_mut().for_each(|frame| frame.bound().unwrap());
    assert_eq!(read, said);
    assert!(buffer.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_read_back_what_they_say_however_they_are_cut(
        ups in vec(up(), 1..4),
        downs in vec(down(), 1..4),
        cuts in vec(1usize..60, 1..8),
    ) {
        round(&ups, &cuts);
        round(&downs, &cuts);
    }

    #[test]
    fn no_content_of_a_frame_panics_its_reader(up in up(), down in down()) {
        take_up(up);
        take_down(down);
    }

    #[test]
    fn damaged_frames_do_no_harm(
        ups in vec(up(), 1..4),
        downs in vec(down(), 1..4),
        damages in vec(damage(), 1..6),
    ) {
        let mut bytes = encode_all(ups).to_vec();
        harm(&mut bytes, &damages);
        decode_all(&bytes).into_iter().for_each(take_up);
        let mut bytes = encode_all(downs).to_vec();
        harm(&mut bytes, &damages);
        decode_all(&bytes).into_iter().for_each(take_down);
    }

    /// With a correct length in front the damage reaches the protobuf decoder.
    #[test]
    fn damaged_messages_do_not_panic(up in up(), down in down(), damages in vec(damage(), 1..6)) {
        let framed = |mut message: Vec<u8>| {
            harm(&mut message, &damages);
            let mut bytes = BytesMut::new();
            bytes.put_u32(message.len() as u32);
            bytes.put_slice(&message);
            bytes
        };
        decode_all(&framed(up.encode_to_vec())).into_iter().for_each(take_up);
        decode_all(&framed(down.encode_to_vec())).into_iter().for_each(take_down);
    }

    #[test]
    fn enrolment_reads_back_what_it_says_and_survives_damage(
        texts in [text(), text(), text()],
        cloud in any::<u32>(),
        csr_der in vec(any::<u8>(), 0..40),
        damages in vec(damage(), 1..6),
    ) {
        let [token, ip, agent_id] = texts;
        let enrol = Enrol { token, cloud, ip, agent_id, csr_der };
        round(std::slice::from_ref(&enrol), &[3]);
        let mut bytes = enrol.encode_to_vec();
        harm(&mut bytes, &damages);
        let _ = (Enrol::decode(&bytes[..]), Enrolled::decode(&bytes[..]));
    }

    #[test]
    fn join_tokens_are_read_or_refused(text in prop_oneof![any::<String>(), "[a-z]{0,3}\\.[0-9a-fA-Fé]{62,66}"]) {
        if let Ok(token) = JoinToken::parse(&text) {
            assert_eq!(JoinToken::parse(&token.to_string()).unwrap(), token);
        }
    }

    #[test]
    fn hosts_in_certificates_are_read_or_refused(rest in any::<String>()) {
        let _ = wire::host::from_uri(&rest);
        if let Some(host) = wire::host::from_uri(&format!("muster://host/{rest}")) {
            assert_eq!(wire::host::from_uri(&wire::host::to_uri(&host)), Some(host));
        }
    }
}
