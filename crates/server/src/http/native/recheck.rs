//! Checks the credentials of a stream again and again: a login may end, a role may be revoked.

use control::{Control, Credentials};
use model::access::{AccessArea, Caller, Permission};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::http::HttpState;

pub(super) struct CredentialRecheck {
    control: Control,
    credentials: Credentials,
    ticks: Interval,
}

impl CredentialRecheck {
    pub(super) fn new(http: &HttpState, credentials: Credentials) -> Self {
        let every = http.stream_check_every;
        let mut ticks = tokio::time::interval_at(Instant::now() + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            control: http.control.clone(),
            credentials,
            ticks,
        }
    }

    /// Waits for the next check; returns the caller, or none once the credentials permit nothing any more.
    pub(super) async fn next(&mut self) -> Option<Caller> {
        self.ticks.tick().await;
        let caller = self.control.access().reauthenticate(&self.credentials)?;
        caller
            .may(Permission::View, AccessArea::Anything)
            .then_some(caller)
    }
}
