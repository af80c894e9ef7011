//! Tells webhooks of events: one sender for each, so that one that is away never holds up another.
//!
//! # The path of an event
//!
//! It was committed and its agent acknowledged. `control` says what a webhook has not been told yet; the sender posts one
//! event after the other, signed, and notes in the store how far it got. When one fails the sender waits, longer each time,
//! and asks `control` anew. Nothing is kept here, so a restart goes on where the store says: an event may come twice, and
//! none is left out.

mod post;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use control::{Control, ControlError};
use model::UnixMillis;
use model::webhook::Webhook;
use ring::hmac;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use crate::http::EventRow;
use crate::outgoing::Trust;
use crate::stopped;
pub(crate) use post::PostError;

/// How long to wait after the first failure; doubled after each further one.
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(60);
/// How often the position is saved while deliveries go well: what a crash repeats at most.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// All senders. Runs until told to stop.
#[derive(Debug)]
pub struct Senders {
    control: Control,
    trust: Trust,
}

impl Senders {
    pub(crate) fn new(control: Control, trust: &Trust) -> Self {
        Self {
            control,
            trust: trust.clone(),
        }
    }

    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut changed = self.control.deliveries_changed();
        let mut tasks = JoinSet::new();
        let mut running: HashMap<String, AbortHandle> = HashMap::new();
        loop {
            changed.borrow_and_update();
            let receivers = self.control.receivers();
            running.retain(|id, task| {
                let stays = receivers.iter().any(|webhook| webhook.id == *id);
                if !stays {
                    task.abort();
                }
                stays && !task.is_finished()
            });
            for webhook in receivers {
                running.entry(webhook.id.clone()).or_insert_with(|| {
                    let sender = Sender {
                        control: self.control.clone(),
                        trust: self.trust.clone(),
                        webhook,
                    };
                    tasks.spawn(sender.run(stop.clone()))
                });
            }
            tokio::select! {
                // First: senders that end because of it must not be started again.
                biased;
                () = stopped(&mut stop) => break,
                _ = changed.changed() => {}
                Some(ended) = tasks.join_next() => if let Err(error) = ended && error.is_panic() {
                    tracing::error!(%error, "the sender of a webhook ended; starting it again");
                },
            }
        }
        while tasks.join_next().await.is_some() {}
    }
}

/// Tells one webhook everything, in order.
struct Sender {
    control: Control,
    trust: Trust,
    webhook: Webhook,
}

/// How a round of deliveries ended.
enum Round {
    /// There may be more.
    More,
    ToldAll,
    /// None was delivered, or the store is away.
    Failed,
    /// Some were delivered before one failed.
    Faltered,
    /// The webhook is no more, or the server stops.
    Over,
}

impl Sender {
    async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut changed = self.control.deliveries_changed();
        let mut retry = FIRST_RETRY;
        loop {
            changed.borrow_and_update();
            if !self.control.leads() {
                // Another replica tells it. Whoever takes over is told to look.
                tokio::select! {
                    _ = changed.changed() => {}
                    () = tokio::time::sleep(LAST_RETRY) => {}
                    () = stopped(&mut stop) => return,
                }
                continue;
            }
            let round = self.round(&mut stop).await.unwrap_or_else(|error| {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    webhook = self.webhook.id,
                    "webhooks wait: the store is away"
                );
                Round::Failed
            });
            match round {
                Round::More => retry = FIRST_RETRY,
                Round::ToldAll => tokio::select! {
                    _ = changed.changed() => {}
                    () = stopped(&mut stop) => return,
                },
                Round::Failed | Round::Faltered => {
                    if let Round::Faltered = round {
                        retry = FIRST_RETRY;
                    }
                    tokio::select! {
                        () = tokio::time::sleep(retry) => {}
                        () = stopped(&mut stop) => return,
                    }
                    retry = (retry * 2).min(LAST_RETRY);
                }
                Round::Over => return,
            }
        }
    }

    async fn round(&self, stop: &mut watch::Receiver<bool>) -> Result<Round, ControlError> {
        let Self {
            control,
            trust,
            webhook,
        } = self;
        let Some(next) = control.next_deliveries(webhook).await? else {
            return Ok(Round::Over);
        };
        if next.events.is_empty() {
            return Ok(Round::ToldAll);
        }
        let mut told = None;
        let mut saved_at = Instant::now();
        for view in &next.events {
            let row = EventRow::new(Some(view.id), view.host, &view.event);
            let sent = tokio::select! {
                sent = deliver(webhook, trust, &row) => sent,
                () = stopped(stop) => {
                    self.save(told).await?;
                    return Ok(Round::Over);
                }
            };
            if let Err(error) = sent {
                let reason = crate::http::chain(&error);
                tracing::warn!(webhook = webhook.id, url = %webhook.url, reason, "a delivery failed; trying again");
                control.delivery_failed(&webhook.id, reason);
                self.save(told).await?;
                return Ok(match told {
                    Some(_) => Round::Faltered,
                    None => Round::Failed,
                });
            }
            control.delivery_succeeded(&webhook.id);
            told = Some(view.id);
            if saved_at.elapsed() >= SAVE_EVERY {
                self.save(told).await?;
                saved_at = Instant::now();
            }
        }
        self.save(Some(next.through)).await?;
        Ok(Round::More)
    }

    async fn save(&self, told: Option<u64>) -> Result<(), ControlError> {
        match told {
            Some(through) => self.control.delivered(&self.webhook.id, through).await,
            None => Ok(()),
        }
    }
}

/// Posts one event. Anything but a status from 200 to 299 within the time is a failure.
pub(crate) async fn deliver(
    webhook: &Webhook,
    trust: &Trust,
    row: &EventRow<'_>,
) -> Result<u16, PostError> {
    let body = serde_json::to_vec(row).expect("events have only string keys");
    let timestamp = crate::http::now().secs().to_string();
    let headers = [
        ("X-Muster-Webhook", webhook.id.clone()),
        (
            "X-Muster-Signature",
            sign(&webhook.secret, &timestamp, &body),
        ),
        ("X-Muster-Timestamp", timestamp),
    ];
    post::post(&webhook.url, trust, &headers, &body).await
}

/// The event that a test sends: of the same form, but of a kind that nothing else has.
pub(crate) fn test_row<'a>(at: UnixMillis, reason: &'a str) -> EventRow<'a> {
    EventRow {
        id: Some(0),
        at,
        host: model::Host::new(0, std::net::Ipv4Addr::LOCALHOST.into()),
        process: "muster/test".to_owned(),
        kind: "test",
        reason,
        exit_code: None,
        exit_signal: None,
        report_id: 0,
    }
}

/// HMAC-SHA256 over `TIMESTAMP.BODY`, so that nobody can send an old body as a new one.
fn sign(secret: &str, timestamp: &str, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let mut context = hmac::Context::with_key(&key);
    context.update(timestamp.as_bytes());
    context.update(b".");
    context.update(body);
    let mut text = "sha256=".to_owned();
    for byte in context.sign().as_ref() {
        write!(text, "{byte:02x}").expect("writing to a String does not fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Python says: `hmac.new(b"key", b"1700000000." + b'{"a":1}', "sha256").hexdigest()`.
    #[test]
    fn the_signature_is_what_others_compute() {
        assert_eq!(
            sign("key", "1700000000", b"{\"a\":1}"),
            "sha256=a438e398bfafc57e4396bb7fc2304422f0f768e965d073ca313cb52e22e6ad03"
        );
    }
}
