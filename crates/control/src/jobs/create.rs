//! Creates jobs.

use model::access::{Audit, Caller, Permission};
use model::change::Changes;
use model::job::{
    BatchSize, Isolation, JobAction, JobArea, JobId, JobObject, JobOptions, JobRow, JobStatus,
};
use model::scope::{Selection, ViewFilter};
use model::topology::BusinessId;
use model::{FullName, Invalid, Labels, Namespace, Spec, UnixMillis};

use super::select::tasks_of;
use super::update::{rolls_already, versions_of};
use super::{JobSelection, Jobs};
use crate::ControlError;

/// A requested job.
#[derive(Debug, Clone)]
pub struct NewJob {
    pub action: JobAction,
    pub selection: JobSelection,
    /// The name of the selection in the request, for refusals.
    pub field: &'static str,
    /// The selection as the caller wrote it, for display.
    pub scope: serde_json::Value,
    pub options: JobOptions,
    /// In place of the batch size of the options.
    pub batch: Option<BatchSize>,
    /// How many tasks the caller expects; with another number nothing happens.
    pub expect_count: Option<u64>,
    /// Of an update, and of nothing else.
    pub update: Option<NewUpdate>,
}

/// What a job that updates is to bring to hosts.
#[derive(Debug, Clone)]
pub struct NewUpdate {
    /// The only process that the job may select.
    pub process: FullName,
    pub spec: Spec,
    pub labels: Labels,
    /// The version that the caller asked for by its number.
    pub restores: Option<u32>,
}

impl NewJob {
    /// On every instance of a business that a scope or an expression selects.
    pub fn of_business(
        business: BusinessId,
        action: JobAction,
        selection: Selection,
        scope: serde_json::Value,
        options: JobOptions,
    ) -> Self {
        Self {
            action,
            selection: JobSelection::View {
                filter: Box::new(ViewFilter::new(business, selection)),
                except: Vec::new(),
            },
            field: "scope",
            scope,
            options,
            batch: None,
            expect_count: None,
            update: None,
        }
    }

    /// Refuses options that the action cannot have, and what a job over registered processes cannot do.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let starts = match self.action {
            JobAction::Start | JobAction::Restart | JobAction::Reload | JobAction::Update => true,
            JobAction::Release => self.options.after_release.is_some(),
            JobAction::Stop
            | JobAction::ForceStop
            | JobAction::SetAuto
            | JobAction::UnsetAuto
            | JobAction::Generate
            | JobAction::Diff
            | JobAction::UpgradeAgent => false,
        };
        if self.options.gate.is_some() && !starts {
            let rule = format!(
                "is for start, restart, reload and update, after which processes run, not for {:?}",
                self.action.as_str()
            );
            return Err(Invalid::new("options.gate", rule));
        }
        self.check_update()?;
        if self.selection.business().is_some() {
            return Ok(());
        }
        let is_of_agents = matches!(self.selection, JobSelection::Agents { .. });
        if is_of_agents != (self.action.object() == JobObject::Agent) {
            let rule = format!(
                "{:?} is about agents of hosts: see /agents/upgrade",
                "upgrade_agent"
            );
            return Err(Invalid::new("action", rule));
        }
        if self.action.object() == JobObject::ConfigFile {
            let rule = format!(
                "{:?} is about config files, which only a business has",
                self.action.as_str()
            );
            return Err(Invalid::new("action", rule));
        }
        let options = &self.options;
        if !matches!(options.isolation, Isolation::Business | Isolation::Host) {
            let rule = "must be business (all together) or host in a job without a business";
            return Err(Invalid::new("options.isolation", rule));
        }
        if !options.config_template_ids.is_empty() {
            let rule = "must be left out in a job without a business";
            return Err(Invalid::new("options.config_template_ids", rule));
        }
        if options.after_release.is_some() {
            let rule = "must be left out in a job without a business";
            return Err(Invalid::new("options.after_release", rule));
        }
        Ok(())
    }

    fn check_update(&self) -> Result<(), Invalid> {
        let updates = self.action == JobAction::Update;
        if updates && self.selection.business().is_some() {
            let rule = "must be left out: the definitions of a business come from its topology";
            return Err(Invalid::new("business", rule));
        }
        if updates && self.update.is_none() {
            return Err(Invalid::required("update"));
        }
        if !updates && self.update.is_some() {
            let rule = format!(
                "is for the action update, not for {:?}",
                self.action.as_str()
            );
            return Err(Invalid::new("update", rule));
        }
        if !updates && self.options.revert {
            let rule = format!(
                "is for the action update, which can be taken back, not for {:?}",
                self.action.as_str()
            );
            return Err(Invalid::new("options.revert", rule));
        }
        Ok(())
    }
}

