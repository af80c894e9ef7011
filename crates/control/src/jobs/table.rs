//! The jobs that are not over, in memory. The store has them all.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::OpId;
use model::change::Changes;
use model::job::{JobId, JobRow, JobStatus, JobTaskRow};
use tokio::sync::{Notify, watch};

#[derive(Debug)]
pub(crate) struct Jobs {
    table: Mutex<Table>,
    /// A job has to be looked at.
    pub(super) look: Notify,
    /// Moves whenever any job does, for those who wait.
    pub(super) moved: watch::Sender<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) open: BTreeMap<JobId, OpenJob>,
    /// Whom the end of an operation concerns.
    by_op: HashMap<OpId, (JobId, u32)>,
    last_id: u32,
}

#[derive(Debug, Clone)]
pub(super) struct OpenJob {
    pub(super) row: JobRow,
    /// By ordinal.
    pub(super) tasks: Vec<JobTaskRow>,
}

impl Jobs {
    pub(crate) fn new(last_id: JobId) -> Self {
        let table = Table {
            last_id: last_id.0,
            ..Table::default()
        };
        Self {
            table: Mutex::new(table),
            look: Notify::new(),
            moved: watch::channel(0).0,
        }
    }

    pub(super) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Folds a commit in.
    pub(crate) fn apply(&self, changes: &Changes) {
        let moved = {
            let mut table = self.table();
            table.apply(changes)
        };
        if moved {
            self.moved.send_modify(|moved| *moved += 1);
            self.look.notify_one();
        }
    }
}

impl Table {
    fn apply(&mut self, changes: &Changes) -> bool {
        let mut moved = changes
            .outcomes
            .iter()
            .any(|row| self.by_op.contains_key(&row.op_id));
        for row in &changes.jobs {
            self.last_id = self.last_id.max(row.id.0);
            moved = true;
            match self.open.get_mut(&row.id) {
                Some(job) => job.row = row.clone(),
                None => {
                    let job = OpenJob {
                        row: row.clone(),
                        tasks: Vec::new(),
                    };
                    self.open.insert(row.id, job);
                }
            }
        }
        for row in &changes.job_tasks {
            let Some(job) = self.open.get_mut(&row.job) else {
                continue;
            };
            moved = true;
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
            match job.tasks.get_mut(at) {
                Some(task) => *task = row.clone(),
                None => job.tasks.push(row.clone()),
            }
        }
        for row in changes.jobs.iter().filter(|row| row.status.is_over()) {
            self.open.remove(&row.id);
        }
        moved
    }

    pub(super) fn next_id(&self) -> JobId {
        JobId(self.last_id + 1)
    }
}
