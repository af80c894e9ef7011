//! Tasks in memory: every open one, and recently ended ones while there is room.
//!
//! The store has them all. The copy in memory makes polls cheap, and knows which operations agents have to finish by when.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use locks::{Mutex, MutexGuard};
use model::change::{Changes, HostId, TargetRow, TaskRow};
use model::{FullName, Namespace, Op, OpId, Outcome, TaskId, UnixMillis};
use tokio::sync::{Notify, watch};

use super::{EndedTarget, KeptText, TaskView, kept_text};
use crate::lock_order;

/// How much memory ended tasks may take before the oldest are dropped from it.
const MAX_ENDED_BYTES: usize = 256 * 1024 * 1024;
/// How many ended tasks are searched for the last output of a process.
const MAX_SEARCHED: usize = 1000;
/// How many targets may be open at once.
pub(crate) const MAX_OPEN_TARGETS: usize = 2_000_000;

#[derive(Debug, Default)]
pub(crate) struct Tasks {
    table: Mutex<TaskTable, { lock_order::TASKS }>,
    /// Wakes the task that waits for the next deadline.
    pub(crate) deadlines_moved: Notify,
}

#[derive(Debug, Default)]
pub(crate) struct TaskTable {
    tasks: HashMap<TaskId, Arc<Task>>,
    open_by_host: HashMap<HostId, BTreeSet<OpId>>,
    deadlines: BTreeSet<(UnixMillis, OpId)>,
    /// In the order in which they ended, each once.
    ended: VecDeque<TaskId>,
    /// The size of each, and of all.
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
    /// How many targets have ended, for waiting callers.
    pub(crate) n_ended: watch::Sender<usize>,
    names: OnceLock<TaskNames>,
}

/// The processes of a task and their namespaces, each once.
#[derive(Debug)]
pub(crate) struct TaskNames {
    pub(crate) processes: Arc<[Arc<FullName>]>,
    pub(crate) namespaces: Arc<[Namespace]>,
}

#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) outcomes: Vec<Option<Arc<EndedTarget>>>,
    pub(crate) n_ended: usize,
    pub(crate) n_ok: usize,
    pub(crate) texts: Vec<KeptText>,
    /// Cached between two changes, for all polls.
    pub(crate) view: Option<Arc<TaskView>>,
}

impl Task {
    pub(crate) fn new(row: TaskRow, targets: Vec<TargetRow>) -> Self {
        let progress = Progress {
            outcomes: vec![None; targets.len()],
            n_ended: 0,
            n_ok: 0,
            texts: KeptText::of_targets(targets.len()),
            view: None,
        };
        Self {
            row,
            targets,
            progress: Mutex::ranked(progress),
            n_ended: watch::channel(0).0,
            names: OnceLock::new(),
        }
    }

    /// Collected once: the targets of a task never change.
    pub(crate) fn names(&self) -> &TaskNames {
        self.names.get_or_init(|| {
            let processes: BTreeSet<&Arc<FullName>> =
                self.targets.iter().map(|target| &target.process).collect();
            let namespaces: BTreeSet<&Namespace> =
                processes.iter().map(|name| &name.namespace).collect();
            TaskNames {
                namespaces: namespaces.into_iter().cloned().collect(),
                processes: processes.into_iter().cloned().collect(),
            }
        })
    }

