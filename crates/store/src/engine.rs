//! What the methods of [`crate::Store`] do, on either database. One method is one transaction; their promises are written
//! there.

mod fate;

use std::sync::Arc;
use std::time::Duration;

use model::change::{Changes, HostId, Revision};
use model::config_template::ContentId;
use model::job::JobId;
use model::{TaskId, UnixMillis};

use crate::database::Database;
use crate::sql::{self, Wanted};
use crate::{
    AuditPage, AuditRow, EventPage, JobPage, JobSummary, Letter, Loaded, StoreError, StoredEvent,
    StoredJob, StoredTask, TaskSummary,
};

#[derive(Debug)]
pub(crate) struct Engine {
    database: Database,
}

impl Engine {
    pub(crate) async fn open(url: &str) -> Result<Self, StoreError> {
        Ok(Self {
            database: Database::open(url).await?,
        })
    }

    pub(crate) async fn load(&self) -> Result<Loaded, StoreError> {
        let mut tx = self.database.begin_read().await?;
        let revision = sql::revision::read(&mut tx).await?.head;
        let changes = sql::read(&mut tx, Wanted::Live).await?;
        let status = sql::status::read(&mut tx).await?;
        tx.commit().await?;
        Ok(Loaded {
            revision,
            changes,
            status,
        })
    }

    pub(crate) async fn head(&self) -> Result<Revision, StoreError> {
        self.database.head().await
    }

    pub(crate) async fn commit(
        &self,
        planned_at: Revision,
        changes: &Changes,
    ) -> Result<Revision, StoreError> {
        let mut tx = self.database.begin_write().await?;
        let revision = match sql::revision::advance(&mut tx, planned_at).await {
            Ok(revision) => revision,
            Err(moved @ StoreError::Moved { .. }) => {
                tx.roll_back().await?;
                return Err(moved);
            }
            Err(other) => return Err(other),
        };
        sql::write(&mut tx, revision, changes).await?;
        if !self.is_shared() {
            tx.commit().await?;
            return Ok(revision);
        }
        let mark = fate::new_mark()?;
        sql::revision::mark(&mut tx, revision, mark).await?;
        match tx.commit().await {
            Ok(()) => Ok(revision),
            Err(lost) => fate::learn(&self.database, revision, mark, lost).await,
        }
    }

    pub(crate) async fn changes_since(
        &self,
        since: Revision,
    ) -> Result<(Revision, Changes), StoreError> {
        let mut tx = self.database.begin_read().await?;
        let position = sql::revision::read(&mut tx).await?;
        let changes = if position.head == since {
            Ok(Changes::default())
        } else if since < position.purged_through || since > position.head {
            Err(StoreError::TooOld { since })
        } else {
            sql::read(&mut tx, Wanted::Since(since)).await
        };
        tx.commit().await?;
        Ok((position.head, changes?))
    }

    pub(crate) async fn task(&self, id: TaskId) -> Result<Option<StoredTask>, StoreError> {
        let mut tx = self.database.begin_read().await?;
        let task = sql::task::one(&mut tx, id).await?;
        tx.commit().await?;
        Ok(task)
    }

    pub(crate) async fn tasks(
        &self,
        limit: u32,
        before: Option<TaskId>,
    ) -> Result<Vec<TaskSummary>, StoreError> {
        let mut conn = self.database.reader().await?;
        sql::task::list(&mut conn, limit, before).await
    }

    pub(crate) async fn job(&self, id: JobId) -> Result<Option<StoredJob>, StoreError> {
        let mut tx = self.database.begin_read().await?;
        let job = sql::job::one(&mut tx, id).await?;
        tx.commit().await?;
        Ok(job)
    }

    pub(crate) async fn jobs(&self, page: &JobPage) -> Result<Vec<JobSummary>, StoreError> {
        let mut conn = self.database.reader().await?;
        sql::job::page(&mut conn, page).await
    }

    pub(crate) async fn last_job_id(&self) -> Result<JobId, StoreError> {
        let mut conn = self.database.reader().await?;
        sql::job::last_id(&mut conn).await
    }

    pub(crate) async fn content(&self, id: ContentId) -> Result<Option<Arc<str>>, StoreError> {
        let mut conn = self.database.reader().await?;
        sql::config_template::content::one(&mut conn, id).await
    }

    pub(crate) async fn audit(&self, page: &AuditPage) -> Result<Vec<AuditRow>, StoreError> {
        let mut conn = self.database.reader().await?;
        sql::audit::page(&mut conn, page).await
    }

    pub(crate) async fn events(&self, page: &EventPage) -> Result<Vec<StoredEvent>, StoreError> {
        let mut tx = self.database.begin_read().await?;
        let events = sql::event::page(&mut tx, page).await?;
        tx.commit().await?;
        Ok(events)
    }

    pub(crate) async fn events_after(
        &self,
        id: u64,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let mut conn = self.database.reader().await?;
        sql::event::after(&mut conn, id, limit).await
    }

