//! Notices for the agent. Results and events wait here for a journal sync; of a process's statuses only the latest waits.
//! The agent may be slow: supervision does not wait for it.

use std::collections::{HashSet, VecDeque};

use tokio::sync::mpsc;

use super::Key;
use crate::Notice;

/// For how many notices an empty queue keeps room.
const KEPT_ROOM: usize = 64;

#[derive(Debug)]
pub(crate) struct Outbox {
    notices: mpsc::Sender<Notice>,
    /// Wait for the next sync.
    unsynced: Vec<Notice>,
    /// Wait for the sync under way.
    syncing: Vec<Notice>,
    /// Bounded by what the journal keeps for the server.
    ready: VecDeque<Notice>,
    changed: VecDeque<Key>,
    changed_set: HashSet<Key>,
    /// A sync is needed, with or without a notice.
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

    /// Sends this after the next sync.
    pub(crate) fn after_sync(&mut self, notice: Notice) {
        self.unsynced.push(notice);
        self.must_sync = true;
    }

    /// Requests a sync at the end of this turn.
    pub(crate) fn must_sync(&mut self) {
        self.must_sync = true;
    }

    /// Sends this at once.
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

    /// A sync begins that covers everything written so far.
    pub(crate) fn sync_begins(&mut self) {
        self.must_sync = false;
        match self.syncing.is_empty() {
            true => self.syncing = std::mem::take(&mut self.unsynced),
            false => self.syncing.append(&mut self.unsynced),
        }
    }

    /// The sync under way succeeded.
    pub(crate) fn synced(&mut self) {
        self.ready.extend(std::mem::take(&mut self.syncing));
    }

    /// The sync under way failed: its notices wait for the next.
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
                // A process that was forgotten meanwhile has no status.
                if let Some(notice) = status(key) {
                    permit.send(notice);
                }
            }
        }
        self.give_room_back();
    }

    /// After a burst: what is empty needs no room.
    fn give_room_back(&mut self) {
        if self.ready.capacity() > KEPT_ROOM {
            self.ready = VecDeque::new();
        }
        if self.changed.capacity() > KEPT_ROOM {
            (self.changed, self.changed_set) = (VecDeque::new(), HashSet::new());
        }
    }

    /// Waits until the channel has room; false when its receiver is gone.
    pub(crate) async fn has_room(&self) -> bool {
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

    fn sent(outbox: &mut Outbox, received: &mut mpsc::Receiver<Notice>) -> Vec<u32> {
        outbox.send(|_| None);
        let ordinal = |notice| match notice {
            Notice::Ended(id, _) => Some(id.ordinal),
            Notice::Status(..) | Notice::Event(..) => None,
        };
        std::iter::from_fn(|| received.try_recv().ok())
            .filter_map(ordinal)
            .collect()
    }

    #[test]
    fn a_notice_during_a_sync_waits_for_the_next() {
        let (notices, mut received) = mpsc::channel(8);
        let mut outbox = Outbox::new(notices);
        outbox.after_sync(ended(1));
        outbox.sync_begins();
        outbox.after_sync(ended(2));
        assert!(sent(&mut outbox, &mut received).is_empty());
        outbox.synced();
        assert_eq!(sent(&mut outbox, &mut received), [1]);
        assert!(outbox.needs_sync());
    }

    #[test]
    fn notices_of_a_failed_sync_wait_in_order() {
        let (notices, mut received) = mpsc::channel(8);
        let mut outbox = Outbox::new(notices);
        outbox.after_sync(ended(1));
        outbox.sync_begins();
        outbox.after_sync(ended(2));
        outbox.sync_failed();
        assert!(sent(&mut outbox, &mut received).is_empty());
        outbox.sync_begins();
        outbox.synced();
        assert_eq!(sent(&mut outbox, &mut received), [1, 2]);
        assert!(!outbox.needs_sync());
    }
}
