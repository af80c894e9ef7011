//! The fast way: plain NATS, at most once, no JetStream. Each replica listens on three subjects of its own and one of all.

mod options;
mod subjects;

use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, Event, StatusCode, Subscriber};
use futures_util::StreamExt;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

use super::desk::Desk;
use crate::ReplicaId;
use crate::frame::{Answer, Body, Frame, Outcome, Question};
pub use options::{ClientCertificate, NatsError, NatsOptions};
use subjects::Subjects;

/// How long joining waits for the first connection.
pub(super) const FIRST_CONNECTION: Duration = Duration::from_secs(2);
/// How long what was sent may take to leave.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// Between two looks at the connection, in case an event is lost.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// What is taken from the outbox at once.
const MAX_FRAMES: usize = 256;
const MAX_BYTES: usize = 4 << 20;
/// Events of the connection that wait.
const MAX_EVENTS: usize = 128;

#[derive(Debug)]
pub(super) struct Link {
    client: Client,
    subjects: Subjects,
    replica: ReplicaId,
}

impl Link {
    /// Begins to connect.
    pub(super) async fn connect(
        options: &NatsOptions,
    ) -> Result<(Self, mpsc::Receiver<Event>), NatsError> {
        let (sender, events) = mpsc::channel(MAX_EVENTS);
        let on_event = move |event| {
            let sender = sender.clone();
            async move {
                // Nobody listens once the place is closed.
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

    /// Listens to everything that is for us. Where there is no connection yet, it begins with the connection.
    pub(super) async fn subscribe(self: &Arc<Self>, desk: &Arc<Desk>, readers: &mut JoinSet<()>) {
        let subjects = &self.subjects;
        for subject in [subjects.everyone(), subjects.told(self.replica)] {
            let messages = self.listen(subject).await;
            readers.spawn(read_messages(messages, Arc::clone(desk)));
        }
        let answers = self.listen(subjects.all_answers(self.replica)).await;
        readers.spawn(Arc::clone(self).read_answers(answers, Arc::clone(desk)));
    }

    /// Takes requests, until the place begins to close.
    pub(super) async fn answer(
        self: &Arc<Self>,
        desk: &Arc<Desk>,
        is_closing: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let questions = self.listen(self.subjects.questions(self.replica)).await;
        Arc::clone(self).read_questions(questions, Arc::clone(desk), is_closing)
    }

    async fn listen(&self, subject: String) -> Subscriber {
        let subscribed = self.client.subscribe(subject).await;
        subscribed.expect("the subject is well formed and the client is not closed yet")
    }

    /// Asks another replica, and waits for the outcome for as long as nobody drops it.
    pub(super) async fn ask(&self, desk: &Desk, to: ReplicaId, payload: Vec<u8>) -> Outcome {
        let waiting = desk.pending.begin();
        let id = waiting.id;
        let bytes = desk.frame(Some(to), 0, Body::Request(Question { id, payload }));
        let subject = self.subjects.questions(to);
        let reply = self.subjects.answer(self.replica, id);
        let sent = self.client.publish_with_reply(subject, reply, bytes.into());
        if let Err(error) = sent.await {
            tracing::error!(%error, %to, "a request is not sent");
            return Outcome::NoResponder(());
        }
        waiting.outcome().await
    }

    async fn read_questions(
        self: Arc<Self>,
        mut questions: Subscriber,
        desk: Arc<Desk>,
        mut is_closing: watch::Receiver<bool>,
    ) {
        loop {
            let message = tokio::select! {
                message = questions.next() => message,
                _ = is_closing.wait_for(|closing| *closing) => None,
            };
            let Some(message) = message else { break };
            let frame = Frame::parse(&message.payload);
            let question = frame.and_then(|frame| match frame.body? {
                Body::Request(question) => Some((frame.from, question)),
                Body::Committed(_)
                | Body::Soft(_)
                | Body::Answer(_)
                | Body::Hello(_)
                | Body::Goodbye(()) => None,
            });
            let (Some((from, question)), Some(reply)) = (question, message.reply) else {
                continue;
            };
            desk.neighbours.hear(ReplicaId(from));
            let answering = desk.answering().await;
            let (link, desk) = (Arc::clone(&self), Arc::clone(&desk));
            tokio::spawn(async move {
                let (id, from) = (question.id, ReplicaId(from));
                let outcome = Some(desk.responder.ask(question.payload).await);
                let bytes = desk.frame(Some(from), 0, Body::Answer(Answer { id, outcome }));
                if let Err(error) = link.client.publish(reply, bytes.into()).await {
                    tracing::warn!(%error, %from, "an answer is not sent");
                }
                drop(answering);
            });
        }
        // Without a connection there is nobody to tell.
        let _ = timeout(FLUSH_TIMEOUT, questions.unsubscribe()).await;
    }

    async fn read_answers(self: Arc<Self>, mut answers: Subscriber, desk: Arc<Desk>) {
        while let Some(message) = answers.next().await {
            let Some(id) = subjects::answered(&message.subject) else {
                continue;
            };
            if message.status == Some(StatusCode::NO_RESPONDERS) {
                desk.pending.end(id, Outcome::NoResponder(()));
                continue;
            }
            let frame = Frame::parse(&message.payload);
            let outcome = frame.and_then(|frame| {
                desk.neighbours.hear(ReplicaId(frame.from));
                match frame.body? {
                    Body::Answer(answer) => answer.outcome,
                    Body::Committed(_)
                    | Body::Soft(_)
                    | Body::Request(_)
                    | Body::Hello(_)
                    | Body::Goodbye(()) => None,
                }
            });
            let outcome = outcome.unwrap_or(Outcome::Unanswered(()));
            desk.pending.end(id, outcome);
        }
    }

    /// Answers and sends what is under way, and leaves. Afterwards whoever asks learns at once that nobody is here.
    pub(super) async fn close(&self, desk: &Desk, patience: Duration) {
        let leave = async {
            // NATS looks at what we send one by one: once it finds that nobody takes our own question, it has seen that we
            // take no more.
            self.ask(desk, self.replica, Vec::new()).await;
            desk.all_answered().await;
            self.client.flush().await.is_ok() && self.client.drain().await.is_ok()
        };
        if self.is_connected() && !timeout(patience, leave).await.unwrap_or(false) {
            tracing::warn!("the connection to NATS ends without farewell");
        }
    }

    fn is_connected(&self) -> bool {
        self.client.connection_state() == async_nats::connection::State::Connected
    }
}

async fn read_messages(mut messages: Subscriber, desk: Arc<Desk>) {
    while let Some(message) = messages.next().await {
        if let Some(frame) = Frame::parse(&message.payload) {
            desk.arrive(frame);
        }
    }
}

/// Sends what is to go by NATS, until all is sent that was there when the place began to close. While NATS is away, it goes
/// by mail instead, if there is any.
pub(super) async fn write(link: Arc<Link>, desk: Arc<Desk>, mut is_closing: watch::Receiver<bool>) {
    let mut linked = desk.linked();
    loop {
        if !*linked.borrow_and_update() {
            desk.readdress();
            tokio::select! {
                _ = linked.changed() => continue,
                _ = is_closing.wait_for(|closing| *closing) => return,
            }
        }
        let batch = tokio::select! {
            biased;
            batch = desk.for_nats.take(MAX_FRAMES, MAX_BYTES) => batch,
            _ = linked.changed() => continue,
            _ = is_closing.wait_for(|closing| *closing) => return,
        };
        let mut batch = batch.into_iter();
        while let Some(outgoing) = batch.next() {
            let subject = match outgoing.to {
                None => link.subjects.everyone(),
                Some(to) => link.subjects.told(to),
            };
            let publish = link.client.publish(subject, outgoing.bytes.into());
            let published = tokio::select! {
                biased;
                published = publish => published,
                // It waits because the connection is gone, and may do so for long.
                _ = linked.changed() => {
                    let lost = batch.len() as u64 + 1;
                    tracing::debug!(lost, "messages are lost with the connection to NATS");
                    desk.drop_unsent(batch.collect(), Outcome::NoResponder(()));
                    break;
                }
            };
            if let Err(error) = published {
                tracing::error!(%error, "a message is too large for this NATS server and lost");
            }
        }
    }
}

/// Follows the connection: who may speak by NATS, who must use mail, and when messages may have been lost.
pub(super) async fn watch(link: Arc<Link>, desk: Arc<Desk>, mut events: mpsc::Receiver<Event>) {
    let mut look = interval(LOOK_EVERY);
    let mut trouble = None;
    let mut was_connected = false;
    loop {
        let event = tokio::select! {
            event = events.recv() => match event {
                Some(event) => Some(event),
                None => return,
            },
            _ = look.tick() => None,
        };
        let mut is_new = false;
        match event {
            Some(Event::Connected) => {
                // Listening begins anew with each connection, and has begun when that has left us.
                let _ = timeout(FLUSH_TIMEOUT, link.client.flush()).await;
                is_new = true;
            }
            Some(Event::SlowConsumer(_)) => desk.intake.lag(),
            Some(Event::ServerError(error)) => say(&mut trouble, error.to_string()),
            Some(Event::ClientError(error)) => say(&mut trouble, error.to_string()),
            Some(Event::Disconnected | Event::LameDuckMode | Event::Draining | Event::Closed) => {}
            // The event is lost, when a connection is there at two looks in a row.
            None => is_new = was_connected && !desk.is_linked(),
        }
        was_connected = link.is_connected();
        if was_connected && is_new {
            tracing::info!("connected to NATS");
            trouble = None;
            desk.set_linked(true);
            desk.intake.lag();
            desk.say_hello();
        }
        if !was_connected && desk.set_linked(false) {
            tracing::warn!(has_mail = desk.has_mail(), "no connection to NATS");
            desk.neighbours.listen();
            desk.say_hello();
        }
    }
}

/// Says what is wrong with NATS once, not at each try.
fn say(last: &mut Option<String>, error: String) {
    if last.as_ref() != Some(&error) {
        tracing::warn!(error, "NATS");
        *last = Some(error);
    }
}

pub(super) async fn await_first_connection(desk: &Desk) {
    let mut linked = desk.linked();
    let connected = timeout(FIRST_CONNECTION, linked.wait_for(|linked| *linked)).await;
    if connected.is_err() {
        tracing::warn!("NATS is not there yet; trying on");
    }
}
