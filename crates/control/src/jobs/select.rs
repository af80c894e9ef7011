//! What a job is for: one task for each instance or registered process that a request selects.

use std::collections::{BTreeSet, HashSet};

use fleet::view::{Instance, ViewRow};
use fleet::{Filter, Fleet, Row};
use model::job::{
    Isolation, JobAction, JobArea, JobId, JobObject, JobOptions, JobStatus, JobTarget,
    JobTaskLabel, JobTaskRow, MAX_JOB_TASKS, MAX_UPDATE_DEFINITIONS, TaskUpdate,
};
use model::scope::ViewFilter;
use model::selector::ProcessOnHost;
use model::topology::{BkProcessId, BusinessId, inst_id, split_instance_name};
use model::{Code, FullName, Host, Invalid, Namespace, UnixMillis};

use super::arrange::arrange;
use super::{NewJob, NewUpdate};
use crate::ControlError;
use crate::templates::has_templates;
use crate::topology::{instances, is_expected, no_such_business};

/// The processes that a request asks for.
#[derive(Debug, Clone)]
pub enum JobSelection {
    /// Instances of a business.
    View {
        filter: Box<ViewFilter>,
        except: Vec<BkProcessId>,
    },
    /// Registered processes.
    Processes {
        filter: Box<Filter>,
        except: Vec<ProcessOnHost>,
    },
    /// The agents of these hosts, which are to be of this version.
    Agents { hosts: Vec<Host>, version: String },
}

impl JobSelection {
    pub(super) fn business(&self) -> Option<BusinessId> {
        match self {
            Self::View { filter, .. } => Some(filter.business),
            Self::Processes { .. } | Self::Agents { .. } => None,
        }
    }
}

/// The tasks of a new job, and what it acts in. Refuses an empty selection.
pub(super) fn tasks_of(
    fleet: &Fleet,
    id: JobId,
    new: &NewJob,
) -> Result<(JobArea, Vec<JobTaskRow>), ControlError> {
    let mut tasks = match &new.selection {
        JobSelection::View { filter, except } => tasks_of_view(fleet, id, new, filter, except)?,
        JobSelection::Processes { filter, except } => {
            let rows = registered(fleet, new, filter, except)?;
            let tasks = (0..).zip(&rows);
            tasks
                .map(|(ordinal, row)| registered_task(id, ordinal, row, &new.options))
                .collect()
        }
        JobSelection::Agents { hosts, .. } => {
            if hosts.len() > MAX_JOB_TASKS {
                return Err(too_many(new.field, "agents"));
            }
            let tasks = (0..).zip(hosts);
            tasks
                .map(|(ordinal, host)| agent_task(id, ordinal, *host))
                .collect()
        }
    };
    if let Some(update) = &new.update {
        for task in &mut tasks {
            only(task, new.field, update)?;
            task.update = Some(TaskUpdate::default());
        }
        check_definitions(fleet, new.field, update)?;
    }
    let tasks = match &new.options.order {
        None => tasks,
        Some(order) => arrange(fleet, tasks, order),
    };
    check_count(new.expect_count, tasks.len())?;
    if tasks.is_empty() {
        return Err(Invalid::new(new.field, "selects no process").into());
    }
    let area = match &new.selection {
        JobSelection::View { filter, .. } => JobArea::Business(filter.business),
        JobSelection::Processes { .. } => JobArea::Namespaces(namespaces(&tasks)),
        JobSelection::Agents { version, .. } => JobArea::Agents(version.clone()),
    };
    Ok((area, tasks))
}

/// Refuses a selection that has another size than its caller has seen.
pub(super) fn check_count(expected: Option<u64>, count: usize) -> Result<(), ControlError> {
    match expected {
        Some(expected) if expected != count as u64 => Err(ControlError::CountChanged {
            expected,
            count: count as u64,
        }),
        Some(_) | None => Ok(()),
    }
}

/// Refuses a task of another process than the one that the job updates.
fn only(task: &JobTaskRow, field: &str, update: &NewUpdate) -> Result<(), Invalid> {
    match &task.target {
        JobTarget::Registered { registered, .. } if *registered == update.process => Ok(()),
        JobTarget::Registered { .. } | JobTarget::Instance { .. } | JobTarget::Agent { .. } => {
            let rule = format!(
                "must select only {}, which the job updates, and selects {}",
                update.process,
                task.title()
            );
            Err(Invalid::new(field, rule))
        }
    }
}

