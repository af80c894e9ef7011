//! The job reconciler: for each open job, settles ended tasks and starts the next ones.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use model::access::Caller;
use model::change::{Changes, ProcessId};
use model::job::{
    AfterRelease, JobAction, JobId, JobRow, JobStatus, JobTarget, JobTaskRow, JobUpdate,
};
use model::{Code, FullName, Op, OpId, Outcome, TaskId, UnixMillis};
use tokio::sync::watch;

use super::Jobs;
use super::gate::{self, Verdict};
use super::instance::{instance_of, is_connected, observed, registration};
use super::order::{self, Step, TaskBrief};
use super::revert::reverted_by;
use super::settle::{BLOCKED, NO_COMMAND, settled};
use super::table::OpenJob;
use super::workers::Workers;
use crate::commit::World;
use crate::core::Core;
use crate::draft::Draft;
use crate::operations::OperatePlan;
use crate::templates::ConfigResult;
use crate::topology::why_unregistered;
use crate::{ControlError, secrets, stopped};

/// How often jobs are checked without a wake-up.
const POLL_EVERY: Duration = Duration::from_secs(5);
/// The longest sleep during a pause between batches.
const MAX_SLEEP: Duration = Duration::from_secs(1);

pub(crate) async fn run(jobs: Arc<Jobs>, mut stop: watch::Receiver<bool>) {
    let core = &jobs.core;
    let mut workers = Workers::default();
    let mut done: HashMap<JobId, ConfigResults> = HashMap::new();
    let mut sleep = Duration::ZERO;
    loop {
        tokio::select! {
            () = stopped(&mut stop) => return,
            () = core.jobs.wake.notified() => {}
            (job, ordinal, config) = workers.next() => {
                done.entry(job).or_default().insert(ordinal, config);
                while let Some((job, ordinal, config)) = workers.try_next() {
                    done.entry(job).or_default().insert(ordinal, config);
                }
            }
            () = tokio::time::sleep(sleep) => {}
        }
        sleep = POLL_EVERY;
        if !jobs.replicas.leads() {
            // The replica that leads now starts this work again.
            workers = Workers::default();
            done.clear();
            continue;
        }
        let ids: Vec<JobId> = core.jobs.table().open.keys().copied().collect();
        for id in ids {
            let done = done.remove(&id).unwrap_or_default();
            match jobs.advance(id, done).await {
                Ok(Some(wake_at)) => {
                    let wait = wake_at.0.saturating_sub(core.now().0).max(1);
                    let wait = Duration::from_millis(wait.cast_unsigned());
                    sleep = sleep.min(wait).min(MAX_SLEEP);
                }
                Ok(None) => {}
                // Config file work is idempotent, and is done again.
                Err(error) => tracing::warn!(%error, job = id.0, "a job cannot go on yet"),
            }
        }
        // Results for jobs that have ended are dropped.
        done.clear();
        if !workers.begin(&jobs) {
            // Some tasks wait for agents that are reconnecting.
            sleep = sleep.min(MAX_SLEEP);
        }
    }
}

/// The results of workers, by task.
type ConfigResults = HashMap<u32, ConfigResult>;

/// Outcomes of operations that are no longer in memory; None when the store has none either.
type StoredOutcomes = HashMap<OpId, Option<Arc<Outcome>>>;

impl Jobs {
    /// One step of a job; returns when to check again without a wake-up.
    async fn advance(
        &self,
        id: JobId,
        done: ConfigResults,
    ) -> Result<Option<UnixMillis>, ControlError> {
        let stored = Arc::new(self.outcomes_of(id).await?);
        let core = self.core.clone();
        self.core
            .commit(move |world| {
                let table = core.jobs.table();
                let Some(job) = table.open.get(&id) else {
                    return Ok((Changes::default(), None));
                };
                let next_id = table.next_id();
                Ok(JobStep::at(&core, world, job, next_id, &stored, &done).plan(&done))
            })
            .await
    }

