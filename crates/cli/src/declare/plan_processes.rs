//! The part of a plan about processes and their groups.

use std::collections::{BTreeMap, BTreeSet};

use api::{DefinitionView, GroupList, ProcessView};
use model::group::ProcessGroup;
use model::{FullName, Labels, Namespace, Spec};
use serde_json::{Value, json};

use super::current::Current;
use super::plan::{Action, Plan, Prune, Sign, Step, changes};
use super::repeated::twice;
use super::{Declared, DeclaredProcess, Kind, Place};
use crate::client::Path;
use crate::definition;
use crate::failure::Failure;
use crate::format::counted;
use crate::processes::full_name;
use crate::target::parse_host;

/// How many hosts one request about groups asks for: their names are part of its path.
pub(super) const HOSTS_A_REQUEST: usize = 100;

/// The hosts with processes of each namespace, registered or declared.
pub(super) type NamespaceHosts = BTreeMap<Namespace, BTreeSet<String>>;

pub(super) fn plan(
    current: &Current<'_>,
    declared: &Declared,
    prune: Prune,
    plan: &mut Plan,
) -> Result<NamespaceHosts, Failure> {
    let mut hosts = NamespaceHosts::new();
    let mut rows: BTreeMap<FullName, Vec<ProcessView<'static>>> = BTreeMap::new();
    for namespace in declared.namespaces.keys() {
        let known = hosts.entry(namespace.clone()).or_default();
        for row in current.processes(Some(namespace))? {
            known.insert(row.host.to_string());
            rows.entry(full_name(&row)?).or_default().push(row);
        }
    }
    let mut wanted: BTreeMap<FullName, BTreeMap<String, usize>> = BTreeMap::new();
    for (index, one) in declared.processes.iter().enumerate() {
        let resolved = current
            .resolve(&one.hosts, &[])
            .map_err(|rule| wrong_hosts(&one.place, &one.name, &rule))?;
        let on_hosts = wanted.entry(one.name.clone()).or_default();
        for host in resolved {
            let known = hosts.entry(one.name.namespace.clone()).or_default();
            known.insert(host.clone());
            if let Some(other) = on_hosts.insert(host.clone(), index) {
                let what = format!("process {} on {host}", one.name);
                return Err(twice(&what, &one.place, &declared.processes[other].place));
            }
        }
    }
    for (name, on_hosts) in &wanted {
        let rows = rows.get(name).map(Vec::as_slice).unwrap_or_default();
        plan_one(current, declared, (name, on_hosts), rows, plan)?;
    }
    if declared.kinds.contains(&Kind::Process) {
        for (name, rows) in &rows {
            let none = BTreeMap::new();
            let on_hosts = wanted.get(name).unwrap_or(&none);
            let is_extra = |row: &&ProcessView<'_>| {
                row.business.is_none() && !on_hosts.contains_key(&row.host.to_string())
            };
            let extra: Vec<&ProcessView<'_>> = rows.iter().filter(is_extra).collect();
            remove(name, &extra, prune, plan);
        }
    }
    Ok(hosts)
}

fn wrong_hosts(place: &Place, what: impl std::fmt::Display, rule: &str) -> Failure {
    Failure::usage(format!("{place}: {what}: hosts: {rule}"))
}