    pub(crate) async fn events_of(
        &self,
        revision: Revision,
    ) -> Result<Vec<(HostId, u64)>, StoreError> {
        let mut conn = self.database.reader().await?;
        sql::event::of(&mut conn, revision).await
    }

    pub(crate) async fn delivered(&self, webhook: &str) -> Result<Option<u64>, StoreError> {
        let mut conn = self.database.reader().await?;
        sql::webhook::delivered(&mut conn, webhook).await
    }

    pub(crate) async fn save_delivered(
        &self,
        webhook: &str,
        through: u64,
    ) -> Result<(), StoreError> {
        let mut tx = self.database.begin_write().await?;
        sql::webhook::save_delivered(&mut tx, webhook, through).await?;
        tx.commit().await
    }

    pub(crate) async fn setting(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let mut conn = self.database.reader().await?;
        sql::setting::read(&mut conn, key).await
    }

    pub(crate) async fn put_setting_if_absent(
        &self,
        key: &str,
        value: &[u8],
    ) -> Result<Vec<u8>, StoreError> {
        let mut tx = self.database.begin_write().await?;
        sql::setting::put_if_absent(&mut tx, key, value).await?;
        let there = sql::setting::read(&mut tx, key).await?;
        tx.commit().await?;
        Ok(there.unwrap_or_else(|| value.to_vec()))
    }

    pub(crate) async fn save_status(&self, shards: &[(u32, Vec<u8>)]) -> Result<(), StoreError> {
        let mut tx = self.database.begin_write().await?;
        // In one order everywhere, so that two who save the same ones do not wait for each other.
        let mut shards = Vec::from_iter(shards);
        shards.sort_by_key(|(shard, _)| *shard);
        for (shard, body) in shards {
            sql::status::save(&mut tx, *shard, body).await?;
        }
        tx.commit().await
    }

    pub(crate) async fn purge(
        &self,
        before: UnixMillis,
        tombstones_through: Revision,
    ) -> Result<(), StoreError> {
        let mut tx = self.database.begin_alone().await?;
        let through = tombstones_through.min(sql::revision::read(&mut tx).await?.head);
        sql::purge::small(&mut tx, before, through).await?;
        tx.commit().await?;
        // A part at a time, so that commits need not wait for all of it.
        let mut more = true;
        while more {
            let mut tx = self.database.begin_alone().await?;
            more = sql::purge::tombstones(&mut tx, through).await?;
            more |= sql::purge::tasks(&mut tx, before).await?;
            tx.commit().await?;
        }
        let mut looked_through = Some(Vec::new());
        while let Some(id) = looked_through {
            let mut tx = self.database.begin_alone().await?;
            looked_through = sql::purge::contents(&mut tx, &id).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    pub(crate) async fn purge_events(&self, before: UnixMillis) -> Result<(), StoreError> {
        let mut more = true;
        while more {
            let mut tx = self.database.begin_alone().await?;
            more = sql::purge::events(&mut tx, before).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    pub(crate) async fn purge_jobs(&self, before: UnixMillis) -> Result<(), StoreError> {
        let mut more = true;
        while more {
            let mut tx = self.database.begin_alone().await?;
            more = sql::purge::jobs(&mut tx, before).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.database.is_shared()
    }

    pub(crate) async fn take_lease(
        &self,
        name: &str,
        holder: u64,
        lasting: Duration,
    ) -> Result<bool, StoreError> {
        let mut tx = self.database.begin_write().await?;
        let taken = sql::lease::take(&mut tx, name, holder, lasting).await?;
        tx.commit().await?;
        Ok(taken)
    }

    pub(crate) async fn release_lease(&self, name: &str, holder: u64) -> Result<(), StoreError> {
        let mut tx = self.database.begin_write().await?;
        sql::lease::release(&mut tx, name, holder).await?;
        tx.commit().await
    }

    pub(crate) async fn send_mail(&self, from: u64, bodies: &[Vec<u8>]) -> Result<(), StoreError> {
        let mut tx = self.database.begin_write().await?;
        sql::mail::send(&mut tx, from, bodies).await?;
        tx.commit().await
    }

    pub(crate) async fn mail_after(
        &self,
        id: u64,
        not_from: u64,
        limit: u32,
    ) -> Result<Vec<Letter>, StoreError> {
        let mut conn = self.database.reader().await?;
        sql::mail::after(&mut conn, id, not_from, limit).await
    }

    pub(crate) async fn last_mail(&self) -> Result<u64, StoreError> {
        let mut conn = self.database.reader().await?;
        sql::mail::last(&mut conn).await
    }

    pub(crate) async fn purge_mail(&self, older_than: Duration) -> Result<(), StoreError> {
        let mut tx = self.database.begin_write().await?;
        sql::mail::purge(&mut tx, older_than).await?;
        tx.commit().await
    }

    pub(crate) async fn close(&self) {
        self.database.close().await;
    }
}
