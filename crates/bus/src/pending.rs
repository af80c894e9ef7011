//! Questions of this replica that wait for their answers, whichever way they come.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use locks::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::frame::Outcome;

#[derive(Debug, Default)]
pub(crate) struct Pending {
    last_id: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Outcome>>>,
}

/// A question that waits; dropped, it waits no more.
#[derive(Debug)]
pub(crate) struct Waiting<'a> {
    pub(crate) id: u64,
    pending: &'a Pending,
    outcome: oneshot::Receiver<Outcome>,
}

impl Pending {
    pub(crate) fn begin(&self) -> Waiting<'_> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, outcome) = oneshot::channel();
        self.lock().insert(id, sender);
        Waiting {
            id,
            pending: self,
            outcome,
        }
    }

    /// Ends the wait of this question, if anybody still waits.
    pub(crate) fn end(&self, id: u64, outcome: Outcome) {
        let waiting = self.lock().remove(&id);
        if let Some(waiting) = waiting {
            // Whoever asked may have gone just now.
            let _ = waiting.send(outcome);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Outcome>>> {
        self.waiting.lock()
    }
}

impl Waiting<'_> {
    pub(crate) async fn outcome(mut self) -> Outcome {
        let outcome = (&mut self.outcome).await;
        outcome.unwrap_or(Outcome::Unanswered(()))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pending.lock().remove(&self.id);
    }
}
