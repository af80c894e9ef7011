//! Opens the store and the bus: a single server on SQLite, or one of several replicas on PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bus::{Bus, Mailbox, MailboxError, NatsOptions, ReplicaId};
use control::{Background, Clock, Control};
use store::{Store, StoreError};
use tokio::sync::Mutex;

use super::BootError;
use crate::Config;

/// The setting that tells installations apart that share a NATS.
const CLUSTER: &str = "cluster";
/// How many mail messages are read at a time.
const BATCH: u32 = 256;
/// Replicas read mail within seconds, or not at all.
const KEEP_MAIL: Duration = Duration::from_secs(60);
/// How many polls there are between two deletions of old mail.
const POLLS_PER_PURGE: u32 = 60;

pub(super) struct ReplicaParts {
    pub(super) store: Store,
    /// None without other replicas.
    pub(super) bus: Option<Bus>,
    pub(super) control: Control,
    pub(super) background: Background,
}

impl ReplicaParts {
    pub(super) async fn open(config: &Config, sqlite_url: String) -> Result<Self, BootError> {
        let url = config.store_url.clone().unwrap_or(sqlite_url);
        let store = Store::open(&url).await?;
        if !store.is_shared() {
            if !config.bus.is_empty() {
                return Err(BootError::BusAlone);
            }
            let (control, background) = Control::alone(store.clone(), Clock::system()).await?;
            return Ok(Self {
                store,
                bus: None,
                control,
                background,
            });
        }
        let bus = join(config, &store).await?;
        tracing::info!(replica = %bus.replica(), is_up = bus.is_up(), "one of several replicas");
        let (control, background) =
            Control::among_replicas(store.clone(), bus.clone(), Clock::system()).await?;
        Ok(Self {
            store,
            bus: Some(bus),
            control,
            background,
        })
    }
}

async fn join(config: &Config, store: &Store) -> Result<Bus, BootError> {
    let replica = ReplicaId(random());
    let mailbox = Arc::new(StoreMailbox::new(store.clone(), replica));
    if config.bus.is_empty() {
        return Ok(Bus::mailbox(mailbox, replica));
    }
    let fresh = format!("{:016x}", random());
    let cluster = store
        .put_setting_if_absent(CLUSTER, fresh.as_bytes())
        .await?;
    let cluster = String::from_utf8_lossy(&cluster).into_owned();
    let options = NatsOptions {
        root_certificates: config.bus_ca.clone(),
        mailbox: Some(mailbox),
        ..NatsOptions::new(config.bus.clone(), cluster, replica)
    };
    Ok(Bus::nats(options).await?)
}

fn random() -> u64 {
    let mut bytes = [0; 8];
    let filled = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
    filled.expect("the kernel gives random bytes");
    u64::from_le_bytes(bytes)
}

/// Mail between replicas through the store: slower than NATS.
#[derive(Debug)]
struct StoreMailbox {
    store: Store,
    replica: ReplicaId,
    position: Mutex<MailPosition>,
}

#[derive(Debug, Default)]
struct MailPosition {
    /// The last message that was read; None before the first poll.
    read: Option<u64>,
    n_polls: u32,
}

impl StoreMailbox {
    fn new(store: Store, replica: ReplicaId) -> Self {
        Self {
            store,
            replica,
            position: Mutex::default(),
        }
    }
}

fn broken(error: StoreError) -> MailboxError {
    MailboxError(Box::new(error))
}

#[async_trait]
impl Mailbox for StoreMailbox {
    async fn send(&self, bodies: Vec<Vec<u8>>) -> Result<(), MailboxError> {
        let sent = self.store.send_mail(self.replica.0, &bodies).await;
        sent.map_err(broken)
    }

    async fn receive(&self) -> Result<Vec<(ReplicaId, Vec<u8>)>, MailboxError> {
        let mut position = self.position.lock().await;
        let Some(read) = position.read else {
            position.read = Some(self.store.last_mail().await.map_err(broken)?);
            return Ok(Vec::new());
        };
        let messages = self.store.mail_after(read, self.replica.0, BATCH).await;
        let messages = messages.map_err(broken)?;
        if let Some((last, _, _)) = messages.last() {
            position.read = Some(*last);
        }
        position.n_polls += 1;
        if position.n_polls.is_multiple_of(POLLS_PER_PURGE) {
            self.store.purge_mail(KEEP_MAIL).await.map_err(broken)?;
        }
        let messages = messages.into_iter();
        Ok(messages
            .map(|(_, from, body)| (ReplicaId(from), body))
            .collect())
    }
}
