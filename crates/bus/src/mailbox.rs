//! The slow way between replicas, for when NATS is away: a place that all of them reach, the store's table of mail.

use async_trait::async_trait;

use crate::ReplicaId;

/// Where replicas leave mail for each other. Whoever gives it to the bus makes it on top of the store.
#[async_trait]
pub trait Mailbox: Send + Sync + std::fmt::Debug {
    /// Leaves these for all other replicas, in this order.
    async fn send(&self, bodies: Vec<Vec<u8>>) -> Result<(), MailboxError>;

    /// What others left since the last call, in order, each with its sender; since now, at the first call. May give only the
    /// first part: it is called again until there is nothing.
    async fn receive(&self) -> Result<Vec<(ReplicaId, Vec<u8>)>, MailboxError>;
}

#[derive(Debug, thiserror::Error)]
#[error("the mailbox does not work")]
pub struct MailboxError(#[source] pub Box<dyn std::error::Error + Send + Sync>);
