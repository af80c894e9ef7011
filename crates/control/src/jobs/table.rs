//! Open jobs in memory. The store has all jobs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use locks::{Mutex, MutexGuard};
use model::change::Changes;
use model::job::{JobArea, JobId, JobRow, JobStatus, JobTaskRow};
use model::{FullName, OpId};
use store::JobCounts;
use tokio::sync::{Notify, watch};

use crate::{ChangeEvent, lock_order};

#[derive(Debug)]
pub(crate) struct OpenJobs {
    table: Mutex<JobTable, { lock_order::JOBS }>,
    /// Wakes the reconciler.
    pub(crate) wake: Notify,
    /// Changes with every change of a job, for waiting callers.
    pub(super) moved: watch::Sender<u64>,
    /// Jobs that were open when this server started, and whose agents may not be connected yet.
    resumed: HashSet<JobId>,
    started_at: tokio::time::Instant,
}

/// How long agents may take to reconnect to a restarted server: they retry every half a minute.
const RECONNECT_WITHIN: Duration = Duration::from_secs(40);

#[derive(Debug, Default)]
pub(crate) struct JobTable {
    pub(super) open: BTreeMap<JobId, OpenJob>,
    /// The job task of each running operation.
    by_op: HashMap<OpId, (JobId, u32)>,
    last_id: u32,
    /// How many jobs have ended. While it is unchanged, an ended job that was read from the store is current.
    pub(super) n_closed: u64,
}

/// How a commit changed jobs.
#[derive(Debug)]
pub(crate) struct JobChanges {
    /// The reconciler has to run.
    is_touched: bool,
    /// For watchers.
    pub(crate) events: Vec<ChangeEvent>,
}

#[derive(Debug, Clone)]
pub(super) struct OpenJob {
    pub(super) row: JobRow,
    /// By ordinal.
    pub(super) tasks: Vec<JobTaskRow>,
    /// Maintained incrementally, so that watchers of a large job cost little.
    counts: JobCounts,
}

impl OpenJobs {
    /// Starts with the open jobs of the store.
    pub(crate) fn new(last_id: JobId, loaded: &Changes) -> Self {
        let mut table = JobTable {
            last_id: last_id.0,
            ..JobTable::default()
        };
        table.apply(loaded);
        Self {
            resumed: table.open.keys().copied().collect(),
            started_at: tokio::time::Instant::now(),
            table: Mutex::ranked(table),
            wake: Notify::new(),
            moved: watch::channel(0).0,
        }
    }

    /// Whether a job still waits for its agents to reconnect.
    pub(super) fn waits_for_agents(&self, id: JobId) -> bool {
        self.resumed.contains(&id) && self.started_at.elapsed() < RECONNECT_WITHIN
    }

    pub(crate) fn table(&self) -> MutexGuard<'_, JobTable> {
        self.table.lock()
    }

    /// What each open job acts in.
    pub(crate) fn areas(&self) -> Vec<JobArea> {
        let table = self.table();
        table
            .open
            .values()
            .map(|job| job.row.area.clone())
            .collect()
    }

    /// Wakes the reconciler, and callers that wait for jobs.
    pub(crate) fn announce(&self, touched: &JobChanges) {
        if touched.is_touched {
            self.moved.send_modify(|moved| *moved += 1);
            self.wake.notify_one();
        }
    }
}

impl JobTable {
    /// Folds a commit in. Does not wake waiting callers yet.
    pub(crate) fn apply(&mut self, changes: &Changes) -> JobChanges {
        let ended = changes.outcomes.iter();
        let is_touched = ended
            .map(|row| row.op_id)
            .any(|id| self.by_op.contains_key(&id));
        let mut moved = BTreeSet::new();
        for row in &changes.jobs {
            self.last_id = self.last_id.max(row.id.0);
            match self.open.get_mut(&row.id) {
                Some(job) => job.row = row.clone(),
                // It ended before.
                None if row.status.is_over() => continue,
                None => {
                    let job = OpenJob {
                        row: row.clone(),
                        tasks: Vec::new(),
                        counts: JobCounts::default(),
                    };
                    self.open.insert(row.id, job);
                }
            }
            moved.insert(row.id);
        }
        // Sorted by ordinal: several commits that are folded in at once are ordered by revision.
        let mut job_tasks: Vec<&JobTaskRow> = changes.job_tasks.iter().collect();
        job_tasks.sort_by_key(|row| (row.job, row.ordinal));
        for row in job_tasks {
            let Some(job) = self.open.get_mut(&row.job) else {
                continue;
            };
            moved.insert(row.job);
            let at = row.ordinal as usize;
            let before = job.tasks.get(at).and_then(|before| before.op);
            if let Some(op) = before.filter(|_| before != row.op) {
                self.by_op.remove(&op);
            }
            if let Some(op) = row.op {
                match row.status {
                    JobStatus::Running => {
                        self.by_op.insert(op, (row.job, row.ordinal));
                    }
                    JobStatus::Pending
                    | JobStatus::Succeeded
                    | JobStatus::Failed
                    | JobStatus::Ignored => {
                        self.by_op.remove(&op);
                    }
                }
            }
            *count(&mut job.counts, row.status) += 1;
            match job.tasks.get_mut(at) {
                Some(task) => {
                    *count(&mut job.counts, task.status) -= 1;
                    *task = row.clone();
                }
                None => job.tasks.push(row.clone()),
            }
        }
        let moved = moved.into_iter().filter_map(|id| self.open.get(&id));
        let events = moved.map(|job| ChangeEvent::Job {
            id: job.row.id,
            area: job.row.area.clone(),
            action: job.row.action,
            status: job.row.status,
            paused_by: job.row.paused_by.clone(),
            counts: job.counts,
        });
        let events: Vec<ChangeEvent> = events.collect();
        for row in changes.jobs.iter().filter(|row| row.status.is_over()) {
            self.open.remove(&row.id);
            self.n_closed += 1;
        }
        JobChanges {
            is_touched: is_touched || !events.is_empty(),
            events,
        }
    }

