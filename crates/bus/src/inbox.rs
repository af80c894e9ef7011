//! Filters messages that arrive by NATS or by mail: subscribers get each message at most once, those of one sender in order, and
//! [`Delivery::Lagged`] when some are missing.

use std::sync::Arc;

use locks::Mutex;
use tokio::sync::broadcast;

use crate::recent_replicas::RecentReplicas;
use crate::subscription::{Delivery, Subscription};
use crate::{MAX_LAG, Message, ReplicaId};

#[derive(Debug)]
pub(crate) struct Inbox {
    deliveries: broadcast::Sender<Arc<Delivery>>,
    senders: Mutex<RecentReplicas<NewestOfSender>>,
}

/// The newest sequence numbers of one sender.
#[derive(Debug, Default)]
struct NewestOfSender {
    to_everyone: u64,
    to_us: u64,
}

impl Inbox {
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
        // Locked until the message is delivered, so that messages stay in order.
        let mut senders = self.senders.lock();
        let sender = senders.of(from);
        let newest = match to {
            None => &mut sender.to_everyone,
            Some(_) => &mut sender.to_us,
        };
        if sequence <= *newest {
            // It arrived before by the other transport, or it is late: subscribers were told that it is missing, and an old
            // message must not undo a newer one.
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
        // An error means that there is no subscriber.
        let _ = self.deliveries.send(Arc::new(delivery));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Received;

    /// The messages that a subscriber gets when these sequence numbers arrive; zero for [`Received::Lagged`].
    async fn delivered(sequences: &[u64]) -> Vec<u64> {
        let inbox = Inbox::new();
        let mut subscription = inbox.subscribe(ReplicaId(1));
        for &sequence in sequences.iter().chain(&[u64::MAX]) {
            let message = Message::Committed(model::change::Revision(sequence));
            inbox.arrive(ReplicaId(2), None, sequence, message);
        }
        let mut delivered = Vec::new();
        while delivered.last() != Some(&u64::MAX) {
            delivered.push(match subscription.recv().await {
                Received::Message(_, Message::Committed(revision)) => revision.0,
                Received::Message(_, Message::Soft(_)) => unreachable!("none was sent"),
                Received::Lagged => 0,
            });
        }
        delivered.truncate(delivered.len() - 2);
        delivered
    }

    #[tokio::test]
    async fn messages_in_order_are_delivered() {
        assert_eq!(delivered(&[1, 2, 3]).await, [1, 2, 3]);
    }

    #[tokio::test]
    async fn a_gap_is_reported_and_a_late_message_dropped() {
        assert_eq!(delivered(&[1, 4, 3, 5]).await, [1, 0, 4, 5]);
    }

    #[tokio::test]
    async fn a_repeated_message_is_delivered_once() {
        assert_eq!(delivered(&[1, 2, 1, 2, 3, 3]).await, [1, 2, 3]);
    }

    #[tokio::test]
    async fn a_first_message_with_a_higher_number_is_a_gap() {
        assert_eq!(delivered(&[7, 8]).await, [0, 7, 8]);
    }
}
