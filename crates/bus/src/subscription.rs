//! The receiving end of the bus.

use std::sync::Arc;

use tokio::sync::broadcast;

use crate::{Message, ReplicaId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    Message(ReplicaId, Message),
    /// Some messages are lost: check everything that they could have been about.
    Lagged,
}

/// Messages of other replicas since [`Bus::subscribe`](crate::Bus::subscribe).
#[derive(Debug)]
pub struct Subscription {
    replica: ReplicaId,
    deliveries: broadcast::Receiver<Arc<Delivery>>,
}

/// What a transport passes to all subscribers.
#[derive(Debug)]
pub(crate) enum Delivery {
    Message {
        from: ReplicaId,
        /// None: all other replicas.
        to: Option<ReplicaId>,
        message: Message,
    },
    Lagged,
}

impl Subscription {
    pub(crate) fn new(replica: ReplicaId, deliveries: broadcast::Receiver<Arc<Delivery>>) -> Self {
        Self {
            replica,
            deliveries,
        }
    }

    /// Waits for the next message of another replica; for ever, once the bus is gone. Cancel safe.
    pub async fn recv(&mut self) -> Received {
        loop {
            let delivery = match self.deliveries.recv().await {
                Ok(delivery) => delivery,
                Err(broadcast::error::RecvError::Lagged(_)) => return Received::Lagged,
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            };
            match &*delivery {
                Delivery::Message { from, to, message } => {
                    let is_ours = *from == self.replica;
                    if !is_ours && to.is_none_or(|to| to == self.replica) {
                        return Received::Message(*from, message.clone());
                    }
                }
                Delivery::Lagged => return Received::Lagged,
            }
        }
    }
}
