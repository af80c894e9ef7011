//! What callers ask the store for, and what they get.

use model::access::Audit;
use model::change::{Changes, HostId, NameId, ProcessRow, Revision, TargetRow, TaskRow};
use model::event::{Event, EventKind};
use model::job::{JobAction, JobId, JobRow, JobStatus, JobTaskRow};
use model::timeline::{TimelineKind, TimelineRow};
use model::topology::BusinessId;
use model::version::VersionRow;
use model::{FullName, Namespace, Op, Outcome, ProcessName, TaskId, UnixMillis};
use tokio::task::JoinHandle;

use crate::StoreError;

/// Everything that a starting server needs in memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    pub revision: Revision,
    /// Every live row. Of tasks only the open ones, with all their targets and outcomes; of jobs only the unfinished ones,
    /// with all their tasks. No audit, no events, no contents.
    pub changes: Changes,
    /// The last snapshot of each shard, by number.
    pub status: Vec<(u32, Vec<u8>)>,
}

/// The processes of a server that starts, read while it takes everything else, as of the same revision.
#[derive(Debug)]
pub struct LoadingProcesses {
    pub(crate) task: JoinHandle<Result<Vec<ProcessRow>, StoreError>>,
}

impl LoadingProcesses {
    pub async fn rows(self) -> Result<Vec<ProcessRow>, StoreError> {
        match self.task.await {
            Ok(read) => read,
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(stopped) => Err(StoreError::unavailable(stopped)),
            },
        }
    }
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
    /// None where its targets have different operations.
    pub op: Option<Op>,
    /// The process of the first target.
    pub process: String,
    /// How many different processes the first [`SUMMARISED_TARGETS`] targets have.
    pub n_processes: u32,
}

/// Which tasks to read. A field that is None does not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskPage {
    pub limit: u32,
    /// The last id of the page before.
    pub before: Option<TaskId>,
    /// With a target in one of these.
    pub namespaces: Option<Vec<Namespace>>,
    /// With a target of this process.
    pub process: Option<FullName>,
    pub op: Option<Op>,
    pub app: Option<String>,
    pub user: Option<String>,
    pub has_ended: Option<bool>,
    /// Only tasks of this time and later.
    pub since: Option<UnixMillis>,
    /// Only earlier tasks.
    pub until: Option<UnixMillis>,
    pub visible_to: Option<TaskReader>,
}

/// A reader who sees the tasks that have all their targets in these namespaces, and its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskReader {
    pub namespaces: Vec<Namespace>,
    pub app: String,
    pub user: String,
}

/// How many targets of a task are read for its summary, so that a page of large tasks stays cheap.
pub(crate) const SUMMARISED_TARGETS: u32 = 1000;

/// A job with all its tasks, in ordinal order.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredJob {
    pub job: JobRow,
    pub tasks: Vec<JobTaskRow>,
}

/// Which jobs to read. A field that is None does not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobPage {
    pub limit: u32,
    /// The last id of the page before.
    pub before: Option<JobId>,
    pub business: Option<BusinessId>,
    pub action: Option<JobAction>,
    pub status: Option<JobStatus>,
    pub user: Option<String>,
    /// Only jobs of this time and later.
    pub since: Option<UnixMillis>,
    /// Only earlier jobs.
    pub until: Option<UnixMillis>,
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

/// Which part of the audit trail to read. A field that is None does not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditPage {
    pub limit: u32,
    /// The last id of the page before.
    pub before: Option<u64>,
    pub app: Option<String>,
    pub user: Option<String>,
    pub action: Option<String>,
    /// The address of the caller.
    pub from: Option<String>,
    /// Only earlier rows.
    pub until: Option<UnixMillis>,
}

/// Ids grow with time.
pub type AuditRow = (u64, Audit);

/// Which events to read. A field that is None does not filter.
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

/// Which part of the timeline to read. A field that is None does not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimelinePage {
    pub limit: u32,
    /// Time and id of the last row of the page before.
    pub before: Option<(UnixMillis, u64)>,
    /// `Some(None)` for rows of no process.
    pub name: Option<Option<NameId>>,
    /// `Some(None)` for rows of several hosts.
    pub host: Option<Option<HostId>>,
    pub kinds: Option<Vec<TimelineKind>>,
    /// Only rows of this time and later.
    pub since: Option<UnixMillis>,
    /// Only earlier rows.
    pub until: Option<UnixMillis>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTimelineRow {
    pub id: u64,
    pub row: TimelineRow,
}

/// A version of a process, with its number.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredVersion {
    /// From 1, rising, never used again.
    pub number: u32,
    /// As [`model::digest::definition_hash`] has it.
    pub hash: u64,
    pub row: VersionRow,
}

/// By what events are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountEventsBy {
    Kind,
    Process,
    Host,
}

/// How many events of one value happened in one bucket of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCount {
    /// The begin of the bucket.
    pub at: UnixMillis,
    /// A kind, `namespace/name`, or the id of a host.
    pub value: String,
    pub count: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Rises in the order of arrival, and is never used again.
    pub id: u64,
    pub host: HostId,
    pub event: Event,
}

/// A mail message: its id, the number of its sender, its body.
pub type MailMessage = (u64, u64, Vec<u8>);
