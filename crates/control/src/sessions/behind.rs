//! Agents that come while the store is away. Another replica may have told them more than is known here, so that a list from
//! here would make them forget processes. They are told what they should hold once this replica knows.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Changed, Session, Waiting};

/// How long to wait before the store is tried again.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

impl Session {
    pub(super) fn is_behind(&self) -> bool {
        self.outbox.is_behind.load(Ordering::SeqCst)
    }

    /// Resolves when this replica knows whatever the agent may have been told elsewhere.
    pub(super) async fn catch_up(&self) {
        while !self.control.has_reached_head().await {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        self.outbox.is_behind.store(false, Ordering::SeqCst);
    }

    /// Puts back what the agent should hold and do.
    pub(super) fn keep_for_later(&self, waiting: &mut Waiting) {
        let desired = std::mem::take(&mut waiting.desired);
        let groups = std::mem::take(&mut waiting.groups);
        let commands = std::mem::take(&mut waiting.commands);
        let mut now = self.outbox.waiting();
        now.desired = match (desired, std::mem::take(&mut now.desired)) {
            (Changed::All, _) | (_, Changed::All) => Changed::All,
            (Changed::None, other) | (other, Changed::None) => other,
            (Changed::Names(mut names), Changed::Names(newer)) => {
                names.extend(newer);
                Changed::Names(names)
            }
        };
        now.groups.extend(groups);
        let newer = std::mem::replace(&mut now.commands, commands);
        now.commands.extend(newer);
    }
}
