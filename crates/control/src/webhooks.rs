//! Webhooks: making them, taking them away, and what each is to be told next.
//!
//! Sending is not done here. A sender asks for the [`next_deliveries`](Control::next_deliveries) of a webhook, says how far
//! it got ([`delivered`](Control::delivered)), and asks again. The position is in the store, so whoever sends next goes on
//! from there; nothing waits in memory.

use std::collections::BTreeMap;

use locks::{Mutex, MutexGuard};
use model::access::{Audit, Caller};
use model::change::Changes;
use model::event::EventKind;
use model::webhook::{Webhook, WebhookUrl};
use model::{Invalid, Namespace, UnixMillis};
use tokio::sync::watch;

use crate::{Control, ControlError, EventView, secrets};

/// Each webhook has a sender of its own, so their number is limited.
pub const MAX_WEBHOOKS: usize = 64;
/// How many events are read at a time.
const PAGE: u32 = 100;
/// The fewest bytes of a secret that a caller chooses.
const MIN_SECRET: usize = 16;
const MAX_SECRET: usize = 256;

/// How deliveries to a webhook went since this server started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    pub n_delivered: u64,
    pub n_failed: u64,
    /// When deliveries began to fail, and why the last one did. None when the last one succeeded.
    pub failing: Option<(UnixMillis, String)>,
}

/// What a webhook is to be told next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deliveries {
    /// In the order of arrival; none when it has been told everything.
    pub events: Vec<EventView>,
    /// Up to which event it has been told everything, once it has been told these.
    pub through: u64,
}

/// What is known of webhooks besides what is stored.
#[derive(Debug, Default)]
pub(crate) struct Webhooks {
    health: Mutex<BTreeMap<String, Health>>,
    /// Counts the reasons to look again.
    look_again: watch::Sender<u64>,
}

impl Webhooks {
    pub(crate) fn apply(&self, changes: &Changes) {
        for id in &changes.webhooks_gone {
            self.health().remove(id);
        }
        let has_news = !(changes.events.is_empty()
            && changes.webhooks.is_empty()
            && changes.webhooks_gone.is_empty());
        if has_news {
            self.look();
        }
    }

    /// Lets senders look at what there is to tell.
    pub(crate) fn look(&self) {
        self.look_again.send_modify(|n| *n += 1);
    }

    pub(crate) fn health(&self) -> MutexGuard<'_, BTreeMap<String, Health>> {
        self.health.lock()
    }
}

impl Control {
    pub fn webhooks(&self, caller: &Caller) -> Result<Vec<(Webhook, Health)>, ControlError> {
        self.check_admin(caller)?;
        let health = self.0.webhooks.health().clone();
        let of = |webhook: Webhook| {
            let health = health.get(&webhook.id).cloned().unwrap_or_default();
            (webhook, health)
        };
        Ok(self.receivers().into_iter().map(of).collect())
    }

    /// Answers the webhook with its secret, which is shown this once. `secret` None: one is made.
    ///
    /// It is told of what happens from now on.
    pub async fn create_webhook(
        &self,
        caller: &Caller,
        url: WebhookUrl,
        namespaces: Option<Vec<Namespace>>,
        kinds: Option<Vec<EventKind>>,
        secret: Option<String>,
    ) -> Result<Webhook, ControlError> {
        self.check_admin(caller)?;
        let none = |field| Invalid::new(field, "must name at least one, or be left out for all");
        if namespaces.as_ref().is_some_and(Vec::is_empty) {
            return Err(none("namespaces").into());
        }
        if kinds.as_ref().is_some_and(Vec::is_empty) {
            return Err(none("kinds").into());
        }
        let secret = secret.unwrap_or_else(secrets::new_secret);
        if !(MIN_SECRET..=MAX_SECRET).contains(&secret.len()) {
            let rule = format!("must be {MIN_SECRET} to {MAX_SECRET} bytes");
            return Err(Invalid::new("secret", rule).into());
        }
        let at = self.now();
        let webhook = Webhook {
            id: secrets::hex(&secrets::random::<4>()),
            url,
            namespaces,
            kinds,
            secret,
            created_at: at,
        };
        let (caller, row) = (caller.clone(), webhook.clone());
        self.commit(move |world| {
            if world.access.webhooks.len() >= MAX_WEBHOOKS {
                return Err(ControlError::Conflict(format!(
                    "there are {MAX_WEBHOOKS} webhooks already: delete one first"
                )));
            }
            let detail = row.url.to_string();
            let audit = Audit::new(&caller, at, "webhook.create", row.id.clone(), detail);
            let changes = Changes {
                webhooks: vec![row.clone()],
                audit: vec![audit],
                ..Default::default()
            };
            Ok((changes, ()))
        })
        .await?;
        Ok(webhook)
    }

