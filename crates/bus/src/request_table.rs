//! Requests of this replica that wait for their responses, by either transport.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use locks::Mutex;
use tokio::sync::oneshot;

use crate::frame::Outcome;

#[derive(Debug, Default)]
pub(crate) struct RequestTable {
    last_id: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Outcome>>>,
}

/// A request that waits for its response. Dropping it removes it from the table.
#[derive(Debug)]
pub(crate) struct PendingRequest<'a> {
    pub(crate) id: u64,
    table: &'a RequestTable,
    outcome: oneshot::Receiver<Outcome>,
}

impl RequestTable {
    pub(crate) fn begin(&self) -> PendingRequest<'_> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, outcome) = oneshot::channel();
        self.waiting.lock().insert(id, sender);
        PendingRequest {
            id,
            table: self,
            outcome,
        }
    }

    /// Gives a request its outcome, if its caller still waits.
    pub(crate) fn end(&self, id: u64, outcome: Outcome) {
        let waiting = self.waiting.lock().remove(&id);
        if let Some(waiting) = waiting {
            // An error means that the caller has just stopped waiting.
            let _ = waiting.send(outcome);
        }
    }
}

impl PendingRequest<'_> {
    pub(crate) async fn outcome(mut self) -> Outcome {
        let outcome = (&mut self.outcome).await;
        outcome.unwrap_or(Outcome::Unanswered(()))
    }
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        self.table.waiting.lock().remove(&self.id);
    }
}
