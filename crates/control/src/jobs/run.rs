//! Carries jobs on: looks at each that is open, settles what has ended, begins what is next.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use model::access::Caller;
use model::change::{Changes, ProcessId};
use model::job::{AfterRelease, JobAction, JobId, JobRow, JobStatus, JobTaskRow};
use model::{Code, FullName, Op, OpId, Outcome, TaskId, UnixMillis};
use tokio::sync::watch;

use super::instance::{instance_of, is_connected};
use super::order::{self, Brief};
use super::settle::{HELD_UP, NO_COMMAND, settled};
use super::table::OpenJob;
use super::workers::Workers;
use crate::commit::World;
use crate::operate::OperatePlan;
use crate::register::Draft;
use crate::templates::ConfigDone;
use crate::topology::why_unregistered;
use crate::{Control, ControlError, secrets, stopped};

/// How often jobs are looked at, told or not.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// The longest wait for a pause to be over.
const MAX_SLEEP: Duration = Duration::from_secs(1);

pub(crate) async fn run(control: Control, mut stop: watch::Receiver<bool>) {
    let mut workers = Workers::default();
    let mut done: HashMap<JobId, Done> = HashMap::new();
    let mut sleep = Duration::ZERO;
    loop {
        tokio::select! {
            () = stopped(&mut stop) => return,
            () = control.0.jobs.look.notified() => {}
            (job, ordinal, config) = workers.next() => {
                done.entry(job).or_default().insert(ordinal, config);
                while let Some((job, ordinal, config)) = workers.ready() {
                    done.entry(job).or_default().insert(ordinal, config);
                }
            }
            () = tokio::time::sleep(sleep) => {}
        }
        sleep = LOOK_EVERY;
        if !control.leads() {
            // Whoever leads now begins anew what was worked on here.
            workers = Workers::default();
            done.clear();
            continue;
        }
        let ids: Vec<JobId> = control.0.jobs.table().open.keys().copied().collect();
        for id in ids {
            let done = done.remove(&id).unwrap_or_default();
            match control.advance(id, done).await {
                Ok(Some(wake_at)) => {
                    let wait = wake_at.0.saturating_sub(control.now().0).max(1);
                    let wait = Duration::from_millis(wait.cast_unsigned());
                    sleep = sleep.min(wait).min(MAX_SLEEP);
                }
                Ok(None) => {}
                // What was done for config files is done again: it is the same however often.
                Err(error) => tracing::warn!(%error, job = id.0, "a job cannot go on yet"),
            }
        }
        // What was done for a job that is over concerns nobody.
        done.clear();
        if !workers.begin(&control) {
            // Some wait for agents that are on their way back.
            sleep = sleep.min(MAX_SLEEP);
        }
    }
}

/// What workers did, by task.
type Done = HashMap<u32, ConfigDone>;

/// How operations of a job ended that are not in memory any more; None when nobody knows.
type Found = HashMap<OpId, Option<Arc<Outcome>>>;

impl Control {
    /// One look at a job; when to look again even if nothing happens.
    async fn advance(&self, id: JobId, done: Done) -> Result<Option<UnixMillis>, ControlError> {
        let found = Arc::new(self.outcomes_of(id).await?);
        let control = self.clone();
        self.commit(move |world| {
            let table = control.0.jobs.table();
            let Some(job) = table.open.get(&id) else {
                return Ok((Changes::default(), None));
            };
            Ok(Look::at(&control, world, job, &found, &done).plan(&done))
        })
        .await
    }

