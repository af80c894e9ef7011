//! SQLite: one file, one writer, a few readers.
//!
//! WAL with synchronous = FULL: a commit is on the disk when it returns, and readers never wait for the writer.

mod migrate;
mod transaction;

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use model::change::{Changes, HostId, Revision};
use model::config_template::ContentId;
use model::job::JobId;
use model::{TaskId, UnixMillis};
use sqlx::ConnectOptions;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use crate::engine::Engine;
use crate::sql::{self, Wanted};
use crate::{
    AuditPage, AuditRow, EventPage, JobPage, JobSummary, Letter, Loaded, StoreError, StoredEvent,
    StoredJob, StoredTask, TaskSummary,
};
use transaction::Transaction;

/// Connections that only read.
const READERS: u32 = 4;
/// How long a call waits for its turn, or for another process that holds the file.
const PATIENCE: Duration = Duration::from_secs(15);
/// Prepared statements kept by a connection: every table in every chunk size.
const STATEMENTS: usize = 512;
const PAGE_BYTES: u32 = 8192;
/// Negative: KiB.
const CACHE: &str = "-65536";
/// Pages that the log gathers before they are copied into the file, in the commit that reaches the number.
const CHECKPOINT_PAGES: &str = "2000";
/// What the log file shrinks to afterwards.
const LOG_BYTES: &str = "67108864";

#[derive(Debug)]
pub(crate) struct Sqlite {
    writer: SqlitePool,
    readers: SqlitePool,
}

impl Sqlite {
    /// `path` is what follows `sqlite:`, with or without the two slashes of a URL.
    pub(crate) async fn open(path: &str) -> Result<Self, StoreError> {
        let path = Path::new(path.strip_prefix("//").unwrap_or(path));
        create(path).map_err(StoreError::unavailable)?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(false)
            .busy_timeout(PATIENCE)
            .page_size(PAGE_BYTES)
            .pragma("cache_size", CACHE)
            .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
            .pragma("journal_size_limit", LOG_BYTES)
            .statement_cache_capacity(STATEMENTS)
            .disable_statement_logging();
        let writer = pool(1, options.clone().thread_name(|_| "store-writer".into())).await?;
        let mut conn = Transaction::begin_write(&writer).await?;
        migrate::migrate(&mut conn).await?;
        conn.commit().await?;
        let readers = pool(
            READERS,
            options
                .pragma("query_only", "on")
                .thread_name(|n| format!("store-reader-{n}")),
        )
        .await?;
        Ok(Self { writer, readers })
    }
}

async fn pool(size: u32, options: SqliteConnectOptions) -> Result<SqlitePool, StoreError> {
    Ok(SqlitePoolOptions::new()
        .max_connections(size)
        .acquire_timeout(PATIENCE)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_with(options)
        .await?)
}

/// Secrets' hashes live in it: nobody else may read the file. Its log takes the same mode from it.
fn create(path: &Path) -> io::Result<()> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)
        .map(drop)
}

