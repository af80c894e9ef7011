//! What a job would do, without doing it.

use std::collections::{BTreeMap, HashMap, HashSet};

use fleet::view::ViewRow;
use fleet::{Fleet, Row};
use model::access::{Caller, Permission};
use model::job::{JobId, JobTarget, JobTaskRow};
use model::topology::SetEnv;
use model::{FullName, Host, Invalid, Namespace};

use super::instance::{instance_of, registration};
use super::select::{check_count, tasks_of};
use super::{Jobs, NewJob};
use crate::operations::{by_count, command_of};
use crate::{BlockReason, BlockedProcesses, ControlError, OperationPlan, blocked};

/// How many commands a plan names.
const MAX_COMMANDS: usize = 5;
/// How many processes a plan names.
const MAX_SAMPLE: usize = 5;
/// How many hosts a reason names.
const NAMED_HOSTS: usize = 3;

impl Jobs {
    /// What the job would act on now. Nothing is changed.
    pub fn plan(&self, caller: &Caller, new: NewJob) -> Result<OperationPlan, ControlError> {
        let new = self.narrowed(caller, new, Permission::View)?;
        let fleet = self.core.fleet();
        if let Some(update) = &new.update {
            update.check_order(&fleet)?;
        }
        let expect_count = new.expect_count;
        let uncounted = NewJob {
            expect_count: None,
            ..new
        };
        let tasks = match tasks_of(&fleet, JobId(0), &uncounted) {
            Ok((_, tasks)) => tasks,
            // An empty selection is a plan, too.
            Err(ControlError::Invalid(invalid)) if is_empty(&invalid) => Vec::new(),
            Err(error) => return Err(error),
        };
        check_count(expect_count, tasks.len())?;
        let mut plan = Planner::default();
        for task in &tasks {
            let planned = PlannedTask::of(&fleet, task);
            plan.add(&planned, caller, &uncounted);
        }
        Ok(plan.finish())
    }
}

fn is_empty(invalid: &Invalid) -> bool {
    invalid.rule.starts_with("selects no process")
}

/// A task with what the fleet knows of its process.
struct PlannedTask<'a> {
    host: Host,
    view: Option<ViewRow<'a>>,
    row: Option<Row<'a>>,
}

impl<'a> PlannedTask<'a> {
    fn of(fleet: &'a Fleet, task: &'a JobTaskRow) -> Self {
        let (view, row, host) = match &task.target {
            JobTarget::Instance {
                process,
                local_inst_id,
            } => {
                let view = fleet.view_row(*process);
                let instance =
                    view.and_then(|view| instance_of(fleet, &view, *local_inst_id, task));
                let label = &task.label;
                let host = label.bk_host_innerip.parse().ok();
                let host = host.map(|ip| Host::new(label.bk_cloud_id, ip));
                let known = view.map(|view| view.machine.host);
                let unknown = Host::new(label.bk_cloud_id, std::net::Ipv4Addr::UNSPECIFIED.into());
                (
                    view,
                    instance.map(|instance| instance.row),
                    host.or(known).unwrap_or(unknown),
                )
            }
            JobTarget::Registered { registered, host } => {
                let row = registration(fleet, registered, *host);
                let owner = row.as_ref().and_then(|row| row.owner());
                let view = owner.and_then(|id| fleet.view_row(id));
                (view, row, *host)
            }
            // Upgrades have a plan of their own.
            JobTarget::Agent { agent } => (None, None, *agent),
        };
        Self { host, view, row }
    }
}

#[derive(Default)]
struct Planner {
    count: u64,
    hosts: HashSet<Host>,
    namespaces: HashMap<Namespace, u64>,
    environments: HashMap<SetEnv, u64>,
    blocked: BTreeMap<BlockReason, BlockedProcesses>,
    commands: HashMap<String, u64>,
    sample: Vec<(FullName, Host)>,
}

impl Planner {
    fn add(&mut self, planned: &PlannedTask<'_>, caller: &Caller, new: &NewJob) {
        self.count += 1;
        self.hosts.insert(planned.host);
        if let Some(view) = planned.view {
            *self.environments.entry(view.set.env).or_default() += 1;
        }
        if let Some(reason) = why_blocked(planned, caller, new) {
            let group = self.blocked.entry(reason);
            let group = group.or_insert_with(|| BlockedProcesses {
                reason,
                count: 0,
                hosts: Vec::new(),
            });
            group.count += 1;
            if group.hosts.len() < NAMED_HOSTS && !group.hosts.contains(&planned.host) {
                group.hosts.push(planned.host);
            }
        }
        let Some(row) = &planned.row else { return };
        let namespace = &row.name().namespace;
        match self.namespaces.get_mut(namespace) {
            Some(count) => *count += 1,
            None => {
                self.namespaces.insert(namespace.clone(), 1);
            }
        }
        if self.sample.len() < MAX_SAMPLE {
            self.sample.push((row.name().clone(), planned.host));
        }
        // An update starts what it brings.
        let control = match &new.update {
            Some(update) => &update.spec.control,
            None => &row.definition().spec.control,
        };
        let op = new.action.op();
        let command = op.and_then(|op| command_of(control, op));
        if let Some(command) = command {
            *self.commands.entry(command).or_default() += 1;
        }
    }

    fn finish(self) -> OperationPlan {
        let mut commands = by_count(self.commands, String::clone);
        commands.truncate(MAX_COMMANDS);
        let mut blocked: Vec<BlockedProcesses> = self.blocked.into_values().collect();
        blocked.sort_by_key(|group| std::cmp::Reverse(group.count));
        OperationPlan {
            count: self.count,
            n_hosts: self.hosts.len() as u64,
            namespaces: by_count(self.namespaces, Namespace::clone),
            environments: by_count(self.environments, |env| env.number()),
            blocked,
            commands,
            sample: self.sample,
        }
    }
}

/// Why the action does nothing or fails for a process.
fn why_blocked(planned: &PlannedTask<'_>, caller: &Caller, new: &NewJob) -> Option<BlockReason> {
    let business = new.selection.business();
    if business.is_some_and(|business| !caller.may(Permission::Operate, business)) {
        return Some(BlockReason::Role);
    }
    let Some(row) = &planned.row else {
        return Some(BlockReason::NotRegistered);
    };
    match new.action.op() {
        Some(op) => blocked(caller, row, op),
        None => (!row.host().link.is_up()).then_some(BlockReason::AgentAway),
    }
}
