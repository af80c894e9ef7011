//! Operates on every process that matches a filter, less exceptions: the set is found inside the plan, at one revision, so it is
//! exactly what the task targets. The same set can be looked at first.

use std::collections::{BTreeMap, HashMap, HashSet};

use fleet::{Filter, Fleet, Row};
use model::access::{Caller, Permission};
use model::change::{Changes, DefinitionId, HostId, NameId, ProcessId};
use model::selector::ProcessOnHost;
use model::topology::SetEnv;
use model::{FullName, Host, Invalid, Namespace, Op, TaskId};
use roaring::RoaringBitmap;

use super::blocked::{BlockReason, blocked, command_of};
use super::operate::{Line, OperatePlan};
use super::tasks::MAX_OPEN_TARGETS;
use super::{Operations, too_many_open};
use crate::access::may_with;
use crate::answers::{NAMED_IN_AUDIT, shortened};
use crate::{ControlError, secrets};

/// How many processes one request may operate on.
const MAX_MATCHING: u64 = 200_000;
/// How many processes one request may except.
const MAX_EXCEPT: usize = 10_000;
/// How many different commands a plan names.
const MAX_COMMANDS: usize = 5;
/// How many processes a plan names.
const MAX_SAMPLE: usize = 5;
/// How many hosts a plan names for each reason.
const MAX_BLOCKED_HOSTS: usize = 3;

/// An operation on every process that matches.
#[derive(Debug, Clone)]
pub struct OperateMatching {
    pub op: Op,
    pub filter: Filter,
    /// Each must match the filter.
    pub except: Vec<ProcessOnHost>,
    /// How many processes the caller expects; with another number nothing is done.
    pub expect_count: Option<u64>,
}

/// What an operation would do. Counts are of processes; lists have the most frequent first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationPlan {
    pub count: u64,
    pub n_hosts: u64,
    pub namespaces: Vec<(Namespace, u64)>,
    pub environments: Vec<(SetEnv, u64)>,
    pub blocked: Vec<BlockedProcesses>,
    /// What agents would execute.
    pub commands: Vec<(String, u64)>,
    pub sample: Vec<(FullName, Host)>,
}

/// Processes where an operation is blocked for the same reason, and the first of their hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedProcesses {
    pub reason: BlockReason,
    pub count: u64,
    pub hosts: Vec<Host>,
}

/// A planned task, or why there is none.
enum Planned {
    Task(TaskId, usize),
    /// The caller may not operate here.
    Denied(Namespace),
}

impl Operations {
    /// What [`Self::operate_matching`] would do now. Changes nothing; processes that the caller may not operate on are counted
    /// as blocked.
    pub fn plan_matching(
        &self,
        caller: &Caller,
        mut request: OperateMatching,
    ) -> Result<OperationPlan, ControlError> {
        request.filter = self.access.narrow(caller, request.filter)?;
        let fleet = self.core.fleet();
        let ids = select(&fleet, &request)?;
        expect(&request, ids.len())?;
        Ok(plan(&fleet, caller, request.op, &ids))
    }

    /// Durable when it returns: the task and how many targets it has. All or nothing.
    pub async fn operate_matching(
        &self,
        caller: &Caller,
        mut request: OperateMatching,
    ) -> Result<(TaskId, usize), ControlError> {
        request.filter = self.access.narrow(caller, request.filter)?;
        let (on_behalf, at, core) = (caller.clone(), self.core.now(), self.core.clone());
        let planned = self
            .core
            .commit(move |world| {
                let caller = &on_behalf;
                let ids = select(world.fleet, &request)?;
                if let Some(denied) = denied(world.fleet, caller, &ids) {
                    return Ok((Changes::default(), Planned::Denied(denied)));
                }
                expect(&request, ids.len())?;
                check_number(ids.len())?;
                if core.tasks.n_open().1 + ids.len() as usize > MAX_OPEN_TARGETS {
                    return Err(too_many_open());
                }
                let id = core.tasks.fresh_id(at, secrets::random_u32());
                let mut plan = OperatePlan::new(world, &core.tasks, id, at);
                let mut lines: HashMap<NameId, Line> = HashMap::new();
                for row in rows(world.fleet, &ids) {
                    let line = lines
                        .entry(row.name_id())
                        .or_insert_with(|| Line::of_registered(row.name().clone(), request.op));
                    plan.add_registered(line, row.host().host);
                }
                let mut named: Vec<String> = lines.values().map(Line::words).collect();
                named.sort_unstable();
                let n_names = named.len();
                named.truncate(NAMED_IN_AUDIT);
                let object = shortened(named, n_names);
                let planned = Planned::Task(id, ids.len() as usize);
                Ok((plan.into_changes(caller, object), planned))
            })
            .await?;
        match planned {
            Planned::Task(id, n_targets) => {
                self.core.counters.operations.add(n_targets as u64);
                Ok((id, n_targets))
            }
            // Outside of the plan, because it notes the refusal.
            Planned::Denied(namespace) => Err(self.refusal(caller, &namespace)),
        }
    }
}

