//! Tasks in memory: every open one, and recently ended ones while there is room.
//!
//! The store has them all. What is here makes polls cheap, tells which operations an agent still owes, and when silence
//! becomes an end.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use locks::{Mutex, MutexGuard};
use model::change::{Changes, HostId, TargetRow, TaskRow};
use model::{Code, FullName, Op, OpId, Outcome, TaskId, UnixMillis};
use tokio::sync::{Notify, watch};

use crate::lock_order;
use crate::task::TaskView;

/// How much memory ended tasks may take before the oldest are left to the store.
const MAX_ENDED_BYTES: usize = 256 * 1024 * 1024;
/// How many ended tasks are searched for the last output of a process.
const MAX_SEARCHED: usize = 1000;
/// How many targets may be under way at once.
pub(crate) const MAX_OPEN_TARGETS: usize = 2_000_000;

#[derive(Debug, Default)]
pub(crate) struct Tasks {
    table: Mutex<Table, { lock_order::TASKS }>,
    /// Wakes whoever waits for the next deadline.
    pub(crate) deadlines_moved: Notify,
}

#[derive(Debug, Default)]
pub(crate) struct Table {
    tasks: HashMap<TaskId, Arc<Task>>,
    open_by_host: HashMap<HostId, BTreeSet<OpId>>,
    deadlines: BTreeSet<(UnixMillis, OpId)>,
    /// In the order in which they ended, each once.
    ended: VecDeque<TaskId>,
    /// How much memory each of them takes, and all together.
    ended_sizes: HashMap<TaskId, usize>,
    ended_bytes: usize,
    last_id: TaskId,
}

/// One task; its targets never change, its outcomes arrive one by one.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) row: TaskRow,
    pub(crate) targets: Vec<TargetRow>,
    progress: Mutex<Progress, { lock_order::OUTCOMES }>,
    /// How many targets have ended, for those who wait.
    pub(crate) n_ended: watch::Sender<usize>,
}

#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) outcomes: Vec<Option<Arc<Outcome>>>,
    pub(crate) n_ended: usize,
    pub(crate) n_ok: usize,
    /// Made once for all polls between two changes.
    pub(crate) view: Option<Arc<TaskView>>,
}

impl Task {
    pub(crate) fn new(row: TaskRow, targets: Vec<TargetRow>) -> Self {
        let outcomes = vec![None; targets.len()];
        let progress = Progress {
            outcomes,
            n_ended: 0,
            n_ok: 0,
            view: None,
        };
        Self {
            row,
            targets,
            progress: Mutex::ranked(progress),
            n_ended: watch::channel(0).0,
        }
    }

    pub(crate) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock()
    }

    /// Ordinals are positions.
    pub(crate) fn target(&self, op: OpId) -> Option<&TargetRow> {
        self.targets.get(op.ordinal as usize)
    }

    pub(crate) fn outcome(&self, op: OpId) -> Option<Arc<Outcome>> {
        self.progress().outcomes.get(op.ordinal as usize)?.clone()
    }

    /// Sets or replaces outcomes, all of them at once for readers.
    pub(crate) fn end(&self, outcomes: impl IntoIterator<Item = (OpId, Outcome)>) {
        let mut progress = self.progress();
        let progress = &mut *progress;
        for (op, outcome) in outcomes {
            let Some(slot) = progress.outcomes.get_mut(op.ordinal as usize) else {
                continue;
            };
            let is_ok = outcome.code == Code::OK;
            let before = slot.replace(Arc::new(outcome));
            let was_ok = before
                .as_ref()
                .is_some_and(|outcome| outcome.code == Code::OK);
            progress.n_ok = progress.n_ok + usize::from(is_ok) - usize::from(was_ok);
            progress.n_ended += usize::from(before.is_none());
        }
        progress.view = None;
    }

    /// Wakes those who wait for its end.
    pub(crate) fn announce(&self) {
        let n_ended = self.progress().n_ended;
        self.n_ended.send_replace(n_ended);
    }

    fn bytes(&self) -> usize {
        let outcome = |outcome: &Arc<Outcome>| {
            let ran = outcome
                .ran
                .as_ref()
                .map_or(0, |ran| ran.output.len() + ran.command.len());
            400 + outcome.message.len() + ran
        };
        self.progress()
            .outcomes
            .iter()
            .flatten()
            .map(outcome)
            .sum::<usize>()
            + self.targets.len() * 200
    }

    fn has_ended(&self) -> bool {
        self.progress().n_ended == self.targets.len()
    }

    pub(crate) fn n_ended_and_ok(&self) -> (usize, usize) {
        let progress = self.progress();
        (progress.n_ended, progress.n_ok)
    }
}

