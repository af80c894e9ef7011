//! The transport by NATS: plain, at most once, no JetStream. Each replica subscribes to three subjects of its own and one for all.

mod options;
mod subjects;

use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, Event, StatusCode, Subscriber};
use futures_util::StreamExt;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

use super::state::RemoteState;
use crate::ReplicaId;
use crate::frame::{Body, Frame, Outcome, RequestBody, ResponseBody};
pub use options::{ClientCertificate, NatsError, NatsOptions};
use subjects::Subjects;

/// How long joining waits for the first connection.
pub(super) const FIRST_CONNECTION: Duration = Duration::from_secs(2);
/// How long a flush may take.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// Time between two checks of the connection, in case an event is lost.
const CHECK_EVERY: Duration = Duration::from_millis(500);
/// How much is taken from the outbox at once.
const MAX_FRAMES: usize = 256;
const MAX_BYTES: usize = 4 << 20;
/// Events of the connection that wait in the channel.
const MAX_EVENTS: usize = 128;

#[derive(Debug)]
pub(super) struct Link {
    client: Client,
    subjects: Subjects,
    replica: ReplicaId,
}

impl Link {
    /// Starts to connect.
    pub(super) async fn connect(
        options: &NatsOptions,
    ) -> Result<(Self, mpsc::Receiver<Event>), NatsError> {
        let (sender, events) = mpsc::channel(MAX_EVENTS);
        let on_event = move |event| {
            let sender = sender.clone();
            async move {
                // An error means that the bus is closed.
                let _ = sender.send(event).await;
            }
        };
        let client = options::connect(options, on_event).await?;
        let link = Self {
            client,
            subjects: Subjects::new(&options.cluster),
            replica: options.replica,
        };
        Ok((link, events))
    }

    /// Subscribes to everything for this replica. Without a connection yet, the subscriptions begin with it.
    pub(super) async fn subscribe(
        self: &Arc<Self>,
        state: &Arc<RemoteState>,
        readers: &mut JoinSet<()>,
    ) {
        let subjects = &self.subjects;
        for subject in [subjects.all(), subjects.one(self.replica)] {
            let messages = self.listen(subject).await;
            readers.spawn(read_messages(messages, Arc::clone(state)));
        }
        let responses = self.listen(subjects.all_responses(self.replica)).await;
        readers.spawn(Arc::clone(self).read_responses(responses, Arc::clone(state)));
    }

    /// Takes requests until the bus begins to close.
    pub(super) async fn answer(
        self: &Arc<Self>,
        state: &Arc<RemoteState>,
        is_closing: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let requests = self.listen(self.subjects.requests(self.replica)).await;
        Arc::clone(self).read_questions(requests, Arc::clone(state), is_closing)
    }

    async fn listen(&self, subject: String) -> Subscriber {
        let subscribed = self.client.subscribe(subject).await;
        subscribed.expect("the subject is well formed and the client is not closed yet")
    }

    /// Sends a request to another replica, and waits for the outcome. The caller limits the time.
    pub(super) async fn ask(
        &self,
        state: &RemoteState,
        to: ReplicaId,
        payload: Vec<u8>,
    ) -> Outcome {
        let request = state.requests.begin();
        let id = request.id;
        let bytes = state.frame(Some(to), 0, Body::Request(RequestBody { id, payload }));
        let subject = self.subjects.requests(to);
        let reply = self.subjects.response(self.replica, id);
        let sent = self.client.publish_with_reply(subject, reply, bytes.into());
        if let Err(error) = sent.await {
            tracing::error!(%error, %to, "a request was not sent");
            return Outcome::NoResponder(());
        }
        request.outcome().await
    }

    async fn read_questions(
        self: Arc<Self>,
        mut requests: Subscriber,
        state: Arc<RemoteState>,
        mut is_closing: watch::Receiver<bool>,
    ) {
        loop {
            let message = tokio::select! {
                message = requests.next() => message,
                _ = is_closing.wait_for(|closing| *closing) => None,
            };
            let Some(message) = message else { break };
            let frame = Frame::parse(message.payload);
            let request = frame.and_then(|frame| match frame.body? {
                Body::Request(request) => Some((frame.from, request)),
                Body::Committed(_)
                | Body::Soft(_)
                | Body::Response(_)
                | Body::Hello(_)
                | Body::Goodbye(()) => None,
            });
            let (Some((from, request)), Some(reply)) = (request, message.reply) else {
                continue;
            };
            state.peers.hear(ReplicaId(from));
            let answering = state.answering().await;
            let (link, state) = (Arc::clone(&self), Arc::clone(&state));
            tokio::spawn(async move {
                let (id, from) = (request.id, ReplicaId(from));
                let outcome = Some(state.responder.ask(request.payload).await);
                let bytes =
                    state.frame(Some(from), 0, Body::Response(ResponseBody { id, outcome }));
                if let Err(error) = link.client.publish(reply, bytes.into()).await {
                    tracing::warn!(%error, %from, "a response was not sent");
                }
                drop(answering);
            });
        }
        // Fails without a connection, which needs no unsubscribe.
        let _ = timeout(FLUSH_TIMEOUT, requests.unsubscribe()).await;
    }

