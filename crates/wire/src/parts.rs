//! How many things a frame holds, told before any of them is made: two bytes can stand for a status of a hundred and more.

use prost::bytes::Buf;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// The most things (statuses, operations, processes) in one frame: more than an honest one has room for.
pub const MAX_PARTS: usize = 65_536;

/// Whether the lists of a frame hold no more than [`MAX_PARTS`] things. What is no message is told when it is decoded.
pub(crate) fn are_few(frame: &[u8]) -> bool {
    let mut left = MAX_PARTS;
    each_part(frame, |kind| {
        // The kind of a frame may come in several pieces, whose lists are joined.
        each_part(kind, |_| {
            left = left.checked_sub(1)?;
            Some(())
        })
    })
    .is_some()
}

/// Looks at each field that has a length, until `look` has seen enough.
fn each_part(mut message: &[u8], mut look: impl FnMut(&[u8]) -> Option<()>) -> Option<()> {
    while message.has_remaining() {
        let Ok((tag, wire_type)) = decode_key(&mut message) else {
            return Some(());
        };
        match wire_type {
            WireType::LengthDelimited => {
                let length = decode_varint(&mut message).ok();
                let length = length.and_then(|length| usize::try_from(length).ok());
                let Some(part) = length.and_then(|length| message.split_off(..length)) else {
                    return Some(());
                };
                look(part)?;
            }
            WireType::Varint
            | WireType::SixtyFourBit
            | WireType::StartGroup
            | WireType::EndGroup
            | WireType::ThirtyTwoBit => {
                let skipped = skip_field(wire_type, tag, &mut message, DecodeContext::default());
                if skipped.is_err() {
                    return Some(());
                }
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use prost::encoding::encode_varint;

    use super::*;
    use crate::Up;

    /// A report of empty statuses.
    fn report(n: usize) -> Vec<u8> {
        let mut frame = vec![0x12];
        encode_varint(2 * n as u64, &mut frame);
        frame.extend([0x0A, 0].repeat(n));
        frame
    }

    #[test]
    fn things_are_counted_over_all_pieces_of_a_frame() {
        assert!(are_few(&report(MAX_PARTS)));
        assert!(!are_few(&report(MAX_PARTS + 1)));
        let half = report(MAX_PARTS / 2);
        // Numbers and groups that nobody knows hide nothing.
        let unknown = [0x78, 1, 0x7B, 0x08, 1, 0x7C];
        let pieces = [&half[..], &unknown, &half].concat();
        assert_eq!(
            Up::decode(&pieces[..]).unwrap(),
            Up::decode(&report(MAX_PARTS)[..]).unwrap()
        );
        assert!(are_few(&pieces));
        assert!(!are_few(&[&pieces[..], &report(1)].concat()));
    }

    #[test]
    fn what_is_cut_off_is_told_by_the_decoder() {
        let frame = report(3);
        for cut in 0..frame.len() {
            assert!(are_few(&frame[..cut]));
        }
    }
}
