//! Asks agents to disconnect: to move to another replica, or because their certificate was revoked.

use std::time::Duration;

use model::change::Changes;
use model::{Host, UnixMillis};
use tokio::time::Instant;
use wire::{Bye, Move};

use super::{Outbox, Outboxes, Session};

impl Outbox {
    /// When the agent was last asked to move.
    fn asked_to_move(&self) -> Option<Instant> {
        *self.asked_to_move.lock()
    }

    pub(super) fn was_asked_to_move(&self) -> bool {
        self.asked_to_move().is_some()
    }

    fn ask_to_move(&self, reason: &str, now: Instant) {
        *self.asked_to_move.lock() = Some(now);
        let reason = reason.to_owned();
        self.change(|pending| pending.move_away = Some(Move { reason }));
    }

    /// Ends the connection because its host was removed.
    pub(super) fn disconnect_removed(&self, host: Host) {
        self.disconnect_for_good(crate::enrol::removed(host));
    }

    /// Ends the connection if its host was revoked or enrolled again since it started.
    pub(super) fn disconnect_if_revoked(&self, host: Host, enrolled_at: UnixMillis) {
        let reason = match enrolled_at {
            UnixMillis::NEVER => crate::enrol::not_enrolled(host),
            at if self.enrolled_at.is_some_and(|before| before != at) => {
                crate::enrol::superseded(host)
            }
            _ => return,
        };
        self.disconnect_for_good(reason);
    }

    fn disconnect_for_good(&self, reason: String) {
        self.change(|pending| {
            pending.bye = Some(Bye {
                reason,
                permanent: true,
                rejoin: true,
            });
        });
    }

    /// Ends the connection because a newer one of the same host exists. An agent that was asked to move ends it by itself,
    /// once it has answered its open questions.
    pub(super) fn disconnect_replaced(&self) {
        if self.was_asked_to_move() {
            return;
        }
        let reason = "another connection of the same host took its place".to_owned();
        self.change(|pending| {
            pending.bye = Some(Bye {
                reason,
                permanent: false,
                rejoin: false,
            });
        });
    }
}

impl Session {
    /// Whether a newer connection replaced this one and has ended, so that no replica holds the agent. Happens to an agent that
    /// was asked to move and lost the welcome of the other replica: it stays here, without an outbox.
    pub(crate) fn was_superseded(&self) -> bool {
        self.sessions.core.outboxes.outbox(self.host).is_none()
            && self.sessions.replicas.holder(self.host).is_none()
    }
}

impl Outboxes {
    /// Asks up to `n` agents to move that were not asked within `again_after`; returns how many.
    pub(crate) fn ask_to_move(&self, n: usize, reason: &str, again_after: Duration) -> usize {
        let now = Instant::now();
        let is_due = |outbox: &&std::sync::Arc<Outbox>| {
            let asked = outbox.asked_to_move();
            asked.is_none_or(|at| now.duration_since(at) >= again_after)
        };
        let by_host = self.by_host.read();
        // In the random order of the map.
        let asked = by_host.values().filter(is_due).take(n);
        asked.map(|outbox| outbox.ask_to_move(reason, now)).count()
    }

    /// How many connected agents were asked to move at this time or later.
    pub(crate) fn n_asked_since(&self, since: Instant) -> usize {
        let by_host = self.by_host.read();
        let asked = by_host.values().filter_map(|outbox| outbox.asked_to_move());
        asked.filter(|at| *at >= since).count()
    }

    /// Ends the connections of hosts that a commit revoked, removed or enrolled again.
    pub(crate) fn disconnect_revoked(&self, changes: &Changes) {
        for row in &changes.hosts {
            let Some(outbox) = self.outbox(row.id) else {
                continue;
            };
            match row.removed_at {
                Some(_) => outbox.disconnect_removed(row.host),
                None => outbox.disconnect_if_revoked(row.host, row.enrolled_at),
            }
        }
    }
}