    pub(crate) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock()
    }

    /// The ordinal is the index.
    pub(crate) fn target(&self, op: OpId) -> Option<&TargetRow> {
        self.targets.get(op.ordinal as usize)
    }

    pub(crate) fn outcome(&self, op: OpId) -> Option<Arc<EndedTarget>> {
        self.progress().outcomes.get(op.ordinal as usize)?.clone()
    }

    /// Sets or replaces outcomes, all of them at once for readers.
    pub(crate) fn end(&self, outcomes: impl IntoIterator<Item = (OpId, Outcome)>) {
        let mut progress = self.progress();
        let progress = &mut *progress;
        progress.view = None;
        for (op, outcome) in outcomes {
            let Some(slot) = progress.outcomes.get_mut(op.ordinal as usize) else {
                continue;
            };
            progress.texts[op.ordinal as usize / kept_text::TARGETS].renew();
            let is_ok = outcome.code.is_as_asked();
            let before = slot.replace(Arc::new(outcome.into()));
            let was_ok = before
                .as_ref()
                .is_some_and(|outcome| outcome.code.is_as_asked());
            progress.n_ok = progress.n_ok + usize::from(is_ok) - usize::from(was_ok);
            progress.n_ended += usize::from(before.is_none());
        }
    }

    /// Wakes the callers that wait for its end.
    pub(crate) fn announce(&self) {
        let n_ended = self.progress().n_ended;
        self.n_ended.send_replace(n_ended);
    }

    fn bytes(&self) -> usize {
        // The texts are in what is written for polls, too: of each target, where a message is there twice, and of several.
        let outcome = |outcome: &Arc<EndedTarget>| {
            let ran = outcome
                .ran
                .as_ref()
                .map_or(0, |ran| ran.output.len() + ran.command.len());
            1000 + 5 * outcome.message.len() + 3 * ran
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
    pub(crate) fn table(&self) -> MutexGuard<'_, TaskTable> {
        self.table.lock()
    }

    /// Wakes the callers that wait for tasks that a commit touched.
    pub(crate) fn announce(&self, touched: &[Arc<Task>]) {
        if touched.is_empty() {
            return;
        }
        touched.iter().for_each(|task| task.announce());
        self.deadlines_moved.notify_one();
    }

    /// A new id, above every id before: outboxes send operations again in this order.
    pub(crate) fn fresh_id(&self, at: UnixMillis, random: u32) -> TaskId {
        let mut table = self.table();
        // If the clock was set back, the id follows the last one at a distance: the next numbers may belong to tasks that
        // ended before this server started, and are not in memory.
        let step = 1 + u64::from(random >> 8);
        let next = TaskId::from_number(table.last_id.number() + step);
        let mut id = TaskId::new(at, random).max(next);
        // Tasks of other replicas are in memory, too, or the commit fails and is planned again.
        while table.tasks.contains_key(&id) {
            id = TaskId::from_number(id.number() + 1);
        }
        table.last_id = id;
        id
    }

    pub(crate) fn get(&self, id: TaskId) -> Option<Arc<Task>> {
        self.table().tasks.get(&id).cloned()
    }

    /// The operations that a host has not finished, oldest first.
    pub(crate) fn open_on(&self, host: HostId) -> Vec<OpId> {
        let table = self.table();
        table
            .open_by_host
            .get(&host)
            .map(|ops| ops.iter().copied().collect())
            .unwrap_or_default()
    }

    /// The deadline of the last open operation on a process.
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

    /// The output of the last operation on a process that wrote any, as far as it is in memory.
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

    /// Targets past their deadline, at most `limit` of them.
    pub(crate) fn overdue(&self, now: UnixMillis, limit: usize) -> Vec<OpId> {
        let table = self.table();
        let overdue = table.deadlines.iter().take_while(|(at, _)| *at <= now);
        overdue.take(limit).map(|(_, op)| *op).collect()
    }

    /// The tasks that have not ended.
    pub(crate) fn open(&self) -> Vec<Arc<Task>> {
        let table = self.table();
        let tasks = table.tasks.iter();
        let open = tasks.filter(|(id, _)| !table.ended_sizes.contains_key(id));
        open.map(|(_, task)| task.clone()).collect()
    }

    /// The number of open tasks and of open targets.
    pub(crate) fn n_open(&self) -> (usize, usize) {
        let table = self.table();
        (table.tasks.len() - table.ended.len(), table.deadlines.len())
    }
}

impl TaskTable {
    /// Folds a commit in; returns the tasks that it touched, by id. Does not wake waiting callers yet.
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
        self.drop_oldest();
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

    /// Counts an ended task against the memory limit. A late result changes its size.
    fn retire(&mut self, task: &Task) {
        let (id, bytes) = (task.row.id, task.bytes());
        match self.ended_sizes.insert(id, bytes) {
            Some(before) => self.ended_bytes -= before,
            None => self.ended.push_back(id),
        }
        self.ended_bytes += bytes;
    }

    fn drop_oldest(&mut self) {
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
