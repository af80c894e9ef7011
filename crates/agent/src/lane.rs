//! What must arrive: kept in order until the server has it, and sent again on every connection until then.

use std::collections::VecDeque;

/// One queue of keyed items. Those in front have been sent on this connection, the rest wait.
#[derive(Debug)]
pub struct Lane<K, V> {
    sent: VecDeque<(K, V)>,
    waiting: VecDeque<(K, V)>,
}

impl<K, V> Default for Lane<K, V> {
    fn default() -> Self {
        Self {
            sent: VecDeque::new(),
            waiting: VecDeque::new(),
        }
    }
}

impl<K: PartialEq, V> Lane<K, V> {
    pub fn push(&mut self, key: K, value: V) {
        self.waiting.push_back((key, value));
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

    /// The next one to send. It stays here until it is acknowledged.
    pub fn next_to_send(&mut self) -> Option<&(K, V)> {
        let item = self.waiting.pop_front()?;
        self.sent.push_back(item);
        self.sent.back()
    }

    /// A new connection: everything waits again, in the old order.
    pub fn rewind(&mut self) {
        self.sent.append(&mut self.waiting);
        std::mem::swap(&mut self.sent, &mut self.waiting);
    }

    /// The server asked again for one that was sent already.
    pub fn send_again(&mut self, key: &K) {
        if let Some(at) = self.sent.iter().position(|(k, _)| k == key)
            && let Some(item) = self.sent.remove(at)
        {
            self.waiting.push_back(item);
        }
    }

    /// Lets go of those that the server has, and returns them.
    pub fn acknowledge(&mut self, mut has: impl FnMut(&K) -> bool) -> Vec<K> {
        let mut acknowledged = Vec::new();
        for queue in [&mut self.sent, &mut self.waiting] {
            for (key, value) in std::mem::take(queue) {
                match has(&key) {
                    true => acknowledged.push(key),
                    false => queue.push_back((key, value)),
                }
            }
        }
        acknowledged
    }

    /// As [`Self::acknowledge`], where keys rise in the order of sending: looks no further than it must. Returns the last.
    pub fn acknowledge_first(&mut self, mut has: impl FnMut(&K) -> bool) -> Option<K> {
        let mut last = None;
        for queue in [&mut self.sent, &mut self.waiting] {
            while let Some((key, _)) = queue.pop_front_if(|(key, _)| has(key)) {
                last = Some(key);
            }
            if !queue.is_empty() {
                break;
            }
        }
        last
    }

    /// Gives up the oldest.
    pub fn drop_oldest(&mut self) -> Option<K> {
        let (key, _) = self.sent.pop_front().or_else(|| self.waiting.pop_front())?;
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(lane: &mut Lane<u32, ()>) -> Vec<u32> {
        std::iter::from_fn(|| lane.next_to_send().map(|(key, ())| *key)).collect()
    }

    #[test]
    fn a_new_connection_repeats_in_order_what_is_not_acknowledged() {
        let mut lane = Lane::default();
        (1..=4).for_each(|n| lane.push(n, ()));
        assert_eq!(sent(&mut lane), [1, 2, 3, 4]);
        lane.push(5, ());
        assert_eq!(lane.acknowledge(|n| [2, 3, 9].contains(n)), [2, 3]);
        lane.rewind();
        assert_eq!(sent(&mut lane), [1, 4, 5]);
        assert!(sent(&mut lane).is_empty());
    }

    #[test]
    fn the_first_are_let_go_whether_sent_on_this_connection_or_not() {
        let mut lane = Lane::default();
        (1..=5).for_each(|n| lane.push(n, ()));
        lane.next_to_send();
        lane.next_to_send();
        assert_eq!(lane.acknowledge_first(|n| *n <= 1), Some(1));
        assert_eq!(lane.acknowledge_first(|n| *n <= 1), None);
        assert_eq!(lane.acknowledge_first(|n| *n <= 4), Some(4));
        assert_eq!(sent(&mut lane), [5]);
    }

    #[test]
    fn what_is_asked_for_again_is_sent_again() {
        let mut lane = Lane::default();
        (1..=3).for_each(|n| lane.push(n, ()));
        sent(&mut lane);
        lane.send_again(&2);
        lane.send_again(&7);
        assert_eq!(sent(&mut lane), [2]);
        assert_eq!(lane.len(), 3);
    }
}
