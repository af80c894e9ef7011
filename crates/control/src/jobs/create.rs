//! Creates jobs, retries their failed tasks, and cancels them.

use std::collections::BTreeSet;

use fleet::view::{Instance, ViewRow};
use model::access::{Audit, Caller, Permission};
use model::change::Changes;
use model::job::{
    Isolation, JobAction, JobId, JobObject, JobOptions, JobRow, JobStatus, JobTaskLabel,
    JobTaskRow, MAX_JOB_TASKS,
};
use model::scope::Selection;
use model::topology::{BkProcessId, BusinessId, inst_id, split_instance_name};
use model::{Code, Host, Invalid, UnixMillis};

use super::settle::CANCELLED;
use super::{JobView, Jobs};
use crate::ControlError;
use crate::answers::user_or_app;
use crate::commit::World;
use crate::templates::has_templates;
use crate::topology::{instances, is_expected, no_such_business};

/// A requested job.
#[derive(Debug, Clone)]
pub struct NewJob {
    pub business: BusinessId,
    pub action: JobAction,
    pub selection: Selection,
    /// The scope as the caller wrote it, for display.
    pub scope: serde_json::Value,
    pub options: JobOptions,
}

impl Jobs {
    /// Durable when it returns; its tasks start right after.
    pub async fn create(&self, caller: &Caller, new: NewJob) -> Result<JobId, ControlError> {
        self.access
            .check(caller, Permission::Operate, new.business)?;
        let (caller, at) = (caller.clone(), self.core.now());
        let core = self.core.clone();
        self.core
            .commit(move |world| {
                let id = core.jobs.table().next_id();
                let tasks = tasks_of(world, id, &new)?;
                let row = JobRow {
                    id,
                    business: new.business,
                    action: new.action,
                    scope: new.scope.clone(),
                    options: new.options.clone(),
                    app: caller.app.clone(),
                    user: caller.user.clone(),
                    created_at: at,
                    ended_at: UnixMillis::NEVER,
                    status: JobStatus::Pending,
                    cancelled_by: String::new(),
                    retried_at: UnixMillis::NEVER,
                };
                let object = format!(
                    "job {id}: {} business {}",
                    new.action.as_str(),
                    new.business
                );
                let detail = format!("{} instances", tasks.len());
                let changes = Changes {
                    jobs: vec![row],
                    job_tasks: tasks,
                    audit: vec![Audit::new(&caller, at, "create_job", object, detail)],
                    ..Changes::default()
                };
                Ok((changes, id))
            })
            .await
    }

    /// Starts the failed tasks of a job again, with the current topology: all of them, or those named. Returns their number.
    pub async fn retry(
        &self,
        caller: &Caller,
        id: JobId,
        ordinals: Option<Vec<u32>>,
    ) -> Result<u32, ControlError> {
        let ordinals = ordinals.map(BTreeSet::from_iter);
        loop {
            let n_closed = self.core.jobs.table().n_closed;
            let before = self.get(caller, id).await?;
            self.access
                .check(caller, Permission::Operate, before.job.business)?;
            let retry = Retry {
                before,
                n_closed,
                ordinals: ordinals.clone(),
            };
            if let Some(n_tasks) = self.start_retry(caller, retry).await? {
                return Ok(n_tasks);
            }
        }
    }

