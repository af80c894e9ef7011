//! Digests by which agent and server compare their registrations cheaply.

use crate::FullName;

/// Digest of the processes that an agent holds: independent of their order, 0 for none.
pub fn held_digest<'a>(processes: impl Iterator<Item = (&'a FullName, u64, u64)>) -> u64 {
    processes.fold(0, |digest, (name, incarnation, definition_hash)| {
        digest ^ held_hash(name, incarnation, definition_hash)
    })
}

/// One process's part of [`held_digest`].
pub fn held_hash(name: &FullName, incarnation: u64, definition_hash: u64) -> u64 {
    let mut hash = Fnv::new();
    hash.write(name.namespace.as_str().as_bytes());
    hash.write(&[0]);
    hash.write(name.name.as_str().as_bytes());
    hash.write(&incarnation.to_le_bytes());
    hash.write(&definition_hash.to_le_bytes());
    // FNV's high bits move little for short inputs; spread them so that XOR does not cancel neighbours.
    let mixed = (hash.0 ^ (hash.0 >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 29)
}

/// Digest of a spec and its labels; agent and server compute it from the same text.
pub fn definition_hash(spec_json: &str, labels_json: &str) -> u64 {
    let mut hash = Fnv::new();
    hash.write(spec_json.as_bytes());
    hash.write(&[0]);
    hash.write(labels_json.as_bytes());
    hash.0
}

/// Digest that distinguishes long texts.
pub fn text_hash(text: &str) -> u64 {
    let mut hash = Fnv::new();
    hash.write(text.as_bytes());
    hash.0
}

/// FNV-1a, because agents in the field compare stored digests: they must never change.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_ignores_order_and_detects_every_difference() {
        let (a, b): (FullName, FullName) = ("x/a".parse().unwrap(), "x/b".parse().unwrap());
        let both = held_digest([(&a, 1, 10), (&b, 2, 20)].into_iter());
        assert_eq!(both, held_digest([(&b, 2, 20), (&a, 1, 10)].into_iter()));
        for other in [
            [(&a, 1, 10), (&b, 2, 21)],
            [(&a, 2, 10), (&b, 2, 20)],
            [(&b, 1, 10), (&a, 2, 20)],
        ] {
            assert_ne!(both, held_digest(other.into_iter()));
        }
        assert_eq!(held_digest(std::iter::empty()), 0);
    }

    #[test]
    fn digests_never_change() {
        let name: FullName = "gse/proc-test".parse().unwrap();
        assert_eq!(
            definition_hash("{}", "{}"),
            0xd69f_43bb_6beb_1123,
            "agents in the field hold these"
        );
        assert_eq!(
            held_hash(&name, 7, 9),
            0x7bb9_86aa_fb45_1eb5,
            "agents in the field hold these"
        );
    }
}
