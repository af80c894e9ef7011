//! Durable truth: everything that must survive a crash, and the only place that speaks SQL.
//!
//! # The path of a change
//!
//! `control` plans [`Changes`] against the revision that its fleet shows. [`Store::commit`] writes them in one transaction,
//! but only if that revision is still the head; every row carries the new one. So commit order is revision order without
//! gaps, and [`Store::changes_since`] is complete by construction: that is how other replicas follow.
//!
//! The crate knows nothing of agents, HTTP or what a change means. SQLite and PostgreSQL run the same statements; only
//! opening, beginning a transaction and the schema are written for each.

mod copy;
mod database;
mod engine;
mod error;
mod migrate;
mod postgres;
mod sql;
mod sqlite;
mod transaction;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use model::access::Audit;
use model::change::{Changes, HostId, Revision, TargetRow, TaskRow};
use model::config_template::ContentId;
use model::event::{Event, EventKind};
use model::job::{JobAction, JobId, JobRow, JobStatus, JobTaskRow};
use model::topology::BusinessId;
use model::{Namespace, Outcome, ProcessName, TaskId, UnixMillis};

pub use copy::{CopiedTable, CopyError, CopyProgress, CopyStep, copy};
pub use error::{Cause, StoreError};

/// A handle on the store; clones share it.
#[derive(Debug, Clone)]
pub struct Store {
    engine: Arc<engine::Engine>,
    under_way: Arc<AtomicUsize>,
}

/// What a starting server needs in memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    pub revision: Revision,
    /// Every live row. Of tasks only the open ones, with all their targets and outcomes; of jobs only those that are not
    /// over, with all their tasks. No audit, no events, no contents.
    pub changes: Changes,
    /// The last snapshot of each shard, by number.
    pub status: Vec<(u32, Vec<u8>)>,
}

/// A task with each target, in ordinal order, and how it ended if it has.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTask {
    pub task: TaskRow,
    pub targets: Vec<(TargetRow, Option<Outcome>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSummary {
    pub task: TaskRow,
    pub n_targets: u32,
    pub n_ended: u32,
    pub n_ok: u32,
}

/// A job with all its tasks, in ordinal order.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredJob {
    pub job: JobRow,
    pub tasks: Vec<JobTaskRow>,
}

/// Which jobs to read. What is None does not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobPage {
    pub limit: u32,
    /// The last id of the page before.
    pub before: Option<JobId>,
    pub business: Option<BusinessId>,
    pub action: Option<JobAction>,
    pub status: Option<JobStatus>,
    pub user: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct JobSummary {
    pub job: JobRow,
    pub counts: JobCounts,
}

/// How many tasks of a job are in each status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobCounts {
    pub pending: u32,
    pub running: u32,
    pub succeeded: u32,
    pub failed: u32,
    pub ignored: u32,
}

/// Which part of the audit trail to read. What is None does not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditPage {
    pub limit: u32,
    /// The last id of the page before.
    pub before: Option<u64>,
    pub app: Option<String>,
    pub user: Option<String>,
    pub action: Option<String>,
    /// The address that it came from.
    pub from: Option<String>,
    /// Only earlier lines.
    pub until: Option<UnixMillis>,
}

/// Ids grow with time.
pub type AuditRow = (u64, Audit);

/// Which events to read. What is None does not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventPage {
    pub limit: u32,
    /// The last id of the page before.
    pub before: Option<u64>,
    pub namespaces: Option<Vec<Namespace>>,
    pub name: Option<ProcessName>,
    pub hosts: Option<Vec<HostId>>,
    pub kinds: Option<Vec<EventKind>>,
    /// Only events of this time and later.
    pub since: Option<UnixMillis>,
    /// Only earlier events.
    pub until: Option<UnixMillis>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Rises in the order of arrival, and is never used again.
    pub id: u64,
    pub host: HostId,
    pub event: Event,
}

/// A letter of the mailbox: its id, who sent it, what it says.
pub type Letter = (u64, u64, Vec<u8>);

