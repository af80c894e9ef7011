//! Whoever takes the requests to this replica now.

use locks::{Mutex, MutexGuard};

use tokio::sync::{mpsc, oneshot};

use crate::frame::Outcome;
use crate::{MAX_REQUESTS, REQUEST_TIMEOUT, Request};

#[derive(Debug, Default)]
pub(crate) struct Responder(Mutex<Option<mpsc::Sender<Request>>>);

impl Responder {
    /// The requests from now on; whoever had them before has them no more.
    pub(crate) fn take_over(&self) -> mpsc::Receiver<Request> {
        let (sender, receiver) = mpsc::channel(MAX_REQUESTS);
        *self.lock() = Some(sender);
        receiver
    }

    /// Nobody takes requests from now on.
    pub(crate) fn close(&self) {
        *self.lock() = None;
    }

    /// Waits for the answer, not longer than whoever asks.
    pub(crate) async fn ask(&self, payload: Vec<u8>) -> Outcome {
        let answered = tokio::time::timeout(REQUEST_TIMEOUT, self.ask_for_ever(payload)).await;
        answered.unwrap_or(Outcome::Unanswered(()))
    }

    async fn ask_for_ever(&self, payload: Vec<u8>) -> Outcome {
        let Some(sender) = self.lock().clone() else {
            return Outcome::NoResponder(());
        };
        let (reply, answer) = oneshot::channel();
        if sender.send(Request { payload, reply }).await.is_err() {
            return Outcome::NoResponder(());
        }
        // The sender must not keep the channel of one who was replaced.
        drop(sender);
        match answer.await {
            Ok(payload) => Outcome::of(payload),
            Err(_) => Outcome::Unanswered(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<mpsc::Sender<Request>>> {
        self.0.lock()
    }
}
