//! The transport by mail. Messages are sent in batches, and polled twice a second while any replica depends on mail; otherwise
//! every two seconds, because another replica may have lost NATS unnoticed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::state::RemoteState;
use crate::ReplicaId;
use crate::frame::{Body, Frame, Outcome, RequestBody};
use crate::mailbox::{Mailbox, MailboxError};
use crate::outbox::Outgoing;

/// Time between two batches, so that many messages share one.
const SEND_EVERY: Duration = Duration::from_millis(50);
/// Time between two polls while any replica depends on mail.
const POLL_EVERY: Duration = Duration::from_millis(500);
/// Time between two polls while all replicas seem to have NATS.
const POLL_IDLE_EVERY: Duration = Duration::from_secs(2);
/// Time between two `Hello` while any replica depends on mail. Several may be lost before this replica counts as gone.
const HELLO_EVERY: Duration = Duration::from_secs(3);
/// How long a call of the mailbox may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The limits of a batch.
const MAX_FRAMES: usize = 256;
const MAX_BYTES: usize = 4 << 20;

/// Sends the outbox for mail; while closing, until it is empty. The first `Hello` waits `first_hello` for NATS, which makes it
/// unnecessary.
pub(super) async fn send(
    state: Arc<RemoteState>,
    mailbox: Arc<dyn Mailbox>,
    first_hello: Duration,
    mut is_closing: watch::Receiver<bool>,
) {
    let outbox = state.for_mail.as_ref().expect("there is a mailbox");
    let mut next_hello = Instant::now() + first_hello;
    loop {
        if next_hello <= Instant::now() {
            next_hello = Instant::now() + HELLO_EVERY;
            if state.is_mail_needed() {
                state.say_hello();
            }
        }
        let batch = tokio::select! {
            biased;
            batch = outbox.take(MAX_FRAMES, MAX_BYTES) => batch,
            () = sleep_until(next_hello) => continue,
            _ = is_closing.wait_for(|closing| *closing) => return,
        };
        send_batch(&state, &*mailbox, batch).await;
        if !*is_closing.borrow() {
            sleep(SEND_EVERY).await;
        }
    }
}

async fn send_batch(state: &RemoteState, mailbox: &dyn Mailbox, mut batch: Vec<Outgoing>) {
    let bodies = batch.iter_mut();
    let bodies = bodies.map(|outgoing| std::mem::take(&mut outgoing.bytes));
    let sent = timeout(PATIENCE, mailbox.send(bodies.collect())).await;
    if !log_fault(state, &sent) {
        // The mailbox may have stored it nevertheless.
        state.drop_unsent(batch, Outcome::Unanswered(()));
    }
}

/// Polls for mail of other replicas, for ever.
pub(super) async fn receive(state: Arc<RemoteState>, mailbox: Arc<dyn Mailbox>) {
    let mut linked = state.linked();
    loop {
        let received = timeout(PATIENCE, mailbox.receive()).await;
        log_fault(&state, &received);
        let mail = match received {
            Ok(Ok(mail)) => mail,
            Ok(Err(_)) | Err(_) => Vec::new(),
        };
        if !mail.is_empty() {
            for (from, body) in mail {
                open(&state, from, &body);
            }
            continue;
        }
        let pause = if state.is_mail_needed() {
            POLL_EVERY
        } else {
            POLL_IDLE_EVERY
        };
        let _ = timeout(pause, linked.changed()).await;
    }
}

fn open(state: &Arc<RemoteState>, from: ReplicaId, body: &[u8]) {
    let Some(frame) = Frame::parse(Bytes::copy_from_slice(body)) else {
        tracing::warn!(%from, "cannot decode a mail message of another replica");
        return;
    };
    if from == state.replica {
        return;
    }
    let is_ours = frame.to.is_none_or(|to| to == state.replica.0);
    match frame.body {
        Some(Body::Committed(_) | Body::Soft(_)) => state.arrive(frame),
        Some(Body::Request(request)) if is_ours => {
            state.peers.hear(from);
            answer(state, from, request);
        }
        Some(Body::Response(response)) if is_ours => {
            let outcome = response.outcome.unwrap_or(Outcome::Unanswered(()));
            state.requests.end(response.id, outcome);
        }
        Some(Body::Request(_) | Body::Response(_)) | None => state.peers.hear(from),
        Some(Body::Hello(hello)) => {
            if state.peers.hear_hello(from, hello.only_mail) {
                state.say_hello();
            }
        }
        Some(Body::Goodbye(())) => state.peers.hear_goodbye(from),
    }
}

/// Answers in the background, unless too many requests are being answered already.
fn answer(state: &Arc<RemoteState>, from: ReplicaId, request: RequestBody) {
    let Some(answering) = state.try_answering() else {
        tracing::warn!(%from, "too many requests by mail at once: one is not answered");
        return;
    };
    let state = Arc::clone(state);
    tokio::spawn(async move {
        let outcome = state.responder.ask(request.payload).await;
        state.answer_by_mail(from, request.id, outcome);
        drop(answering);
    });
}

/// Logs once when the mailbox stops working, and once when it works again. Answers whether it works.
fn log_fault<T>(
    state: &RemoteState,
    result: &Result<Result<T, MailboxError>, tokio::time::error::Elapsed>,
) -> bool {
    let works = matches!(result, Ok(Ok(_)));
    if state.set_mail_working(works) {
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
