//! The replica that holds the lease in the store does the background work. Another takes over when the lease expires.
//!
//! After a long pause two replicas may both believe to hold it. That is harmless: background work is idempotent, or a commit
//! against the head. The lease only saves work.

use std::sync::Arc;
use std::time::Duration;

use locks::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::Replicas;
use crate::stopped;

const NAME: &str = "background";
const LASTS: Duration = Duration::from_secs(8);
const RENEW_EVERY: Duration = Duration::from_secs(2);
const RELEASE_WITHIN: Duration = Duration::from_secs(1);

/// Until when this replica holds the lease.
#[derive(Debug, Default)]
pub(crate) struct Lease(Mutex<Option<Instant>>);

impl Lease {
    fn until(&self) -> Option<Instant> {
        *self.0.lock()
    }

    fn set(&self, until: Option<Instant>) {
        *self.0.lock() = until;
    }
}

impl Replicas {
    /// Whether this replica does the background work.
    pub fn leads(&self) -> bool {
        let until = || self.lease.until();
        self.core.is_alone || until().is_some_and(|until| Instant::now() < until)
    }

    async fn renew(&self) {
        let led = self.leads();
        // Counted from before the request: never longer than the store counts.
        let until = Instant::now() + LASTS;
        let holder = self.core.bus.replica().0;
        match self.core.store.take_lease(NAME, holder, LASTS).await {
            // Only the barrier notes that the store is back, once it has caught up.
            Ok(taken) => self.lease.set(taken.then_some(until)),
            Err(error) => self.core.store_link.note(Some(error.to_string())),
        }
        match (led, self.leads()) {
            (false, true) => {
                tracing::info!("this replica does the background work now");
                self.core.wake_background();
            }
            (true, false) => tracing::info!("another replica does the background work now"),
            (true, true) | (false, false) => {}
        }
    }

    /// Lets another replica take over at once, when all work here is done.
    pub(crate) async fn release_lease(&self) {
        if self.core.is_alone || !self.leads() {
            return;
        }
        self.lease.set(None);
        let (store, holder) = (&self.core.store, self.core.bus.replica().0);
        // Without it the others wait until the lease expires.
        let _ = tokio::time::timeout(RELEASE_WITHIN, store.release_lease(NAME, holder)).await;
    }
}

pub(crate) async fn run(replicas: Arc<Replicas>, mut stop: watch::Receiver<bool>) {
    if replicas.core.is_alone {
        return;
    }
    loop {
        replicas.renew().await;
        tokio::select! {
            () = tokio::time::sleep(RENEW_EVERY) => {}
            () = stopped(&mut stop) => return,
        }
    }
}
