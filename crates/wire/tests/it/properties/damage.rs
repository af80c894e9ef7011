//! Ways to damage bytes.

use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Debug, Clone)]
pub(super) enum Damage {
    Flip(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
}

pub(super) fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        (at(), 1u8..).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        (at(), vec(any::<u8>(), 1..6)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (at(), 1usize..6).prop_map(|(at, n)| Damage::Remove(at, n)),
        (at(), 1usize..40).prop_map(|(at, n)| Damage::Repeat(at, n)),
    ]
}

pub(super) fn harm(bytes: &mut Vec<u8>, damages: &[Damage]) {
    for damage in damages {
        let at = |index: &prop::sample::Index| index.index(bytes.len() + 1);
        match damage {
            Damage::Flip(index, bits) => {
                let at = at(index);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= bits;
                }
            }
            Damage::Insert(index, more) => {
                let at = at(index);
                bytes.splice(at..at, more.iter().copied());
            }
            Damage::Remove(index, n) => {
                let at = at(index);
                let end = (at + n).min(bytes.len());
                bytes.drain(at..end);
            }
            Damage::Repeat(index, n) => {
                let at = at(index);
                let end = (at + n).min(bytes.len());
                let again = bytes[at..end].to_vec();
                bytes.splice(end..end, again);
            }
        }
    }
}
