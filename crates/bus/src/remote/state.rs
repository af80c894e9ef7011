//! The state that the tasks of one replica share: sequence numbers of sent messages, and the choice of the transport.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use locks::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::peers::Peers;
use crate::frame::{Body, Frame, Hello, Outcome, RequestBody, ResponseBody};
use crate::inbox::Inbox;
use crate::outbox::{Outbox, Outgoing};
use crate::recent_replicas::RecentReplicas;
use crate::request_table::RequestTable;
use crate::responder::Responder;
use crate::{Message, ReplicaId};

/// Requests of other replicas that are being answered.
const MAX_ANSWERING: usize = 4096;

#[derive(Debug)]
pub(super) struct RemoteState {
    pub(super) replica: ReplicaId,
    pub(super) responder: Responder,
    pub(super) requests: RequestTable,
    pub(super) inbox: Inbox,
    pub(super) peers: Peers,
    pub(super) for_nats: Outbox,
    pub(super) for_mail: Option<Outbox>,
    numbers: Mutex<SequenceNumbers>,
    /// Whether NATS is connected.
    linked: watch::Sender<bool>,
    mail_works: AtomicBool,
    n_dropped: AtomicU64,
    answering: Arc<Semaphore>,
}

/// The last sequence numbers of messages to all, and to each replica.
#[derive(Debug, Default)]
struct SequenceNumbers {
    to_all: u64,
    to_each: RecentReplicas<u64>,
}

impl RemoteState {
    pub(super) fn new(replica: ReplicaId, with_mail: bool) -> Self {
        Self {
            replica,
            responder: Responder::default(),
            requests: RequestTable::default(),
            inbox: Inbox::new(),
            peers: Peers::new(),
            for_nats: Outbox::default(),
            for_mail: with_mail.then(Outbox::default),
            numbers: Mutex::default(),
            linked: watch::Sender::new(false),
            mail_works: AtomicBool::new(true),
            n_dropped: AtomicU64::new(0),
            answering: Arc::new(Semaphore::new(MAX_ANSWERING)),
        }
    }

    /// Numbers a message and queues it for its transport.
    pub(super) fn send(&self, to: Option<ReplicaId>, message: Message) {
        // Locked until the message is queued, so that the numbers are in the order of the queue.
        let mut numbers = self.numbers.lock();
        let number = match to {
            None => &mut numbers.to_all,
            Some(to) => numbers.to_each.of(to),
        };
        *number += 1;
        let sequence = *number;
        let outgoing = |bytes| Outgoing {
            to,
            bytes,
            request: None,
        };
        let bytes = self.frame(to, sequence, message.into());
        let needs_mail = match to {
            None => self.peers.any_has_only_mail(),
            Some(to) => self.peers.has_only_mail(to),
        };
        match &self.for_mail {
            Some(for_mail) if !self.is_linked() => self.push(for_mail, outgoing(bytes)),
            Some(for_mail) if needs_mail => {
                self.push(for_mail, outgoing(bytes.clone()));
                self.push(&self.for_nats, outgoing(bytes));
            }
            Some(_) | None => self.push(&self.for_nats, outgoing(bytes)),
        }
    }

    pub(super) fn frame(&self, to: Option<ReplicaId>, sequence: u64, body: Body) -> Vec<u8> {
        let frame = Frame {
            from: self.replica.0,
            to: to.map(|to| to.0),
            sequence,
            body: Some(body),
        };
        frame.encode()
    }

    /// Passes a message that arrived to the subscribers.
    pub(super) fn arrive(&self, frame: Frame) {
        let from = ReplicaId(frame.from);
        self.peers.hear(from);
        let to = frame.to.map(ReplicaId);
        if from == self.replica || to.is_some_and(|to| to != self.replica) {
            return;
        }
        if let Some(message) = frame.body.and_then(Body::into_message) {
            self.inbox.arrive(from, to, frame.sequence, message);
        }
    }

    /// Sends a request by mail; its response ends the pending request `id`.
    pub(super) fn ask_by_mail(&self, to: ReplicaId, id: u64, payload: Vec<u8>) {
        let body = Body::Request(RequestBody { id, payload });
        self.mail(Some(to), body, Some(id));
    }

    pub(super) fn answer_by_mail(&self, to: ReplicaId, id: u64, outcome: Outcome) {
        let outcome = Some(outcome);
        self.mail(Some(to), Body::Response(ResponseBody { id, outcome }), None);
    }

    /// Mails to all other replicas, if any replica depends on mail.
    pub(super) fn mail_if_needed(&self, body: Body) {
        if self.is_mail_needed() {
            self.mail(None, body, None);
        }
    }

    pub(super) fn say_hello(&self) {
        let only_mail = !self.is_linked();
        self.mail(None, Body::Hello(Hello { only_mail }), None);
    }

    fn mail(&self, to: Option<ReplicaId>, body: Body, request: Option<u64>) {
        if let Some(for_mail) = &self.for_mail {
            let bytes = self.frame(to, 0, body);
            let outgoing = Outgoing { to, bytes, request };
            self.push(for_mail, outgoing);
        }
    }

    fn push(&self, outbox: &Outbox, outgoing: Outgoing) {
        self.drop_unsent(outbox.push(outgoing), Outcome::NoResponder(()));
    }

    /// Counts dropped frames, and ends the pending requests among them.
    pub(super) fn drop_unsent(&self, lost: Vec<Outgoing>, outcome: Outcome) {
        self.n_dropped
            .fetch_add(lost.len() as u64, Ordering::Relaxed);
        for id in lost.iter().filter_map(|outgoing| outgoing.request) {
            self.requests.end(id, outcome.clone());
        }
    }

    /// Moves frames that wait for NATS to the outbox for mail.
    pub(super) fn redirect_to_mail(&self) {
        let Some(for_mail) = &self.for_mail else {
            return;
        };
        for outgoing in self.for_nats.try_take(usize::MAX, usize::MAX) {
            self.push(for_mail, outgoing);
        }
    }

    /// Waits for a slot among the requests that are being answered.
    pub(super) async fn answering(&self) -> OwnedSemaphorePermit {
        let answering = Arc::clone(&self.answering).acquire_owned();
        answering.await.expect("the semaphore is never closed")
    }

    /// Waits until no request is being answered.
    pub(super) async fn all_answered(&self) {
        let all_slots = self.answering.acquire_many(MAX_ANSWERING as u32).await;
        drop(all_slots);
    }

    pub(super) fn try_answering(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.answering).try_acquire_owned().ok()
    }

    pub(super) fn is_linked(&self) -> bool {
        *self.linked.borrow()
    }

    pub(super) fn linked(&self) -> watch::Receiver<bool> {
        self.linked.subscribe()
    }

    /// Answers whether it changed.
    pub(super) fn set_linked(&self, linked: bool) -> bool {
        self.linked.send_if_modified(|current| {
            let was = std::mem::replace(current, linked);
            was != linked
        })
    }

    pub(super) fn has_mail(&self) -> bool {
        self.for_mail.is_some()
    }

    /// Whether this replica or another one depends on mail.
    pub(super) fn is_mail_needed(&self) -> bool {
        !self.is_linked() || self.peers.any_has_only_mail()
    }

    pub(super) fn is_mail_working(&self) -> bool {
        self.mail_works.load(Ordering::Relaxed)
    }

    /// Answers whether it changed.
    pub(super) fn set_mail_working(&self, works: bool) -> bool {
        self.mail_works.swap(works, Ordering::Relaxed) != works
    }

    pub(super) fn n_dropped(&self) -> u64 {
        self.n_dropped.load(Ordering::Relaxed)
    }
}