    /// None when the job went on and ended since it was read: the caller reads it again.
    async fn start_retry(
        &self,
        caller: &Caller,
        retry: Retry,
    ) -> Result<Option<u32>, ControlError> {
        let (caller, at) = (caller.clone(), self.core.now());
        let core = self.core.clone();
        self.core
            .commit(move |world| {
                let table = core.jobs.table();
                let (id, open) = (retry.before.job.id, table.open.get(&retry.before.job.id));
                let (row, tasks) = match open {
                    Some(open) => (&open.row, &open.tasks),
                    None if table.n_closed == retry.n_closed => {
                        (&retry.before.job, &retry.before.tasks)
                    }
                    None => return Ok((Changes::default(), None)),
                };
                let retried = retried(world, row, tasks, retry.ordinals.as_ref())?;
                let n_tasks = retried.len() as u32;
                let job_tasks = match open {
                    Some(_) => retried,
                    // All tasks, because a job that has ended is not in memory.
                    None => {
                        let mut all = tasks.clone();
                        for task in retried {
                            let at = task.ordinal as usize;
                            all[at] = task;
                        }
                        all
                    }
                };
                let object = format!("job {id}");
                let detail = format!("{n_tasks} tasks again");
                let changes = Changes {
                    jobs: vec![JobRow {
                        status: JobStatus::Running,
                        ended_at: UnixMillis::NEVER,
                        cancelled_by: String::new(),
                        retried_at: at,
                        ..row.clone()
                    }],
                    job_tasks,
                    audit: vec![Audit::new(&caller, at, "retry_job", object, detail)],
                    ..Changes::default()
                };
                Ok((changes, Some(n_tasks)))
            })
            .await
    }

    /// Starts no further task; running ones end by themselves.
    pub async fn cancel(&self, caller: &Caller, id: JobId) -> Result<(), ControlError> {
        let job = self.get(caller, id).await?.job;
        self.access
            .check(caller, Permission::Operate, job.business)?;
        let (caller, at) = (caller.clone(), self.core.now());
        let core = self.core.clone();
        self.core
            .commit(move |_| {
                let table = core.jobs.table();
                let Some(job) = table.open.get(&id) else {
                    return Err(ControlError::Conflict(format!("job {id} is over")));
                };
                let by = user_or_app(&caller.user, &caller.app);
                let pending = job.tasks.iter();
                let pending = pending.filter(|task| task.status == JobStatus::Pending);
                let tasks = pending.map(|task| JobTaskRow {
                    status: JobStatus::Failed,
                    code: CANCELLED,
                    reason: format!("not begun: the job was cancelled by {by}"),
                    ended_at: at,
                    ..task.clone()
                });
                let changes = Changes {
                    job_tasks: tasks.collect(),
                    jobs: vec![JobRow {
                        cancelled_by: by.clone(),
                        ..job.row.clone()
                    }],
                    audit: vec![Audit::new(
                        &caller,
                        at,
                        "cancel_job",
                        format!("job {id}"),
                        String::new(),
                    )],
                    ..Changes::default()
                };
                Ok((changes, ()))
            })
            .await
    }
}

/// One task for each instance that the scope selects.
fn tasks_of(world: &World<'_>, id: JobId, new: &NewJob) -> Result<Vec<JobTaskRow>, ControlError> {
    let view = world.fleet.view();
    if view.business(new.business).is_none() {
        return Err(no_such_business(new.business));
    }
    let selected = view.selected(new.business, &new.selection);
    let mut tasks = Vec::new();
    let is_config = new.action.object() == JobObject::ConfigFile;
    let any_selected = !selected.is_empty();
    for row in world.fleet.view_rows(selected.iter().map(BkProcessId)) {
        if is_config && !has_templates(view, &new.options, row.id()) {
            continue;
        }
        let instances = instances_for(world, &row, new.action);
        if instances.is_empty() && !row.process.vanished {
            // In the view, but not registered: its tasks report why.
            let missing = (1..=row.program.proc_num).map(|local_inst_id| InstanceTarget {
                alias: &row.program.bk_process_name,
                host: row.machine.host,
                inst_id: inst_id(row.process.ordinal, row.largest_proc_num, local_inst_id),
                local_inst_id,
            });
            for target in missing {
                tasks.push(task(id, tasks.len() as u32, &row, target, new));
            }
        }
        for instance in instances {
            let is_left_over = !is_expected(world.fleet, &row, &instance.row);
            let (alias, host) = match split_instance_name(&instance.row.name().name) {
                // The registered name and host, because the process in the view has others by now.
                Some((alias, _)) if is_left_over => (alias, instance.row.host().host),
                Some(_) | None => (row.program.bk_process_name.as_str(), row.machine.host),
            };
            let target = InstanceTarget {
                alias,
                host,
                inst_id: instance.inst_id,
                local_inst_id: instance.local_inst_id,
            };
            tasks.push(task(id, tasks.len() as u32, &row, target, new));
        }
        if tasks.len() > MAX_JOB_TASKS {
            return Err(Invalid::new(
                "scope",
                format!("selects more than {MAX_JOB_TASKS} instances, the most of one job"),
            )
            .into());
        }
    }
    match tasks.is_empty() {
        true if is_config && any_selected => {
            let rule = "selects no process that such a config template is bound to";
            Err(Invalid::new("scope", rule).into())
        }
        true => Err(Invalid::new("scope", "selects no process").into()),
        false => Ok(tasks),
    }
}

