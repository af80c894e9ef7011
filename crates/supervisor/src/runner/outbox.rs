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

    pub(crate) fn synced(&mut self) {
        self.must_sync = false;
        self.ready.extend(self.unsynced.drain(..));
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
