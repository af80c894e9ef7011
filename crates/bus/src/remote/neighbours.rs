//! Which other replicas are there, and which of them have only mail. Whoever has only mail says so all the time, so that
//! silence means something.

use std::time::Duration;

use locks::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::ReplicaId;
use crate::recent::Recent;

/// Whoever says nothing for so long while mail is how replicas speak is not there.
pub(super) const SILENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Neighbours(Mutex<Known>);

#[derive(Debug)]
struct Known {
    replicas: Recent<Neighbour>,
    /// Since when everyone should be heard by mail.
    listening_since: Instant,
}

#[derive(Debug, Default)]
struct Neighbour {
    heard: Option<Instant>,
    said_only_mail: Option<Instant>,
}

impl Neighbour {
    fn has_only_mail(&self) -> bool {
        self.said_only_mail.is_some_and(|at| at.elapsed() < SILENCE)
    }
}

impl Neighbours {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Known {
            replicas: Recent::default(),
            listening_since: Instant::now(),
        }))
    }

    pub(super) fn hear(&self, replica: ReplicaId) {
        self.lock().replicas.of(replica).heard = Some(Instant::now());
    }

    /// Answers whether it is new that it has only mail.
    pub(super) fn hear_hello(&self, replica: ReplicaId, only_mail: bool) -> bool {
        let mut known = self.lock();
        let neighbour = known.replicas.of(replica);
        let had_only_mail = neighbour.has_only_mail();
        neighbour.heard = Some(Instant::now());
        neighbour.said_only_mail = only_mail.then(Instant::now);
        only_mail && !had_only_mail
    }

    pub(super) fn hear_goodbye(&self, replica: ReplicaId) {
        self.lock().replicas.forget(replica);
    }

    /// From now on everyone should be heard by mail.
    pub(super) fn listen(&self) {
        self.lock().listening_since = Instant::now();
    }

    pub(super) fn has_only_mail(&self, replica: ReplicaId) -> bool {
        let known = self.lock();
        let neighbour = known.replicas.get(replica);
        neighbour.is_some_and(Neighbour::has_only_mail)
    }

    pub(super) fn anyone_has_only_mail(&self) -> bool {
        self.lock().replicas.values().any(Neighbour::has_only_mail)
    }

    /// Whether it should have been heard, and was not.
    pub(super) fn is_silent(&self, replica: ReplicaId) -> bool {
        let known = self.lock();
        let heard = known.replicas.get(replica).and_then(|it| it.heard);
        let since = heard.map_or(known.listening_since, |heard| {
            heard.max(known.listening_since)
        });
        since.elapsed() >= SILENCE
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock()
    }
}