/// Refuses an update of hosts with more definitions than a job keeps.
fn check_definitions(fleet: &Fleet, field: &str, update: &NewUpdate) -> Result<(), Invalid> {
    let name = fleet.name_id(&update.process);
    let count = name.map_or(0, |name| fleet.definitions_of(name).count());
    match count >= MAX_UPDATE_DEFINITIONS {
        false => Ok(()),
        true => {
            let rule = format!(
                "selects a process with {count} different definitions; one job takes up to {}",
                MAX_UPDATE_DEFINITIONS - 1
            );
            Err(Invalid::new(field, rule))
        }
    }
}

fn namespaces(tasks: &[JobTaskRow]) -> Vec<Namespace> {
    let named = tasks.iter().filter_map(|task| match &task.target {
        JobTarget::Registered { registered, .. } => Some(&registered.namespace),
        JobTarget::Instance { .. } | JobTarget::Agent { .. } => None,
    });
    let distinct: BTreeSet<&Namespace> = named.collect();
    distinct.into_iter().cloned().collect()
}

fn too_many(field: &str, what: &str) -> ControlError {
    let rule = format!("selects more than {MAX_JOB_TASKS} {what}, the most of one job");
    Invalid::new(field, rule).into()
}

/// The registered processes that match, in the order of their registration.
pub(super) fn registered<'a>(
    fleet: &'a Fleet,
    new: &NewJob,
    filter: &Filter,
    except: &[ProcessOnHost],
) -> Result<Vec<Row<'a>>, ControlError> {
    let mut rows = fleet.page(filter, &[], 0, usize::MAX).rows;
    let except: HashSet<(&FullName, Host)> =
        except.iter().map(|one| (&one.name, one.host)).collect();
    let is_excepted = |row: &Row<'_>| except.contains(&(row.name(), row.host().host));
    let n_found = rows.iter().filter(|row| is_excepted(row)).count();
    if n_found < except.len() {
        let found: HashSet<(&FullName, Host)> = rows
            .iter()
            .map(|row| (row.name(), row.host().host))
            .collect();
        let strangers = except.iter().filter(|one| !found.contains(one));
        let strangers = strangers.map(|(name, host)| format!("{name}@{host}"));
        return Err(not_selected(strangers.min()));
    }
    rows.retain(|row| !is_excepted(row));
    match rows.len() > MAX_JOB_TASKS {
        true => Err(too_many(new.field, "processes")),
        false => Ok(rows),
    }
}

fn not_selected(first: Option<String>) -> ControlError {
    let first = first.unwrap_or_default();
    let rule = format!("names {first}, which is not among the selected processes");
    Invalid::new("except", rule).into()
}

fn registered_task(id: JobId, ordinal: u32, row: &Row<'_>, options: &JobOptions) -> JobTaskRow {
    let host = row.host();
    let target = JobTarget::Registered {
        registered: row.name().clone(),
        host: host.host,
    };
    let label = JobTaskLabel {
        expression: String::new(),
        bk_process_name: row.name().to_string(),
        inst_id: 0,
        bk_cloud_id: host.host.cloud,
        bk_host_innerip: host.host.ip.to_string(),
    };
    let unit = match options.isolation {
        Isolation::Host => host.id.0,
        Isolation::Business | Isolation::Set | Isolation::Module => 0,
    };
    pending(id, ordinal, target, label, (0, unit))
}

fn agent_task(id: JobId, ordinal: u32, host: Host) -> JobTaskRow {
    let label = JobTaskLabel {
        bk_process_name: "agent".to_owned(),
        bk_cloud_id: host.cloud,
        bk_host_innerip: host.ip.to_string(),
        ..JobTaskLabel::default()
    };
    pending(id, ordinal, JobTarget::Agent { agent: host }, label, (0, 0))
}

/// `order` is priority and isolation unit.
fn pending(
    id: JobId,
    ordinal: u32,
    target: JobTarget,
    label: JobTaskLabel,
    (priority, unit): (i32, u32),
) -> JobTaskRow {
    JobTaskRow {
        job: id,
        ordinal,
        target,
        label,
        priority,
        unit,
        status: JobStatus::Pending,
        op: None,
        code: Code::OK,
        reason: String::new(),
        output: String::new(),
        command: String::new(),
        started_at: UnixMillis::NEVER,
        ended_at: UnixMillis::NEVER,
        gate: None,
        update: None,
    }
}

