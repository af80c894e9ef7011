//! Counts the items of a frame before decoding allocates any: two bytes can encode a status that takes more than a hundred.

use prost::bytes::Buf;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// The most items (statuses, operations, processes) in one frame: more than fit into a genuine one.
pub const MAX_ITEMS: usize = 65_536;

/// Whether the lists of a frame hold at most [`MAX_ITEMS`] items. Malformed bytes are left to the decoder.
pub(crate) fn are_few(frame: &[u8]) -> bool {
    let mut left = MAX_ITEMS;
    each_field(frame, |kind| {
        // The kind of a frame may come in several fields, whose lists are joined.
        each_field(kind, |_| {
            left = left.checked_sub(1)?;
            Some(())
        })
    })
    .is_some()
}

/// Calls `visit` with each field that has a length, until it returns None.
fn each_field(mut message: &[u8], mut visit: impl FnMut(&[u8]) -> Option<()>) -> Option<()> {
    while message.has_remaining() {
        let Ok((tag, wire_type)) = decode_key(&mut message) else {
            return Some(());
        };
        match wire_type {
            WireType::LengthDelimited => {
                let length = decode_varint(&mut message).ok();
                let length = length.and_then(|length| usize::try_from(length).ok());
                let Some(field) = length.and_then(|length| message.split_off(..length)) else {
                    return Some(());
                };
                visit(field)?;
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
    fn items_are_counted_over_all_fields_of_a_frame() {
        assert!(are_few(&report(MAX_ITEMS)));
        assert!(!are_few(&report(MAX_ITEMS + 1)));
        let half = report(MAX_ITEMS / 2);
        // Unknown numbers and groups hide no items.
        let unknown = [0x78, 1, 0x7B, 0x08, 1, 0x7C];
        let fields = [&half[..], &unknown, &half].concat();
        assert_eq!(
            Up::decode(&fields[..]).unwrap(),
            Up::decode(&report(MAX_ITEMS)[..]).unwrap()
        );
        assert!(are_few(&fields));
        assert!(!are_few(&[&fields[..], &report(1)].concat()));
    }

    #[test]
    fn truncated_frames_are_left_to_the_decoder() {
        let frame = report(3);
        for cut in 0..frame.len() {
            assert!(are_few(&frame[..cut]));
        }
    }
}