    /// The ends of operations that left the memory before the job saw them: the server was restarted in between.
    async fn outcomes_of(&self, id: JobId) -> Result<Found, ControlError> {
        let mut unknown: BTreeMap<TaskId, Vec<OpId>> = BTreeMap::new();
        if let Some(job) = self.0.jobs.table().open.get(&id) {
            let running = job.tasks.iter();
            let running = running.filter(|task| task.status == JobStatus::Running);
            for op in running.filter_map(|task| task.op) {
                if let Some(ops) = unknown.get_mut(&op.task) {
                    ops.push(op);
                } else if self.0.tasks.get(op.task).is_none() {
                    unknown.insert(op.task, vec![op]);
                }
            }
        }
        let mut found = Found::new();
        for (task, ops) in unknown {
            let task = match self.find_task(task).await {
                Ok(task) => Some(task),
                Err(ControlError::NoSuchTask(_)) => None,
                Err(error) => return Err(error),
            };
            for op in ops {
                let outcome = task.as_ref().and_then(|task| task.outcome(op));
                found.insert(op, outcome);
            }
        }
        Ok(found)
    }
}

/// One look at one job.
struct Look<'a> {
    control: &'a Control,
    world: &'a World<'a>,
    job: &'a OpenJob,
    now: UnixMillis,
    /// The tasks that this look changes, by ordinal.
    moved: HashMap<u32, JobTaskRow>,
}

impl<'a> Look<'a> {
    fn at(
        control: &'a Control,
        world: &'a World<'a>,
        job: &'a OpenJob,
        found: &Found,
        done: &Done,
    ) -> Self {
        let mut look = Self {
            control,
            world,
            job,
            now: control.now(),
            moved: HashMap::new(),
        };
        look.settle(found);
        look.settle_config(done);
        look
    }

    fn settle(&mut self, found: &Found) {
        let (action, options) = (self.job.row.action, &self.job.row.options);
        for task in &self.job.tasks {
            let Some(op) = task.op.filter(|_| task.status == JobStatus::Running) else {
                continue;
            };
            let outcome = match self.control.0.tasks.get(op.task) {
                Some(known) => known.outcome(op),
                None => match found.get(&op) {
                    Some(Some(outcome)) => Some(outcome.clone()),
                    Some(None) => Some(Arc::new(Outcome::plain(
                        Code::TERMINATED,
                        "the result of its operation is no longer kept",
                        self.now,
                    ))),
                    // It left the memory after this look began: the next one finds it.
                    None => None,
                },
            };
            if let Some(outcome) = outcome {
                let row = settled(task, action, options, &outcome, self.now);
                self.moved.insert(task.ordinal, row);
            }
        }
    }

