//! Messages between replicas: hints of new revisions, presence of agents, status deltas, and requests to the replica that
//! holds an agent.
//!
//! The bus carries nothing whose loss matters. Every message may be lost or late; the receiver then learns the same later, from
//! the store or from an agent. So publishing never waits and never fails. Messages of one replica to all arrive in order and at
//! most once, and so do its messages to one other replica. A subscriber that missed some gets [`Received::Lagged`].
//!
//! [`Bus`] is concrete; transports are private.

mod engine;
mod frame;
mod inbox;
mod local;
mod mailbox;
mod outbox;
mod recent_replicas;
mod remote;
mod request_table;
mod responder;
mod subscription;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use model::change::Revision;
use tokio::sync::{mpsc, oneshot};

pub use local::LocalHub;
pub use mailbox::{Mailbox, MailboxError};
pub use remote::{ClientCertificate, NatsError, NatsOptions};
pub use subscription::{Received, Subscription};

/// How many messages a subscriber may lag behind before it misses the oldest.
pub const MAX_LAG: usize = 4096;
/// Requests to this replica that wait in its channel.
pub const MAX_REQUESTS: usize = 1024;
/// The longest payload of a message, a request or a response: half of what a NATS server takes by default.
pub const MAX_PAYLOAD: usize = 512 * 1024;
/// How long a request waits for its response.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The number of one server process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicaId(pub u64);

impl fmt::Display for ReplicaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The store has a new head.
    Committed(Revision),
    /// Presence of agents, their statuses, digests of both; opaque here, and not longer than [`MAX_PAYLOAD`].
    Soft(Bytes),
}

impl Message {
    fn payload_len(&self) -> usize {
        match self {
            Self::Committed(_) => 0,
            Self::Soft(payload) => payload.len(),
        }
    }
}

/// A replica's handle on the bus; clones share it.
#[derive(Debug, Clone)]
pub struct Bus(Arc<dyn engine::Engine>);

impl Bus {
    /// Joins the replicas of this process.
    pub fn local(hub: &LocalHub, replica: ReplicaId) -> Self {
        Self(Arc::new(hub.join(replica)))
    }

    /// Joins the replicas on a NATS server. Returns when it is connected, or after a short time if NATS is down: it keeps
    /// trying. An error is permanent. Its tasks run on the current runtime.
    pub async fn nats(options: NatsOptions) -> Result<Self, NatsError> {
        Ok(Self(Arc::new(remote::Remote::nats(options).await?)))
    }

    /// Joins the replicas that share a mailbox, without NATS: everything works, about a second later. Its tasks run on the
    /// current runtime.
    pub fn mailbox(mailbox: Arc<dyn Mailbox>, replica: ReplicaId) -> Self {
        Self(Arc::new(remote::Remote::mailbox(mailbox, replica)))
    }

    /// The id of this replica.
    pub fn replica(&self) -> ReplicaId {
        self.0.replica()
    }

    /// Sends to all other replicas that are subscribed.
    pub fn publish(&self, message: Message) {
        if is_sendable(message.payload_len()) {
            self.0.publish(message);
        }
    }

    /// Sends to one other replica, if it is subscribed: it receives [`Message::Soft`], as if it were for all.
    pub fn tell(&self, to: ReplicaId, payload: Vec<u8>) {
        if is_sendable(payload.len()) {
            self.0.tell(to, payload);
        }
    }

    /// All messages that other replicas send to all, or to this one, from now on.
    pub fn subscribe(&self) -> Subscription {
        self.0.subscribe()
    }

    /// Sends a request to one replica and waits for its response.
    pub async fn request(&self, to: ReplicaId, payload: Vec<u8>) -> Result<Vec<u8>, BusError> {
        if payload.len() > MAX_PAYLOAD {
            let n_bytes = payload.len();
            return Err(BusError::TooLarge { n_bytes });
        }
        match tokio::time::timeout(REQUEST_TIMEOUT, self.0.request(to, payload)).await {
            Ok(Ok(answer)) if answer.len() > MAX_PAYLOAD => {
                let n_bytes = answer.len();
                Err(BusError::TooLarge { n_bytes })
            }
            Ok(answer) => answer,
            Err(_) => Err(BusError::TimedOut { replica: to }),
        }
    }

    /// The requests to this replica. A later call takes them over from an earlier one.
    pub fn requests(&self) -> mpsc::Receiver<Request> {
        self.0.requests()
    }

    /// Whether messages use the configured transport: NATS, if there is one, and not mail as the fallback.
    pub fn is_up(&self) -> bool {
        self.0.is_up()
    }

    /// Messages that were dropped unsent, because there were too many or no transport worked.
    pub fn n_dropped(&self) -> u64 {
        self.0.n_dropped()
    }

    /// Sends the messages published before, and disconnects. Later requests to this replica fail with `NoResponder`.
    pub async fn close(&self) {
        self.0.close().await;
    }
}

/// A message that is too large is a bug of the caller: it is dropped, because publishing cannot fail.
fn is_sendable(n_bytes: usize) -> bool {
    debug_assert!(n_bytes <= MAX_PAYLOAD, "a message of {n_bytes} bytes");
    if n_bytes > MAX_PAYLOAD {
        tracing::error!(
            n_bytes,
            MAX_PAYLOAD,
            "a message is too large for the bus and lost"
        );
    }
    n_bytes <= MAX_PAYLOAD
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// No replica received the request.
    #[error("replica {replica} is not there")]
    NoResponder { replica: ReplicaId },
    /// The replica may have acted on the request.
    #[error("replica {replica} did not answer")]
    TimedOut { replica: ReplicaId },
    /// The request, which was not sent, or the response.
    #[error("{n_bytes} bytes are too large for the bus, which takes {MAX_PAYLOAD}")]
    TooLarge { n_bytes: usize },
}

/// A request of another replica. Dropping it sends no response.
#[derive(Debug)]
pub struct Request {
    pub payload: Vec<u8>,
    pub reply: oneshot::Sender<Vec<u8>>,
}
