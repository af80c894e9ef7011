//! What arrives from other processes, by NATS or by mail, becomes what subscribers get: each message at most once, those of
//! one sender in its order, and a word when some are missing.

use std::sync::Arc;

use locks::Mutex;
use tokio::sync::broadcast;

use crate::recent::Recent;
use crate::subscription::{Delivery, Subscription};
use crate::{MAX_LAG, Message, ReplicaId};

#[derive(Debug)]
pub(crate) struct Intake {
    deliveries: broadcast::Sender<Arc<Delivery>>,
    senders: Mutex<Recent<Sender>>,
}

/// The newest that arrived of one sender.
#[derive(Debug, Default)]
struct Sender {
    to_everyone: u64,
    to_us: u64,
}

impl Intake {
    pub(crate) fn new() -> Self {
        Self {
            deliveries: broadcast::Sender::new(MAX_LAG),
            senders: Mutex::default(),
        }
    }

    pub(crate) fn subscribe(&self, replica: ReplicaId) -> Subscription {
        Subscription::new(replica, self.deliveries.subscribe())
    }

    pub(crate) fn arrive(
        &self,
        from: ReplicaId,
        to: Option<ReplicaId>,
        sequence: u64,
        message: Message,
    ) {
        // Held until it is handed on, so that messages do not overtake each other here.
        let mut senders = self.senders.lock();
        let sender = senders.of(from);
        let newest = match to {
            None => &mut sender.to_everyone,
            Some(_) => &mut sender.to_us,
        };
        if sequence <= *newest {
            // It came by the other way before, or it was missed: then subscribers know, and what is old must not undo what
            // is newer.
            return;
        }
        if sequence > *newest + 1 {
            self.lag();
        }
        *newest = sequence;
        self.deliver(Delivery::Message { from, to, message });
    }

    /// Tells subscribers that messages are lost.
    pub(crate) fn lag(&self) {
        self.deliver(Delivery::Lagged);
    }

    fn deliver(&self, delivery: Delivery) {
        // An error means that nobody listens.
        let _ = self.deliveries.send(Arc::new(delivery));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Received;

    /// What a subscriber gets of a sender's messages that arrive with these numbers; zero when something is missing.
    async fn heard(sequences: &[u64]) -> Vec<u64> {
        let intake = Intake::new();
        let mut subscription = intake.subscribe(ReplicaId(1));
        for &sequence in sequences.iter().chain(&[u64::MAX]) {
            let message = Message::Committed(model::change::Revision(sequence));
            intake.arrive(ReplicaId(2), None, sequence, message);
        }
        let mut heard = Vec::new();
        while heard.last() != Some(&u64::MAX) {
            heard.push(match subscription.recv().await {
                Received::Message(_, Message::Committed(revision)) => revision.0,
                Received::Message(_, Message::Soft(_)) => unreachable!("none was sent"),
                Received::Lagged => 0,
            });
        }
        heard.truncate(heard.len() - 2);
        heard
    }

    #[tokio::test]
    async fn numbers_in_order_follow_each_other() {
        assert_eq!(heard(&[1, 2, 3]).await, [1, 2, 3]);
    }

    #[tokio::test]
    async fn what_is_missing_is_told_and_not_made_up_for() {
        assert_eq!(heard(&[1, 4, 3, 5]).await, [1, 0, 4, 5]);
    }

    #[tokio::test]
    async fn what_comes_again_is_heard_once() {
        assert_eq!(heard(&[1, 2, 1, 2, 3, 3]).await, [1, 2, 3]);
    }

    #[tokio::test]
    async fn a_sender_that_is_heard_late_has_said_something_before() {
        assert_eq!(heard(&[7, 8]).await, [0, 7, 8]);
    }
}
