//! The jobs that are not over, in memory. The store has them all.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use locks::{Mutex, MutexGuard};
use model::OpId;
use model::change::Changes;
use model::job::{JobId, JobRow, JobStatus, JobTaskRow};
use model::topology::BusinessId;
use store::JobCounts;
use tokio::sync::{Notify, watch};

use crate::{Happening, lock_order};

#[derive(Debug)]
pub(crate) struct Jobs {
    table: Mutex<Table, { lock_order::JOBS }>,
    /// A job has to be looked at.
    pub(crate) look: Notify,
    /// Moves whenever any job does, for those who wait.
    pub(super) moved: watch::Sender<u64>,
    /// Jobs that were under way when this server began, whose agents may not be back yet.
    resumed: HashSet<JobId>,
    began: tokio::time::Instant,
}

/// How long agents have to come back to a server that was away: they try every half a minute.
const BACK_WITHIN: Duration = Duration::from_secs(40);

#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(super) open: BTreeMap<JobId, OpenJob>,
    /// Whom the end of an operation concerns.
    by_op: HashMap<OpId, (JobId, u32)>,
    last_id: u32,
    /// How many jobs ended so far: what was read of one that is over is true while this stands.
    pub(super) n_closed: u64,
}

/// What a commit did to the jobs.
#[derive(Debug)]
pub(crate) struct Touched {
    /// Some job has to be looked at again.
    is_touched: bool,
    /// What watchers should hear.
    pub(crate) moved: Vec<Happening>,
}

#[derive(Debug, Clone)]
pub(super) struct OpenJob {
    pub(super) row: JobRow,
    /// By ordinal.
    pub(super) tasks: Vec<JobTaskRow>,
    /// Kept beside them, so that telling watchers of a large job costs nothing.
    counts: JobCounts,
}

impl Jobs {
    /// With what was under way, as the store has it.
    pub(crate) fn new(last_id: JobId, loaded: &Changes) -> Self {
        let mut table = Table {
            last_id: last_id.0,
            ..Table::default()
        };
        table.apply(loaded);
        Self {
            resumed: table.open.keys().copied().collect(),
            began: tokio::time::Instant::now(),
            table: Mutex::ranked(table),
            look: Notify::new(),
            moved: watch::channel(0).0,
        }
    }

    /// Whether a job waits for agents that are not there.
    pub(super) fn waits_for_agents(&self, id: JobId) -> bool {
        self.resumed.contains(&id) && self.began.elapsed() < BACK_WITHIN
    }

    pub(crate) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }

    /// Wakes those who wait for jobs that a commit touched.
    pub(crate) fn announce(&self, touched: &Touched) {
        if touched.is_touched {
            self.moved.send_modify(|moved| *moved += 1);
            self.look.notify_one();
        }
    }
}

impl Table {
    /// Folds a commit in. Those who wait for a job are not told yet.
    pub(crate) fn apply(&mut self, changes: &Changes) -> Touched {
        let ended = changes.outcomes.iter();
        let is_touched = ended
            .map(|row| row.op_id)
            .any(|id| self.by_op.contains_key(&id));
        let mut moved = BTreeSet::new();
        for row in &changes.jobs {
            self.last_id = self.last_id.max(row.id.0);
            moved.insert(row.id);
            match self.open.get_mut(&row.id) {
                Some(job) => job.row = row.clone(),
                None => {
                    let job = OpenJob {
                        row: row.clone(),
                        tasks: Vec::new(),
                        counts: JobCounts::default(),
                    };
                    self.open.insert(row.id, job);
                }
            }
        }
        // By ordinal: several commits at once come in the order in which they were made.
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
        let told = moved.into_iter().filter_map(|id| self.open.get(&id));
        let told = told.map(|job| Happening::Job {
            id: job.row.id,
            business: job.row.business,
            action: job.row.action,
            status: job.row.status,
            counts: job.counts,
        });
        let told: Vec<Happening> = told.collect();
        for row in changes.jobs.iter().filter(|row| row.status.is_over()) {
            self.open.remove(&row.id);
            self.n_closed += 1;
        }
        Touched {
            is_touched: is_touched || !told.is_empty(),
            moved: told,
        }
    }

    /// Whose an open job is, and how many of its tasks have ended.
    pub(super) fn n_ended(&self, id: JobId) -> Option<(BusinessId, usize)> {
        let job = self.open.get(&id)?;
        let counts = job.counts;
        let n_ended = counts.succeeded + counts.failed + counts.ignored;
        Some((job.row.business, n_ended as usize))
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
    use model::job::{JobAction, JobOptions, JobTaskLabel};
    use model::topology::BkProcessId;
    use model::{Code, UnixMillis};

    use super::*;

    fn job(status: JobStatus) -> JobRow {
        JobRow {
            id: JobId(7),
            business: BusinessId(2),
            action: JobAction::Start,
            scope: serde_json::json!({}),
            options: JobOptions::default(),
            app: String::new(),
            user: String::new(),
            created_at: UnixMillis(1),
            ended_at: UnixMillis::NEVER,
            status,
            cancelled_by: String::new(),
            retried_at: UnixMillis::NEVER,
        }
    }

    fn task(ordinal: u32, status: JobStatus) -> JobTaskRow {
        JobTaskRow {
            job: JobId(7),
            ordinal,
            process: BkProcessId(ordinal),
            local_inst_id: 1,
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
        }
    }

    #[test]
    fn several_commits_at_once_put_every_task_in_its_place() {
        let mut table = Table::default();
        // The first two tasks were changed by a later commit than the one that made them all.
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
        assert_eq!(table.n_ended(JobId(7)), Some((BusinessId(2), 1)));
        let over = Changes {
            jobs: vec![job(JobStatus::Failed)],
            ..Changes::default()
        };
        table.apply(&over);
        assert_eq!((table.n_ended(JobId(7)), table.n_closed), (None, 1));
    }
}
