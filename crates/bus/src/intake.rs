//! What arrives from other processes, by NATS or by mail, becomes what subscribers get: each message once, and a word when
//! some are missing.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast;

use crate::recent::Recent;
use crate::subscription::{Delivery, Subscription};
use crate::window::{Arrival, Window};
use crate::{MAX_LAG, Message, ReplicaId};

#[derive(Debug)]
pub(crate) struct Intake {
    deliveries: broadcast::Sender<Arc<Delivery>>,
    senders: Mutex<Recent<Sender>>,
}

/// What has arrived of one sender.
#[derive(Debug, Default)]
struct Sender {
    to_everyone: Window,
    to_us: Window,
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
        let mut senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = senders.of(from);
        let window = match to {
            None => &mut sender.to_everyone,
            Some(_) => &mut sender.to_us,
        };
        match window.arrive(sequence) {
            Arrival::Next | Arrival::Late => {}
            Arrival::AfterGap => self.lag(),
            Arrival::Again => return,
        }
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
