//! What the tasks of one replica's place share: numbers for what goes out, and which way it goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use locks::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::neighbours::Neighbours;
use crate::frame::{Answer, Body, Frame, Hello, Outcome, Question};
use crate::intake::Intake;
use crate::outbox::{Outbox, Outgoing};
use crate::pending::Pending;
use crate::recent::Recent;
use crate::responder::Responder;
use crate::{Message, ReplicaId};

/// Requests of others that are being answered.
const MAX_ANSWERING: usize = 4096;

#[derive(Debug)]
pub(super) struct Desk {
    pub(super) replica: ReplicaId,
    pub(super) responder: Responder,
    pub(super) pending: Pending,
    pub(super) intake: Intake,
    pub(super) neighbours: Neighbours,
    pub(super) for_nats: Outbox,
    pub(super) for_mail: Option<Outbox>,
    numbers: Mutex<Numbers>,
    /// Whether NATS is there.
    linked: watch::Sender<bool>,
    mail_works: AtomicBool,
    n_dropped: AtomicU64,
    answering: Arc<Semaphore>,
}

/// The last number of what went to everyone, and to each.
#[derive(Debug, Default)]
struct Numbers {
    everyone: u64,
    each: Recent<u64>,
}

impl Desk {
    pub(super) fn new(replica: ReplicaId, with_mail: bool) -> Self {
        Self {
            replica,
            responder: Responder::default(),
            pending: Pending::default(),
            intake: Intake::new(),
            neighbours: Neighbours::new(),
            for_nats: Outbox::default(),
            for_mail: with_mail.then(Outbox::default),
            numbers: Mutex::default(),
            linked: watch::Sender::new(false),
            mail_works: AtomicBool::new(true),
            n_dropped: AtomicU64::new(0),
            answering: Arc::new(Semaphore::new(MAX_ANSWERING)),
        }
    }

    /// Numbers a message and puts it on its way.
    pub(super) fn send(&self, to: Option<ReplicaId>, message: Message) {
        // Held until it is on its way, so that numbers and messages go in the same order.
        let mut numbers = self.numbers.lock();
        let number = match to {
            None => &mut numbers.everyone,
            Some(to) => numbers.each.of(to),
        };
        *number += 1;
        let sequence = *number;
        let outgoing = |bytes| Outgoing {
            to,
            bytes,
            question: None,
        };
        let bytes = self.frame(to, sequence, message.into());
        let needs_mail = match to {
            None => self.neighbours.anyone_has_only_mail(),
            Some(to) => self.neighbours.has_only_mail(to),
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

    /// A message for subscribers arrived.
    pub(super) fn arrive(&self, frame: Frame) {
        let from = ReplicaId(frame.from);
        self.neighbours.hear(from);
        let to = frame.to.map(ReplicaId);
        if from == self.replica || to.is_some_and(|to| to != self.replica) {
            return;
        }
        if let Some(message) = frame.body.and_then(Body::into_message) {
            self.intake.arrive(from, to, frame.sequence, message);
        }
    }

    /// Asks by mail; the answer ends the question's wait.
    pub(super) fn ask_by_mail(&self, to: ReplicaId, id: u64, payload: Vec<u8>) {
        let question = Body::Request(Question { id, payload });
        self.mail(Some(to), question, Some(id));
    }

    pub(super) fn answer_by_mail(&self, to: ReplicaId, id: u64, outcome: Outcome) {
        let outcome = Some(outcome);
        self.mail(Some(to), Body::Answer(Answer { id, outcome }), None);
    }

    /// Tells the others, as far as somebody depends on mail.
    pub(super) fn mail_if_needed(&self, body: Body) {
        if self.is_mail_needed() {
            self.mail(None, body, None);
        }
    }

    pub(super) fn say_hello(&self) {
        let only_mail = !self.is_linked();
        self.mail(None, Body::Hello(Hello { only_mail }), None);
    }

    fn mail(&self, to: Option<ReplicaId>, body: Body, question: Option<u64>) {
        if let Some(for_mail) = &self.for_mail {
            let bytes = self.frame(to, 0, body);
            let outgoing = Outgoing {
                to,
                bytes,
                question,
            };
            self.push(for_mail, outgoing);
        }
    }

    fn push(&self, outbox: &Outbox, outgoing: Outgoing) {
        self.drop_unsent(outbox.push(outgoing), Outcome::NoResponder(()));
    }

    /// Counts what is lost, and ends the wait of whoever asked.
    pub(super) fn drop_unsent(&self, lost: Vec<Outgoing>, outcome: Outcome) {
        self.n_dropped
            .fetch_add(lost.len() as u64, Ordering::Relaxed);
        for id in lost.iter().filter_map(|outgoing| outgoing.question) {
            self.pending.end(id, outcome.clone());
        }
    }

    /// What waits for NATS, which has gone, goes by mail.
    pub(super) fn readdress(&self) {
        let Some(for_mail) = &self.for_mail else {
            return;
        };
        for outgoing in self.for_nats.try_take(usize::MAX, usize::MAX) {
            self.push(for_mail, outgoing);
        }
    }

    /// A place among the requests that are being answered; waits for one.
    pub(super) async fn answering(&self) -> OwnedSemaphorePermit {
        let answering = Arc::clone(&self.answering).acquire_owned();
        answering.await.expect("nobody closes it")
    }

    /// Waits until none is being answered.
    pub(super) async fn all_answered(&self) {
        let everything = self.answering.acquire_many(MAX_ANSWERING as u32).await;
        drop(everything);
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

    /// Answers whether that is new.
    pub(super) fn set_linked(&self, linked: bool) -> bool {
        self.linked.send_if_modified(|current| {
            let was = std::mem::replace(current, linked);
            was != linked
        })
    }

    pub(super) fn has_mail(&self) -> bool {
        self.for_mail.is_some()
    }

    /// Whether we or somebody else depends on mail.
    pub(super) fn is_mail_needed(&self) -> bool {
        !self.is_linked() || self.neighbours.anyone_has_only_mail()
    }

    pub(super) fn is_mail_working(&self) -> bool {
        self.mail_works.load(Ordering::Relaxed)
    }

    /// Answers whether that is new.
    pub(super) fn set_mail_working(&self, works: bool) -> bool {
        self.mail_works.swap(works, Ordering::Relaxed) != works
    }

    pub(super) fn n_dropped(&self) -> u64 {
        self.n_dropped.load(Ordering::Relaxed)
    }
}