/// The processes of the view that match, in the order of their ids.
pub(super) fn view_rows<'a>(
    fleet: &'a Fleet,
    filter: &ViewFilter,
    except: &[BkProcessId],
) -> Result<Vec<ViewRow<'a>>, ControlError> {
    if fleet.view().business(filter.business).is_none() {
        return Err(no_such_business(filter.business));
    }
    let mut rows = fleet.view_page(filter, 0, usize::MAX).rows;
    let except: BTreeSet<u32> = except.iter().map(|id| id.0).collect();
    let is_excepted = |row: &ViewRow<'_>| except.contains(&row.id().0);
    if rows.iter().filter(|row| is_excepted(row)).count() < except.len() {
        let found: BTreeSet<u32> = rows.iter().map(|row| row.id().0).collect();
        let strangers = except.iter().filter(|id| !found.contains(id));
        return Err(not_selected(strangers.map(u32::to_string).next()));
    }
    rows.retain(|row| !is_excepted(row));
    Ok(rows)
}

fn tasks_of_view(
    fleet: &Fleet,
    id: JobId,
    new: &NewJob,
    filter: &ViewFilter,
    except: &[BkProcessId],
) -> Result<Vec<JobTaskRow>, ControlError> {
    let rows = view_rows(fleet, filter, except)?;
    let mut tasks = Vec::new();
    let is_config = new.action.object() == JobObject::ConfigFile;
    let any_selected = !rows.is_empty();
    for row in &rows {
        if is_config && !has_templates(fleet.view(), &new.options, row.id()) {
            continue;
        }
        let instances = instances_for(fleet, row, new.action);
        if instances.is_empty() && !row.process.vanished {
            // In the view, but not registered: its tasks report why.
            let missing = (1..=row.program.proc_num).map(|local_inst_id| InstanceTarget {
                alias: &row.program.bk_process_name,
                host: row.machine.host,
                inst_id: inst_id(row.process.ordinal, row.largest_proc_num, local_inst_id),
                local_inst_id,
            });
            for target in missing {
                tasks.push(instance_task(id, tasks.len() as u32, row, target, new));
            }
        }
        for instance in instances {
            let is_left_over = !is_expected(fleet, row, &instance.row);
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
            tasks.push(instance_task(id, tasks.len() as u32, row, target, new));
        }
        if tasks.len() > MAX_JOB_TASKS {
            return Err(too_many(new.field, "instances"));
        }
    }
    match tasks.is_empty() && is_config && any_selected {
        true => {
            let rule = "selects no process that such a config template is bound to";
            Err(Invalid::new(new.field, rule).into())
        }
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

fn instance_task(
    id: JobId,
    ordinal: u32,
    row: &ViewRow<'_>,
    instance: InstanceTarget<'_>,
    new: &NewJob,
) -> JobTaskRow {
    let target = JobTarget::Instance {
        process: row.id(),
        local_inst_id: instance.local_inst_id,
    };
    let label = JobTaskLabel {
        expression: row.expression(),
        bk_process_name: instance.alias.to_owned(),
        inst_id: instance.inst_id,
        bk_cloud_id: instance.host.cloud,
        bk_host_innerip: instance.host.ip.to_string(),
    };
    let order = (
        row.program.priority.unwrap_or(0),
        unit_of(row, new.options.isolation),
    );
    pending(id, ordinal, target, label, order)
}

/// Leftover instances, of an earlier name or host of a process, can only be stopped.
fn instances_for<'a>(fleet: &Fleet, row: &ViewRow<'a>, action: JobAction) -> Vec<Instance<'a>> {
    match action {
        JobAction::Stop | JobAction::ForceStop | JobAction::UnsetAuto => row.instances(),
        JobAction::Start
        | JobAction::Restart
        | JobAction::Reload
        | JobAction::SetAuto
        | JobAction::Generate
        | JobAction::Release
        | JobAction::Diff
        | JobAction::UpgradeAgent
        | JobAction::Update => instances(fleet, row),
    }
}

pub(super) fn unit_of(row: &ViewRow<'_>, isolation: Isolation) -> u32 {
    match isolation {
        Isolation::Business => 0,
        Isolation::Set => row.set.id.0,
        Isolation::Module => row.module.id.0,
        Isolation::Host => row.machine.id.0,
    }
}
