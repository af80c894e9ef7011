//! The mind: what each request means, decided once for every dialect.
//!
//! # The path of a change
//!
//! A request is planned against the fleet in memory, committed to the store, folded into the fleet, and only then answered
//! (`commit`). What agents should know of it waits in their outboxes (`sessions`) until they read it. Results come back
//! through `report`, are recorded in batches (`recorder`), and only then acknowledged. Nothing here knows HTTP, SQL or
//! sockets.

mod access;
mod ask;
mod commit;
mod config_files;
mod deadlines;
mod enrol;
mod error;
mod events;
mod follow;
mod groups;
mod held;
mod jobs;
mod lock_order;
mod logs;
mod moving;
mod operate;
mod question;
pub mod rate_limit;
mod recorder;
mod register;
mod replicas;
mod report;
mod secrets;
mod sessions;
mod snapshot;
mod task;
mod tasks;
mod templates;
mod topology;
mod unregister;
mod watch;
mod webhooks;

pub use access::{AuditFilter, AuditLines, Credentials, FirstKeys, NewJoinToken, Revoked, Subject};
pub use ask::{Answer, Asked, Place};
pub use config_files::FileOnHost;
pub use enrol::{Certificate, Issued};
pub use error::{ControlError, Lacks};
pub use events::{EventFilter, EventView};
pub use held::{Comparison, HeldView, Wanted};
pub use jobs::{JobView, NewJob, solutions};
pub use logs::LogsOf;
pub use moving::share;
pub use operate::{Operate, With};
pub use question::AnswerStream;
pub use register::{Mode, Registration};
pub use replicas::ReplicaView;
pub use sessions::{Refused, Session};
pub use task::{TargetView, TaskView};
pub use templates::{NewTemplate, PreviewOf, TemplateView};
pub use topology::{Apply, Difference, Tally, TopologySource};
pub use watch::{Figures, Happening};
pub use webhooks::{Deliveries, Health, MAX_WEBHOOKS};

use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use bus::{Bus, LocalHub, ReplicaId, Subscription};
use fleet::Fleet;
use locks::{ReadGuard, RwLock, WriteGuard};
use model::UnixMillis;
use store::Store;
use tokio::sync::{Notify, broadcast, mpsc, watch as stop_signal};

use access::Access;
use jobs::Jobs;
use recorder::Record;
use replicas::Replicas;
use replicas::barrier::{Barrier, Waiting};
use replicas::lease::Lease;
use replicas::route::Routes;
use sessions::Sessions;
use tasks::Tasks;
use watch::Counters;
use webhooks::Webhooks;

/// How many happenings a slow watcher may fall behind before it misses some.
const WATCH_BACKLOG: usize = 4096;
/// How many results and events may wait to be recorded before agents are slowed.
const RECORD_BACKLOG: usize = 16 * 1024;

/// A handle on the mind; clones share it.
#[derive(Debug, Clone)]
pub struct Control(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    bus: Bus,
    is_alone: bool,
    replicas: Replicas,
    barrier: Barrier,
    lease: Lease,
    routes: Routes,
    fleet: RwLock<Fleet, { lock_order::FLEET }>,
    access: RwLock<Access, { lock_order::ACCESS }>,
    tasks: Tasks,
    jobs: Jobs,
    sessions: Sessions,
    /// One commit at a time: the store would make them wait for each other anyway.
    committing: tokio::sync::Mutex<()>,
    records: mpsc::Sender<Record>,
    watchers: broadcast::Sender<Arc<Happening>>,
    counters: Counters,
    webhooks: Webhooks,
    source: OnceLock<Arc<dyn TopologySource>>,
    refreshing: topology::Refreshing,
    /// Something that vanished from the topology may have stopped.
    retire: Notify,
    clock: Clock,
    /// When this server began to hear of agents.
    started_at: UnixMillis,
}

/// What goes on beside requests. Each part ends when it is told to stop.
#[derive(Debug)]
pub struct Background {
    control: Control,
    records: mpsc::Receiver<Record>,
    waiting: mpsc::Receiver<Waiting>,
    heard: Subscription,
}

