//! A hash map in shards of about a hundred entries; a change copies one shard.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, Equivalent, HashTable};

/// On average; then the map gets more shards.
const MAX_PER_SHARD: usize = 128;
const GROWTH: usize = 4;

type Shard<K, V> = Arc<HashTable<(K, V)>>;

#[derive(Debug, Clone)]
pub(crate) struct CowMap<K, V> {
    /// A power of two, or none yet. Shared as a whole, too, so that a clone costs the same at any size.
    shards: Arc<Vec<Shard<K, V>>>,
    hasher: DefaultHashBuilder,
    len: usize,
}

impl<K, V> Default for CowMap<K, V> {
    fn default() -> Self {
        Self {
            shards: Arc::default(),
            hasher: DefaultHashBuilder::default(),
            len: 0,
        }
    }
}

/// Bits of the hash that the tables themselves do not use.
fn shard_of(hash: u64, n_shards: usize) -> usize {
    (hash >> 36) as usize & (n_shards - 1)
}

impl<K, V> CowMap<K, V> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let entries = self.shards.iter().flat_map(|shard| shard.iter());
        entries.map(|(key, value)| (key, value))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

impl<K: Hash + Eq + Clone, V: Clone> CowMap<K, V> {
    /// By a key or by anything that has its hash and equals it.
    pub(crate) fn get<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<&V> {
        if self.shards.is_empty() {
            return None;
        }
        let hash = self.hasher.hash_one(key);
        let shard = &self.shards[shard_of(hash, self.shards.len())];
        let found = shard.find(hash, |(known, _)| key.equivalent(known));
        found.map(|(_, value)| value)
    }

    pub(crate) fn contains_key<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// Copies nothing when there is no such key.
    pub(crate) fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        if !self.contains_key(key) {
            return None;
        }
        let hash = self.hasher.hash_one(key);
        let at = shard_of(hash, self.shards.len());
        let shard = Arc::make_mut(&mut Arc::make_mut(&mut self.shards)[at]);
        let found = shard.find_mut(hash, |(known, _)| known.borrow() == key);
        found.map(|(_, value)| value)
    }

    /// Returns the value that it replaces.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.entry(&key) {
            Entry::Occupied(mut entry) => Some(std::mem::replace(&mut entry.get_mut().1, value)),
            Entry::Vacant(entry) => {
                entry.insert((key, value));
                self.len += 1;
                None
            }
        }
    }

    pub(crate) fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        if !self.contains_key(&key) {
            self.insert(key.clone(), make());
        }
        match self.entry(&key) {
            Entry::Occupied(entry) => &mut entry.into_mut().1,
            Entry::Vacant(_) => unreachable!("it was inserted just now"),
        }
    }

    pub(crate) fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.get_or_insert_with(key, V::default)
    }

    pub(crate) fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        if !self.contains_key(key) {
            return None;
        }
        let hash = self.hasher.hash_one(key);
        let at = shard_of(hash, self.shards.len());
        let shard = Arc::make_mut(&mut Arc::make_mut(&mut self.shards)[at]);
        let found = shard.find_entry(hash, |(known, _)| known.borrow() == key);
        let ((_, value), _) = found.ok()?.remove();
        self.len -= 1;
        Some(value)
    }

    fn entry(&mut self, key: &K) -> Entry<'_, (K, V)> {
        if self.len >= self.shards.len() * MAX_PER_SHARD {
            self.add_shards();
        }
        let hash = self.hasher.hash_one(key);
        let at = shard_of(hash, self.shards.len());
        let hasher = &self.hasher;
        Arc::make_mut(&mut Arc::make_mut(&mut self.shards)[at]).entry(
            hash,
            |(known, _)| known == key,
            |(known, _)| hasher.hash_one(known),
        )
    }

    fn add_shards(&mut self) {
        let n_shards = (self.shards.len() * GROWTH).max(1);
        let mut shards = vec![HashTable::new(); n_shards];
        for shard in self.shards.iter() {
            for (key, value) in shard.iter() {
                let hash = self.hasher.hash_one(key);
                shards[shard_of(hash, n_shards)].insert_unique(
                    hash,
                    (key.clone(), value.clone()),
                    |(known, _)| self.hasher.hash_one(known),
                );
            }
        }
        self.shards = Arc::new(shards.into_iter().map(Arc::new).collect());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_clone_keeps_what_it_had_when_the_original_changes(
            steps in proptest::collection::vec((0_u16..3_000, any::<bool>()), 1..6_000),
            split in 0_usize..6_000,
        ) {
            let (mut map, mut plain) = (CowMap::default(), HashMap::new());
            let mut kept = None;
            for (n, (key, stays)) in steps.iter().enumerate() {
                if n == split {
                    kept = Some((map.clone(), plain.clone()));
                }
                match stays {
                    true => prop_assert_eq!(map.insert(*key, n), plain.insert(*key, n)),
                    false => prop_assert_eq!(map.remove(key), plain.remove(key)),
                }
            }
            for (map, plain) in kept.into_iter().chain([(map, plain)]) {
                prop_assert_eq!(map.len(), plain.len());
                prop_assert!(map.iter().all(|(key, value)| plain.get(key) == Some(value)));
                prop_assert!(plain.iter().all(|(key, value)| map.get(key) == Some(value)));
            }
        }
    }

    #[test]
    fn a_change_copies_one_shard() {
        let mut map: CowMap<u32, u32> = CowMap::default();
        for n in 0..10_000 {
            map.insert(n, n);
        }
        let before = map.clone();
        *map.get_mut(&7).unwrap() = 8;
        assert_eq!(map.get_mut(&10_000), None);
        let shards = map.shards.iter().zip(before.shards.iter());
        let copied = shards.filter(|(now, before)| !Arc::ptr_eq(now, before));
        assert_eq!(copied.count(), 1);
        assert_eq!((map.get(&7), before.get(&7)), (Some(&8), Some(&7)));
    }
}
