//! What the agent is to be told. Ends and events wait here until the journal is durable; of a process's statuses only
//! the latest waits. The agent may be slow: supervision does not wait for it.

use std::collections::{HashSet, VecDeque};

use tokio::sync::mpsc;

use super::Key;
use crate::Notice;

#[derive(Debug)]
pub(crate) struct Outbox {
    notices: mpsc::Sender<Notice>,
    /// Not to be told before the next sync.
    unsynced: Vec<Notice>,
    /// Not to be told before the sync under way is over.
    syncing: Vec<Notice>,
    /// Bounded by what the journal keeps for the server.
    ready: VecDeque<Notice>,
    changed: VecDeque<Key>,
    changed_set: HashSet<Key>,
    /// Something was written that must be durable soon, with or without a notice.
    must_sync: bool,
}

impl Outbox {
    pub(crate) fn new(notices: mpsc::Sender<Notice>) -> Self {
        Self {
            notices,
            unsynced: Vec::new(),
            syncing: Vec::new(),
            ready: VecDeque::new(),
            changed: VecDeque::new(),
            changed_set: HashSet::new(),
            must_sync: false,
        }
    }

    /// To be told once what was written is durable.
    pub(crate) fn after_sync(&mut self, notice: Notice) {
        self.unsynced.push(notice);
        self.must_sync = true;
    }

    /// What was written must become durable at the end of this turn.
    pub(crate) fn must_sync(&mut self) {
        self.must_sync = true;
    }

    /// To be told at once.
    pub(crate) fn push(&mut self, notice: Notice) {
        self.ready.push_back(notice);
    }

    pub(crate) fn status_changed(&mut self, key: Key) {
        if self.changed_set.insert(key) {
            self.changed.push_back(key);
        }
    }

    pub(crate) fn needs_sync(&self) -> bool {
        self.must_sync
    }

    /// A sync begins that covers everything that was written so far.
    pub(crate) fn sync_begins(&mut self) {
        self.must_sync = false;
        self.syncing.append(&mut self.unsynced);
    }

    /// The sync under way is over.
    pub(crate) fn synced(&mut self) {
        self.ready.extend(self.syncing.drain(..));
    }

    /// The sync under way failed: what it should have covered waits for the next.
    pub(crate) fn sync_failed(&mut self) {
        self.must_sync = true;
        self.syncing.append(&mut self.unsynced);
        std::mem::swap(&mut self.syncing, &mut self.unsynced);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.changed.is_empty()
    }

    /// Sends as much as the channel takes now.
    pub(crate) fn send(&mut self, status: impl Fn(Key) -> Option<Notice>) {
        while !self.is_empty() {
            let Ok(permit) = self.notices.try_reserve() else {
                return;
            };
            if let Some(notice) = self.ready.pop_front() {
                permit.send(notice);
                continue;
            }
            if let Some(key) = self.changed.pop_front() {
                self.changed_set.remove(&key);
                // Forgotten meanwhile: nothing to tell.
                if let Some(notice) = status(key) {
                    permit.send(notice);
                }
            }
        }
    }

    /// Waits until the channel takes something; false when nobody listens any more.
    pub(crate) async fn heard(&self) -> bool {
        self.notices.reserve().await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use model::operation::{OpId, TaskId};
    use model::{Code, Outcome, UnixMillis};

    use super::*;

    fn ended(ordinal: u32) -> Notice {
        let task = TaskId::from_number(1);
        let outcome = Outcome::plain(Code::OK, "success", UnixMillis(1));
        Notice::Ended(OpId { task, ordinal }, outcome)
    }

    fn told(outbox: &mut Outbox, heard: &mut mpsc::Receiver<Notice>) -> Vec<u32> {
        outbox.send(|_| None);
        let ordinal = |notice| match notice {
            Notice::Ended(id, _) => Some(id.ordinal),
            Notice::Status(..) | Notice::Event(..) => None,
        };
        std::iter::from_fn(|| heard.try_recv().ok())
            .filter_map(ordinal)
            .collect()
    }

    #[test]
    fn what_comes_during_a_sync_waits_for_the_next() {
        let (notices, mut heard) = mpsc::channel(8);
        let mut outbox = Outbox::new(notices);
        outbox.after_sync(ended(1));
        outbox.sync_begins();
        outbox.after_sync(ended(2));
        assert!(told(&mut outbox, &mut heard).is_empty());
        outbox.synced();
        assert_eq!(told(&mut outbox, &mut heard), [1]);
        assert!(outbox.needs_sync());
    }

    #[test]
    fn what_a_failed_sync_should_have_covered_waits_in_order() {
        let (notices, mut heard) = mpsc::channel(8);
        let mut outbox = Outbox::new(notices);
        outbox.after_sync(ended(1));
        outbox.sync_begins();
        outbox.after_sync(ended(2));
        outbox.sync_failed();
        assert!(told(&mut outbox, &mut heard).is_empty());
        outbox.sync_begins();
        outbox.synced();
        assert_eq!(told(&mut outbox, &mut heard), [1, 2]);
        assert!(!outbox.needs_sync());
    }
}
