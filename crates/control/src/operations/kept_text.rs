//! What a dialect has written of some targets of a task, for the polls that follow: of a large task most of them have not changed since the
//! last poll.

use std::sync::{Arc, OnceLock};

/// How many consecutive targets share a text. They are sent in this order, and so end about in this order.
pub(crate) const TARGETS: usize = 64;

/// The text of some targets as they are. When one of them changes, they get another, empty one.
#[derive(Debug, Clone, Default)]
pub struct KeptText(Arc<OnceLock<Box<[u8]>>>);

impl KeptText {
    /// One for each part of so many targets.
    pub(crate) fn of_targets(n: usize) -> Vec<Self> {
        let texts = std::iter::repeat_with(Self::default);
        texts.take(n.div_ceil(TARGETS)).collect()
    }

    pub fn get_or_write(&self, write: impl FnOnce() -> Box<[u8]>) -> &[u8] {
        self.0.get_or_init(write)
    }

    /// Takes another text, unless this one is empty and no reader of the targets as they were can write it any more.
    pub(crate) fn renew(&mut self) {
        if Arc::strong_count(&self.0) > 1 || self.0.get().is_some() {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_of_before_writes_no_text_of_after() {
        let mut text = KeptText::default();
        let before = text.clone();
        text.renew();
        assert_eq!(before.get_or_write(|| (*b"old").into()), b"old");
        assert_eq!(text.get_or_write(|| (*b"new").into()), b"new");
        text.renew();
        assert_eq!(text.get_or_write(|| (*b"newer").into()), b"newer");
    }
}
