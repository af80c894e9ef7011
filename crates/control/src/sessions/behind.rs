//! Agents that connect while the store is away. Another replica may have sent them newer specs, so a full list from here could
//! make them forget processes. Specs and commands wait until this replica has caught up.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Session;
use super::outbox::Pending;

/// How often to check whether the store is back.
const POLL_EVERY: Duration = Duration::from_millis(500);

impl Session {
    pub(super) fn is_behind(&self) -> bool {
        self.outbox.is_behind.load(Ordering::SeqCst)
    }

    /// Resolves when this replica has reached the head of the store.
    pub(super) async fn catch_up(&self) {
        while !self.sessions.replicas.has_reached_head().await {
            tokio::time::sleep(POLL_EVERY).await;
        }
        self.outbox.is_behind.store(false, Ordering::SeqCst);
    }

    /// Puts specs, groups and commands back into the outbox.
    pub(super) fn keep_for_later(&self, pending: &mut Pending) {
        let desired = std::mem::take(&mut pending.desired);
        let groups = std::mem::take(&mut pending.groups);
        let commands = std::mem::take(&mut pending.commands);
        self.outbox.keep_desired(desired);
        let mut now = self.outbox.pending();
        now.groups.extend(groups);
        let newer = std::mem::replace(&mut now.commands, commands);
        now.commands.extend(newer);
    }
}
