//! Mail goes out as soon as there is some, many at a time, and is looked for twice a second while somebody needs it; else now
//! and then, as somebody may have lost NATS without our noticing.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::desk::Desk;
use crate::ReplicaId;
use crate::frame::{Body, Frame, Outcome, Question};
use crate::mailbox::{Mailbox, MailboxError};
use crate::outbox::Outgoing;

/// Between two letters of ours, so that many messages share one.
const SEND_EVERY: Duration = Duration::from_millis(50);
/// Between two looks while somebody needs mail.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Between two looks while nobody seems to.
const LOOK_NOW_AND_THEN: Duration = Duration::from_secs(2);
/// Between two words that we are there, while somebody needs mail. A few may be lost before that counts as silence.
const HELLO_EVERY: Duration = Duration::from_secs(3);
/// How long the mailbox may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// What goes at once.
const MAX_FRAMES: usize = 256;
const MAX_BYTES: usize = 4 << 20;

/// Sends what is to go by mail, until all is sent that was there when the place began to close. The first word that we are
/// there may wait for NATS, which makes it needless.
pub(super) async fn send(
    desk: Arc<Desk>,
    mailbox: Arc<dyn Mailbox>,
    first_hello: Duration,
    mut is_closing: watch::Receiver<bool>,
) {
    let outbox = desk.for_mail.as_ref().expect("there is a mailbox");
    let mut next_hello = Instant::now() + first_hello;
    loop {
        if next_hello <= Instant::now() {
            next_hello = Instant::now() + HELLO_EVERY;
            if desk.is_mail_needed() {
                desk.say_hello();
            }
        }
        let batch = tokio::select! {
            biased;
            batch = outbox.take(MAX_FRAMES, MAX_BYTES) => batch,
            () = sleep_until(next_hello) => continue,
            _ = is_closing.wait_for(|closing| *closing) => return,
        };
        send_batch(&desk, &*mailbox, batch).await;
        if !*is_closing.borrow() {
            sleep(SEND_EVERY).await;
        }
    }
}

async fn send_batch(desk: &Desk, mailbox: &dyn Mailbox, mut batch: Vec<Outgoing>) {
    let bodies = batch.iter_mut();
    let bodies = bodies.map(|outgoing| std::mem::take(&mut outgoing.bytes));
    let sent = timeout(PATIENCE, mailbox.send(bodies.collect())).await;
    if !note_trouble(desk, &sent) {
        // The mailbox may have it all the same.
        desk.drop_unsent(batch, Outcome::Unanswered(()));
    }
}

/// Looks for mail of others, for ever.
pub(super) async fn receive(desk: Arc<Desk>, mailbox: Arc<dyn Mailbox>) {
    let mut linked = desk.linked();
    loop {
        let received = timeout(PATIENCE, mailbox.receive()).await;
        note_trouble(&desk, &received);
        let mail = match received {
            Ok(Ok(mail)) => mail,
            Ok(Err(_)) | Err(_) => Vec::new(),
        };
        if !mail.is_empty() {
            for (from, body) in mail {
                open(&desk, from, &body);
            }
            continue;
        }
        let pause = if desk.is_mail_needed() {
            LOOK_EVERY
        } else {
            LOOK_NOW_AND_THEN
        };
        let _ = timeout(pause, linked.changed()).await;
    }
}

fn open(desk: &Arc<Desk>, from: ReplicaId, body: &[u8]) {
    let Some(frame) = Frame::parse(body) else {
        tracing::warn!(%from, "a letter of another replica makes no sense");
        return;
    };
    if from == desk.replica {
        return;
    }
    let is_ours = frame.to.is_none_or(|to| to == desk.replica.0);
    match frame.body {
        Some(Body::Committed(_) | Body::Soft(_)) => desk.arrive(frame),
        Some(Body::Request(question)) if is_ours => {
            desk.neighbours.hear(from);
            answer(desk, from, question);
        }
        Some(Body::Answer(answer)) if is_ours => {
            let outcome = answer.outcome.unwrap_or(Outcome::Unanswered(()));
            desk.pending.end(answer.id, outcome);
        }
        Some(Body::Request(_) | Body::Answer(_)) | None => desk.neighbours.hear(from),
        Some(Body::Hello(hello)) => {
            if desk.neighbours.hear_hello(from, hello.only_mail) {
                desk.say_hello();
            }
        }
        Some(Body::Goodbye(())) => desk.neighbours.hear_goodbye(from),
    }
}

/// Answers in the background, unless there is too much of that already.
fn answer(desk: &Arc<Desk>, from: ReplicaId, question: Question) {
    let Some(answering) = desk.try_answering() else {
        tracing::warn!(%from, "too many requests by mail at once: one is not answered");
        return;
    };
    let desk = Arc::clone(desk);
    tokio::spawn(async move {
        let outcome = desk.responder.ask(question.payload).await;
        desk.answer_by_mail(from, question.id, outcome);
        drop(answering);
    });
}

/// Says when the mailbox stops working and when it works again, once. Answers whether it does.
fn note_trouble<T>(
    desk: &Desk,
    result: &Result<Result<T, MailboxError>, tokio::time::error::Elapsed>,
) -> bool {
    let works = matches!(result, Ok(Ok(_)));
    if desk.set_mail_working(works) {
        match result {
            Ok(Ok(_)) => tracing::info!("mail between replicas works again"),
            Ok(Err(error)) => tracing::warn!(
                error = error as &dyn std::error::Error,
                "no mail between replicas"
            ),
            Err(_) => tracing::warn!("no mail between replicas: the mailbox takes too long"),
        }
    }
    works
}
