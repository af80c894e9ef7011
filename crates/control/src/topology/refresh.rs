//! Businesses that came from a source are read from it again and again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use locks::Mutex;
use model::access::Caller;
use model::topology::{BusinessId, Origin};
use tokio::sync::{OwnedMutexGuard, watch};

use crate::{Control, stopped};

/// How often it is looked whether there is a source at all.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// Who reads which business at the moment.
#[derive(Debug, Default)]
pub(crate) struct Refreshing(Mutex<HashMap<BusinessId, Arc<tokio::sync::Mutex<()>>>>);

impl Refreshing {
    /// Waits until nobody else reads this business.
    pub(super) async fn lock(&self, business: BusinessId) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.lock();
            // Those that nobody waits for are not kept.
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            turns.entry(business).or_default().clone()
        };
        turn.lock_owned().await
    }
}

pub(crate) async fn run(control: Control, mut stop: watch::Receiver<bool>) {
    let caller = Caller::system();
    loop {
        let source = control.0.source.get();
        let pause = source.map_or(LOOK_EVERY, |source| source.refresh_every());
        tokio::select! {
            () = stopped(&mut stop) => return,
            () = tokio::time::sleep(pause) => {}
        }
        if !control.leads() || control.0.source.get().is_none() {
            continue;
        }
        let businesses: Vec<BusinessId> = control
            .fleet()
            .view()
            .businesses()
            .filter(|row| row.origin == Origin::Cmdb)
            .map(|row| row.id)
            .collect();
        for business in businesses {
            let refreshed = tokio::select! {
                () = stopped(&mut stop) => return,
                refreshed = control.refresh_topology(&caller, business) => refreshed,
            };
            match refreshed {
                Ok(difference) if difference.is_empty() => {}
                Ok(_) => {
                    tracing::info!(business = business.0, "the topology of a business changed")
                }
                Err(error) => {
                    tracing::warn!(%error, business = business.0, "a business cannot be refreshed");
                }
            }
        }
    }
}
