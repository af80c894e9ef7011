//! Saves statuses every few seconds, so that a restart does not show blanks, and purges old tasks, events and jobs.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::core::Core;
use crate::{Replicas, stopped};

/// How often changed statuses are saved.
const SAVE_EVERY: Duration = Duration::from_secs(5);
/// How many shards are encoded and saved at a time, so that neither reports nor commits wait for long.
const SHARDS_AT_A_TIME: usize = 32;
/// Of shards where only figures changed, each save takes this many: agents report figures again anyway.
const STALE_SHARDS: usize = 8;
/// Every so many saves, i.e. every half minute, the time of each agent's last contact is saved, too.
const SAVES_PER_LINKS: u32 = 6;
/// Every so many saves, i.e. about once an hour, old rows are purged.
const SAVES_PER_PURGE: u32 = 720;
/// How long tasks stay readable after their creation. Callers are promised a day.
const KEEP_TASKS_MS: i64 = 2 * 24 * 3600 * 1000;
/// How long events stay readable, and a webhook's receiver may be down before it misses some.
const KEEP_EVENTS_MS: i64 = 30 * 24 * 3600 * 1000;
/// How long the timeline goes back.
const KEEP_TIMELINE_MS: i64 = 30 * 24 * 3600 * 1000;
/// How long jobs stay readable after their start.
const KEEP_JOBS_MS: i64 = 30 * 24 * 3600 * 1000;
/// How many commits stay in the log, for replicas that were disconnected from the store.
const KEEP_LOG: u64 = 100_000;
/// How many commits stay in the log of a server without other replicas.
const KEEP_LOG_ALONE: u64 = 1_000;

pub(crate) async fn run(core: Arc<Core>, replicas: Arc<Replicas>, mut stop: watch::Receiver<bool>) {
    let mut saves = 0_u32;
    loop {
        let last = tokio::select! {
            () = tokio::time::sleep(SAVE_EVERY) => false,
            () = stopped(&mut stop) => true,
        };
        saves += 1;
        if !replicas.leads() {
            if last {
                return;
            }
            continue;
        }
        let with_links = last || saves.is_multiple_of(SAVES_PER_LINKS);
        if let Err(error) = core.save_soft_state(with_links).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "statuses were not saved; trying again"
            );
        }
        if last {
            return;
        }
        if saves.is_multiple_of(SAVES_PER_PURGE)
            && let Err(error) = core.purge().await
        {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "what is old was not purged; trying again"
            );
        }
    }
}

impl Core {
    async fn save_soft_state(&self, with_links: bool) -> Result<(), store::StoreError> {
        let moved = self.fleet_mut().take_links_moved();
        if with_links || moved {
            let links = self.fleet().link_shards();
            self.save_shards(links).await?;
        }
        let shards = {
            let mut fleet = self.fleet_mut();
            let mut shards = fleet.take_dirty_shards();
            shards.extend(fleet.take_stale_shards(STALE_SHARDS));
            shards
        };
        for (index, part) in shards.chunks(SHARDS_AT_A_TIME).enumerate() {
            let encoded = {
                let fleet = self.fleet();
                let encode = |shard: &u32| (*shard, fleet.encode_shard(*shard));
                part.iter().map(encode).collect()
            };
            if let Err(error) = self.save_shards(encoded).await {
                let mut fleet = self.fleet_mut();
                for shard in &shards[index * SHARDS_AT_A_TIME..] {
                    fleet.mark_dirty(*shard);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    async fn save_shards(&self, shards: Vec<(u32, Vec<u8>)>) -> Result<(), store::StoreError> {
        match shards.is_empty() {
            true => Ok(()),
            false => self.store.save_status(&shards).await,
        }
    }

    async fn purge(&self) -> Result<(), store::StoreError> {
        let head = self.fleet().revision();
        let keep = match self.is_alone {
            true => KEEP_LOG_ALONE,
            false => KEEP_LOG,
        };
        let log_through = model::change::Revision(head.0.saturating_sub(keep));
        self.store
            .purge(self.now().plus_millis(-KEEP_TASKS_MS), log_through)
            .await?;
        self.store
            .purge_events(self.now().plus_millis(-KEEP_EVENTS_MS))
            .await?;
        self.store
            .purge_timeline(self.now().plus_millis(-KEEP_TIMELINE_MS))
            .await?;
        self.store
            .purge_jobs(self.now().plus_millis(-KEEP_JOBS_MS))
            .await
    }
}
