//! Sealed chunks: a stream that cannot be changed, reordered, cut or continued without notice.
//!
//! The nonce of a chunk is its number and a byte that is 1 for the last one. A key is used for one stream only, because each
//! backup has its own salt.

use ring::aead::{Aad, LessSafeKey, Nonce};

/// Bytes of content in each chunk but the last.
pub(crate) const CHUNK: usize = 64 * 1024;
pub(crate) const TAG: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    More,
    Last,
}

/// The key of a stream, and the number of its next chunk.
#[derive(Debug)]
pub(crate) struct ChunkKey {
    key: LessSafeKey,
    next: u64,
}

impl ChunkKey {
    pub(crate) fn new(key: LessSafeKey) -> Self {
        Self { key, next: 0 }
    }

    /// Encrypts in place, and appends the tag.
    pub(crate) fn seal(&mut self, chunk: &mut Vec<u8>, header: &[u8], position: Position) {
        let nonce = self.nonce(position);
        self.key
            .seal_in_place_append_tag(nonce, Aad::from(header), chunk)
            .expect("a chunk is short");
    }

    /// Decrypts in place; None if it is not what was sealed at this place.
    pub(crate) fn open<'c>(
        &mut self,
        chunk: &'c mut [u8],
        header: &[u8],
        position: Position,
    ) -> Option<&'c [u8]> {
        let nonce = self.nonce(position);
        let opened = self.key.open_in_place(nonce, Aad::from(header), chunk);
        opened.ok().map(|plain| &*plain)
    }

    fn nonce(&mut self, position: Position) -> Nonce {
        let mut nonce = [0; 12];
        nonce[3..11].copy_from_slice(&self.next.to_be_bytes());
        nonce[11] = match position {
            Position::More => 0,
            Position::Last => 1,
        };
        self.next += 1;
        Nonce::assume_unique_for_key(nonce)
    }
}