    pub async fn delete_webhook(&self, caller: &Caller, id: &str) -> Result<(), ControlError> {
        self.check_admin(caller)?;
        let (caller, id, at) = (caller.clone(), id.to_owned(), self.now());
        self.commit(move |world| {
            let Some(webhook) = world.access.webhooks.get(&id) else {
                return Err(unknown(&id));
            };
            let detail = webhook.url.to_string();
            let audit = Audit::new(&caller, at, "webhook.delete", id.clone(), detail);
            let changes = Changes {
                webhooks_gone: vec![id.clone()],
                audit: vec![audit],
                ..Default::default()
            };
            Ok((changes, ()))
        })
        .await
    }

    /// The webhook that somebody wants to try, noted in the audit trail.
    pub async fn webhook_to_test(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<Webhook, ControlError> {
        self.check_admin(caller)?;
        let (caller, id, at) = (caller.clone(), id.to_owned(), self.now());
        self.commit(move |world| {
            let Some(webhook) = world.access.webhooks.get(&id) else {
                return Err(unknown(&id));
            };
            let detail = webhook.url.to_string();
            let audit = Audit::new(&caller, at, "webhook.test", id.clone(), detail);
            let changes = Changes {
                audit: vec![audit],
                ..Default::default()
            };
            Ok((changes, webhook.clone()))
        })
        .await
    }

    /// Everybody who is to be told of events.
    pub fn receivers(&self) -> Vec<Webhook> {
        self.access().webhooks.values().cloned().collect()
    }

    /// Changes whenever there may be something new to deliver, or somebody new to deliver it to.
    pub fn deliveries_changed(&self) -> watch::Receiver<u64> {
        self.0.webhooks.look_again.subscribe()
    }

    /// What a webhook has not been told yet, a page at most. None when there is no such webhook any more.
    pub async fn next_deliveries(
        &self,
        webhook: &Webhook,
    ) -> Result<Option<Deliveries>, ControlError> {
        let store = &self.0.store;
        let Some(mut through) = store.delivered(&webhook.id).await? else {
            return Ok(None);
        };
        loop {
            let mut events = store.events_after(through, PAGE).await?;
            let is_last = events.len() < PAGE as usize;
            through = events.last().map_or(through, |last| last.id);
            events.retain(|stored| webhook.wants(&stored.event));
            if is_last || !events.is_empty() {
                let events = self.viewed(events);
                return Ok(Some(Deliveries { events, through }));
            }
            // A page that it does not want is never looked at again.
            store.save_delivered(&webhook.id, through).await?;
        }
    }

    /// The webhook need not be told this event, nor any before it, again. Durable when it returns.
    pub async fn delivered(&self, webhook: &str, through: u64) -> Result<(), ControlError> {
        Ok(self.0.store.save_delivered(webhook, through).await?)
    }

    /// Counts a delivery that succeeded.
    pub fn delivery_succeeded(&self, webhook: &str) {
        let mut all = self.0.webhooks.health();
        let health = all.entry(webhook.to_owned()).or_default();
        health.n_delivered += 1;
        health.failing = None;
    }

    /// Counts a delivery that failed, and keeps the reason for whoever lists the webhooks.
    pub fn delivery_failed(&self, webhook: &str, reason: String) {
        let now = self.now();
        let mut all = self.0.webhooks.health();
        let health = all.entry(webhook.to_owned()).or_default();
        health.n_failed += 1;
        let since = health.failing.as_ref().map_or(now, |(since, _)| *since);
        health.failing = Some((since, reason));
    }
}

fn unknown(id: &str) -> ControlError {
    ControlError::NotFound(format!("webhook {id:?} does not exist"))
}
