//! Refreshes businesses from their source periodically.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use locks::Mutex;
use model::access::Caller;
use model::topology::{BusinessId, Origin};
use tokio::sync::{OwnedMutexGuard, watch};

use super::Topology;
use crate::stopped;

/// How often to check whether there is a source.
const POLL_EVERY: Duration = Duration::from_secs(60);

/// One lock per business that is being refreshed.
#[derive(Debug, Default)]
pub(super) struct RefreshLocks(Mutex<HashMap<BusinessId, Arc<tokio::sync::Mutex<()>>>>);

impl RefreshLocks {
    /// Waits for other refreshes of this business.
    pub(super) async fn lock(&self, business: BusinessId) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.lock();
            // Unused locks are dropped.
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            turns.entry(business).or_default().clone()
        };
        turn.lock_owned().await
    }
}

pub(crate) async fn run(topology: Arc<Topology>, mut stop: watch::Receiver<bool>) {
    let caller = Caller::system();
    loop {
        let source = topology.source.get();
        let pause = source.map_or(POLL_EVERY, |source| source.refresh_every());
        tokio::select! {
            () = stopped(&mut stop) => return,
            () = tokio::time::sleep(pause) => {}
        }
        if !topology.replicas.leads() || topology.source.get().is_none() {
            continue;
        }
        let businesses: Vec<BusinessId> = topology
            .core
            .fleet()
            .view()
            .businesses()
            .filter(|row| row.origin == Origin::Cmdb)
            .map(|row| row.id)
            .collect();
        for business in businesses {
            let refreshed = tokio::select! {
                () = stopped(&mut stop) => return,
                refreshed = topology.refresh(&caller, business) => refreshed,
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
