//! The durable store: everything that must survive a crash, and the only crate that speaks SQL.
//!
//! # The path of a change
//!
//! `control` plans [`Changes`] against the revision that its fleet shows. [`Store::commit`] writes them in one transaction,
//! but only if that revision is still the head. So commit order is revision order without gaps, and
//! [`Store::changes_since`] is complete by construction: other replicas follow with it.
//!
//! The crate knows nothing of agents, HTTP or the meaning of a change. SQLite and PostgreSQL run the same statements; only
//! opening, beginning a transaction and the schema are written for each.

mod copy;
mod database;
mod error;
mod in_doubt;
mod migrate;
mod postgres;
mod query;
mod restored;
mod snapshot;
mod sql;
mod sqlite;
mod transaction;
mod turn;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use model::change::{Changes, HostId, NameId, Revision};
use model::config_template::ContentId;
use model::job::JobId;
use model::timeline::TimelineRow;
use model::{TaskId, UnixMillis};

pub use copy::{CopiedTable, CopyError, CopyProgress, CopyStep, copy};
use database::Database;
pub use error::{Cause, StoreError};
pub use query::{
    AuditPage, AuditRow, CountEventsBy, EventCount, EventPage, JobCounts, JobPage, JobSummary,
    Loaded, LoadingProcesses, MailMessage, StoredEvent, StoredJob, StoredTask, StoredTimelineRow,
    StoredVersion, TaskPage, TaskReader, TaskSummary, TimelinePage,
};
pub use restored::Restored;
pub use snapshot::{SnapshotInfo, check_snapshot, newest_schema, size_of, snapshot};
use transaction::Transaction;
pub use turn::CommitTurn;

/// A call under way. Boxed, because the futures of the database are large and callers nest them deeply, and so that this
/// crate compiles them: an `async fn` is compiled by each crate that awaits it.
pub type Call<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A handle on the store; clones share it. One method is one transaction, except opening and purges.
#[derive(Debug, Clone)]
pub struct Store {
    database: Arc<Database>,
    under_way: Arc<AtomicUsize>,
}

// Macros, because a future that contains one of an async closure is not provably `Send`.

/// Runs one statement that reads.
macro_rules! statement {
    ($store:ident, |$conn:ident| $statement:expr) => {
        $store.call(async move {
            let $conn = &mut $store.database.reader().await?;
            $statement
        })
    };
}

/// Runs statements in a transaction, and commits it.
macro_rules! transaction {
    ($store:ident, $begin:ident, |$tx:ident| $statements:expr) => {
        $store.call(async move {
            let mut transaction = $store.database.$begin().await?;
            let $tx = &mut *transaction;
            let result = $statements;
            transaction.commit().await?;
            Ok(result)
        })
    };
}

/// Runs a transaction that deletes one batch until there is nothing left to delete.
macro_rules! repeat {
    ($store:ident, |$tx:ident| $statement:expr) => {
        while transaction!($store, begin_exclusive, |$tx| $statement).await? {}
    };
}

