//! Replicas in processes of their own: by NATS while it is there, by mail while it is not, and by both while one of them has
//! only mail.

mod desk;
mod mail;
mod nats;
mod neighbours;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use locks::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::engine::Engine;
use crate::frame::{Body, Outcome};
use crate::mailbox::Mailbox;
use crate::{BusError, Message, ReplicaId, Request, Subscription};
use desk::Desk;
use nats::Link;
pub use nats::{ClientCertificate, NatsError, NatsOptions};

/// How long leaving may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Remote {
    desk: Arc<Desk>,
    link: Option<Arc<Link>>,
    closing: watch::Sender<bool>,
    /// Whoever sends and answers. They end by themselves once that is done, when the place is closing.
    senders: Mutex<JoinSet<()>>,
    readers: Mutex<JoinSet<()>>,
}

impl Remote {
    /// Comes back when it is connected, or soon if NATS is not there yet.
    pub(crate) async fn nats(options: NatsOptions) -> Result<Self, NatsError> {
        let mailbox = options.mailbox.clone();
        let desk = Arc::new(Desk::new(options.replica, mailbox.is_some()));
        let (link, events) = Link::connect(&options).await?;
        let link = Arc::new(link);
        let (closing, is_closing) = watch::channel(false);
        let (mut senders, mut readers) = (JoinSet::new(), JoinSet::new());
        link.subscribe(&desk, &mut readers).await;
        senders.spawn(link.answer(&desk, is_closing.clone()).await);
        readers.spawn(nats::watch(Arc::clone(&link), Arc::clone(&desk), events));
        senders.spawn(nats::write(
            Arc::clone(&link),
            Arc::clone(&desk),
            is_closing.clone(),
        ));
        if let Some(mailbox) = mailbox {
            let sender = mail::send(
                Arc::clone(&desk),
                Arc::clone(&mailbox),
                nats::FIRST_CONNECTION,
                is_closing,
            );
            senders.spawn(sender);
            readers.spawn(mail::receive(Arc::clone(&desk), mailbox));
        }
        nats::await_first_connection(&desk).await;
        Ok(Self {
            desk,
            link: Some(link),
            closing,
            senders: Mutex::new(senders),
            readers: Mutex::new(readers),
        })
    }

    pub(crate) fn mailbox(mailbox: Arc<dyn Mailbox>, replica: ReplicaId) -> Self {
        let desk = Arc::new(Desk::new(replica, true));
        let (closing, is_closing) = watch::channel(false);
        let (mut senders, mut readers) = (JoinSet::new(), JoinSet::new());
        let sender = mail::send(
            Arc::clone(&desk),
            Arc::clone(&mailbox),
            Duration::ZERO,
            is_closing,
        );
        senders.spawn(sender);
        readers.spawn(mail::receive(Arc::clone(&desk), mailbox));
        Self {
            desk,
            link: None,
            closing,
            senders: Mutex::new(senders),
            readers: Mutex::new(readers),
        }
    }

    async fn ask_by_mail(&self, to: ReplicaId, payload: Vec<u8>) -> Outcome {
        if !self.desk.has_mail() || self.desk.neighbours.is_silent(to) {
            return Outcome::NoResponder(());
        }
        let waiting = self.desk.pending.begin();
        self.desk.ask_by_mail(to, waiting.id, payload);
        waiting.outcome().await
    }
}

#[async_trait]
impl Engine for Remote {
    fn replica(&self) -> ReplicaId {
        self.desk.replica
    }

    fn publish(&self, message: Message) {
        self.desk.send(None, message);
    }

    fn tell(&self, to: ReplicaId, payload: Vec<u8>) {
        // Nobody hears itself.
        if to != self.desk.replica {
            self.desk.send(Some(to), Message::Soft(payload));
        }
    }

    fn subscribe(&self) -> Subscription {
        self.desk.intake.subscribe(self.desk.replica)
    }

    async fn request(&self, to: ReplicaId, payload: Vec<u8>) -> Result<Vec<u8>, BusError> {
        if to == self.desk.replica {
            return self.desk.responder.ask(payload).await.into_result(to);
        }
        if let Some(link) = &self.link
            && self.desk.is_linked()
            && !self.desk.neighbours.has_only_mail(to)
        {
            let outcome = link.ask(&self.desk, to, payload.clone()).await;
            // It may have lost NATS just now, and said so meanwhile.
            let try_mail = matches!(outcome, Outcome::NoResponder(()))
                && self.desk.neighbours.has_only_mail(to);
            if !try_mail {
                return outcome.into_result(to);
            }
        }
        self.ask_by_mail(to, payload).await.into_result(to)
    }

    fn requests(&self) -> mpsc::Receiver<Request> {
        self.desk.responder.take_over()
    }

    fn is_up(&self) -> bool {
        match self.link {
            Some(_) => self.desk.is_linked(),
            None => self.desk.is_mail_working(),
        }
    }

    fn n_dropped(&self) -> u64 {
        self.desk.n_dropped()
    }

    async fn close(&self) {
        self.desk.responder.close();
        self.desk.mail_if_needed(Body::Goodbye(()));
        self.closing.send_replace(true);
        let take = |tasks: &Mutex<JoinSet<()>>| std::mem::take(&mut *tasks.lock());
        let senders = take(&self.senders).join_all();
        let all_sent = tokio::time::timeout(CLOSE_TIMEOUT, senders).await;
        if all_sent.is_err() {
            tracing::warn!("the last messages to other replicas are not sent");
        }
        if let Some(link) = &self.link {
            link.close(&self.desk, CLOSE_TIMEOUT).await;
        }
        take(&self.readers).shutdown().await;
        self.desk.set_linked(false);
    }
}
