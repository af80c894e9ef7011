//! What is known of other replicas: a map that forgets whoever was not needed for longest, since replicas come and go while
//! this process stays.

use std::collections::HashMap;

use crate::ReplicaId;

/// More replicas than anybody runs; processes that ended long ago count as well.
const MAX_KNOWN: usize = 256;

#[derive(Debug)]
pub(crate) struct Recent<V> {
    known: HashMap<ReplicaId, (u64, V)>,
    /// Counts uses.
    now: u64,
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            now: 0,
        }
    }
}

impl<V: Default> Recent<V> {
    /// What is known of it, to be changed.
    pub(crate) fn of(&mut self, replica: ReplicaId) -> &mut V {
        self.now += 1;
        if self.known.len() >= MAX_KNOWN && !self.known.contains_key(&replica) {
            let longest_unused = self.known.iter().min_by_key(|(_, (used, _))| used);
            if let Some(longest_unused) = longest_unused.map(|(replica, _)| *replica) {
                self.known.remove(&longest_unused);
            }
        }
        let (used, value) = self.known.entry(replica).or_default();
        *used = self.now;
        value
    }

    pub(crate) fn get(&self, replica: ReplicaId) -> Option<&V> {
        self.known.get(&replica).map(|(_, value)| value)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.known.values().map(|(_, value)| value)
    }

    pub(crate) fn forget(&mut self, replica: ReplicaId) {
        self.known.remove(&replica);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_not_needed_for_longest_is_forgotten() {
        let mut recent = Recent::<u64>::default();
        for n in 0..MAX_KNOWN as u64 {
            *recent.of(ReplicaId(n)) = n;
        }
        recent.of(ReplicaId(0));
        *recent.of(ReplicaId(1000)) = 1000;
        assert_eq!(recent.values().count(), MAX_KNOWN);
        assert_eq!(recent.get(ReplicaId(0)), Some(&0));
        assert_eq!(recent.get(ReplicaId(1)), None);
        assert_eq!(recent.get(ReplicaId(1000)), Some(&1000));
    }
}
