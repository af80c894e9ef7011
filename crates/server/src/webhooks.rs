//! Posts events to webhooks, with one sender for each, so that an unreachable webhook never delays another.
//!
//! # The path of an event
//!
//! Once an event is committed, `control` lists it for each webhook. The sender posts one event after the other, signed, and
//! saves its position in the store. After a failure it waits, longer each time, and asks `control` again. The position is
//! the only state, so a restart goes on from there: a webhook may get an event twice, and misses none.

mod post;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use api::EventRow;
use control::{Control, ControlError};
use model::UnixMillis;
use model::webhook::Webhook;
use ring::hmac;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use crate::http::event_row;
use crate::stopped;
pub(crate) use post::{PostError, WebhookClient};

/// How long to wait after the first failure; doubled after each further one.
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(60);
/// How often the position is saved while deliveries succeed: a crash repeats at most so much.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// All senders.
#[derive(Debug)]
pub struct Senders {
    control: Control,
    client: WebhookClient,
}

impl Senders {
    pub(crate) fn new(control: Control, client: WebhookClient) -> Self {
        Self { control, client }
    }

    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut changed = self.control.webhooks().deliveries_changed();
        let mut tasks = JoinSet::new();
        let mut running: HashMap<String, AbortHandle> = HashMap::new();
        loop {
            changed.borrow_and_update();
            let receivers = self.control.webhooks().all();
            running.retain(|id, task| {
                let exists = receivers.iter().any(|webhook| webhook.id == *id);
                if !exists {
                    task.abort();
                }
                exists && !task.is_finished()
            });
            for webhook in receivers {
                running.entry(webhook.id.clone()).or_insert_with(|| {
                    let sender = Sender {
                        control: self.control.clone(),
                        client: self.client.clone(),
                        webhook,
                    };
                    tasks.spawn(sender.run(stop.clone()))
                });
            }
            tokio::select! {
                // First: senders that end because of the stop must not be started again.
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

/// Posts all events to one webhook, in order.
struct Sender {
    control: Control,
    client: WebhookClient,
    webhook: Webhook,
}

/// How one batch of deliveries ended.
enum BatchResult {
    /// There may be more.
    More,
    /// The webhook has every event.
    UpToDate,
    /// None was delivered, or the store is unavailable.
    Failed,
    /// Some were delivered before one failed.
    PartlyFailed,
    /// The webhook was deleted, or the server stops.
    Ended,
}

impl Sender {
    async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut changed = self.control.webhooks().deliveries_changed();
        let mut retry = FIRST_RETRY;
        loop {
            changed.borrow_and_update();
            if !self.control.replicas().leads() {
                // Another replica posts them. A change of the lease wakes this one.
                tokio::select! {
                    _ = changed.changed() => {}
                    () = tokio::time::sleep(LAST_RETRY) => {}
                    () = stopped(&mut stop) => return,
                }
                continue;
            }
            let result = self.deliver_batch(&mut stop).await.unwrap_or_else(|error| {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    webhook = self.webhook.id,
                    "webhooks wait: the store is away"
                );
                BatchResult::Failed
            });
            match result {
                BatchResult::More => retry = FIRST_RETRY,
                BatchResult::UpToDate => tokio::select! {
                    _ = changed.changed() => {}
                    () = stopped(&mut stop) => return,
                },
                BatchResult::Failed | BatchResult::PartlyFailed => {
                    if let BatchResult::PartlyFailed = result {
                        retry = FIRST_RETRY;
                    }
                    tokio::select! {
                        () = tokio::time::sleep(retry) => {}
                        () = stopped(&mut stop) => return,
                    }
                    retry = (retry * 2).min(LAST_RETRY);
                }
                BatchResult::Ended => return,
            }
        }
    }

    async fn deliver_batch(
        &self,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<BatchResult, ControlError> {
        let Self {
            control,
            client,
            webhook,
        } = self;
        let Some(next) = control.webhooks().next_deliveries(webhook).await? else {
            return Ok(BatchResult::Ended);
        };
        if next.events.is_empty() {
            return Ok(BatchResult::UpToDate);
        }
        let mut delivered = None;
        let mut saved_at = Instant::now();
        for view in &next.events {
            let row = event_row(Some(view.id), view.host, &view.event);
            let sent = tokio::select! {
                sent = deliver(webhook, client, &row) => sent,
                () = stopped(stop) => {
                    self.save(delivered).await?;
                    return Ok(BatchResult::Ended);
                }
            };
            if let Err(error) = sent {
                let reason = crate::http::chain(&error);
                tracing::warn!(webhook = webhook.id, url = %webhook.url, reason, "a delivery failed; trying again");
                control.webhooks().delivery_failed(&webhook.id, reason);
                self.save(delivered).await?;
                return Ok(match delivered {
                    Some(_) => BatchResult::PartlyFailed,
                    None => BatchResult::Failed,
                });
            }
            control.webhooks().delivery_succeeded(&webhook.id);
            delivered = Some(view.id);
            if saved_at.elapsed() >= SAVE_EVERY {
                self.save(delivered).await?;
                saved_at = Instant::now();
            }
        }
        self.save(Some(next.through)).await?;
        Ok(BatchResult::More)
    }

    async fn save(&self, delivered: Option<u64>) -> Result<(), ControlError> {
        match delivered {
            Some(through) => {
                self.control
                    .webhooks()
                    .set_delivered(&self.webhook.id, through)
                    .await
            }
            None => Ok(()),
        }
    }
}

/// Posts one event. Everything but a status from 200 to 299 within the timeout is a failure.
pub(crate) async fn deliver(
    webhook: &Webhook,
    client: &WebhookClient,
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
    client.post(&webhook.url, &headers, body).await
}

/// The event of a test: in the same form, with a kind of its own.
pub(crate) fn test_row<'a>(at: UnixMillis, reason: &'a str) -> EventRow<'a> {
    EventRow {
        id: Some(0),
        at,
        host: model::Host::new(0, std::net::Ipv4Addr::LOCALHOST.into()).into(),
        process: "muster/test".to_owned(),
        kind: "test".into(),
        reason: reason.into(),
        exit_code: None,
        exit_signal: None,
        report_id: 0,
    }
}

/// HMAC-SHA256 over `TIMESTAMP.BODY`, against replays of an old body.
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

    /// From Python: `hmac.new(b"key", b"1700000000." + b'{"a":1}', "sha256").hexdigest()`.
    #[test]
    fn the_signature_equals_that_of_another_implementation() {
        assert_eq!(
            sign("key", "1700000000", b"{\"a\":1}"),
            "sha256=a438e398bfafc57e4396bb7fc2304422f0f768e965d073ca313cb52e22e6ad03"
        );
    }
}