    /// Reads outcomes from the store that are no longer in memory, as after a restart.
    async fn outcomes_of(&self, id: JobId) -> Result<StoredOutcomes, ControlError> {
        let mut unknown: BTreeMap<TaskId, Vec<OpId>> = BTreeMap::new();
        if let Some(job) = self.core.jobs.table().open.get(&id) {
            let running = job.tasks.iter();
            let running =
                running.filter(|task| task.status == JobStatus::Running && task.gate.is_none());
            for op in running.filter_map(|task| task.op) {
                if let Some(ops) = unknown.get_mut(&op.task) {
                    ops.push(op);
                } else if self.core.tasks.get(op.task).is_none() {
                    unknown.insert(op.task, vec![op]);
                }
            }
        }
        let mut stored = StoredOutcomes::new();
        for (task, ops) in unknown {
            let task = match self.operations.find_task(task).await {
                Ok(task) => Some(task),
                Err(ControlError::NoSuchTask(_)) => None,
                Err(error) => return Err(error),
            };
            for op in ops {
                let outcome = task.as_ref().and_then(|task| task.outcome(op));
                stored.insert(op, outcome);
            }
        }
        Ok(stored)
    }
}

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
    fn at(
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

    fn settle(&mut self, stored: &StoredOutcomes) {
        let (action, options) = (self.job.row.action, &self.job.row.options);
        for task in &self.job.tasks {
            let is_operated = task.status == JobStatus::Running && task.gate.is_none();
            let Some(op) = task.op.filter(|_| is_operated) else {
                continue;
            };
            let outcome = match self.core.tasks.get(op.task) {
                Some(known) => known.outcome(op),
                None => match stored.get(&op) {
                    Some(Some(outcome)) => Some(outcome.clone()),
                    Some(None) => Some(Arc::new(Outcome::plain(
                        Code::TERMINATED,
                        "the result of its operation is no longer kept",
                        self.now,
                    ))),
                    // Dropped from memory after this step started: the next step reads it.
                    None => None,
                },
            };
            if let Some(outcome) = outcome {
                let row = settled(task, action, options, &outcome, self.now);
                let row = gate::entered(row, options, self.now);
                self.moved.insert(task.ordinal, row);
            }
        }
    }

    /// Ends tasks whose process has stayed as the gate asks, or has not.
    fn judge_gates(&mut self) {
        let Some(asked) = self.job.row.options.gate else {
            return;
        };
        let tasks = self.job.tasks.iter();
        let waiting: Vec<JobTaskRow> = tasks
            .map(|task| self.moved.get(&task.ordinal).unwrap_or(task))
            .filter(|task| task.gate.is_some())
            .cloned()
            .collect();
        for task in waiting {
            let Some(progress) = task.gate else { continue };
            let seen = observed(self.world.fleet, &task);
            let verdict = gate::judge(asked, progress, seen.as_ref(), self.now);
            if let Verdict::Waits { check_at, .. } = verdict {
                self.gate_at = Some(self.gate_at.map_or(check_at, |at| at.min(check_at)));
            }
            if let Some(row) = gate::judged(&task, verdict, self.now) {
                self.moved.insert(task.ordinal, row);
            }
        }
    }

    /// Settles config file tasks. A task that continues with an operation stays running.
    fn settle_config(&mut self, done: &ConfigResults) {
        for (ordinal, config) in done {
            let Some(task) = self.task(*ordinal).cloned() else {
                continue;
            };
            if !needs_worker(&task) {
                continue;
            }
            let (status, code, reason) = match &config.failed {
                Some((code, reason)) => (JobStatus::Failed, *code, reason.clone()),
                None if self.operates_after() => (JobStatus::Running, Code::OK, String::new()),
                None => (JobStatus::Succeeded, Code::OK, config.note.clone()),
            };
            let row = JobTaskRow {
                status,
                code,
                reason,
                output: config.output.clone(),
                ended_at: match status.is_over() {
                    true => self.now,
                    false => UnixMillis::NEVER,
                },
                ..task
            };
            self.moved.insert(*ordinal, row);
        }
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

    fn plan(mut self, done: &ConfigResults) -> (Changes, Option<UnixMillis>) {
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

    /// Marks tasks as running. Workers take running tasks without an operation.
    fn begin_config(&mut self, ordinals: &[u32]) {
        for ordinal in ordinals {
            if let Some(task) = self.task(*ordinal).cloned() {
                let row = JobTaskRow {
                    status: JobStatus::Running,
                    started_at: self.now,
                    ..task
                };
                self.moved.insert(*ordinal, row);
            }
        }
    }

    /// The tasks whose files are written, so that their processes can be operated.
    fn written(&self, done: &ConfigResults) -> Vec<u32> {
        let ok = done.iter().filter(|(ordinal, config)| {
            let task = self.job.tasks.get(**ordinal as usize);
            config.failed.is_none() && task.is_some_and(needs_worker)
        });
        let mut ordinals: Vec<u32> = ok.map(|(ordinal, _)| *ordinal).collect();
        ordinals.sort_unstable();
        ordinals
    }

    /// Creates one operation task for all job tasks that start together.
    fn begin(&mut self, draft: Draft<'_>, ordinals: &[u32], op: Op) -> Changes {
        let mut targets: Vec<(u32, FullName, model::Host)> = Vec::with_capacity(ordinals.len());
        let mut taken = HashSet::with_capacity(ordinals.len());
        for ordinal in ordinals {
            match self.target(*ordinal) {
                Ok((process, _, _)) if !taken.insert(process) => {
                    let reason = "what this task was for is no longer registered";
                    self.fail(*ordinal, Code::NOT_REGISTERED, reason.to_owned());
                }
                Ok((_, name, host)) => targets.push((*ordinal, name, host)),
                Err((code, reason)) => self.fail(*ordinal, code, reason),
            }
        }
        if targets.is_empty() {
            return draft.finish();
        }
        let id = self.core.tasks.fresh_id(self.now, secrets::random_u32());
        let mut plan = OperatePlan::on(draft, &self.core.tasks, id);
        for (ordinal, name, host) in targets {
            let op_id = plan.add_instance(name, op, host);
            if let Some(task) = self.task(ordinal).cloned() {
                let row = JobTaskRow {
                    status: JobStatus::Running,
                    op: Some(op_id),
                    started_at: match task.started_at {
                        UnixMillis::NEVER => self.now,
                        began => began,
                    },
                    ..task
                };
                self.moved.insert(ordinal, row);
            }
        }
        let row = &self.job.row;
        let caller = Caller {
            app: row.app.clone(),
            user: row.user.clone(),
            ..Caller::system()
        };
        let what = format!("job {}: {}", row.id, row.action.as_str());
        plan.into_changes(&caller, what)
    }

    /// The registered process of a job task.
    pub(super) fn target(
        &self,
        ordinal: u32,
    ) -> Result<(ProcessId, FullName, model::Host), (Code, String)> {
        let not_there = |what: &str| (Code::NOT_REGISTERED, what.to_owned());
        let task = self
            .task(ordinal)
            .ok_or_else(|| not_there("there is no such task"))?;
        let (process, local_inst_id) = match &task.target {
            JobTarget::Instance {
                process,
                local_inst_id,
            } => (*process, *local_inst_id),
            JobTarget::Registered { registered, host } => {
                let row = registration(self.world.fleet, registered, *host);
                let row = row.ok_or_else(|| not_there("process is not registered"))?;
                return Ok((row.id(), registered.clone(), *host));
            }
            JobTarget::Agent { .. } => return Err(not_there("this task is about no process")),
        };
        let row = self
            .world
            .fleet
            .view_row(process)
            .ok_or_else(|| not_there("the process is no longer in the topology"))?;
        let needs_start = match self.job.row.action {
            JobAction::Start => true,
            JobAction::Restart => row.program.restart_cmd.trim().is_empty(),
            JobAction::Stop
            | JobAction::Reload
            | JobAction::ForceStop
            | JobAction::SetAuto
            | JobAction::UnsetAuto
            | JobAction::Generate
            | JobAction::Release
            | JobAction::Diff
            | JobAction::UpgradeAgent
            | JobAction::Update => false,
        };
        if needs_start && row.program.start_cmd.trim().is_empty() {
            let reason = format!("process {} has no start_cmd", row.id());
            return Err((NO_COMMAND, reason));
        }
        let instance = instance_of(self.world.fleet, &row, local_inst_id, task)
            .ok_or_else(|| not_there(&why_unregistered(&row, local_inst_id)))?;
        let row = instance.row;
        Ok((row.id(), row.name().clone(), row.host().host))
    }
}

/// Whether a worker has to do this task.
fn needs_worker(task: &JobTaskRow) -> bool {
    task.status == JobStatus::Running && task.op.is_none()
}
