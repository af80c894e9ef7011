//! What a job would do, without doing it.

use std::collections::{BTreeMap, HashMap, HashSet};

use fleet::view::ViewRow;
use fleet::{Fleet, Row};
use model::access::{Caller, Permission};
use model::job::{JobId, JobTarget, JobTaskRow};
use model::spec::Commands;
use model::topology::SetEnv;
use model::{Host, Invalid, Namespace, Op, State};

use super::instance::{instance_of, registration};
use super::select::{check_count, tasks_of};
use super::{Jobs, NewJob};
use crate::ControlError;

/// How many commands a plan names.
const MAX_COMMANDS: usize = 5;
/// How many processes a plan names.
const MAX_SAMPLE: usize = 5;
/// How many hosts a reason names.
const NAMED_HOSTS: usize = 3;

/// What a job would act on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobPlan {
    pub count: usize,
    pub n_hosts: usize,
    /// With the number of processes in each.
    pub namespaces: Vec<(Namespace, usize)>,
    pub environments: Vec<(SetEnv, usize)>,
    /// The most frequent first.
    pub blocked: Vec<BlockedTargets>,
    /// What runs on hosts, the most frequent first, with the number of processes.
    pub commands: Vec<(String, usize)>,
    /// The first processes with their hosts.
    pub sample: Vec<(String, Host)>,
}

/// Processes on which the action does nothing or fails, for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedTargets {
    pub reason: &'static str,
    pub count: usize,
    /// The first of them, each once.
    pub hosts: Vec<Host>,
}

impl Jobs {
    /// What the job would act on now. Nothing is changed.
    pub fn plan(&self, caller: &Caller, new: NewJob) -> Result<JobPlan, ControlError> {
        let new = self.narrowed(caller, new, Permission::View)?;
        let fleet = self.core.fleet();
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
    task: &'a JobTaskRow,
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
                let owner = row.and_then(|row| row.owner());
                let view = owner.and_then(|id| fleet.view_row(id));
                (view, row, *host)
            }
        };
        Self {
            task,
            host,
            view,
            row,
        }
    }

    fn commands(&self) -> Option<&'a Commands> {
        self.row.map(|row| &row.definition().spec.control)
    }
}

#[derive(Default)]
struct Planner {
    count: usize,
    hosts: HashSet<Host>,
    namespaces: BTreeMap<Namespace, usize>,
    environments: BTreeMap<u8, (Option<SetEnv>, usize)>,
    blocked: Vec<BlockedTargets>,
    commands: HashMap<String, (usize, usize)>,
    sample: Vec<(String, Host)>,
}

impl Planner {
    fn add(&mut self, planned: &PlannedTask<'_>, caller: &Caller, new: &NewJob) {
        let order = self.count;
        self.count += 1;
        self.hosts.insert(planned.host);
        if let Some(row) = planned.row {
            let namespace = &row.name().namespace;
            match self.namespaces.get_mut(namespace) {
                Some(count) => *count += 1,
                None => {
                    self.namespaces.insert(namespace.clone(), 1);
                }
            }
        }
        if let Some(view) = planned.view {
            let env = view.set.env;
            let entry = self.environments.entry(env.number()).or_default();
            *entry = (Some(env), entry.1 + 1);
        }
        if self.sample.len() < MAX_SAMPLE {
            let name = planned.row.map(|row| row.name().to_string());
            let name = name.unwrap_or_else(|| planned.task.label.bk_process_name.clone());
            self.sample.push((name, planned.host));
        }
        if let Some(reason) = blocked(planned, caller, new) {
            self.add_blocked(reason, planned.host);
        }
        let op = new.action.op();
        if let Some(command) = op
            .zip(planned.commands())
            .and_then(|(op, commands)| command_of(op, commands))
        {
            let known = self.commands.entry(command).or_insert((0, order));
            known.0 += 1;
        }
    }