impl Store {
    /// Opens `sqlite:/path/to/file.db`, creating it (mode 0600), or `postgres://user@host/database`, and brings its schema
    /// up to date.
    pub fn open(url: &str) -> Call<'_, Self> {
        Box::pin(async move {
            Ok(Self {
                database: Arc::new(Database::open(url).await?),
                under_way: Arc::default(),
            })
        })
    }

    /// How many calls wait for the database now. The simulation stops its clock while there are any.
    pub fn calls_under_way(&self) -> usize {
        self.under_way.load(Ordering::SeqCst)
    }

    /// Whether both are handles on the same store.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.database, &other.database)
    }

    /// Reads everything that a server keeps in memory, as of one revision.
    pub fn load(&self) -> Call<'_, Loaded> {
        transaction!(self, begin_read, |tx| {
            let mut loaded = Self::read_base(tx).await?;
            loaded.changes.processes = sql::process::read(tx).await?;
            loaded
        })
    }

    /// Reads the same over two connections at once, so that two cores read and decode a large fleet: everything but processes,
    /// and meanwhile those.
    pub fn load_in_two(&self) -> Call<'_, (Loaded, LoadingProcesses)> {
        self.call(async move {
            let (mut one, mut other) = self.begin_two_reads().await?;
            let store = self.clone();
            let task = tokio::spawn(async move {
                let _counted = CallUnderWay::count(&store.under_way);
                let rows = sql::process::read(&mut other).await?;
                other.commit().await?;
                Ok(rows)
            });
            let base = Self::read_base(&mut one).await?;
            one.commit().await?;
            Ok((base, LoadingProcesses { task }))
        })
    }

    /// Two transactions that see one revision, however often other replicas commit meanwhile.
    async fn begin_two_reads(&self) -> Result<(Transaction, Transaction), StoreError> {
        loop {
            let mut one = self.database.begin_read().await?;
            let mut other = self.database.begin_read().await?;
            // The first statement of each decides what it sees.
            let revision = sql::revision::read(&mut one).await?.head;
            if sql::revision::read(&mut other).await?.head == revision {
                return Ok((one, other));
            }
            one.roll_back().await?;
            other.roll_back().await?;
        }
    }

    async fn read_base(tx: &mut sql::Connection) -> Result<Loaded, StoreError> {
        Ok(Loaded {
            revision: sql::revision::read(tx).await?.head,
            changes: sql::read_base(tx).await?,
            status: sql::status::read(tx).await?,
        })
    }

    /// The revision of the last commit; 0 before the first.
    pub fn head(&self) -> Call<'_, Revision> {
        self.call(self.database.head())
    }

    /// Waits for the turn to commit. Other commits, here and in other replicas, wait until it ends.
    pub fn turn(&self) -> Call<'_, CommitTurn> {
        self.call(CommitTurn::take(self))
    }

    /// Writes all changes or none, if the head is still `planned_at`; otherwise [`StoreError::Moved`]. See
    /// [`CommitTurn::commit`].
    ///
    /// Within one commit `*_gone` comes before rows, and of two rows with one key the later counts. An event or a content
    /// that already exists stays as it is. An outcome without its target is dropped, and so is a job's task without its
    /// job. A config file with neither a generated nor a released state is gone. A version whose definition is that of the
    /// newest one of its process is dropped; others get the next number.
    pub fn commit<'a>(&'a self, planned_at: Revision, changes: &'a Changes) -> Call<'a, Revision> {
        self.call(async move {
            let turn = CommitTurn::take(self).await?;
            let head = turn.planned_at();
            if head != planned_at {
                turn.release().await?;
                return Err(StoreError::Moved { head });
            }
            turn.commit(changes).await
        })
    }

    /// Everything that changed after `since`, and the revision that this leads to; no audit, no contents.
    ///
    /// A row that was deleted and created again under the same id appears as a row only. A finished job that is reopened
    /// comes with all its tasks.
    pub fn changes_since(&self, since: Revision) -> Call<'_, (Revision, Changes)> {
        self.call(self.database.changes_since(since))
    }

    pub fn task(&self, id: TaskId) -> Call<'_, Option<StoredTask>> {
        transaction!(self, begin_read, |tx| sql::task::one(tx, id).await?)
    }

    /// Newest first.
    pub fn tasks<'a>(&'a self, page: &'a TaskPage) -> Call<'a, Vec<TaskSummary>> {
        statement!(self, |conn| sql::task::page(conn, page).await)
    }

    pub fn job(&self, id: JobId) -> Call<'_, Option<StoredJob>> {
        transaction!(self, begin_read, |tx| sql::job::one(tx, id).await?)
    }

    /// Newest first, which for jobs is the largest id first.
    pub fn jobs<'a>(&'a self, page: &'a JobPage) -> Call<'a, Vec<JobSummary>> {
        statement!(self, |conn| sql::job::page(conn, page).await)
    }

    /// The largest id that a job ever had, 0 before the first: a planner takes the next one. Purged ids are not reused.
    pub fn last_job_id(&self) -> Call<'_, JobId> {
        statement!(self, |conn| sql::job::last_id(conn).await)
    }

    /// The content of a config file, as long as some file refers to it.
    pub fn content(&self, id: ContentId) -> Call<'_, Option<Arc<str>>> {
        statement!(self, |conn| sql::config_template::content::one(conn, id)
            .await)
    }

    /// Newest first.
    pub fn audit<'a>(&'a self, page: &'a AuditPage) -> Call<'a, Vec<AuditRow>> {
        statement!(self, |conn| sql::audit::page(conn, page).await)
    }

    /// Newest first, by when they happened; events of one moment by arrival.
    ///
    /// An event that arrives late is sorted in by its time. A page that continues before a purged event is empty.
    pub fn events<'a>(&'a self, page: &'a EventPage) -> Call<'a, Vec<StoredEvent>> {
        transaction!(self, begin_read, |tx| sql::event::page(tx, page).await?)
    }

    /// How many events happened in each bucket of time, by kind, process or host: only the `top` values with most events.
    /// Ordered by time. `limit` and `before` of the page do not count.
    pub fn event_counts<'a>(
        &'a self,
        page: &'a EventPage,
        bucket: Duration,
        by: CountEventsBy,
        top: u32,
    ) -> Call<'a, Vec<EventCount>> {
        transaction!(self, begin_read, |tx| sql::event::counts(
            tx, page, bucket, by, top
        )
        .await?)
    }

    /// Newest first.
    pub fn timeline<'a>(&'a self, page: &'a TimelinePage) -> Call<'a, Vec<StoredTimelineRow>> {
        statement!(self, |conn| sql::timeline::page(conn, page).await)
    }

    /// Adds to the timeline what no commit describes: agents that came or went. Takes no revision.
    pub fn add_timeline<'a>(&'a self, rows: &'a [TimelineRow]) -> Call<'a, ()> {
        transaction!(self, begin_write, |tx| sql::timeline::write(tx, rows)
            .await?)
    }

    /// The versions of a process that are kept, newest first.
    pub fn versions(&self, name: NameId) -> Call<'_, Vec<StoredVersion>> {
        statement!(self, |conn| sql::version::read(conn, name).await)
    }

    /// Their numbers alone, newest first, each with the hash of its definition.
    pub fn version_hashes(&self, name: NameId) -> Call<'_, Vec<(u32, u64)>> {
        statement!(self, |conn| sql::version::hashes(conn, name).await)
    }

    /// The same of several processes, with the name of each; newest first within a name.
    pub fn version_hashes_of<'a>(
        &'a self,
        names: &'a [NameId],
    ) -> Call<'a, Vec<(NameId, u32, u64)>> {
        statement!(self, |conn| sql::version::hashes_of(conn, names).await)
    }

    /// Deletes the rows of the timeline that are older than a moment.
    pub fn purge_timeline(&self, before: UnixMillis) -> Call<'_, ()> {
        Box::pin(async move {
            repeat!(self, |tx| sql::purge::timeline(tx, before).await?);
            Ok(())
        })
    }

    /// The events that arrived after this one, in the order of arrival, which for each host is the order of its numbers.
    pub fn events_after(&self, id: u64, limit: u32) -> Call<'_, Vec<StoredEvent>> {
        statement!(self, |conn| sql::event::after(conn, id, limit).await)
    }

    /// The events that a commit added, by host and number: without those that existed before.
    pub fn events_of(&self, revision: Revision) -> Call<'_, Vec<(HostId, u64)>> {
        statement!(self, |conn| sql::log::events_of(conn, revision).await)
    }

    /// The last event that a webhook has delivered or skipped: at first, the last one before the webhook was created. None
    /// when there is no such webhook.
    pub fn delivered<'a>(&'a self, webhook: &'a str) -> Call<'a, Option<u64>> {
        statement!(self, |conn| sql::webhook::delivered(conn, webhook).await)
    }

    /// Moves a webhook's position forward, never back. Durable when it returns; takes no revision, as no plan depends on it.
    pub fn save_delivered<'a>(&'a self, webhook: &'a str, through: u64) -> Call<'a, ()> {
        transaction!(self, begin_write, |tx| sql::webhook::save_delivered(
            tx, webhook, through
        )
        .await?)
    }

    pub fn setting<'a>(&'a self, key: &'a str) -> Call<'a, Option<Vec<u8>>> {
        statement!(self, |conn| sql::setting::read(conn, key).await)
    }

    /// Returns the value that is stored now: of several racing callers, all get the same.
    pub fn put_setting_if_absent<'a>(&'a self, key: &'a str, value: &'a [u8]) -> Call<'a, Vec<u8>> {
        transaction!(self, begin_write, |tx| {
            sql::setting::put_if_absent(tx, key, value).await?;
            let stored = sql::setting::read(tx, key).await?;
            stored.unwrap_or_else(|| value.to_vec())
        })
    }

    /// Replaces the snapshots of these shards; an empty one deletes. Takes no revision: this is soft state.
    pub fn save_status<'a>(&'a self, shards: &'a [(u32, Vec<u8>)]) -> Call<'a, ()> {
        // All callers lock the rows in the same order, so that two of them cannot deadlock.
        let mut shards = Vec::from_iter(shards);
        shards.sort_by_key(|(shard, _)| *shard);
        transaction!(self, begin_write, |tx| for (shard, body) in shards {
            sql::status::save(tx, *shard, body).await?;
        })
    }

    /// Deletes ended tasks created before `before`, logins that expired before it, log entries up to a revision, and contents
    /// that no config file refers to. A follower at an earlier revision must load everything again.
    ///
    /// A log that is too large loses its oldest entries even if they are newer than `log_through`.
    pub fn purge(&self, before: UnixMillis, log_through: Revision) -> Call<'_, ()> {
        Box::pin(async move {
            let through = transaction!(self, begin_exclusive, |tx| {
                sql::purge::logins(tx, before).await?;
                let oversize = sql::log::oversize_through(tx).await?;
                let head = sql::revision::read(tx).await?.head;
                let through = log_through.max(oversize).min(head);
                // Followers must know what is missing before the first entry is deleted.
                sql::revision::set_purged(tx, through).await?;
                through
            })
            .await?;
            repeat!(self, |tx| sql::log::purge(tx, through).await?);
            repeat!(self, |tx| sql::purge::tasks(tx, before).await?);
            let mut checked_through = Some(Vec::new());
            while let Some(id) = checked_through {
                checked_through = transaction!(self, begin_exclusive, |tx| {
                    sql::purge::contents(tx, &id).await?
                })
                .await?;
            }
            Ok(())
        })
    }

    /// Deletes the events that happened before a moment, delivered or not.
    pub fn purge_events(&self, before: UnixMillis) -> Call<'_, ()> {
        Box::pin(async move {
            repeat!(self, |tx| sql::purge::events(tx, before).await?);
            Ok(())
        })
    }

    /// Deletes the finished jobs created before a moment, with all their tasks.
    pub fn purge_jobs(&self, before: UnixMillis) -> Call<'_, ()> {
        Box::pin(async move {
            repeat!(self, |tx| sql::purge::jobs(tx, before).await?);
            Ok(())
        })
    }

    /// Whether other processes may commit to it too: then readers must ask for the head first.
    pub fn is_shared(&self) -> bool {
        self.database.is_shared()
    }

    /// Takes or renews a lease, which one replica at a time holds. False: another replica holds it.
    ///
    /// The clock is that of the database where the store is shared, else that of this machine.
    pub fn take_lease<'a>(
        &'a self,
        name: &'a str,
        holder: u64,
        lasting: Duration,
    ) -> Call<'a, bool> {
        transaction!(self, begin_write, |tx| sql::lease::take(
            tx, name, holder, lasting
        )
        .await?)
    }

    /// Lets another replica take the lease at once, if this holder has it.
    pub fn release_lease<'a>(&'a self, name: &'a str, holder: u64) -> Call<'a, ()> {
        transaction!(self, begin_write, |tx| sql::lease::release(
            tx, name, holder
        )
        .await?)
    }

    /// Leaves mail messages for the other replicas: the slow transport for when the bus is down.
    pub fn send_mail<'a>(&'a self, from: u64, bodies: &'a [Vec<u8>]) -> Call<'a, ()> {
        transaction!(self, begin_write, |tx| sql::mail::send(tx, from, bodies)
            .await?)
    }

    /// Mail messages after this id, in the order of their ids. Once a reader has seen an id, no smaller one appears.
    pub fn mail_after(&self, id: u64, not_from: u64, limit: u32) -> Call<'_, Vec<MailMessage>> {
        statement!(self, |conn| sql::mail::after(conn, id, not_from, limit)
            .await)
    }

    /// The id of the last mail message that was sent, 0 before the first. Ids are never reused.
    pub fn last_mail(&self) -> Call<'_, u64> {
        statement!(self, |conn| sql::mail::last(conn).await)
    }

    /// Deletes the mail messages older than this, read or not.
    pub fn purge_mail(&self, older_than: Duration) -> Call<'_, ()> {
        transaction!(self, begin_write, |tx| sql::mail::purge(tx, older_than)
            .await?)
    }

    /// Waits for the calls under way and closes. Later calls fail with [`StoreError::Unavailable`].
    pub async fn close(&self) {
        let closed = self.call(async move {
            self.database.close().await;
            Ok(())
        });
        closed.await.ok();
    }

    /// Counts a call for as long as its caller waits.
    fn call<'a, T>(
        &'a self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'a,
    ) -> Call<'a, T> {
        Box::pin(async move {
            let _counted = CallUnderWay::count(&self.under_way);
            work.await
        })
    }
}

/// Counts one call until it is dropped.
struct CallUnderWay<'a>(&'a AtomicUsize);

impl<'a> CallUnderWay<'a> {
    fn count(calls: &'a AtomicUsize) -> Self {
        calls.fetch_add(1, Ordering::SeqCst);
        Self(calls)
    }
}

impl Drop for CallUnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
