//! One step of a job: settles what has ended, asks what begins next, and plans both as one commit.

mod begin;
mod settle;

use std::collections::HashMap;
use std::sync::Arc;

use model::access::Caller;
use model::change::Changes;
use model::job::{AfterRelease, JobAction, JobId, JobRow, JobStatus, JobTaskRow, JobUpdate};
use model::{Code, Op, OpId, UnixMillis};

use super::instance::is_connected;
use super::order::{self, Step, TaskBrief};
use super::revert::reverted_by;
use super::settle::{BLOCKED, NO_COMMAND};
use super::table::OpenJob;
use crate::commit::World;
use crate::core::Core;
use crate::draft::Draft;
use crate::operations::EndedTarget;
use crate::templates::ConfigResult;

/// The results of workers, by task.
pub(super) type ConfigResults = HashMap<u32, ConfigResult>;

/// Outcomes of operations that are no longer in memory; None when the store has none either.
pub(super) type StoredOutcomes = HashMap<OpId, Option<Arc<EndedTarget>>>;

/// One step of one job.
pub(super) struct JobStep<'a> {
    pub(super) core: &'a Core,
    pub(super) world: &'a World<'a>,
    pub(super) job: &'a OpenJob,
    pub(super) now: UnixMillis,
    /// The tasks that this step changes, by ordinal.
    pub(super) moved: HashMap<u32, JobTaskRow>,
    /// When the next task may pass the gate of the job.
    pub(super) gate_at: Option<UnixMillis>,
    /// What the job updates, with the definitions that this step adds.
    pub(super) update: Option<Box<JobUpdate>>,
    /// The id of a further job.
    pub(super) next_id: JobId,
}

impl<'a> JobStep<'a> {
    pub(super) fn at(
        core: &'a Core,
        world: &'a World<'a>,
        job: &'a OpenJob,
        next_id: JobId,
        stored: &StoredOutcomes,
        done: &ConfigResults,
    ) -> Self {
        let mut step = Self {
            core,
            world,
            job,
            now: core.now(),
            moved: HashMap::new(),
            gate_at: None,
            update: None,
            next_id,
        };
        step.settle(stored);
        step.judge_gates();
        step.settle_config(done);
        step
    }

    /// Whether the job operates processes after it released their files.
    fn operates_after(&self) -> bool {
        let row = &self.job.row;
        row.action == JobAction::Release && row.options.after_release.is_some()
    }

    pub(super) fn brief(&self, task: &JobTaskRow) -> TaskBrief {
        let task = self.moved.get(&task.ordinal).unwrap_or(task);
        TaskBrief {
            // A missing command concerns that process alone, and failures before a retry were accepted by it.
            blocks_others: task.code != NO_COMMAND && task.ended_at >= self.job.row.retried_at,
            ..TaskBrief::of(task)
        }
    }

    pub(super) fn plan(mut self, done: &ConfigResults) -> (Changes, Option<UnixMillis>) {
        let row = &self.job.row;
        let briefs: Vec<TaskBrief> = self.job.tasks.iter().map(|task| self.brief(task)).collect();
        let mut next = match row.paused_by.is_empty() {
            true => {
                let order = order::of(row.action, &row.options);
                order::next(&briefs, order, &row.options, self.now)
            }
            // Nothing more begins, and nothing that has not begun is given up.
            false => Step::default(),
        };
        if self.waits_for_agents() {
            let n_due = next.begin.len();
            next.begin.retain(|ordinal| self.is_connected(*ordinal));
            if next.begin.len() < n_due {
                next.wake_at = Some(self.now.plus_millis(1000));
            }
        }
        for (ordinal, cause) in &next.blocked {
            self.block(*ordinal, *cause);
        }
        let mut draft = Draft::new(self.world, self.now);
        for (ordinal, config) in done {
            // A task that has ended meanwhile was done by another replica.
            let Some(task) = self.job.tasks.get(*ordinal as usize) else {
                continue;
            };
            if let Some(process) = task.target.process().filter(|_| needs_worker(task)) {
                draft.store_files(process, config);
            }
        }
        let mut changes = match (row.action.op(), row.options.after_release) {
            _ if row.action == JobAction::Update => self.begin_update(draft, &next.begin),
            (Some(op), _) => self.begin(draft, &next.begin, op),
            (None, after) => {
                self.begin_config(&next.begin);
                let op = after.map(|after| match after {
                    AfterRelease::Restart => Op::Restart,
                    AfterRelease::Reload => Op::Reload,
                });
                let written: Vec<u32> = self.written(done);
                match op.filter(|_| self.operates_after()) {
                    Some(op) => self.begin(draft, &written, op),
                    None => draft.finish(),
                }
            }
        };
        let tasks = self.job.tasks.iter();
        let mut statuses = tasks.map(|task| self.moved.get(&task.ordinal).unwrap_or(task).status);
        let over = statuses.clone().all(JobStatus::is_over);
        let status = match over {
            false => JobStatus::Running,
            true if statuses.any(|status| status == JobStatus::Failed) => JobStatus::Failed,
            true => JobStatus::Succeeded,
        };
        let mut revert = None;
        if status != row.status || self.update.is_some() {
            let ended = JobRow {
                status,
                ended_at: match over {
                    true => self.now,
                    false => UnixMillis::NEVER,
                },
                paused_by: match over {
                    true => String::new(),
                    false => row.paused_by.clone(),
                },
                update: self.update.take().or_else(|| row.update.clone()),
                ..row.clone()
            };
            revert = match over {
                true => self.revert(&ended),
                false => None,
            };
            changes.jobs.push(match &revert {
                Some(revert) => reverted_by(ended, revert.row.id),
                None => ended,
            });
        }
        let gate_at = self.gate_at;
        let mut moved: Vec<JobTaskRow> = self.moved.into_values().collect();
        moved.sort_by_key(|task| task.ordinal);
        changes.job_tasks = moved;
        if let Some(revert) = revert {
            let by = Caller {
                app: row.app.clone(),
                user: row.user.clone(),
                ..Caller::system()
            };
            revert.add_to(self.world, &mut changes, &by);
        }
        (changes, next.wake_at.into_iter().chain(gate_at).min())
    }

    pub(super) fn task(&self, ordinal: u32) -> Option<&JobTaskRow> {
        let task = self.job.tasks.get(ordinal as usize)?;
        Some(self.moved.get(&ordinal).unwrap_or(task))
    }

    fn is_connected(&self, ordinal: u32) -> bool {
        let task = self.job.tasks.get(ordinal as usize);
        task.is_some_and(|task| is_connected(self.world.fleet, task))
    }

    fn block(&mut self, ordinal: u32, cause: u32) {
        let because = self.task(cause).map_or_else(String::new, |cause| {
            format!("{}: {}", cause.title(), cause.reason)
        });
        let reason = format!("not begun, because an earlier task failed: {because}");
        self.fail(ordinal, BLOCKED, reason);
    }

    pub(super) fn fail(&mut self, ordinal: u32, code: Code, reason: String) {
        let Some(task) = self.task(ordinal).cloned() else {
            return;
        };
        let row = JobTaskRow {
            status: JobStatus::Failed,
            code,
            reason,
            ended_at: self.now,
            ..task
        };
        self.moved.insert(ordinal, row);
    }
}

/// Whether a worker has to do this task.
fn needs_worker(task: &JobTaskRow) -> bool {
    task.status == JobStatus::Running && task.op.is_none()
}
