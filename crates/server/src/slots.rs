//! Counts slots in use by key and in all: connections by network, streams by caller. The limits are the caller's.

use std::collections::HashMap;
use std::hash::Hash;

/// Holds only keys with a slot in use, so it is as bounded as they are.
#[derive(Debug)]
pub(crate) struct SlotCounts<K> {
    total: usize,
    by_key: HashMap<K, usize>,
}

impl<K> Default for SlotCounts<K> {
    fn default() -> Self {
        Self {
            total: 0,
            by_key: HashMap::new(),
        }
    }
}

impl<K: Eq + Hash> SlotCounts<K> {
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    pub(crate) fn of(&self, key: &K) -> usize {
        self.by_key.get(key).copied().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, key: K) {
        self.total += 1;
        *self.by_key.entry(key).or_default() += 1;
    }

    pub(crate) fn remove(&mut self, key: &K) {
        let Some(n) = self.by_key.get_mut(key) else {
            return;
        };
        self.total -= 1;
        *n -= 1;
        if *n == 0 {
            self.by_key.remove(key);
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0 && self.by_key.is_empty()
    }
}