impl Tasks {
    pub(crate) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }

    /// Wakes those who wait for tasks that a commit touched.
    pub(crate) fn announce(&self, touched: &[Arc<Task>]) {
        if touched.is_empty() {
            return;
        }
        touched.iter().for_each(|task| task.announce());
        self.deadlines_moved.notify_one();
    }

    /// An id that no task has, above every id given before: agents are asked again in this order.
    pub(crate) fn fresh_id(&self, at: UnixMillis, random: u32) -> TaskId {
        let mut table = self.table();
        // Where the clock was set back it comes some way behind the last one: those right behind it may be taken by tasks
        // that ended before this server began, and are not in memory.
        let step = 1 + u64::from(random >> 8);
        let next = TaskId::from_number(table.last_id.number() + step);
        let mut id = TaskId::new(at, random).max(next);
        // Tasks of other replicas are known here, too, or the plan will not be committed.
        while table.tasks.contains_key(&id) {
            id = TaskId::from_number(id.number() + 1);
        }
        table.last_id = id;
        id
    }

    pub(crate) fn get(&self, id: TaskId) -> Option<Arc<Task>> {
        self.table().tasks.get(&id).cloned()
    }

    /// What an agent still owes, in the order in which it was asked.
    pub(crate) fn open_on(&self, host: HostId) -> Vec<OpId> {
        let table = self.table();
        table
            .open_by_host
            .get(&host)
            .map(|ops| ops.iter().copied().collect())
            .unwrap_or_default()
    }

    /// When the last operation that is under way on this process must have ended.
    pub(crate) fn latest_deadline(&self, host: HostId, process: &FullName) -> Option<UnixMillis> {
        let table = self.table();
        let ops = table.open_by_host.get(&host)?;
        let targets = ops
            .iter()
            .filter_map(|op| table.tasks.get(&op.task)?.target(*op));
        targets
            .filter(|target| *target.process == *process)
            .map(|target| target.deadline)
            .max()
    }

    /// What the last operation on a process that wrote anything wrote, as far as it is remembered here.
    pub(crate) fn last_output(&self, host: HostId, process: &FullName) -> Option<(Op, String)> {
        let recent: Vec<Arc<Task>> = {
            let table = self.table();
            let ids = table.ended.iter().rev().take(MAX_SEARCHED);
            ids.filter_map(|id| table.tasks.get(id).cloned()).collect()
        };
        recent.iter().find_map(|task| {
            let target = task
                .targets
                .iter()
                .find(|target| target.host == Some(host) && *target.process == *process)?;
            let output = task.outcome(target.op_id)?.ran.as_ref()?.output.clone();
            (!output.is_empty()).then_some((target.op, output))
        })
    }

    pub(crate) fn next_deadline(&self) -> Option<UnixMillis> {
        self.table().deadlines.first().map(|(at, _)| *at)
    }

    /// Targets whose time is over, at most `limit` of them.
    pub(crate) fn overdue(&self, now: UnixMillis, limit: usize) -> Vec<OpId> {
        let table = self.table();
        let overdue = table.deadlines.iter().take_while(|(at, _)| *at <= now);
        overdue.take(limit).map(|(_, op)| *op).collect()
    }

    /// (tasks, targets) under way.
    pub(crate) fn n_open(&self) -> (usize, usize) {
        let table = self.table();
        (table.tasks.len() - table.ended.len(), table.deadlines.len())
    }
}

impl Table {
    /// Folds a commit in; the tasks that it touched, by id. Those who wait for them are not told yet.
    pub(crate) fn apply(&mut self, changes: &Changes) -> Vec<Arc<Task>> {
        let mut touched = BTreeMap::new();
        let mut targets: HashMap<TaskId, Vec<TargetRow>> = HashMap::new();
        for target in &changes.targets {
            targets
                .entry(target.op_id.task)
                .or_default()
                .push(target.clone());
        }
        for row in &changes.tasks {
            let mut targets = targets.remove(&row.id).unwrap_or_default();
            targets.sort_by_key(|target| target.op_id);
            for target in &targets {
                self.open(target);
            }
            let task = Arc::new(Task::new(row.clone(), targets));
            self.tasks.insert(row.id, task.clone());
            touched.insert(row.id, task);
            self.last_id = self.last_id.max(row.id);
        }
        let mut outcomes: BTreeMap<TaskId, Vec<(OpId, Outcome)>> = BTreeMap::new();
        for row in &changes.outcomes {
            let of_task = outcomes.entry(row.op_id.task).or_default();
            of_task.push((row.op_id, row.outcome.clone()));
        }
        for (id, outcomes) in outcomes {
            let Some(task) = self.tasks.get(&id).cloned() else {
                continue;
            };
            for (op, _) in &outcomes {
                if let Some(target) = task.target(*op) {
                    self.close(target);
                }
            }
            task.end(outcomes);
            touched.insert(id, task);
        }
        let touched: Vec<Arc<Task>> = touched.into_values().collect();
        for task in &touched {
            if task.has_ended() {
                self.retire(task);
            }
        }
        self.let_oldest_go();
        touched
    }

    fn open(&mut self, target: &TargetRow) {
        self.deadlines.insert((target.deadline, target.op_id));
        if let Some(host) = target.host {
            self.open_by_host
                .entry(host)
                .or_default()
                .insert(target.op_id);
        }
    }

    fn close(&mut self, target: &TargetRow) {
        self.deadlines.remove(&(target.deadline, target.op_id));
        let Some(host) = target.host else { return };
        if let Some(ops) = self.open_by_host.get_mut(&host) {
            ops.remove(&target.op_id);
            if ops.is_empty() {
                self.open_by_host.remove(&host);
            }
        }
    }

    /// Counts an ended task among those that are kept while there is room. One that gets a late answer is counted again.
    fn retire(&mut self, task: &Task) {
        let (id, bytes) = (task.row.id, task.bytes());
        match self.ended_sizes.insert(id, bytes) {
            Some(before) => self.ended_bytes -= before,
            None => self.ended.push_back(id),
        }
        self.ended_bytes += bytes;
    }

    fn let_oldest_go(&mut self) {
        while self.ended_bytes > MAX_ENDED_BYTES
            && let Some(oldest) = self.ended.pop_front()
        {
            self.tasks.remove(&oldest);
            self.ended_bytes -= self.ended_sizes.remove(&oldest).unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests;