impl Control {
    /// Loads everything and is ready to answer; the background work still has to be run. Nobody else writes to this store.
    pub async fn alone(store: Store, clock: Clock) -> Result<(Self, Background), ControlError> {
        let bus = Bus::local(&LocalHub::new(), ReplicaId(1));
        Self::load(store, bus, clock, true).await
    }

    /// The same, as one of several replicas on one store, which meet on the bus.
    pub async fn among_replicas(
        store: Store,
        bus: Bus,
        clock: Clock,
    ) -> Result<(Self, Background), ControlError> {
        Self::load(store, bus, clock, false).await
    }

    async fn load(
        store: Store,
        bus: Bus,
        clock: Clock,
        is_alone: bool,
    ) -> Result<(Self, Background), ControlError> {
        // Before anything is read: what is told meanwhile must not be missed.
        let heard = bus.subscribe();
        let loaded = store.load().await?;
        let last_job_id = store.last_job_id().await?;
        let mut fleet = Fleet::new();
        fleet.apply(loaded.revision, &loaded.changes);
        for (shard, bytes) in &loaded.status {
            fleet.restore_shard(*shard, bytes);
        }
        let mut access = Access::default();
        access.apply(&loaded.changes);
        if !is_alone {
            fleet.follow_moves();
        }
        let (records, incoming) = mpsc::channel(RECORD_BACKLOG);
        let (barrier, waiting) = Barrier::new();
        let control = Self(Arc::new(Inner {
            store,
            bus,
            is_alone,
            replicas: Replicas::default(),
            barrier,
            lease: Lease::default(),
            routes: Routes::default(),
            fleet: RwLock::ranked(fleet),
            access: RwLock::ranked(access),
            tasks: Tasks::default(),
            jobs: Jobs::new(last_job_id, &loaded.changes),
            sessions: Sessions::default(),
            committing: tokio::sync::Mutex::new(()),
            records,
            watchers: broadcast::channel(WATCH_BACKLOG).0,
            counters: Counters::default(),
            webhooks: Webhooks::default(),
            source: OnceLock::new(),
            refreshing: topology::Refreshing::default(),
            retire: Notify::new(),
            started_at: (clock.0)(),
            clock,
        }));
        control.0.tasks.table().apply(&loaded.changes);
        Ok((
            control.clone(),
            Background {
                control,
                records: incoming,
                waiting,
                heard,
            },
        ))
    }

    /// The picture to answer reads from. Held for the length of one answer, never across an await.
    pub fn fleet(&self) -> ReadGuard<'_, Fleet> {
        self.0.fleet.read()
    }

    fn now(&self) -> UnixMillis {
        (self.0.clock.0)()
    }

    fn fleet_mut(&self) -> WriteGuard<'_, Fleet> {
        self.0.fleet.write()
    }
}

impl Background {
    /// Runs until told to stop; what was recorded by then is durable.
    pub async fn run(self, stop: stop_signal::Receiver<bool>) {
        let Self {
            control,
            records,
            waiting,
            heard,
        } = self;
        tokio::join!(
            replicas::barrier::run(control.clone(), waiting, stop.clone()),
            replicas::lease::run(control.clone(), stop.clone()),
            replicas::route::run(control.clone(), stop.clone()),
            replicas::run(control.clone(), heard, stop.clone()),
            moving::run(control.clone(), stop.clone()),
            recorder::run(control.clone(), records, stop.clone()),
            deadlines::run(control.clone(), stop.clone()),
            follow::run(control.clone(), stop.clone()),
            topology::retire(control.clone(), stop.clone()),
            topology::refresh(control.clone(), stop.clone()),
            jobs::run(control.clone(), stop.clone()),
            snapshot::run(control.clone(), stop),
        );
        replicas::lease::release(&control).await;
    }
}

/// Resolves when the signal says stop, or when nobody is left to say it.
async fn stopped(stop: &mut stop_signal::Receiver<bool>) {
    // An error means that the sender is gone, which is as good as a stop.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Where `control` takes the time from.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> UnixMillis + Send + Sync>);

impl Clock {
    /// The machine's own.
    pub fn system() -> Self {
        Self::new(|| {
            let since = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            UnixMillis(since.as_millis() as i64)
        })
    }

    /// Any other, for tests that cannot wait.
    pub fn new(read: impl Fn() -> UnixMillis + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}