    /// What workers did to config files. A task that goes on with an operation is left running for it.
    fn settle_config(&mut self, done: &Done) {
        for (ordinal, config) in done {
            let Some(task) = self.task(*ordinal).cloned() else {
                continue;
            };
            if !waits_for_work(&task) {
                continue;
            }
            let (status, code, reason) = match &config.failed {
                Some((code, reason)) => (JobStatus::Failed, *code, reason.clone()),
                None if self.goes_on() => (JobStatus::Running, Code::OK, String::new()),
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

    /// Whether something is done to a process after its files were released.
    fn goes_on(&self) -> bool {
        let row = &self.job.row;
        row.action == JobAction::Release && row.options.after_release.is_some()
    }

    fn brief(&self, task: &JobTaskRow) -> Brief {
        let task = self.moved.get(&task.ordinal).unwrap_or(task);
        Brief {
            ordinal: task.ordinal,
            status: task.status,
            priority: task.priority,
            unit: task.unit,
            ended_at: task.ended_at,
            // A missing command is the fault of that process alone, and what failed before a retry was seen.
            holds_up: task.code != NO_COMMAND && task.ended_at >= self.job.row.retried_at,
        }
    }

    fn plan(mut self, done: &Done) -> (Changes, Option<UnixMillis>) {
        let row = &self.job.row;
        let briefs: Vec<Brief> = self.job.tasks.iter().map(|task| self.brief(task)).collect();
        let mut step = order::next(&briefs, row.action.order(), &row.options, self.now);
        if self.control.0.jobs.waits_for_agents(row.id) {
            let n_due = step.begin.len();
            step.begin.retain(|ordinal| self.is_connected(*ordinal));
            if step.begin.len() < n_due {
                step.wake_at = Some(self.now.plus_millis(1000));
            }
        }
        for (ordinal, culprit) in &step.held_up {
            self.hold_up(*ordinal, *culprit);
        }
        let mut draft = Draft::new(self.world, self.now);
        for (ordinal, config) in done {
            // One that ended meanwhile was done by somebody else.
            let Some(task) = self.job.tasks.get(*ordinal as usize) else {
                continue;
            };
            if waits_for_work(task) {
                draft.keep_files(task.process, config);
            }
        }
        let mut changes = match (row.action.op(), row.options.after_release) {
            (Some(op), _) => self.begin(draft, &step.begin, op),
            (None, after) => {
                self.begin_config(&step.begin);
                let op = after.map(|after| match after {
                    AfterRelease::Restart => Op::Restart,
                    AfterRelease::Reload => Op::Reload,
                });
                let written: Vec<u32> = self.written(done);
                match op.filter(|_| self.goes_on()) {
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
        if status != row.status {
            changes.jobs.push(JobRow {
                status,
                ended_at: match over {
                    true => self.now,
                    false => UnixMillis::NEVER,
                },
                ..row.clone()
            });
        }
        let mut moved: Vec<JobTaskRow> = self.moved.into_values().collect();
        moved.sort_by_key(|task| task.ordinal);
        changes.job_tasks = moved;
        (changes, step.wake_at)
    }

    fn task(&self, ordinal: u32) -> Option<&JobTaskRow> {
        let task = self.job.tasks.get(ordinal as usize)?;
        Some(self.moved.get(&ordinal).unwrap_or(task))
    }

    fn is_connected(&self, ordinal: u32) -> bool {
        let task = self.job.tasks.get(ordinal as usize);
        task.is_some_and(|task| is_connected(self.world.fleet, task))
    }

    fn hold_up(&mut self, ordinal: u32, culprit: u32) {
        let because = self.task(culprit).map_or_else(String::new, |culprit| {
            format!("{}: {}", culprit.label.expression, culprit.reason)
        });
        let reason = format!("not begun, because an earlier task failed: {because}");
        self.fail(ordinal, HELD_UP, reason);
    }

    fn fail(&mut self, ordinal: u32, code: Code, reason: String) {
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

    /// Workers take up what is running and has no operation.
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

    /// Those whose files are written, and whose processes are to be operated now.
    fn written(&self, done: &Done) -> Vec<u32> {
        let ok = done.iter().filter(|(ordinal, config)| {
            let task = self.job.tasks.get(**ordinal as usize);
            config.failed.is_none() && task.is_some_and(waits_for_work)
        });
        let mut ordinals: Vec<u32> = ok.map(|(ordinal, _)| *ordinal).collect();
        ordinals.sort_unstable();
        ordinals
    }

    /// One task of the fleet for all that begin together.
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
        let id = self
            .control
            .0
            .tasks
            .fresh_id(self.now, secrets::random_u32());
        let mut plan = OperatePlan::on(draft, &self.control.0.tasks, id);
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

    /// Where the instance of a task is now.
    fn target(&self, ordinal: u32) -> Result<(ProcessId, FullName, model::Host), (Code, String)> {
        let not_there = |what: &str| (Code::NOT_REGISTERED, what.to_owned());
        let task = self
            .task(ordinal)
            .ok_or_else(|| not_there("there is no such task"))?;
        let row = self
            .world
            .fleet
            .view_row(task.process)
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
            | JobAction::Diff => false,
        };
        if needs_start && row.program.start_cmd.trim().is_empty() {
            let reason = format!("process {} has no start_cmd", row.id());
            return Err((NO_COMMAND, reason));
        }
        let instance = instance_of(self.world.fleet, &row, task)
            .ok_or_else(|| not_there(&why_unregistered(&row, task.local_inst_id)))?;
        let row = instance.row;
        Ok((row.id(), row.name().clone(), row.host().host))
    }
}

/// Whether workers have to do it, and have not.
fn waits_for_work(task: &JobTaskRow) -> bool {
    task.status == JobStatus::Running && task.op.is_none()
}