    /// What an open job acts in, and how many of its tasks have ended.
    pub(super) fn n_ended(&self, id: JobId) -> Option<(JobArea, usize)> {
        let job = self.open.get(&id)?;
        let counts = job.counts;
        let n_ended = counts.succeeded + counts.failed + counts.ignored;
        Some((job.row.area.clone(), n_ended as usize))
    }

    /// An open job that updates this process.
    pub(super) fn open_roll(&self, process: &FullName) -> Option<JobId> {
        let mut rolls = self.open.values().filter(|job| {
            let update = job.row.update.as_ref();
            update.is_some_and(|update| update.process == *process)
        });
        rolls.next().map(|job| job.row.id)
    }

    pub(super) fn next_id(&self) -> JobId {
        JobId(self.last_id + 1)
    }
}

fn count(counts: &mut JobCounts, status: JobStatus) -> &mut u32 {
    match status {
        JobStatus::Pending => &mut counts.pending,
        JobStatus::Running => &mut counts.running,
        JobStatus::Succeeded => &mut counts.succeeded,
        JobStatus::Failed => &mut counts.failed,
        JobStatus::Ignored => &mut counts.ignored,
    }
}

#[cfg(test)]
mod tests {
    use model::job::{JobAction, JobOptions, JobTarget, JobTaskLabel};
    use model::topology::{BkProcessId, BusinessId};
    use model::{Code, UnixMillis};

    use super::*;

    const AREA: JobArea = JobArea::Business(BusinessId(2));

    fn job(status: JobStatus) -> JobRow {
        JobRow {
            id: JobId(7),
            area: AREA,
            action: JobAction::Start,
            scope: serde_json::json!({}),
            options: JobOptions::default(),
            app: String::new(),
            user: String::new(),
            created_at: UnixMillis(1),
            ended_at: UnixMillis::NEVER,
            status,
            cancelled_by: String::new(),
            paused_by: String::new(),
            retried_at: UnixMillis::NEVER,
            update: None,
        }
    }

    fn task(ordinal: u32, status: JobStatus) -> JobTaskRow {
        JobTaskRow {
            job: JobId(7),
            ordinal,
            target: JobTarget::Instance {
                process: BkProcessId(ordinal),
                local_inst_id: 1,
            },
            label: JobTaskLabel::default(),
            priority: 0,
            unit: 0,
            status,
            op: None,
            code: Code::OK,
            reason: String::new(),
            output: String::new(),
            command: String::new(),
            started_at: UnixMillis::NEVER,
            ended_at: UnixMillis::NEVER,
            gate: None,
            update: None,
        }
    }

    #[test]
    fn several_commits_at_once_keep_tasks_in_order() {
        let mut table = JobTable::default();
        // The first two tasks were changed by a later commit.
        let changes = Changes {
            jobs: vec![job(JobStatus::Running)],
            job_tasks: vec![
                task(2, JobStatus::Pending),
                task(3, JobStatus::Pending),
                task(0, JobStatus::Succeeded),
                task(1, JobStatus::Running),
            ],
            ..Changes::default()
        };
        table.apply(&changes);
        let ordinals: Vec<u32> = table.open[&JobId(7)]
            .tasks
            .iter()
            .map(|task| task.ordinal)
            .collect();
        assert_eq!(ordinals, [0, 1, 2, 3]);
        assert_eq!(table.n_ended(JobId(7)), Some((AREA, 1)));
        let over = Changes {
            jobs: vec![job(JobStatus::Failed)],
            ..Changes::default()
        };
        table.apply(&over);
        assert_eq!((table.n_ended(JobId(7)), table.n_closed), (None, 1));
    }
}
