//! Reads see whatever any replica has acknowledged: a request asks the store for its head first, and waits until the fleet here
//! has it. One query serves all requests that wait by then.
//!
//! While the store is away, reads are answered with what is known here.

use std::sync::Arc;
use std::time::Duration;

use store::StoreError;
use tokio::sync::{mpsc, oneshot, watch};

use super::Replicas;
use crate::{ControlError, stopped};

/// How long requests wait for the store.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long they wait while the store is known to be away.
const PATIENCE_WHILE_AWAY: Duration = Duration::from_millis(250);
/// How many requests one query serves.
pub(super) const AT_A_TIME: usize = 4096;

/// A waiting request, which receives whether the head was reached.
pub(crate) type Waiting = oneshot::Sender<bool>;

impl Replicas {
    /// Waits until this replica shows whatever any replica has acknowledged. Called before reads.
    ///
    /// A server alone folds each commit in before it answers, so there is nothing to wait for.
    pub async fn catch_up(&self) {
        // While the store is away, what is known here has to do.
        let _ = self.has_reached_head().await;
    }

    /// The same; false when the store did not answer, or the server is stopping.
    pub(crate) async fn has_reached_head(&self) -> bool {
        if self.core.is_alone {
            return true;
        }
        let (waiting, answered) = oneshot::channel();
        let sent = self.barrier.send(waiting).await;
        sent.is_ok() && answered.await.unwrap_or(false)
    }

    /// Whether the store did not answer when it was last asked, so that other replicas may know more.
    pub fn is_behind(&self) -> bool {
        self.core.is_behind()
    }

    async fn reach_head(&self) -> Result<(), ControlError> {
        let known = self.core.fleet().revision();
        let head = self.core.store.head().await?;
        if head < known {
            // The store has lost commits that are known here, as after a failover to a lagging standby.
            self.core.store_link.set_too_old();
            return Err(StoreError::TooOld { since: known }.into());
        }
        if head > self.core.fleet().revision() {
            self.core.follow(head).await?;
        }
        Ok(())
    }
}

pub(crate) async fn run(
    replicas: Arc<Replicas>,
    mut waiting: mpsc::Receiver<Waiting>,
    mut stop: watch::Receiver<bool>,
) {
    let mut batch: Vec<Waiting> = Vec::new();
    loop {
        tokio::select! {
            n = waiting.recv_many(&mut batch, AT_A_TIME) => if n == 0 { return },
            () = stopped(&mut stop) => return,
        }
        let patience = match replicas.is_behind() {
            false => PATIENCE,
            true => PATIENCE_WHILE_AWAY,
        };
        let failed = match tokio::time::timeout(patience, replicas.reach_head()).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("no answer in time".to_owned()),
        };
        let has_reached = failed.is_none();
        replicas.core.store_link.note(failed);
        for waiting in batch.drain(..) {
            // The request may be gone.
            let _ = waiting.send(has_reached);
        }
    }
}
