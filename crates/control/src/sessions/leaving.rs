//! Agents that are asked to leave: for another replica, or for good.

use std::time::Duration;

use model::change::Changes;
use model::{Host, UnixMillis};
use tokio::time::Instant;
use wire::{Bye, Move};

use super::{Outbox, Session, Sessions};

impl Outbox {
    /// When the agent was last asked to move.
    fn asked_to_move(&self) -> Option<Instant> {
        *self.asked_to_move.lock()
    }

    fn ask_to_move(&self, reason: &str, now: Instant) {
        *self.asked_to_move.lock() = Some(now);
        let reason = reason.to_owned();
        self.change(|waiting| waiting.move_away = Some(Move { reason }));
    }

    /// Ends the connection if its host was revoked or enrolled again since it began.
    pub(super) fn dismiss(&self, host: Host, enrolled_at: UnixMillis) {
        let reason = match enrolled_at {
            UnixMillis::NEVER => crate::enrol::not_enrolled(host),
            at if self.enrolled_at.is_some_and(|before| before != at) => {
                crate::enrol::superseded(host)
            }
            _ => return,
        };
        self.change(|waiting| {
            waiting.bye = Some(Bye {
                reason,
                permanent: true,
                rejoin: true,
            });
        });
    }

    /// Another connection of the same host took the place of this one. An agent that was asked to move ends it by itself,
    /// once it has answered what it is being asked.
    pub(super) fn replaced(&self) {
        if self.asked_to_move().is_some() {
            return;
        }
        let reason = "another connection of the same host took its place".to_owned();
        self.change(|waiting| {
            waiting.bye = Some(Bye {
                reason,
                permanent: false,
                rejoin: false,
            });
        });
    }
}

impl Session {
    /// Whether another connection took the place of this one and is gone, so that nobody holds the agent. It happens to one
    /// that was asked to move, and was welcomed elsewhere without hearing of it: it stays here, where nobody speaks to it.
    pub(crate) fn is_forsaken(&self) -> bool {
        self.control.0.sessions.outbox(self.host).is_none()
            && self.control.0.replicas.holder(self.host).is_none()
    }
}

impl Sessions {
    /// Asks so many to move of those that were not asked for a while; how many there were.
    pub(crate) fn ask_to_move(&self, n: usize, reason: &str, again_after: Duration) -> usize {
        let now = Instant::now();
        let is_due = |outbox: &&std::sync::Arc<Outbox>| {
            let asked = outbox.asked_to_move();
            asked.is_none_or(|at| now.duration_since(at) >= again_after)
        };
        let by_host = self.by_host.read();
        // In the map's own order, which is anybody's guess.
        let asked = by_host.values().filter(is_due).take(n);
        asked.map(|outbox| outbox.ask_to_move(reason, now)).count()
    }

    /// How many are still here that were asked to move at this time or later.
    pub(crate) fn n_asked_since(&self, since: Instant) -> usize {
        let by_host = self.by_host.read();
        let asked = by_host.values().filter_map(|outbox| outbox.asked_to_move());
        asked.filter(|at| *at >= since).count()
    }

    /// Ends the connections of hosts whose certificates were revoked, or superseded by a later enrolment.
    pub(crate) fn dismiss(&self, changes: &Changes) {
        for row in &changes.hosts {
            if let Some(outbox) = self.outbox(row.id) {
                outbox.dismiss(row.host, row.enrolled_at);
            }
        }
    }
}