#[async_trait]
impl Engine for Sqlite {
    async fn load(&self) -> Result<Loaded, StoreError> {
        let mut tx = Transaction::begin_read(&self.readers).await?;
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

    async fn head(&self) -> Result<Revision, StoreError> {
        let mut conn = self.readers.acquire().await?;
        Ok(sql::revision::read(&mut conn).await?.head)
    }

    async fn commit(
        &self,
        planned_at: Revision,
        changes: &Changes,
    ) -> Result<Revision, StoreError> {
        let mut tx = Transaction::begin_write(&self.writer).await?;
        match sql::revision::advance(&mut tx, planned_at).await {
            Ok(revision) => {
                sql::write(&mut tx, revision, changes).await?;
                tx.commit().await?;
                Ok(revision)
            }
            Err(moved) => {
                tx.roll_back().await?;
                Err(moved)
            }
        }
    }

    async fn changes_since(&self, since: Revision) -> Result<(Revision, Changes), StoreError> {
        let mut tx = Transaction::begin_read(&self.readers).await?;
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

    async fn task(&self, id: TaskId) -> Result<Option<StoredTask>, StoreError> {
        let mut tx = Transaction::begin_read(&self.readers).await?;
        let task = sql::task::one(&mut tx, id).await?;
        tx.commit().await?;
        Ok(task)
    }

    async fn tasks(
        &self,
        limit: u32,
        before: Option<TaskId>,
    ) -> Result<Vec<TaskSummary>, StoreError> {
        let mut conn = self.readers.acquire().await?;
        sql::task::list(&mut conn, limit, before).await
    }

    async fn job(&self, id: JobId) -> Result<Option<StoredJob>, StoreError> {
        let mut tx = Transaction::begin_read(&self.readers).await?;
        let job = sql::job::one(&mut tx, id).await?;
        tx.commit().await?;
        Ok(job)
    }

    async fn jobs(&self, page: &JobPage) -> Result<Vec<JobSummary>, StoreError> {
        let mut conn = self.readers.acquire().await?;
        sql::job::page(&mut conn, page).await
    }

    async fn last_job_id(&self) -> Result<JobId, StoreError> {
        let mut conn = self.readers.acquire().await?;
        sql::job::last_id(&mut conn).await
    }

    async fn content(&self, id: ContentId) -> Result<Option<Arc<str>>, StoreError> {
        let mut conn = self.readers.acquire().await?;
        sql::config_template::content::one(&mut conn, id).await
    }

    async fn audit(&self, page: &AuditPage) -> Result<Vec<AuditRow>, StoreError> {
        let mut conn = self.readers.acquire().await?;
        sql::audit::page(&mut conn, page).await
    }

    async fn events(&self, page: &EventPage) -> Result<Vec<StoredEvent>, StoreError> {
        let mut tx = Transaction::begin_read(&self.readers).await?;
        let events = sql::event::page(&mut tx, page).await?;
        tx.commit().await?;
        Ok(events)
    }

    async fn events_after(&self, id: u64, limit: u32) -> Result<Vec<StoredEvent>, StoreError> {
        let mut conn = self.readers.acquire().await?;
        sql::event::after(&mut conn, id, limit).await
    }

    async fn events_of(&self, revision: Revision) -> Result<Vec<(HostId, u64)>, StoreError> {
        let mut conn = self.readers.acquire().await?;
        sql::event::of(&mut conn, revision).await
    }

    async fn delivered(&self, webhook: &str) -> Result<Option<u64>, StoreError> {
        let mut conn = self.readers.acquire().await?;
        sql::webhook::delivered(&mut conn, webhook).await
    }

    async fn save_delivered(&self, webhook: &str, through: u64) -> Result<(), StoreError> {
        let mut tx = Transaction::begin_write(&self.writer).await?;
        sql::webhook::save_delivered(&mut tx, webhook, through).await?;
        tx.commit().await
    }

    async fn setting(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let mut conn = self.readers.acquire().await?;
        sql::setting::read(&mut conn, key).await
    }

    async fn put_setting_if_absent(&self, key: &str, value: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut tx = Transaction::begin_write(&self.writer).await?;
        sql::setting::put_if_absent(&mut tx, key, value).await?;
        let there = sql::setting::read(&mut tx, key).await?;
        tx.commit().await?;
        Ok(there.unwrap_or_else(|| value.to_vec()))
    }

    async fn save_status(&self, shards: &[(u32, Vec<u8>)]) -> Result<(), StoreError> {
        let mut tx = Transaction::begin_write(&self.writer).await?;
        for (shard, body) in shards {
            sql::status::save(&mut tx, *shard, body).await?;
        }
        tx.commit().await
    }

    async fn purge(
        &self,
        before: UnixMillis,
        tombstones_through: Revision,
    ) -> Result<(), StoreError> {
        let mut tx = Transaction::begin_write(&self.writer).await?;
        let through = tombstones_through.min(sql::revision::read(&mut tx).await?.head);
        sql::purge::small(&mut tx, before, through).await?;
        tx.commit().await?;
        // A part at a time, so that commits need not wait for all of it.
        let mut more = true;
        while more {
            let mut tx = Transaction::begin_write(&self.writer).await?;
            more = sql::purge::tombstones(&mut tx, through).await?;
            more |= sql::purge::tasks(&mut tx, before).await?;
            tx.commit().await?;
        }
        let mut looked_through = Some(Vec::new());
        while let Some(id) = looked_through {
            let mut tx = Transaction::begin_write(&self.writer).await?;
            looked_through = sql::purge::contents(&mut tx, &id).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    async fn purge_events(&self, before: UnixMillis) -> Result<(), StoreError> {
        let mut more = true;
        while more {
            let mut tx = Transaction::begin_write(&self.writer).await?;
            more = sql::purge::events(&mut tx, before).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    async fn purge_jobs(&self, before: UnixMillis) -> Result<(), StoreError> {
        let mut more = true;
        while more {
            let mut tx = Transaction::begin_write(&self.writer).await?;
            more = sql::purge::jobs(&mut tx, before).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    fn is_shared(&self) -> bool {
        false
    }

    async fn take_lease(
        &self,
        name: &str,
        holder: u64,
        lasting: Duration,
    ) -> Result<bool, StoreError> {
        let mut tx = Transaction::begin_write(&self.writer).await?;
        let now = now();
        let until = now.saturating_add(millis(lasting));
        let taken = sql::lease::take(&mut tx, name, holder, now, until).await?;
        tx.commit().await?;
        Ok(taken)
    }

    async fn release_lease(&self, name: &str, holder: u64) -> Result<(), StoreError> {
        let mut tx = Transaction::begin_write(&self.writer).await?;
        sql::lease::release(&mut tx, name, holder).await?;
        tx.commit().await
    }

    async fn send_mail(&self, from: u64, bodies: &[Vec<u8>]) -> Result<(), StoreError> {
        let mut tx = Transaction::begin_write(&self.writer).await?;
        sql::mail::send(&mut tx, from, now(), bodies).await?;
        tx.commit().await
    }

    async fn mail_after(
        &self,
        id: u64,
        not_from: u64,
        limit: u32,
    ) -> Result<Vec<Letter>, StoreError> {
        let mut conn = self.readers.acquire().await?;
        sql::mail::after(&mut conn, id, not_from, limit).await
    }

    async fn last_mail(&self) -> Result<u64, StoreError> {
        let mut conn = self.readers.acquire().await?;
        sql::mail::last(&mut conn).await
    }

    async fn purge_mail(&self, older_than: Duration) -> Result<(), StoreError> {
        let mut tx = Transaction::begin_write(&self.writer).await?;
        sql::mail::purge(&mut tx, now().saturating_sub(millis(older_than))).await?;
        tx.commit().await
    }

    async fn close(&self) {
        self.readers.close().await;
        // Last, so that it copies the log into the file.
        self.writer.close().await;
    }
}

fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, millis)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
