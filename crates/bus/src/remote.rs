//! The transport between processes: NATS while it is up, mail while it is down, and both while some replica has only mail.

mod mail;
mod nats;
mod peers;
mod state;

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
use nats::Link;
pub use nats::{ClientCertificate, NatsError, NatsOptions};
use state::RemoteState;

/// How long disconnecting may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Remote {
    state: Arc<RemoteState>,
    link: Option<Arc<Link>>,
    closing: watch::Sender<bool>,
    /// The tasks that send and answer. While closing, they end once everything is sent.
    senders: Mutex<JoinSet<()>>,
    readers: Mutex<JoinSet<()>>,
}

impl Remote {
    /// Returns when it is connected, or after a short time if NATS is down.
    pub(crate) async fn nats(options: NatsOptions) -> Result<Self, NatsError> {
        let mailbox = options.mailbox.clone();
        let state = Arc::new(RemoteState::new(options.replica, mailbox.is_some()));
        let (link, events) = Link::connect(&options).await?;
        let link = Arc::new(link);
        let (closing, is_closing) = watch::channel(false);
        let (mut senders, mut readers) = (JoinSet::new(), JoinSet::new());
        link.subscribe(&state, &mut readers).await;
        senders.spawn(link.answer(&state, is_closing.clone()).await);
        readers.spawn(nats::watch(Arc::clone(&link), Arc::clone(&state), events));
        senders.spawn(nats::write(
            Arc::clone(&link),
            Arc::clone(&state),
            is_closing.clone(),
        ));
        if let Some(mailbox) = mailbox {
            let sender = mail::send(
                Arc::clone(&state),
                Arc::clone(&mailbox),
                nats::FIRST_CONNECTION,
                is_closing,
            );
            senders.spawn(sender);
            readers.spawn(mail::receive(Arc::clone(&state), mailbox));
        }
        nats::await_first_connection(&state).await;
        Ok(Self {
            state,
            link: Some(link),
            closing,
            senders: Mutex::new(senders),
            readers: Mutex::new(readers),
        })
    }

    pub(crate) fn mailbox(mailbox: Arc<dyn Mailbox>, replica: ReplicaId) -> Self {
        let state = Arc::new(RemoteState::new(replica, true));
        let (closing, is_closing) = watch::channel(false);
        let (mut senders, mut readers) = (JoinSet::new(), JoinSet::new());
        let sender = mail::send(
            Arc::clone(&state),
            Arc::clone(&mailbox),
            Duration::ZERO,
            is_closing,
        );
        senders.spawn(sender);
        readers.spawn(mail::receive(Arc::clone(&state), mailbox));
        Self {
            state,
            link: None,
            closing,
            senders: Mutex::new(senders),
            readers: Mutex::new(readers),
        }
    }

    async fn ask_by_mail(&self, to: ReplicaId, payload: Vec<u8>) -> Outcome {
        if !self.state.has_mail() || self.state.peers.is_silent(to) {
            return Outcome::NoResponder(());
        }
        let request = self.state.requests.begin();
        self.state.ask_by_mail(to, request.id, payload);
        request.outcome().await
    }
}

#[async_trait]
impl Engine for Remote {
    fn replica(&self) -> ReplicaId {
        self.state.replica
    }

    fn publish(&self, message: Message) {
        self.state.send(None, message);
    }

    fn tell(&self, to: ReplicaId, payload: Vec<u8>) {
        // A replica does not receive its own messages.
        if to != self.state.replica {
            self.state.send(Some(to), Message::Soft(payload.into()));
        }
    }

    fn subscribe(&self) -> Subscription {
        self.state.inbox.subscribe(self.state.replica)
    }

    async fn request(&self, to: ReplicaId, payload: Vec<u8>) -> Result<Vec<u8>, BusError> {
        if to == self.state.replica {
            return self.state.responder.ask(payload).await.into_result(to);
        }
        if let Some(link) = &self.link
            && self.state.is_linked()
            && !self.state.peers.has_only_mail(to)
        {
            let outcome = link.ask(&self.state, to, payload.clone()).await;
            // The replica may have lost NATS just now, and said so by mail meanwhile.
            let try_mail =
                matches!(outcome, Outcome::NoResponder(())) && self.state.peers.has_only_mail(to);
            if !try_mail {
                return outcome.into_result(to);
            }
        }
        self.ask_by_mail(to, payload).await.into_result(to)
    }

    fn requests(&self) -> mpsc::Receiver<Request> {
        self.state.responder.take_over()
    }

    fn is_up(&self) -> bool {
        match self.link {
            Some(_) => self.state.is_linked(),
            None => self.state.is_mail_working(),
        }
    }

    fn n_dropped(&self) -> u64 {
        self.state.n_dropped()
    }

    async fn close(&self) {
        self.state.responder.close();
        self.state.mail_if_needed(Body::Goodbye(()));
        self.closing.send_replace(true);
        let take = |tasks: &Mutex<JoinSet<()>>| std::mem::take(&mut *tasks.lock());
        let senders = take(&self.senders).join_all();
        let all_sent = tokio::time::timeout(CLOSE_TIMEOUT, senders).await;
        if all_sent.is_err() {
            tracing::warn!("the last messages to other replicas were not sent");
        }
        if let Some(link) = &self.link {
            link.close(&self.state, CLOSE_TIMEOUT).await;
        }
        take(&self.readers).shutdown().await;
        self.state.set_linked(false);
    }
}