/// The instance that a task is about.
struct InstanceTarget<'a> {
    alias: &'a str,
    host: Host,
    inst_id: u64,
    local_inst_id: u32,
}

fn task(
    id: JobId,
    ordinal: u32,
    row: &ViewRow<'_>,
    target: InstanceTarget<'_>,
    new: &NewJob,
) -> JobTaskRow {
    JobTaskRow {
        job: id,
        ordinal,
        process: row.id(),
        local_inst_id: target.local_inst_id,
        label: JobTaskLabel {
            expression: row.expression(),
            bk_process_name: target.alias.to_owned(),
            inst_id: target.inst_id,
            bk_cloud_id: target.host.cloud,
            bk_host_innerip: target.host.ip.to_string(),
        },
        priority: row.program.priority.unwrap_or(0),
        unit: unit_of(row, new.options.isolation),
        status: JobStatus::Pending,
        op: None,
        code: Code::OK,
        reason: String::new(),
        output: String::new(),
        command: String::new(),
        started_at: UnixMillis::NEVER,
        ended_at: UnixMillis::NEVER,
    }
}

/// Leftover instances, of an earlier name or host of a process, can only be stopped.
fn instances_for<'a>(world: &World<'_>, row: &ViewRow<'a>, action: JobAction) -> Vec<Instance<'a>> {
    match action {
        JobAction::Stop | JobAction::ForceStop | JobAction::UnsetAuto => row.instances(),
        JobAction::Start
        | JobAction::Restart
        | JobAction::Reload
        | JobAction::SetAuto
        | JobAction::Generate
        | JobAction::Release
        | JobAction::Diff => instances(world.fleet, row),
    }
}

fn unit_of(row: &ViewRow<'_>, isolation: Isolation) -> u32 {
    match isolation {
        Isolation::Business => 0,
        Isolation::Set => row.set.id.0,
        Isolation::Module => row.module.id.0,
        Isolation::Host => row.machine.id.0,
    }
}

/// A job whose failed tasks start again.
#[derive(Debug)]
struct Retry {
    before: JobView,
    /// [`super::table::JobTable::n_closed`] when the job was read.
    n_closed: u64,
    ordinals: Option<BTreeSet<u32>>,
}

/// The failed tasks, reset.
fn retried(
    world: &World<'_>,
    job: &JobRow,
    tasks: &[JobTaskRow],
    ordinals: Option<&BTreeSet<u32>>,
) -> Result<Vec<JobTaskRow>, ControlError> {
    let wanted = |task: &&JobTaskRow| {
        task.status == JobStatus::Failed
            && ordinals.is_none_or(|ordinals| ordinals.contains(&task.ordinal))
    };
    let failed: Vec<&JobTaskRow> = tasks.iter().filter(wanted).collect();
    if failed.is_empty() {
        let message = format!("no task of job {} that was asked for has failed", job.id);
        return Err(ControlError::Conflict(message));
    }
    let retry = |task: &JobTaskRow| {
        let row = world.fleet.view_row(task.process);
        JobTaskRow {
            status: JobStatus::Pending,
            op: None,
            code: Code::OK,
            reason: String::new(),
            output: String::new(),
            command: String::new(),
            started_at: UnixMillis::NEVER,
            ended_at: UnixMillis::NEVER,
            priority: row.map_or(task.priority, |row| row.program.priority.unwrap_or(0)),
            unit: row.map_or(task.unit, |row| unit_of(&row, job.options.isolation)),
            ..task.clone()
        }
    };
    Ok(failed.into_iter().map(retry).collect())
}
