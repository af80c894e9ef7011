//! Passes requests to the part of this replica that answers them.

use locks::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::frame::Outcome;
use crate::{MAX_REQUESTS, REQUEST_TIMEOUT, Request};

#[derive(Debug, Default)]
pub(crate) struct Responder(Mutex<Option<mpsc::Sender<Request>>>);

impl Responder {
    /// The requests from now on. The channel of an earlier call ends.
    pub(crate) fn take_over(&self) -> mpsc::Receiver<Request> {
        let (sender, receiver) = mpsc::channel(MAX_REQUESTS);
        *self.0.lock() = Some(sender);
        receiver
    }

    /// Refuses requests from now on.
    pub(crate) fn close(&self) {
        *self.0.lock() = None;
    }

    /// Waits for the response, no longer than the caller does.
    pub(crate) async fn ask(&self, payload: Vec<u8>) -> Outcome {
        let answered =
            tokio::time::timeout(REQUEST_TIMEOUT, self.ask_without_timeout(payload)).await;
        answered.unwrap_or(Outcome::Unanswered(()))
    }

    async fn ask_without_timeout(&self, payload: Vec<u8>) -> Outcome {
        let Some(sender) = self.0.lock().clone() else {
            return Outcome::NoResponder(());
        };
        let (reply, answer) = oneshot::channel();
        if sender.send(Request { payload, reply }).await.is_err() {
            return Outcome::NoResponder(());
        }
        // A clone of the sender would keep the channel of a replaced receiver open.
        drop(sender);
        match answer.await {
            Ok(payload) => Outcome::of(payload),
            Err(_) => Outcome::Unanswered(()),
        }
    }
}