/// The processes that match, less the exceptions.
fn select(fleet: &Fleet, request: &OperateMatching) -> Result<RoaringBitmap, ControlError> {
    if request.except.len() > MAX_EXCEPT {
        let rule = format!("must be at most {MAX_EXCEPT} processes: narrow the filter instead");
        return Err(Invalid::new("except", rule).into());
    }
    let mut ids = fleet.matching(&request.filter);
    let mut gone = HashSet::new();
    for (index, except) in request.except.iter().enumerate() {
        let host = fleet.host_id(&except.host);
        let found = host.zip(fleet.name_id(&except.name));
        let row = found.and_then(|(host, name)| fleet.process(host, name));
        let was_there = row
            .as_ref()
            .is_some_and(|row| gone.contains(&row.id()) || ids.remove(row.id().0));
        match row.filter(|_| was_there) {
            Some(row) => drop(gone.insert(row.id())),
            None => {
                let field = format!("except[{index}]");
                let rule = format!("{except} is not among what the filter matches");
                return Err(Invalid::new(field, rule).into());
            }
        }
    }
    Ok(ids)
}

fn expect(request: &OperateMatching, count: u64) -> Result<(), ControlError> {
    match request.expect_count {
        Some(expected) if expected != count => Err(ControlError::CountChanged { expected, count }),
        _ => Ok(()),
    }
}

fn check_number(count: u64) -> Result<(), ControlError> {
    match count {
        0 => Err(ControlError::NotFound(
            "no process matches the filter: nothing was done".to_owned(),
        )),
        1..=MAX_MATCHING => Ok(()),
        _ => {
            let rule = format!(
                "matches {count} processes, and one request may operate on {MAX_MATCHING}: narrow it"
            );
            Err(Invalid::new("filter", rule).into())
        }
    }
}

fn rows<'a>(fleet: &'a Fleet, ids: &'a RoaringBitmap) -> impl Iterator<Item = Row<'a>> {
    ids.iter().filter_map(|id| fleet.row(ProcessId(id)))
}

/// The first namespace where the caller may not operate.
fn denied(fleet: &Fleet, caller: &Caller, ids: &RoaringBitmap) -> Option<Namespace> {
    let mut allowed: HashSet<&Namespace> = HashSet::new();
    let denied = rows(fleet, ids).find(|row| {
        let namespace = &row.name().namespace;
        if allowed.contains(namespace) {
            return false;
        }
        if caller.may(Permission::Operate, namespace) {
            allowed.insert(namespace);
            return false;
        }
        !may_with(caller, Permission::Operate, row)
    });
    denied.map(|row| row.name().namespace.clone())
}

/// What an operation on these processes would do.
pub(crate) fn plan(fleet: &Fleet, caller: &Caller, op: Op, ids: &RoaringBitmap) -> OperationPlan {
    let mut hosts: HashSet<HostId> = HashSet::new();
    let mut namespaces: HashMap<&Namespace, u64> = HashMap::new();
    let mut environments: HashMap<SetEnv, u64> = HashMap::new();
    let mut definitions: HashMap<DefinitionId, u64> = HashMap::new();
    let mut reasons: BTreeMap<BlockReason, BlockedProcesses> = BTreeMap::new();
    let mut sample = Vec::new();
    for row in rows(fleet, ids) {
        hosts.insert(row.host().id);
        *namespaces.entry(&row.name().namespace).or_default() += 1;
        *definitions.entry(row.definition_id()).or_default() += 1;
        if let Some((_, env)) = row.place() {
            *environments.entry(env).or_default() += 1;
        }
        if sample.len() < MAX_SAMPLE {
            sample.push((row.name().clone(), row.host().host));
        }
        if let Some(reason) = blocked(caller, &row, op) {
            let group = reasons.entry(reason).or_insert_with(|| BlockedProcesses {
                reason,
                count: 0,
                hosts: Vec::new(),
            });
            group.count += 1;
            let host = row.host().host;
            if group.hosts.len() < MAX_BLOCKED_HOSTS && !group.hosts.contains(&host) {
                group.hosts.push(host);
            }
        }
    }
    let mut commands: HashMap<String, u64> = HashMap::new();
    for (id, count) in definitions {
        let definition = fleet.definition(id);
        let command = definition.and_then(|one| command_of(&one.spec.control, op));
        if let Some(command) = command {
            *commands.entry(command).or_default() += count;
        }
    }
    let namespaces = namespaces.into_iter();
    let mut commands = by_count(commands, String::clone);
    commands.truncate(MAX_COMMANDS);
    let mut blocked: Vec<BlockedProcesses> = reasons.into_values().collect();
    blocked.sort_by_key(|group| std::cmp::Reverse(group.count));
    OperationPlan {
        count: ids.len(),
        n_hosts: hosts.len() as u64,
        namespaces: by_count(
            namespaces.map(|(namespace, count)| (namespace.clone(), count)),
            Namespace::clone,
        ),
        environments: by_count(environments, |env| env.number()),
        blocked,
        commands,
        sample,
    }
}

/// The most frequent first; equal ones by `key`.
pub(crate) fn by_count<T, K: Ord>(
    counts: impl IntoIterator<Item = (T, u64)>,
    key: impl Fn(&T) -> K,
) -> Vec<(T, u64)> {
    let mut counts: Vec<(T, u64)> = counts.into_iter().collect();
    counts.sort_by_cached_key(|(value, count)| (std::cmp::Reverse(*count), key(value)));
    counts
}
