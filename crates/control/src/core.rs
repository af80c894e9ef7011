//! The state that commits change, and what every part needs beside it: the store, the bus, the clock.
//!
//! Each part (`Registry`, `Operations`, …) holds the core and changes durable state only by [`Core::commit`]. The core knows
//! no request and checks no permission: the parts do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bus::Bus;
use fleet::{Fleet, FleetGuard, SharedFleet};
use locks::{ReadGuard, RwLock, WriteGuard};
use model::UnixMillis;
use model::change::{Changes, ProcessId};
use store::Store;
use tokio::sync::{Notify, watch};

use crate::access::Accounts;
use crate::commit::Committing;
use crate::day_counts::{self, DayCounts};
use crate::freed_memory::FreedMemory;
use crate::jobs::OpenJobs;
use crate::operations::Tasks;
use crate::registry::Summaries;
use crate::sessions::Outboxes;
use crate::timeline::AgentLog;
use crate::watch::{Counters, Watchers};
use crate::webhooks::DeliveryHealth;
use crate::{ChangeEvent, Clock, ControlError, lock_order};

#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) bus: Bus,
    /// No other replica uses this store.
    pub(crate) is_alone: bool,
    fleet: SharedFleet<{ lock_order::FLEET }>,
    accounts: RwLock<Accounts, { lock_order::ACCOUNTS }>,
    pub(crate) tasks: Tasks,
    pub(crate) jobs: OpenJobs,
    pub(crate) outboxes: Outboxes,
    pub(crate) committing: Committing,
    pub(crate) store_link: StoreLink,
    pub(crate) watchers: Watchers,
    pub(crate) summaries: Summaries,
    pub(crate) agent_log: AgentLog,
    pub(crate) day_counts: DayCounts,
    pub(crate) counters: Counters,
    pub(crate) deliveries: DeliveryHealth,
    /// A process that vanished from the topology may have stopped.
    pub(crate) retire: Notify,
    pub(crate) freed_memory: FreedMemory,
    clock: Clock,
    /// When this server began to accept agents.
    pub(crate) started_at: UnixMillis,
}

impl Core {
    /// Loads everything from the store.
    pub(crate) async fn load(
        store: Store,
        bus: Bus,
        clock: Clock,
        is_alone: bool,
    ) -> Result<Arc<Self>, ControlError> {
        let (loaded, processes) = store.load_in_two().await?;
        let mut fleet = Fleet::new();
        fleet.apply(loaded.revision, &loaded.changes);
        let processes = Changes {
            processes: processes.rows().await?,
            ..Changes::default()
        };
        fleet.apply(loaded.revision, &processes);
        drop(processes);
        let last_job_id = store.last_job_id().await?;
        let day_counts = DayCounts::default();
        for (shard, bytes) in &loaded.status {
            match *shard {
                day_counts::SHARD => day_counts.restore(bytes),
                shard => fleet.restore_shard(shard, bytes),
            }
        }
        let mut accounts = Accounts::default();
        accounts.apply(&loaded.changes);
        if !is_alone {
            fleet.follow_moves();
        }
        let tasks = Tasks::default();
        tasks.table().apply(&loaded.changes);
        Ok(Arc::new(Self {
            store,
            bus,
            is_alone,
            fleet: SharedFleet::new(fleet),
            accounts: RwLock::ranked(accounts),
            tasks,
            jobs: OpenJobs::new(last_job_id, &loaded.changes),
            outboxes: Outboxes::default(),
            committing: Committing::default(),
            store_link: StoreLink::default(),
            watchers: Watchers::default(),
            summaries: Summaries::default(),
            agent_log: AgentLog::default(),
            day_counts,
            counters: Counters::default(),
            deliveries: DeliveryHealth::default(),
            retire: Notify::new(),
            freed_memory: FreedMemory::default(),
            started_at: clock.now(),
            clock,
        }))
    }

    /// The fleet as it is now. Costs nothing to hold, but for the memory of what changes meanwhile; what is committed later is
    /// not in it. Read together with tasks, jobs or accounts, it is taken under their lock.
    pub(crate) fn fleet(&self) -> Arc<Fleet> {
        self.fleet.read()
    }

    pub(crate) fn fleet_mut(&self) -> FleetGuard<'_> {
        self.fleet.write()
    }

    /// Whether [`Self::fleet_mut`] would block.
    pub(crate) fn is_fleet_busy(&self) -> bool {
        self.fleet.is_busy()
    }

    pub(crate) fn accounts(&self) -> ReadGuard<'_, Accounts> {
        self.accounts.read()
    }

    pub(crate) fn accounts_mut(&self) -> WriteGuard<'_, Accounts> {
        self.accounts.write()
    }

    pub(crate) fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    /// Whether the store did not answer when it was last asked, so that other replicas may know more than this one.
    pub(crate) fn is_behind(&self) -> bool {
        self.store_link.is_away.load(Ordering::SeqCst)
    }

    /// Sends watchers the processes of which more than figures changed.
    pub(crate) fn publish_statuses(&self, changed: &[ProcessId], at: UnixMillis) {
        if !self.watchers.any() {
            return;
        }
        let fleet = self.fleet();
        for row in changed.iter().filter_map(|id| fleet.row(*id)) {
            self.watchers.send(ChangeEvent::status(&row, at));
        }
    }

    /// Wakes all background work, for a replica that has just become the one that does it.
    pub(crate) fn wake_background(&self) {
        self.tasks.deadlines_moved.notify_one();
        self.jobs.wake.notify_one();
        self.retire.notify_one();
        self.deliveries.wake_senders();
    }
}

/// Whether this replica can follow the store.
#[derive(Debug, Default)]
pub(crate) struct StoreLink {
    is_away: AtomicBool,
    /// The store no longer has the changes since the revision that this replica shows.
    is_too_old: watch::Sender<bool>,
}

impl StoreLink {
    /// Notes how the store answered just now, and logs when that changes.
    pub(crate) fn note(&self, failed: Option<String>) {
        match (
            self.is_away.swap(failed.is_some(), Ordering::SeqCst),
            failed,
        ) {
            (false, Some(error)) => {
                tracing::error!(%error, "the store is away: reads are answered with what is known here");
            }
            (true, None) => tracing::info!("the store is back"),
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// This replica can only load everything again, by a restart.
    pub(crate) fn set_too_old(&self) {
        self.is_too_old.send_replace(true);
    }

    pub(crate) async fn too_old(&self) {
        let mut is_too_old = self.is_too_old.subscribe();
        // Fails only without a sender, which lives as long as `self`.
        let _ = is_too_old.wait_for(|is_too_old| *is_too_old).await;
    }
}
