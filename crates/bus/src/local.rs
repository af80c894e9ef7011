//! The transport within one process: for a single server, or several in a test.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use locks::Mutex;
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::engine::Engine;
use crate::subscription::{Delivery, Subscription};
use crate::{BusError, MAX_LAG, MAX_REQUESTS, Message, ReplicaId, Request};

/// Connects the replicas of one process; clones share it.
#[derive(Debug, Clone)]
pub struct LocalHub(Arc<Hub>);

struct Hub {
    messages: broadcast::Sender<Arc<Delivery>>,
    responders: Mutex<HashMap<ReplicaId, mpsc::Sender<Request>>>,
    arrives: Box<dyn Fn(ReplicaId) -> bool + Send + Sync>,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

impl LocalHub {
    pub fn new() -> Self {
        Self::where_messages_arrive(|_| true)
    }

    /// A hub that loses messages, for tests: a message arrives if `arrives` answers true for its sender.
    pub fn where_messages_arrive(
        arrives: impl Fn(ReplicaId) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Hub {
            messages: broadcast::Sender::new(MAX_LAG),
            responders: Mutex::default(),
            arrives: Box::new(arrives),
        }))
    }

    pub(crate) fn join(&self, replica: ReplicaId) -> Local {
        Local {
            replica,
            hub: self.clone(),
        }
    }

    fn responder(&self, replica: ReplicaId) -> Option<mpsc::Sender<Request>> {
        self.0.responders.lock().get(&replica).cloned()
    }
}

impl Default for LocalHub {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Debug)]
pub(crate) struct Local {
    replica: ReplicaId,
    hub: LocalHub,
}

impl Local {
    fn send(&self, to: Option<ReplicaId>, message: Message) {
        let from = self.replica;
        if !(self.hub.0.arrives)(from) {
            return;
        }
        let delivery = Delivery::Message { from, to, message };
        // An error means that there is no subscriber.
        let _ = self.hub.0.messages.send(Arc::new(delivery));
    }
}

#[async_trait]
impl Engine for Local {
    fn replica(&self) -> ReplicaId {
        self.replica
    }

    fn publish(&self, message: Message) {
        self.send(None, message);
    }

    fn tell(&self, to: ReplicaId, payload: Vec<u8>) {
        self.send(Some(to), Message::Soft(payload.into()));
    }

    fn subscribe(&self) -> Subscription {
        Subscription::new(self.replica, self.hub.0.messages.subscribe())
    }

    async fn request(&self, to: ReplicaId, payload: Vec<u8>) -> Result<Vec<u8>, BusError> {
        let no_responder = BusError::NoResponder { replica: to };
        let responder = self.hub.responder(to).ok_or(no_responder)?;
        let (reply, answer) = oneshot::channel();
        let request = Request { payload, reply };
        responder.send(request).await.map_err(|_| no_responder)?;
        answer.await.map_err(|_| BusError::TimedOut { replica: to })
    }

    fn requests(&self) -> mpsc::Receiver<Request> {
        let (sender, receiver) = mpsc::channel(MAX_REQUESTS);
        self.hub.0.responders.lock().insert(self.replica, sender);
        receiver
    }

    fn is_up(&self) -> bool {
        true
    }

    fn n_dropped(&self) -> u64 {
        0
    }

    async fn close(&self) {
        self.hub.0.responders.lock().remove(&self.replica);
    }
}
