//! Creates and deletes webhooks, and knows what each has to be sent next.
//!
//! The server sends. It asks for the [`next_deliveries`](Webhooks::next_deliveries) of a webhook, stores how far it got
//! ([`set_delivered`](Webhooks::set_delivered)), and asks again. The position is in the store, so any replica can continue from
//! it; no event waits in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use locks::{Mutex, MutexGuard};
use model::access::{Audit, Caller};
use model::change::Changes;
use model::event::EventKind;
use model::selector::LabelSelector;
use model::webhook::{Webhook, WebhookUrl};
use model::{Invalid, Namespace, UnixMillis};
use tokio::sync::watch;

use crate::core::Core;
use crate::events::{retain_labelled, views};
use crate::{Access, ControlError, EventView, secrets};

/// Each webhook has a sender of its own, so their number is limited.
pub const MAX_WEBHOOKS: usize = 64;
/// How many events are read at a time.
const PAGE: u32 = 100;
/// The fewest bytes of a secret that a caller chooses.
const MIN_SECRET: usize = 16;
const MAX_SECRET: usize = 256;

/// How deliveries to a webhook went since this server started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebhookHealth {
    pub n_delivered: u64,
    pub n_failed: u64,
    /// When deliveries began to fail, and why the last one did. None when the last one succeeded.
    pub failing: Option<(UnixMillis, String)>,
}

/// The next events for a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deliveries {
    /// In the order of arrival; empty when the webhook is up to date.
    pub events: Vec<EventView>,
    /// The position after these events.
    pub through: u64,
}

/// How deliveries went, and the signal that wakes their senders. The rest is stored.
#[derive(Debug, Default)]
pub(crate) struct DeliveryHealth {
    by_webhook: Mutex<BTreeMap<String, WebhookHealth>>,
    /// Counts wake-ups.
    wake: watch::Sender<u64>,
}

impl DeliveryHealth {
    pub(crate) fn apply(&self, changes: &Changes) {
        for id in &changes.webhooks_gone {
            self.lock().remove(id);
        }
        let has_news = !(changes.events.is_empty()
            && changes.webhooks.is_empty()
            && changes.webhooks_gone.is_empty());
        if has_news {
            self.wake_senders();
        }
    }

    pub(crate) fn wake_senders(&self) {
        self.wake.send_modify(|n| *n += 1);
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<String, WebhookHealth>> {
        self.by_webhook.lock()
    }
}

/// Webhooks and what each of them has to be sent.
#[derive(Debug)]
pub struct Webhooks {
    core: Arc<Core>,
    access: Arc<Access>,
}

impl Webhooks {
    pub(crate) fn new(core: &Arc<Core>, access: &Arc<Access>) -> Self {
        Self {
            core: core.clone(),
            access: access.clone(),
        }
    }

    pub fn list(&self, caller: &Caller) -> Result<Vec<(Webhook, WebhookHealth)>, ControlError> {
        self.access.check_admin(caller)?;
        let health = self.core.deliveries.lock().clone();
        let of = |webhook: Webhook| {
            let health = health.get(&webhook.id).cloned().unwrap_or_default();
            (webhook, health)
        };
        Ok(self.all().into_iter().map(of).collect())
    }

    /// Returns the webhook with its secret, which is never shown again. Without `secret` one is generated.
    ///
    /// It receives events from now on.
    pub async fn create(
        &self,
        caller: &Caller,
        url: WebhookUrl,
        namespaces: Option<Vec<Namespace>>,
        kinds: Option<Vec<EventKind>>,
        labels: Option<LabelSelector>,
        secret: Option<String>,
    ) -> Result<Webhook, ControlError> {
        self.access.check_admin(caller)?;
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
        let at = self.core.now();
        let webhook = Webhook {
            id: secrets::hex(&secrets::random::<4>()),
            url,
            namespaces,
            kinds,
            labels,
            secret,
            created_at: at,
        };
        let (caller, row) = (caller.clone(), webhook.clone());
        let core = &self.core;
        core.commit(move |world| {
            if world.accounts.webhooks.len() >= MAX_WEBHOOKS {
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

    pub async fn delete(&self, caller: &Caller, id: &str) -> Result<(), ControlError> {
        self.access.check_admin(caller)?;
        let (caller, id, at) = (caller.clone(), id.to_owned(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            let Some(webhook) = world.accounts.webhooks.get(&id) else {
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

    /// The webhook that an admin tests, noted in the audit trail.
    pub async fn start_test(&self, caller: &Caller, id: &str) -> Result<Webhook, ControlError> {
        self.access.check_admin(caller)?;
        let (caller, id, at) = (caller.clone(), id.to_owned(), self.core.now());
        let core = &self.core;
        core.commit(move |world| {
            let Some(webhook) = world.accounts.webhooks.get(&id) else {
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

    /// Every webhook, for the senders.
    pub fn all(&self) -> Vec<Webhook> {
        self.core.accounts().webhooks.values().cloned().collect()
    }

    /// Changes whenever there may be new events or new webhooks.
    pub fn deliveries_changed(&self) -> watch::Receiver<u64> {
        self.core.deliveries.wake.subscribe()
    }

    /// The next events for a webhook, at most a page. None when it was deleted.
    pub async fn next_deliveries(
        &self,
        webhook: &Webhook,
    ) -> Result<Option<Deliveries>, ControlError> {
        let store = &self.core.store;
        let Some(mut through) = store.delivered(&webhook.id).await? else {
            return Ok(None);
        };
        loop {
            let mut events = store.events_after(through, PAGE).await?;
            let is_last = events.len() < PAGE as usize;
            through = events.last().map_or(through, |last| last.id);
            events.retain(|stored| webhook.wants(&stored.event));
            if let Some(labels) = &webhook.labels {
                retain_labelled(&self.core, &mut events, labels);
            }
            if is_last || !events.is_empty() {
                let events = views(&self.core, events);
                return Ok(Some(Deliveries { events, through }));
            }
            // The position moves past a page without events for this webhook, so that it is not read again.
            store.save_delivered(&webhook.id, through).await?;
        }
    }

    /// Stores that this event and all before it are delivered.
    pub async fn set_delivered(&self, webhook: &str, through: u64) -> Result<(), ControlError> {
        Ok(self.core.store.save_delivered(webhook, through).await?)
    }

    /// Counts a delivery that succeeded.
    pub fn delivery_succeeded(&self, webhook: &str) {
        let mut all = self.core.deliveries.lock();
        let health = all.entry(webhook.to_owned()).or_default();
        health.n_delivered += 1;
        health.failing = None;
    }

    /// Counts a failed delivery, and keeps the reason for the list of webhooks.
    pub fn delivery_failed(&self, webhook: &str, reason: String) {
        let now = self.core.now();
        let mut all = self.core.deliveries.lock();
        let health = all.entry(webhook.to_owned()).or_default();
        health.n_failed += 1;
        let since = health.failing.as_ref().map_or(now, |(since, _)| *since);
        health.failing = Some((since, reason));
    }
}

fn unknown(id: &str) -> ControlError {
    ControlError::NotFound(format!("webhook {id:?} does not exist"))
}
