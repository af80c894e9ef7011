//! A queue whose items stay until the server acknowledges them, and are sent again on every new connection until then.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

/// Keyed items in order: those sent on this connection, then those that wait.
#[derive(Debug)]
pub struct AckQueue<K, V> {
    sent: VecDeque<(K, V)>,
    waiting: VecDeque<(K, V)>,
    /// The keys of both.
    known: HashSet<K>,
}

impl<K, V> Default for AckQueue<K, V> {
    fn default() -> Self {
        Self {
            sent: VecDeque::new(),
            waiting: VecDeque::new(),
            known: HashSet::new(),
        }
    }
}

impl<K: Copy + Eq + Hash, V> AckQueue<K, V> {
    /// Adds an item, unless there is one with this key.
    pub fn push(&mut self, key: K, value: V) {
        if self.known.insert(key) {
            self.waiting.push_back((key, value));
        }
    }

    pub fn contains(&self, key: &K) -> bool {
        self.known.contains(key)
    }

    pub fn len(&self) -> usize {
        self.sent.len() + self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// In the order of sending.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.sent.iter().chain(&self.waiting).map(|(key, _)| key)
    }

    /// The next item to send. It stays in the queue until it is acknowledged.
    pub fn next_to_send(&mut self) -> Option<&(K, V)> {
        let item = self.waiting.pop_front()?;
        self.sent.push_back(item);
        self.sent.back()
    }

    /// Makes everything wait again, in the old order, for a new connection.
    pub fn rewind(&mut self) {
        self.sent.append(&mut self.waiting);
        std::mem::swap(&mut self.sent, &mut self.waiting);
    }

    /// Sends an item again that the server asked for again.
    pub fn send_again(&mut self, key: &K) {
        if let Some(at) = self.sent.iter().position(|(k, _)| k == key)
            && let Some(item) = self.sent.remove(at)
        {
            self.waiting.push_back(item);
        }
    }

    /// Removes the items with these keys and returns those that were there.
    pub fn acknowledge(&mut self, keys: &HashSet<K>) -> Vec<K> {
        let mut acknowledged: Vec<K> = Vec::new();
        for key in keys {
            acknowledged.extend(self.known.take(key));
        }
        let mut left = acknowledged.len();
        for queue in [&mut self.sent, &mut self.waiting] {
            // A server acknowledges in the order of sending, as a rule.
            while left > 0 && queue.pop_front_if(|(key, _)| keys.contains(key)).is_some() {
                left -= 1;
            }
            if left > 0 {
                let before = queue.len();
                queue.retain(|(key, _)| !keys.contains(key));
                left -= before - queue.len();
            }
        }
        self.give_room_back();
        acknowledged
    }

    /// After a burst: an empty queue needs no room.
    fn give_room_back(&mut self) {
        if self.is_empty() {
            *self = Self::default();
        }
    }

    /// As [`Self::acknowledge`] where keys rise in the order of sending: stops at the first that is not acknowledged.
    /// Returns the last key removed.
    pub fn acknowledge_first(&mut self, mut has: impl FnMut(&K) -> bool) -> Option<K> {
        let mut last = None;
        for queue in [&mut self.sent, &mut self.waiting] {
            while let Some((key, _)) = queue.pop_front_if(|(key, _)| has(key)) {
                self.known.remove(&key);
                last = Some(key);
            }
            if !queue.is_empty() {
                break;
            }
        }
        self.give_room_back();
        last
    }

    /// Removes the oldest item and returns its key.
    pub fn drop_oldest(&mut self) -> Option<K> {
        let (key, _) = self.sent.pop_front().or_else(|| self.waiting.pop_front())?;
        self.known.remove(&key);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(queue: &mut AckQueue<u32, ()>) -> Vec<u32> {
        std::iter::from_fn(|| queue.next_to_send().map(|(key, ())| *key)).collect()
    }

    #[test]
    fn a_new_connection_sends_unacknowledged_items_again_in_order() {
        let mut queue = AckQueue::default();
        (1..=4).for_each(|n| queue.push(n, ()));
        assert_eq!(sent(&mut queue), [1, 2, 3, 4]);
        queue.push(5, ());
        let mut gone = queue.acknowledge(&HashSet::from([2, 3, 9]));
        gone.sort_unstable();
        assert_eq!(gone, [2, 3]);
        assert!(!queue.contains(&2) && queue.contains(&5));
        queue.rewind();
        assert_eq!(sent(&mut queue), [1, 4, 5]);
        assert!(sent(&mut queue).is_empty());
    }

    #[test]
    fn items_are_acknowledged_whether_sent_on_this_connection_or_not() {
        let mut queue = AckQueue::default();
        (1..=5).for_each(|n| queue.push(n, ()));
        queue.next_to_send();
        queue.next_to_send();
        assert_eq!(queue.acknowledge_first(|n| *n <= 1), Some(1));
        assert_eq!(queue.acknowledge_first(|n| *n <= 1), None);
        assert_eq!(queue.acknowledge_first(|n| *n <= 4), Some(4));
        assert_eq!(sent(&mut queue), [5]);
    }

    #[test]
    fn an_item_is_queued_once() {
        let mut queue = AckQueue::default();
        queue.push(1, ());
        queue.push(1, ());
        assert_eq!(sent(&mut queue), [1]);
        assert_eq!(queue.acknowledge(&HashSet::from([1])), [1]);
        queue.push(1, ());
        assert_eq!(sent(&mut queue), [1]);
    }

    #[test]
    fn an_item_asked_for_again_is_sent_again() {
        let mut queue = AckQueue::default();
        (1..=3).for_each(|n| queue.push(n, ()));
        sent(&mut queue);
        queue.send_again(&2);
        queue.send_again(&7);
        assert_eq!(sent(&mut queue), [2]);
        assert_eq!(queue.len(), 3);
    }
}
