//! Between replicas: hints of new revisions, presence of agents, status deltas, and commands to the replica that holds an
//! agent.
//!
//! Nothing whose loss matters goes this way. Every message may be lost or late, and then somebody learns later, from the
//! store or from an agent, what the message would have said. So publishing never waits and never fails. What one replica
//! sends to everyone arrives in order and at most once; so does what it tells one other; and whoever missed something is told.
//!
//! [`Bus`] is concrete; engines are private.

mod engine;
mod frame;
mod intake;
mod local;
mod mailbox;
mod outbox;
mod pending;
mod recent;
mod remote;
mod responder;
mod subscription;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use model::change::Revision;
use tokio::sync::{mpsc, oneshot};

pub use local::LocalHub;
pub use mailbox::{Mailbox, MailboxError};
pub use remote::{ClientCertificate, NatsError, NatsOptions};
pub use subscription::{Received, Subscription};

/// Messages that a subscriber may lag behind before it misses the oldest.
pub const MAX_LAG: usize = 4096;
/// Requests that wait for their replica.
pub const MAX_REQUESTS: usize = 1024;
/// The longest payload of a message, a request or an answer: half of what a NATS server takes by default.
pub const MAX_PAYLOAD: usize = 512 * 1024;
/// How long a request waits for its answer.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// One server process, for as long as it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicaId(pub u64);

impl fmt::Display for ReplicaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The store has a new head: look there.
    Committed(Revision),
    /// Presence of agents, their statuses, digests of both; opaque here, and not longer than [`MAX_PAYLOAD`].
    Soft(Vec<u8>),
}

impl Message {
    fn payload_len(&self) -> usize {
        match self {
            Self::Committed(_) => 0,
            Self::Soft(payload) => payload.len(),
        }
    }
}

/// A replica's place on the bus; clones share it.
#[derive(Debug, Clone)]
pub struct Bus(Arc<dyn engine::Engine>);

impl Bus {
    /// Joins the replicas of this process.
    pub fn local(hub: &LocalHub, replica: ReplicaId) -> Self {
        Self(Arc::new(hub.join(replica)))
    }

    /// Joins the replicas that meet at a NATS server. Comes back when it is connected, or soon if NATS is not there: it goes
    /// on trying. An error means that it never will be. Lives within the runtime that this is called in.
    pub async fn nats(options: NatsOptions) -> Result<Self, NatsError> {
        Ok(Self(Arc::new(remote::Remote::nats(options).await?)))
    }

    /// Joins the replicas that meet at a mailbox, without NATS: all works, about a second later. Lives within the runtime
    /// that this is called in.
    pub fn mailbox(mailbox: Arc<dyn Mailbox>, replica: ReplicaId) -> Self {
        Self(Arc::new(remote::Remote::mailbox(mailbox, replica)))
    }

    /// Who this is to the others.
    pub fn replica(&self) -> ReplicaId {
        self.0.replica()
    }

    /// Tells all other replicas, as far as they listen.
    pub fn publish(&self, message: Message) {
        if is_sendable(message.payload_len()) {
            self.0.publish(message);
        }
    }

    /// Tells one other replica, as far as it listens: it receives [`Message::Soft`] as if it were for everyone.
    pub fn tell(&self, to: ReplicaId, payload: Vec<u8>) {
        if is_sendable(payload.len()) {
            self.0.tell(to, payload);
        }
    }

    /// Everything that other replicas publish, or tell this one, from now on.
    pub fn subscribe(&self) -> Subscription {
        self.0.subscribe()
    }

    /// Asks one replica and waits for its answer.
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

    /// The requests to this replica. Whoever calls it again takes them over.
    pub fn requests(&self) -> mpsc::Receiver<Request> {
        self.0.requests()
    }

    /// Whether messages go the way that they should: by NATS, if there is one, and not by mail in its stead.
    pub fn is_up(&self) -> bool {
        self.0.is_up()
    }

    /// Messages that were given up unsent, since there were too many or there was no way.
    pub fn n_dropped(&self) -> u64 {
        self.0.n_dropped()
    }

    /// Sends what was published before, and leaves. Whoever asks this replica then is told that it is not there.
    pub async fn close(&self) {
        self.0.close().await;
    }
}

/// A message that is too large cannot be sent, and publishing cannot fail: whoever made it has a fault.
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
    /// Nobody got it.
    #[error("replica {replica} is not there")]
    NoResponder { replica: ReplicaId },
    /// It may have been acted on.
    #[error("replica {replica} did not answer")]
    TimedOut { replica: ReplicaId },
    /// The request, and then nobody got it; or the answer.
    #[error("{n_bytes} bytes are too large for the bus, which takes {MAX_PAYLOAD}")]
    TooLarge { n_bytes: usize },
}

/// Somebody waits for the answer; dropping it answers nothing.
#[derive(Debug)]
pub struct Request {
    pub payload: Vec<u8>,
    pub reply: oneshot::Sender<Vec<u8>>,
}
