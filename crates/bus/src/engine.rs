//! What a transport implements. [`crate::Bus`] documents the methods.

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::{BusError, Message, ReplicaId, Request, Subscription};

#[async_trait]
pub(crate) trait Engine: Send + Sync + std::fmt::Debug {
    fn replica(&self) -> ReplicaId;
    fn publish(&self, message: Message);
    fn tell(&self, to: ReplicaId, payload: Vec<u8>);
    fn subscribe(&self) -> Subscription;
    /// The caller limits how long it waits.
    async fn request(&self, to: ReplicaId, payload: Vec<u8>) -> Result<Vec<u8>, BusError>;
    fn requests(&self) -> mpsc::Receiver<Request>;
    fn is_up(&self) -> bool;
    fn n_dropped(&self) -> u64;
    async fn close(&self);
}