    fn add_blocked(&mut self, reason: &'static str, host: Host) {
        let known = self.blocked.iter().position(|group| group.reason == reason);
        let index = known.unwrap_or_else(|| {
            self.blocked.push(BlockedTargets {
                reason,
                count: 0,
                hosts: Vec::new(),
            });
            self.blocked.len() - 1
        });
        let group = &mut self.blocked[index];
        group.count += 1;
        if group.hosts.len() < NAMED_HOSTS && !group.hosts.contains(&host) {
            group.hosts.push(host);
        }
    }

    fn finish(mut self) -> JobPlan {
        self.blocked
            .sort_by_key(|group| std::cmp::Reverse(group.count));
        let mut commands: Vec<(String, (usize, usize))> = self.commands.into_iter().collect();
        commands.sort_by_key(|(_, (count, first))| (std::cmp::Reverse(*count), *first));
        commands.truncate(MAX_COMMANDS);
        let environments = self.environments.into_values();
        JobPlan {
            count: self.count,
            n_hosts: self.hosts.len(),
            namespaces: self.namespaces.into_iter().collect(),
            environments: environments
                .filter_map(|(env, count)| Some((env?, count)))
                .collect(),
            blocked: self.blocked,
            commands: commands
                .into_iter()
                .map(|(command, (count, _))| (command, count))
                .collect(),
            sample: self.sample,
        }
    }
}

/// Why the action does nothing or fails for a process.
fn blocked(planned: &PlannedTask<'_>, caller: &Caller, new: &NewJob) -> Option<&'static str> {
    let may = match (new.selection.business(), planned.row) {
        (Some(business), _) => caller.may(Permission::Operate, business),
        (None, Some(row)) => caller.may(Permission::Operate, &row.name().namespace),
        (None, None) => true,
    };
    if !may {
        return Some("role");
    }
    let Some(row) = planned.row else {
        return Some("not_registered");
    };
    if !row.host().link.is_up() {
        return Some("agent_away");
    }
    let op = new.action.op()?;
    let commands = &row.definition().spec.control;
    if lacks_command(op, commands) {
        return Some("no_command");
    }
    match op {
        Op::Start => (row.state() == State::Running).then_some("already_running"),
        Op::Stop | Op::Kill => (row.state() == State::Stopped).then_some("already_stopped"),
        Op::Manage => row.managed().then_some("already_managed"),
        Op::Unmanage => (!row.managed()).then_some("already_unmanaged"),
        Op::Restart | Op::Reload | Op::Query => None,
    }
}

fn lacks_command(op: Op, commands: &Commands) -> bool {
    let is_empty = |command: &str| command.trim().is_empty();
    match op {
        Op::Start => is_empty(&commands.start_cmd),
        Op::Restart => is_empty(&commands.restart_cmd) && is_empty(&commands.start_cmd),
        // Without a command the agent sends SIGTERM, SIGKILL or SIGHUP.
        Op::Stop | Op::Kill | Op::Reload | Op::Manage | Op::Unmanage | Op::Query => false,
    }
}

/// What the operation runs; None where the agent needs no command.
fn command_of(op: Op, commands: &Commands) -> Option<String> {
    let command = match op {
        Op::Start => commands.start_cmd.clone(),
        Op::Stop => commands.stop_cmd.clone(),
        Op::Reload => commands.reload_cmd.clone(),
        Op::Kill => commands.kill_cmd.clone(),
        Op::Restart if commands.restart_cmd.trim().is_empty() => {
            let both = [&commands.stop_cmd, &commands.start_cmd];
            let both: Vec<&str> = both
                .into_iter()
                .map(|command| command.trim())
                .filter(|command| !command.is_empty())
                .collect();
            both.join("; ")
        }
        Op::Restart => commands.restart_cmd.clone(),
        Op::Manage | Op::Unmanage | Op::Query => String::new(),
    };
    (!command.trim().is_empty()).then_some(command)
}
