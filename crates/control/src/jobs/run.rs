//! Carries jobs on: looks at each that is open, settles what has ended, begins what is next.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use model::access::Caller;
use model::change::Changes;
use model::job::{JobAction, JobId, JobRow, JobStatus, JobTaskRow};
use model::{Code, FullName, Op, OpId, Outcome, UnixMillis};
use tokio::sync::watch;

use super::order::{self, Brief};
use super::settle::{HELD_UP, NO_COMMAND, settled};
use super::table::OpenJob;
use crate::commit::World;
use crate::operate::OperatePlan;
use crate::{Control, ControlError, secrets, stopped};

/// How often jobs are looked at, told or not.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// The longest wait for a pause to be over.
const MAX_SLEEP: Duration = Duration::from_secs(1);

pub(crate) async fn run(control: Control, mut stop: watch::Receiver<bool>) {
    let mut sleep = Duration::ZERO;
    loop {
        tokio::select! {
            () = stopped(&mut stop) => return,
            () = control.0.jobs.look.notified() => {}
            () = tokio::time::sleep(sleep) => {}
        }
        sleep = LOOK_EVERY;
        let ids: Vec<JobId> = control.0.jobs.table().open.keys().copied().collect();
        for id in ids {
            match control.advance(id).await {
                Ok(Some(wake_at)) => {
                    let wait = wake_at.0.saturating_sub(control.now().0).max(1);
                    let wait = Duration::from_millis(wait.cast_unsigned());
                    sleep = sleep.min(wait).min(MAX_SLEEP);
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, job = id.0, "a job cannot go on yet"),
            }
        }
    }
}

/// How operations of a job ended that are not in memory any more; None when nobody knows.
type Found = HashMap<OpId, Option<Arc<Outcome>>>;

impl Control {
    /// One look at a job; when to look again even if nothing happens.
    async fn advance(&self, id: JobId) -> Result<Option<UnixMillis>, ControlError> {
        let found = Arc::new(self.outcomes_of(id).await?);
        let control = self.clone();
        self.commit(move |world| {
            let table = control.0.jobs.table();
            let Some(job) = table.open.get(&id) else {
                return Ok((Changes::default(), None));
            };
            Ok(Look::at(&control, world, job, &found).plan())
        })
        .await
    }

    /// The ends of operations that left the memory before the job saw them: the server was restarted in between.
    async fn outcomes_of(&self, id: JobId) -> Result<Found, ControlError> {
        let running: Vec<OpId> = match self.0.jobs.table().open.get(&id) {
            Some(job) => job
                .tasks
                .iter()
                .filter(|task| task.status == JobStatus::Running)
                .filter_map(|task| task.op)
                .filter(|op| self.0.tasks.get(op.task).is_none())
                .collect(),
            None => Vec::new(),
        };
        let mut found = Found::new();
        for op in running {
            let outcome = match self.find_task(op.task).await {
                Ok(task) => task.outcome(op),
                Err(ControlError::NoSuchTask(_)) => None,
                Err(error) => return Err(error),
            };
            found.insert(op, outcome);
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
    fn at(control: &'a Control, world: &'a World<'a>, job: &'a OpenJob, found: &Found) -> Self {
        let mut look = Self {
            control,
            world,
            job,
            now: control.now(),
            moved: HashMap::new(),
        };
        look.settle(found);
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
                let row = settled(task, action, options, &outcome);
                self.moved.insert(task.ordinal, row);
            }
        }
    }

    fn brief(&self, task: &JobTaskRow) -> Brief {
        let task = self.moved.get(&task.ordinal).unwrap_or(task);
        Brief {
            ordinal: task.ordinal,
            status: task.status,
            priority: task.priority,
            unit: task.unit,
            ended_at: task.ended_at,
        }
    }

    fn plan(mut self) -> (Changes, Option<UnixMillis>) {
        let row = &self.job.row;
        let briefs: Vec<Brief> = self.job.tasks.iter().map(|task| self.brief(task)).collect();
        let step = order::next(&briefs, row.action.order(), &row.options, self.now);
        for (ordinal, culprit) in &step.held_up {
            self.hold_up(*ordinal, *culprit);
        }
        let mut changes = match row.action.op() {
            Some(op) => self.begin(&step.begin, op),
            None => Changes::default(),
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

    /// One task of the fleet for all that begin together.
    fn begin(&mut self, ordinals: &[u32], op: Op) -> Changes {
        let mut targets: Vec<(u32, FullName, model::Host)> = Vec::with_capacity(ordinals.len());
        for ordinal in ordinals {
            match self.target(*ordinal) {
                Ok((name, host)) => targets.push((*ordinal, name, host)),
                Err((code, reason)) => self.fail(*ordinal, code, reason),
            }
        }
        if targets.is_empty() {
            return Changes::default();
        }
        let id = self
            .control
            .0
            .tasks
            .fresh_id(self.now, secrets::random_u32());
        let mut plan = OperatePlan::new(self.world, &self.control.0.tasks, id, self.now);
        for (ordinal, name, host) in targets {
            let op_id = plan.add_instance(name, op, host);
            if let Some(task) = self.task(ordinal).cloned() {
                let row = JobTaskRow {
                    status: JobStatus::Running,
                    op: Some(op_id),
                    started_at: self.now,
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
    fn target(&self, ordinal: u32) -> Result<(FullName, model::Host), (Code, String)> {
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
        let instances = row.instances();
        let instance = instances
            .iter()
            .find(|instance| instance.local_inst_id == task.local_inst_id)
            .ok_or_else(|| not_there("this instance of the process is not registered"))?;
        Ok((instance.row.name().clone(), instance.row.host().host))
    }
}
