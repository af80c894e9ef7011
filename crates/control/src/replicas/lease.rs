//! Background work is done by one replica: whoever holds the lease in the store. Another takes it over when it runs out.
//!
//! That two replicas think for a moment that they hold it, as after a long pause of one, does no harm: whatever they do is a
//! commit that is planned against the head, or the same however often it is done. The lease spares them the work.

use std::time::Duration;

use locks::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::{Control, stopped};

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

impl Control {
    /// Whether background work is this replica's to do.
    pub fn leads(&self) -> bool {
        let until = || self.0.lease.until();
        self.is_alone() || until().is_some_and(|until| Instant::now() < until)
    }

    async fn renew(&self) {
        let led = self.leads();
        // Counted from before it was asked for: never longer than the store thinks.
        let until = Instant::now() + LASTS;
        let holder = self.0.bus.replica().0;
        match self.0.store.take_lease(NAME, holder, LASTS).await {
            // Whether the store is back is for the barrier to say: it catches up first.
            Ok(taken) => self.0.lease.set(taken.then_some(until)),
            Err(error) => self.0.barrier.note(Some(error.to_string())),
        }
        match (led, self.leads()) {
            (false, true) => {
                tracing::info!("this replica does the background work now");
                self.0.tasks.deadlines_moved.notify_one();
                self.0.jobs.look.notify_one();
                self.0.retire.notify_one();
                self.0.webhooks.look();
            }
            (true, false) => tracing::info!("another replica does the background work now"),
            (true, true) | (false, false) => {}
        }
    }
}

pub(crate) async fn run(control: Control, mut stop: watch::Receiver<bool>) {
    if control.is_alone() {
        return;
    }
    loop {
        control.renew().await;
        tokio::select! {
            () = tokio::time::sleep(RENEW_EVERY) => {}
            () = stopped(&mut stop) => return,
        }
    }
}

/// Lets another replica take over at once, when all work here is done.
pub(crate) async fn release(control: &Control) {
    if control.is_alone() || !control.leads() {
        return;
    }
    control.0.lease.set(None);
    let (store, holder) = (&control.0.store, control.0.bus.replica().0);
    // Without it the others wait until it runs out.
    let _ = tokio::time::timeout(RELEASE_WITHIN, store.release_lease(NAME, holder)).await;
}
