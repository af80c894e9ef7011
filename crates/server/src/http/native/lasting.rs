//! Streams last long, so it is asked again and again whether their reader may still read: a login ends, a role is taken back.

use control::{Control, Credentials};
use model::access::{AccessArea, Caller, Permission};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::http::HttpState;

pub(super) struct Lasting {
    control: Control,
    credentials: Credentials,
    again: Interval,
}

impl Lasting {
    pub(super) fn new(http: &HttpState, credentials: Credentials) -> Self {
        let every = http.stream_check_every;
        let mut again = tokio::time::interval_at(Instant::now() + every, every);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            control: http.control.clone(),
            credentials,
            again,
        }
    }

    /// Waits until it is time to ask again; who the reader is then, none when they may see nothing any more.
    pub(super) async fn asked_again(&mut self) -> Option<Caller> {
        self.again.tick().await;
        let caller = self.control.access().reauthenticate(&self.credentials)?;
        caller
            .may(Permission::View, AccessArea::Anything)
            .then_some(caller)
    }
}
