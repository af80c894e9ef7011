//! A map of other replicas that drops the least recently used one when it is full: replicas come and go during the life of this
//! process.

use std::collections::HashMap;

use crate::ReplicaId;

/// More than the replicas of any installation; processes that ended long ago count as well.
const MAX_REPLICAS: usize = 256;

#[derive(Debug)]
pub(crate) struct RecentReplicas<V> {
    /// Each with the number of its last use.
    replicas: HashMap<ReplicaId, (u64, V)>,
    n_uses: u64,
}

impl<V> Default for RecentReplicas<V> {
    fn default() -> Self {
        Self {
            replicas: HashMap::new(),
            n_uses: 0,
        }
    }
}

impl<V: Default> RecentReplicas<V> {
    /// The value of a replica; the default for a new one.
    pub(crate) fn of(&mut self, replica: ReplicaId) -> &mut V {
        self.n_uses += 1;
        if self.replicas.len() >= MAX_REPLICAS && !self.replicas.contains_key(&replica) {
            let longest_unused = self.replicas.iter().min_by_key(|(_, (used, _))| used);
            if let Some(longest_unused) = longest_unused.map(|(replica, _)| *replica) {
                self.replicas.remove(&longest_unused);
            }
        }
        let (used, value) = self.replicas.entry(replica).or_default();
        *used = self.n_uses;
        value
    }

    pub(crate) fn get(&self, replica: ReplicaId) -> Option<&V> {
        self.replicas.get(&replica).map(|(_, value)| value)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.replicas.values().map(|(_, value)| value)
    }

    pub(crate) fn forget(&mut self, replica: ReplicaId) {
        self.replicas.remove(&replica);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_replica_is_dropped() {
        let mut recent = RecentReplicas::<u64>::default();
        for n in 0..MAX_REPLICAS as u64 {
            *recent.of(ReplicaId(n)) = n;
        }
        recent.of(ReplicaId(0));
        *recent.of(ReplicaId(1000)) = 1000;
        assert_eq!(recent.values().count(), MAX_REPLICAS);
        assert_eq!(recent.get(ReplicaId(0)), Some(&0));
        assert_eq!(recent.get(ReplicaId(1)), None);
        assert_eq!(recent.get(ReplicaId(1000)), Some(&1000));
    }
}
