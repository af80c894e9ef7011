//! Where the truth is, and who else is there: a server alone on SQLite, or one of several on PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bus::{Bus, Mailbox, MailboxError, NatsOptions, ReplicaId};
use control::{Background, Clock, Control};
use store::{Store, StoreError};
use tokio::sync::Mutex;

use super::BootError;
use crate::Config;

/// Tells installations apart that share a NATS.
const CLUSTER: &str = "cluster";
/// How many letters are read at a time.
const LETTERS: u32 = 256;
/// Letters are read within seconds, or by nobody.
const KEEP_MAIL: Duration = Duration::from_secs(60);
/// How many times mail is looked for between two times that old letters are thrown away.
const LOOKS_PER_PURGE: u32 = 60;

/// What a server stands on.
pub(super) struct Ground {
    pub(super) store: Store,
    /// None: it is alone.
    pub(super) bus: Option<Bus>,
    pub(super) control: Control,
    pub(super) background: Background,
}

impl Ground {
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
    let made = format!("{:016x}", random());
    let cluster = store
        .put_setting_if_absent(CLUSTER, made.as_bytes())
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

/// The slow way between replicas, through the store.
#[derive(Debug)]
struct StoreMailbox {
    store: Store,
    replica: ReplicaId,
    position: Mutex<Position>,
}

#[derive(Debug, Default)]
struct Position {
    /// The last letter that was read; None before the first look.
    read: Option<u64>,
    looks: u32,
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
        let letters = self.store.mail_after(read, self.replica.0, LETTERS).await;
        let letters = letters.map_err(broken)?;
        if let Some((last, _, _)) = letters.last() {
            position.read = Some(*last);
        }
        position.looks += 1;
        if position.looks.is_multiple_of(LOOKS_PER_PURGE) {
            self.store.purge_mail(KEEP_MAIL).await.map_err(broken)?;
        }
        let letters = letters.into_iter();
        Ok(letters
            .map(|(_, from, body)| (ReplicaId(from), body))
            .collect())
    }
}
