//! Whatever one replica acknowledged, every other shows: a request learns the head of the store first, and waits until the
//! fleet here has it. One small question to the store serves every request that waits by then.
//!
//! A store that is away answers nobody, so reads go on with what is known here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use store::StoreError;
use tokio::sync::{mpsc, oneshot, watch};

use crate::{Control, ControlError, stopped};

/// How long requests wait for the store before they are answered with what is known here.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same while it is known to be away: it may be back.
const PATIENCE_WHILE_AWAY: Duration = Duration::from_millis(250);
/// How many requests may wait for one answer; the rest wait for their turn.
const AT_A_TIME: usize = 4096;

/// Is told whether the head was reached.
pub(crate) type Waiting = oneshot::Sender<bool>;

#[derive(Debug)]
pub(crate) struct Barrier {
    waiting: mpsc::Sender<Waiting>,
    is_away: AtomicBool,
}

impl Barrier {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Waiting>) {
        let (waiting, receiver) = mpsc::channel(AT_A_TIME);
        let is_away = AtomicBool::new(false);
        (Self { waiting, is_away }, receiver)
    }

    /// How the store answered just now.
    pub(super) fn note(&self, failed: Option<String>) {
        match (
            self.is_away.swap(failed.is_some(), Ordering::SeqCst),
            failed,
        ) {
            (false, Some(error)) => {
                tracing::error!(%error, "the store is away: reads are answered with what is known here");
            }
            (true, None) => tracing::info!("the store is back"),
            (true, Some(_)) | (false, None) => {}
        }
    }
}

impl Control {
    /// Waits until this replica shows whatever any replica has acknowledged. Call before reading.
    ///
    /// A server alone folds each commit in before it answers, so there is nothing to wait for.
    pub async fn settled(&self) {
        // Where the store is away, what is known here has to do.
        let _is_known = self.has_reached_head().await;
    }

    /// The same; false when the store did not answer, or the server is stopping.
    pub(crate) async fn has_reached_head(&self) -> bool {
        if self.is_alone() {
            return true;
        }
        let (waiting, answered) = oneshot::channel();
        let sent = self.0.barrier.waiting.send(waiting).await;
        sent.is_ok() && answered.await.unwrap_or(false)
    }

    /// Whether the store was away when it was last asked, so that others may know more than this replica.
    pub fn is_behind(&self) -> bool {
        self.0.barrier.is_away.load(Ordering::SeqCst)
    }

    async fn reach_head(&self) -> Result<(), ControlError> {
        let known = self.fleet().revision();
        let head = self.0.store.head().await?;
        if head < known {
            // The store has lost commits that are known here, as after a failover to a copy that lagged behind.
            self.0.replicas.fall_behind();
            return Err(StoreError::TooOld { since: known }.into());
        }
        if head > self.fleet().revision() {
            self.follow().await?;
        }
        Ok(())
    }
}

pub(crate) async fn run(
    control: Control,
    mut waiting: mpsc::Receiver<Waiting>,
    mut stop: watch::Receiver<bool>,
) {
    let mut batch: Vec<Waiting> = Vec::new();
    loop {
        tokio::select! {
            n = waiting.recv_many(&mut batch, AT_A_TIME) => if n == 0 { return },
            () = stopped(&mut stop) => return,
        }
        let patience = match control.is_behind() {
            false => PATIENCE,
            true => PATIENCE_WHILE_AWAY,
        };
        let failed = match tokio::time::timeout(patience, control.reach_head()).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("no answer in time".to_owned()),
        };
        let has_reached = failed.is_none();
        control.0.barrier.note(failed);
        for waiting in batch.drain(..) {
            // Whoever waited may have gone.
            let _ = waiting.send(has_reached);
        }
    }
}
