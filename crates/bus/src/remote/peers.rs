//! Which other replicas are alive, and which of them have only mail. A replica without NATS repeats by mail that it has only
//! mail, so its silence means that it is gone.

use std::time::Duration;

use locks::Mutex;
use tokio::time::Instant;

use crate::ReplicaId;
use crate::recent_replicas::RecentReplicas;

/// While replicas use mail, one that is silent for this long counts as gone.
pub(super) const SILENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Peers(Mutex<PeerTable>);

#[derive(Debug)]
struct PeerTable {
    replicas: RecentReplicas<Peer>,
    /// Since when all peers should be heard by mail.
    listening_since: Instant,
}

#[derive(Debug, Default)]
struct Peer {
    heard: Option<Instant>,
    said_only_mail: Option<Instant>,
}

impl Peer {
    fn has_only_mail(&self) -> bool {
        self.said_only_mail.is_some_and(|at| at.elapsed() < SILENCE)
    }
}

impl Peers {
    pub(super) fn new() -> Self {
        Self(Mutex::new(PeerTable {
            replicas: RecentReplicas::default(),
            listening_since: Instant::now(),
        }))
    }

    pub(super) fn hear(&self, replica: ReplicaId) {
        self.0.lock().replicas.of(replica).heard = Some(Instant::now());
    }

    /// Answers whether the peer had NATS until now.
    pub(super) fn hear_hello(&self, replica: ReplicaId, only_mail: bool) -> bool {
        let mut table = self.0.lock();
        let peer = table.replicas.of(replica);
        let had_only_mail = peer.has_only_mail();
        peer.heard = Some(Instant::now());
        peer.said_only_mail = only_mail.then(Instant::now);
        only_mail && !had_only_mail
    }

    pub(super) fn hear_goodbye(&self, replica: ReplicaId) {
        self.0.lock().replicas.forget(replica);
    }

    /// From now on all peers should be heard by mail.
    pub(super) fn listen(&self) {
        self.0.lock().listening_since = Instant::now();
    }

    pub(super) fn has_only_mail(&self, replica: ReplicaId) -> bool {
        let table = self.0.lock();
        let peer = table.replicas.get(replica);
        peer.is_some_and(Peer::has_only_mail)
    }

    pub(super) fn any_has_only_mail(&self) -> bool {
        self.0.lock().replicas.values().any(Peer::has_only_mail)
    }

    /// Whether the peer should have been heard, and was not.
    pub(super) fn is_silent(&self, replica: ReplicaId) -> bool {
        let table = self.0.lock();
        let heard = table.replicas.get(replica).and_then(|it| it.heard);
        let since = heard.map_or(table.listening_since, |heard| {
            heard.max(table.listening_since)
        });
        since.elapsed() >= SILENCE
    }
}