impl Jobs {
    /// Returns the job and the number of its tasks. Durable when it returns; its tasks start right after.
    pub async fn create(
        &self,
        caller: &Caller,
        new: NewJob,
    ) -> Result<(JobId, usize), ControlError> {
        let new = self.narrowed(caller, new, Permission::Operate)?;
        let (caller, at) = (caller.clone(), self.core.now());
        let (core, access) = (self.core.clone(), self.access.clone());
        self.core
            .commit(move |world| {
                let (id, open_roll) = {
                    let table = core.jobs.table();
                    let rolls = |update: &NewUpdate| table.open_roll(&update.process);
                    (table.next_id(), new.update.as_ref().and_then(rolls))
                };
                let (area, tasks) = tasks_of(world.fleet, id, &new)?;
                let what = match &area {
                    JobArea::Business(business) => format!("business {business}"),
                    JobArea::Namespaces(namespaces) => {
                        for namespace in namespaces {
                            access.check(&caller, Permission::Operate, namespace)?;
                        }
                        let names: Vec<&str> = namespaces.iter().map(Namespace::as_str).collect();
                        format!("processes in {}", names.join(", "))
                    }
                    JobArea::Agents(version) => format!("agents to {version}"),
                };
                if let Some(update) = &new.update {
                    update.check_order(world.fleet)?;
                }
                if let (Some(open), Some(update)) = (open_roll, &new.update) {
                    return Err(rolls_already(&update.process, open));
                }
                let n_tasks = tasks.len();
                let batch_size = new.batch.map(|batch| batch.of(n_tasks));
                let row = JobRow {
                    id,
                    area,
                    action: new.action,
                    scope: new.scope.clone(),
                    options: JobOptions {
                        batch_size: batch_size.or(new.options.batch_size),
                        ..new.options.clone()
                    },
                    app: caller.app.clone(),
                    user: caller.user.clone(),
                    created_at: at,
                    ended_at: UnixMillis::NEVER,
                    status: JobStatus::Pending,
                    cancelled_by: String::new(),
                    paused_by: String::new(),
                    retried_at: UnixMillis::NEVER,
                    update: new.update.as_ref().map(|update| Box::new(update.begun())),
                };
                let object = format!("job {id}: {} {what}", new.action.as_str());
                let detail = match new.selection {
                    JobSelection::View { .. } => format!("{n_tasks} instances"),
                    JobSelection::Processes { .. } => format!("{n_tasks} processes"),
                    JobSelection::Agents { .. } => format!("{n_tasks} agents"),
                };
                let changes = Changes {
                    versions: versions_of(world.fleet, &row, &tasks),
                    jobs: vec![row],
                    job_tasks: tasks,
                    audit: vec![Audit::new(&caller, at, "create_job", object, detail)],
                    ..Changes::default()
                };
                Ok((changes, (id, n_tasks)))
            })
            .await
    }

    /// Checks the request, and narrows it to what the caller may see.
    pub(super) fn narrowed(
        &self,
        caller: &Caller,
        mut new: NewJob,
        permission: Permission,
    ) -> Result<NewJob, ControlError> {
        new.check()?;
        match &mut new.selection {
            JobSelection::View { filter, .. } => {
                self.access.check(caller, permission, filter.business)?;
            }
            JobSelection::Processes { filter, .. } => {
                let asked = filter.namespaces.take();
                filter.namespaces = self.access.visible(caller, asked)?;
            }
            JobSelection::Agents { .. } => self.access.check_admin(caller)?,
        }
        Ok(new)
    }
}
