//! The slow transport between replicas, for when NATS is down: the store's table of mail messages.

use async_trait::async_trait;

use crate::ReplicaId;

/// Delivers mail messages between replicas. The server implements it on top of the store.
#[async_trait]
pub trait Mailbox: Send + Sync + std::fmt::Debug {
    /// Sends these to all other replicas, in this order.
    async fn send(&self, bodies: Vec<Vec<u8>>) -> Result<(), MailboxError>;

    /// The messages of other replicas since the last call, in order, each with its sender; the first call begins at the
    /// current end. May return only some: the bus calls again until there are none.
    async fn receive(&self) -> Result<Vec<(ReplicaId, Vec<u8>)>, MailboxError>;
}

#[derive(Debug, thiserror::Error)]
#[error("the mailbox does not work")]
pub struct MailboxError(#[source] pub Box<dyn std::error::Error + Send + Sync>);