/// The steps for one process: one for each declaration and each definition that it replaces.
fn plan_one(
    current: &Current<'_>,
    declared: &Declared,
    (name, on_hosts): (&FullName, &BTreeMap<String, usize>),
    rows: &[ProcessView<'_>],
    plan: &mut Plan,
) -> Result<(), Failure> {
    let registered: BTreeMap<String, &ProcessView<'_>> =
        rows.iter().map(|row| (row.host.to_string(), row)).collect();
    let (detail, _) = match rows.is_empty() {
        true => Default::default(),
        false => current.process(name)?,
    };
    // By the declaration, and the definition that is there.
    let mut batches: BTreeMap<(usize, Option<u32>), Batch<'_>> = BTreeMap::new();
    for (host, index) in on_hosts {
        let one = &declared.processes[*index];
        let row = registered.get(host);
        if let Some(business) = row.and_then(|row| row.business) {
            return Err(Failure::usage(format!(
                "{}: {name} on {host} is an instance of business {business}",
                one.place
            ))
            .advise("change it in the topology of the business, and take it out of this file"));
        }
        let batch = batches
            .entry((*index, row.map(|row| row.definition)))
            .or_insert_with(|| Batch {
                declared: one,
                hosts: Vec::new(),
                n_running: 0,
            });
        batch.hosts.push(host.clone());
        batch.n_running += usize::from(row.is_some_and(|row| is_running(row)));
    }
    for ((_, id), batch) in batches {
        let definition = id.and_then(|id| detail.definitions.iter().find(|view| view.id == id));
        let one = batch.declared;
        let new = document(&one.spec, &one.labels);
        let old = definition.map(|view| document(&view.spec, &view.labels));
        if old.as_ref() == Some(&new) {
            plan.n_same += batch.hosts.len();
            continue;
        }
        let is_new = definition.is_none();
        let hosts: Vec<_> = batch.hosts.iter().map(|host| parse_host(host)).collect();
        let hosts = hosts.into_iter().collect::<Result<Vec<_>, _>>()?;
        let body = definition::body(hosts, &one.labels, one.spec.clone());
        plan.steps.push(Step {
            sign: if is_new { Sign::Add } else { Sign::Change },
            kind: Kind::Process,
            name: name.to_string(),
            n_declared: on_hosts.len(),
            hosts: batch.hosts,
            changes: old.map(|old| changes(&old, &new)).unwrap_or_default(),
            note: restart_note(definition, &one.spec, batch.n_running),
            action: Action::PutProcess(name.clone(), Box::new(body)),
        });
    }
    Ok(())
}

struct Batch<'d> {
    declared: &'d DeclaredProcess,
    hosts: Vec<String>,
    n_running: usize,
}

fn is_running(row: &ProcessView<'_>) -> bool {
    let state = row.was.as_deref().unwrap_or(&row.state);
    matches!(state, "running" | "starting" | "unhealthy")
}

/// A spec with its labels, as one document to compare.
fn document(spec: &Spec, labels: &Labels) -> Value {
    let mut document = spec.to_request_json();
    document["labels"] = json!(labels);
    document
}

fn restart_note(old: Option<&DefinitionView<'_>>, new: &Spec, n_running: usize) -> Option<String> {
    let needs = old?.spec.launch_digest() != new.launch_digest() && n_running > 0;
    needs.then(|| {
        format!(
            "running on {}: goes on with its old definition until it is restarted",
            counted(n_running, "host")
        )
    })
}