    async fn read_responses(self: Arc<Self>, mut responses: Subscriber, state: Arc<RemoteState>) {
        while let Some(message) = responses.next().await {
            let Some(id) = subjects::request_id(&message.subject) else {
                continue;
            };
            if message.status == Some(StatusCode::NO_RESPONDERS) {
                state.requests.end(id, Outcome::NoResponder(()));
                continue;
            }
            let frame = Frame::parse(message.payload);
            let outcome = frame.and_then(|frame| {
                state.peers.hear(ReplicaId(frame.from));
                match frame.body? {
                    Body::Response(response) => response.outcome,
                    Body::Committed(_)
                    | Body::Soft(_)
                    | Body::Request(_)
                    | Body::Hello(_)
                    | Body::Goodbye(()) => None,
                }
            });
            let outcome = outcome.unwrap_or(Outcome::Unanswered(()));
            state.requests.end(id, outcome);
        }
    }

    /// Finishes the responses under way, and disconnects. Later requests to this replica fail at once.
    pub(super) async fn close(&self, state: &RemoteState, patience: Duration) {
        let disconnect = async {
            // NATS handles our messages in order: once it answers our own request with "no responders", it has handled our
            // unsubscribe.
            self.ask(state, self.replica, Vec::new()).await;
            state.all_answered().await;
            self.client.flush().await.is_ok() && self.client.drain().await.is_ok()
        };
        if self.is_connected() && !timeout(patience, disconnect).await.unwrap_or(false) {
            tracing::warn!("the connection to NATS was closed before everything was sent");
        }
    }

    fn is_connected(&self) -> bool {
        self.client.connection_state() == async_nats::connection::State::Connected
    }
}

async fn read_messages(mut messages: Subscriber, state: Arc<RemoteState>) {
    while let Some(message) = messages.next().await {
        if let Some(frame) = Frame::parse(message.payload) {
            state.arrive(frame);
        }
    }
}

/// Sends the outbox for NATS; while closing, until it is empty. While NATS is down, its frames go by mail, if there is a mailbox.
pub(super) async fn write(
    link: Arc<Link>,
    state: Arc<RemoteState>,
    mut is_closing: watch::Receiver<bool>,
) {
    let mut linked = state.linked();
    loop {
        if !*linked.borrow_and_update() {
            state.redirect_to_mail();
            tokio::select! {
                _ = linked.changed() => continue,
                _ = is_closing.wait_for(|closing| *closing) => return,
            }
        }
        let batch = tokio::select! {
            biased;
            batch = state.for_nats.take(MAX_FRAMES, MAX_BYTES) => batch,
            _ = linked.changed() => continue,
            _ = is_closing.wait_for(|closing| *closing) => return,
        };
        let mut batch = batch.into_iter();
        while let Some(outgoing) = batch.next() {
            let subject = match outgoing.to {
                None => link.subjects.all(),
                Some(to) => link.subjects.one(to),
            };
            let publish = link.client.publish(subject, outgoing.bytes.into());
            let published = tokio::select! {
                biased;
                published = publish => published,
                // It waits because the connection is gone, perhaps for long.
                _ = linked.changed() => {
                    let lost = batch.len() as u64 + 1;
                    tracing::debug!(lost, "messages were lost with the connection to NATS");
                    state.drop_unsent(batch.collect(), Outcome::NoResponder(()));
                    break;
                }
            };
            if let Err(error) = published {
                tracing::error!(%error, "a message is too large for this NATS server and was lost");
            }
        }
    }
}

/// Tracks the connection: switches between NATS and mail, and tells subscribers when messages may be lost.
pub(super) async fn watch(
    link: Arc<Link>,
    state: Arc<RemoteState>,
    mut events: mpsc::Receiver<Event>,
) {
    let mut check = interval(CHECK_EVERY);
    let mut last_error = None;
    let mut was_connected = false;
    loop {
        let event = tokio::select! {
            event = events.recv() => match event {
                Some(event) => Some(event),
                None => return,
            },
            _ = check.tick() => None,
        };
        let mut is_new = false;
        match event {
            Some(Event::Connected) => {
                // The client subscribes again with each connection; the flush makes sure that NATS has it.
                let _ = timeout(FLUSH_TIMEOUT, link.client.flush()).await;
                is_new = true;
            }
            Some(Event::SlowConsumer(_)) => state.inbox.lag(),
            Some(Event::ServerError(error)) => log_once(&mut last_error, error.to_string()),
            Some(Event::ClientError(error)) => log_once(&mut last_error, error.to_string()),
            Some(Event::Disconnected | Event::LameDuckMode | Event::Draining | Event::Closed) => {}
            // Connected at two checks in a row: the event was lost.
            None => is_new = was_connected && !state.is_linked(),
        }
        was_connected = link.is_connected();
        if was_connected && is_new {
            tracing::info!("connected to NATS");
            last_error = None;
            state.set_linked(true);
            state.inbox.lag();
            state.say_hello();
        }
        if !was_connected && state.set_linked(false) {
            tracing::warn!(has_mail = state.has_mail(), "no connection to NATS");
            state.peers.listen();
            state.say_hello();
        }
    }
}

/// Logs an error of NATS once, not at each attempt.
fn log_once(last: &mut Option<String>, error: String) {
    if last.as_ref() != Some(&error) {
        tracing::warn!(error, "NATS");
        *last = Some(error);
    }
}

pub(super) async fn await_first_connection(state: &RemoteState) {
    let mut linked = state.linked();
    let connected = timeout(FIRST_CONNECTION, linked.wait_for(|linked| *linked)).await;
    if connected.is_err() {
        tracing::warn!("NATS is not reachable yet; trying again");
    }
}