impl Store {
    /// Opens `sqlite:/path/to/file.db`, creating it (mode 0600), or `postgres://user@host/database`, and brings its schema
    /// up to date.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Ok(Self {
            engine: Arc::new(engine::Engine::open(url).await?),
            under_way: Arc::default(),
        })
    }

    /// How many calls wait for the engine right now.
    pub fn calls_under_way(&self) -> usize {
        self.under_way.load(Ordering::SeqCst)
    }

    /// Whether both are handles on the same one.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.under_way, &other.under_way)
    }

    /// Boxed, because what an engine does is large, and callers nest it deeply.
    fn call<T>(&self, work: impl Future<Output = T>) -> impl Future<Output = T> {
        let work = Box::pin(work);
        async move {
            let _counted = UnderWay::count(&self.under_way);
            work.await
        }
    }

    /// Reads everything that a server keeps in memory, as of one revision.
    pub async fn load(&self) -> Result<Loaded, StoreError> {
        self.call(self.engine.load()).await
    }

    /// The revision of the last commit; 0 before the first.
    pub async fn head(&self) -> Result<Revision, StoreError> {
        self.call(self.engine.head()).await
    }

    /// Writes all changes or none, if the head is still `planned_at`; otherwise [`StoreError::Moved`].
    ///
    /// Durable when it returns. If the connection broke while it ended, the truth is looked up before this returns; only where
    /// that cannot be had the answer is [`StoreError::InDoubt`]. After any other error nothing was written.
    ///
    /// Within one commit `*_gone` comes before rows, and of two rows with one key the later
    /// counts. An event or a content that is already there is left as it is. An outcome whose target is not there is
    /// dropped, and so is the task of a job that is not there. A config file with neither a generated nor a released
    /// state is gone.
    pub async fn commit(
        &self,
        planned_at: Revision,
        changes: &Changes,
    ) -> Result<Revision, StoreError> {
        self.call(self.engine.commit(planned_at, changes)).await
    }

    /// Everything that changed after `since`, and the revision that this leads to; no audit, no contents.
    ///
    /// A thing that went and came back under the same id appears as a row only. A job that was over and goes on again
    /// comes with all its tasks.
    pub async fn changes_since(&self, since: Revision) -> Result<(Revision, Changes), StoreError> {
        self.call(self.engine.changes_since(since)).await
    }

    pub async fn task(&self, id: TaskId) -> Result<Option<StoredTask>, StoreError> {
        self.call(self.engine.task(id)).await
    }

    /// Newest first, continuing before a task of the page before.
    pub async fn tasks(
        &self,
        limit: u32,
        before: Option<TaskId>,
    ) -> Result<Vec<TaskSummary>, StoreError> {
        self.call(self.engine.tasks(limit, before)).await
    }

    pub async fn job(&self, id: JobId) -> Result<Option<StoredJob>, StoreError> {
        self.call(self.engine.job(id)).await
    }

    /// Newest first, which for jobs is the largest id first.
    pub async fn jobs(&self, page: &JobPage) -> Result<Vec<JobSummary>, StoreError> {
        self.call(self.engine.jobs(page)).await
    }

    /// The largest id that a job ever had, 0 before the first: a planner takes the next one. Purged ids do not come back.
    pub async fn last_job_id(&self) -> Result<JobId, StoreError> {
        self.call(self.engine.last_job_id()).await
    }

    /// What a config file holds, as long as some file refers to it.
    pub async fn content(&self, id: ContentId) -> Result<Option<Arc<str>>, StoreError> {
        self.call(self.engine.content(id)).await
    }

    /// Newest first.
    pub async fn audit(&self, page: &AuditPage) -> Result<Vec<AuditRow>, StoreError> {
        self.call(self.engine.audit(page)).await
    }

    /// Newest first, by when they happened; those of one moment by arrival.
    ///
    /// An event that comes late, because its host was away, takes its place among the others. After an event that is no
    /// longer kept there is nothing.
    pub async fn events(&self, page: &EventPage) -> Result<Vec<StoredEvent>, StoreError> {
        self.call(self.engine.events(page)).await
    }

    /// Those that arrived after this one, in the order of arrival, which for each host is the order of its numbers.
    pub async fn events_after(&self, id: u64, limit: u32) -> Result<Vec<StoredEvent>, StoreError> {
        self.call(self.engine.events_after(id, limit)).await
    }

    /// Which events a commit brought, by host and number: not those that were there already.
    pub async fn events_of(&self, revision: Revision) -> Result<Vec<(HostId, u64)>, StoreError> {
        self.call(self.engine.events_of(revision)).await
    }

    /// The last event that a webhook need not be told again: at first, the last one before it was made. None when there
    /// is no such webhook.
    pub async fn delivered(&self, webhook: &str) -> Result<Option<u64>, StoreError> {
        self.call(self.engine.delivered(webhook)).await
    }

    /// Moves a webhook's position forward, never back. Durable when it returns; takes no revision, as nobody plans by it.
    pub async fn save_delivered(&self, webhook: &str, through: u64) -> Result<(), StoreError> {
        self.call(self.engine.save_delivered(webhook, through))
            .await
    }

    pub async fn setting(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.call(self.engine.setting(key)).await
    }

    /// Answers the value that is there now: whoever races, all see the same.
    pub async fn put_setting_if_absent(
        &self,
        key: &str,
        value: &[u8],
    ) -> Result<Vec<u8>, StoreError> {
        self.call(self.engine.put_setting_if_absent(key, value))
            .await
    }

    /// Replaces the snapshots of these shards; an empty one deletes. Takes no revision: this is soft state.
    pub async fn save_status(&self, shards: &[(u32, Vec<u8>)]) -> Result<(), StoreError> {
        self.call(self.engine.save_status(shards)).await
    }

    /// Forgets what is old: ended tasks from before `before`, logins that expired before it, tombstones up to a revision,
    /// and contents that no config file refers to. Whoever still stands at an earlier revision must load everything again.
    pub async fn purge(
        &self,
        before: UnixMillis,
        tombstones_through: Revision,
    ) -> Result<(), StoreError> {
        self.call(self.engine.purge(before, tombstones_through))
            .await
    }

    /// Forgets the events that happened before a moment, delivered or not.
    pub async fn purge_events(&self, before: UnixMillis) -> Result<(), StoreError> {
        self.call(self.engine.purge_events(before)).await
    }

    /// Forgets the jobs that are over and were made before a moment, with all their tasks.
    pub async fn purge_jobs(&self, before: UnixMillis) -> Result<(), StoreError> {
        self.call(self.engine.purge_jobs(before)).await
    }

    /// Whether others may commit to it as well: then whoever reads must ask for the head first.
    pub fn is_shared(&self) -> bool {
        self.engine.is_shared()
    }

    /// Takes a piece of work that one replica at a time does for all, or keeps it for longer. False: another holds it.
    ///
    /// The time is that of the database where the store is shared, else that of this machine.
    pub async fn take_lease(
        &self,
        name: &str,
        holder: u64,
        lasting: Duration,
    ) -> Result<bool, StoreError> {
        self.call(self.engine.take_lease(name, holder, lasting))
            .await
    }

    /// Lets another take it at once, if this holder has it.
    pub async fn release_lease(&self, name: &str, holder: u64) -> Result<(), StoreError> {
        self.call(self.engine.release_lease(name, holder)).await
    }

    /// Leaves letters for the other replicas: the slow way, for when the bus is away.
    pub async fn send_mail(&self, from: u64, bodies: &[Vec<u8>]) -> Result<(), StoreError> {
        self.call(self.engine.send_mail(from, bodies)).await
    }

    /// Letters after this one, in the order of their ids. Once an id was seen, no smaller one appears.
    pub async fn mail_after(
        &self,
        id: u64,
        not_from: u64,
        limit: u32,
    ) -> Result<Vec<Letter>, StoreError> {
        self.call(self.engine.mail_after(id, not_from, limit)).await
    }

    /// The id of the last letter that was sent, 0 before the first. Ids are never used again.
    pub async fn last_mail(&self) -> Result<u64, StoreError> {
        self.call(self.engine.last_mail()).await
    }

    /// Forgets letters that were sent so long ago, read or not.
    pub async fn purge_mail(&self, older_than: Duration) -> Result<(), StoreError> {
        self.call(self.engine.purge_mail(older_than)).await
    }

    /// Waits for what is under way and closes. Calls after it answer [`StoreError::Unavailable`].
    pub async fn close(&self) {
        self.call(self.engine.close()).await;
    }
}

/// A call that is counted for as long as somebody waits for it.
struct UnderWay<'a>(&'a AtomicUsize);

impl<'a> UnderWay<'a> {
    fn count(calls: &'a AtomicUsize) -> Self {
        calls.fetch_add(1, Ordering::SeqCst);
        Self(calls)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