/// Unregisters what the files leave out, or says that it stays.
fn remove(name: &FullName, rows: &[&ProcessView<'_>], prune: Prune, plan: &mut Plan) {
    if rows.is_empty() {
        return;
    }
    let hosts: Vec<String> = rows.iter().map(|row| row.host.to_string()).collect();
    let n_running = rows.iter().filter(|row| is_running(row)).count();
    if prune == Prune::No {
        let hosts = counted(hosts.len(), "host");
        plan.left.push(format!("process {name} on {hosts}"));
        return;
    }
    plan.steps.push(Step {
        sign: Sign::Remove,
        kind: Kind::Process,
        name: name.to_string(),
        n_declared: hosts.len(),
        hosts,
        changes: Vec::new(),
        note: (n_running > 0).then(|| {
            let hosts = counted(n_running, "host");
            format!("running on {hosts}: it is forgotten and keeps running, unmanaged; muster rm stops it first")
        }),
        action: Action::Forget(name.clone()),
    });
}

/// Groups are replaced as a whole on each host; without `--prune` those that are not declared stay in the whole.
pub(super) fn plan_groups(
    current: &Current<'_>,
    declared: &Declared,
    prune: Prune,
    hosts: &NamespaceHosts,
    plan: &mut Plan,
) -> Result<(), Failure> {
    if !declared.kinds.contains(&Kind::Group) {
        return Ok(());
    }
    for namespace in declared.namespaces.keys() {
        let mut known = hosts.get(namespace).cloned().unwrap_or_default();
        let of_namespace: Vec<String> = known.iter().cloned().collect();
        let mut wanted: BTreeMap<String, Vec<(ProcessGroup, &Place)>> = BTreeMap::new();
        for one in declared
            .groups
            .iter()
            .filter(|one| one.namespace == *namespace)
        {
            let name = format!("group {namespace}/{}", one.group.id);
            let resolved = current
                .resolve(&one.hosts, &of_namespace)
                .map_err(|rule| wrong_hosts(&one.place, &name, &rule))?;
            for host in resolved {
                let groups = wanted.entry(host.clone()).or_default();
                if let Some((_, other)) = groups.iter().find(|(group, _)| group.id == one.group.id)
                {
                    return Err(twice(&format!("{name} on {host}"), &one.place, other));
                }
                groups.push((one.group.clone(), &one.place));
                known.insert(host);
            }
        }
        let known: Vec<String> = known.into_iter().collect();
        let mut batches: Vec<(Vec<ProcessGroup>, Vec<ProcessGroup>, Vec<String>)> = Vec::new();
        for (host, before) in read_groups(current, namespace, &known)? {
            let declared = wanted.remove(&host).unwrap_or_default();
            let mut after: Vec<ProcessGroup> =
                declared.into_iter().map(|(group, _)| group).collect();
            let extra = before
                .iter()
                .filter(|old| after.iter().all(|new| new.id != old.id));
            let extra: Vec<ProcessGroup> = extra.cloned().collect();
            if prune == Prune::No {
                for group in &extra {
                    let left = format!("group {namespace}/{} on {host}", group.id);
                    plan.left.push(left);
                }
                after.extend(extra);
            }
            after.sort_by(|a, b| a.id.cmp(&b.id));
            if after == before {
                plan.n_same += after.len();
                continue;
            }
            match batches
                .iter_mut()
                .find(|(old, new, _)| *old == before && *new == after)
            {
                Some((.., hosts)) => hosts.push(host),
                None => batches.push((before, after, vec![host])),
            }
        }
        let n_declared = batches.iter().map(|(.., hosts)| hosts.len()).sum();
        for (before, after, hosts) in batches {
            plan.steps.push(Step {
                sign: match (before.is_empty(), after.is_empty()) {
                    (true, _) => Sign::Add,
                    (false, true) => Sign::Remove,
                    (false, false) => Sign::Change,
                },
                kind: Kind::Group,
                name: namespace.to_string(),
                hosts,
                n_declared,
                changes: changes(&groups_document(&before), &groups_document(&after)),
                note: None,
                action: Action::SetGroups(namespace.clone(), after),
            });
        }
    }
    Ok(())
}

/// The groups of a namespace on each of these hosts, sorted by name.
pub(super) fn read_groups(
    current: &Current<'_>,
    namespace: &Namespace,
    hosts: &[String],
) -> Result<Vec<(String, Vec<ProcessGroup>)>, Failure> {
    let mut read = Vec::new();
    for hosts in hosts.chunks(HOSTS_A_REQUEST) {
        let path = Path::new("groups").join(namespace).list("host", hosts);
        let list: GroupList<'_> = current.client.get(&path)?;
        for of_host in list.groups {
            let mut groups = of_host.process_group.into_owned();
            groups.sort_by(|a, b| a.id.cmp(&b.id));
            read.push((of_host.host, groups));
        }
    }
    Ok(read)
}

fn groups_document(groups: &[ProcessGroup]) -> Value {
    let each = groups.iter().map(|group| {
        let pool = group.resource;
        let limits = json!({
            "cpu": pool.cpu_pool_limit, "mem": pool.mem_pool_limit,
            "cpu_weight": pool.cpu_pool_weight, "mem_weight": pool.mem_pool_weight,
        });
        (group.id.clone(), limits)
    });
    Value::Object(each.collect())
}
