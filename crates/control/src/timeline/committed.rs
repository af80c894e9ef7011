//! The rows of the timeline that a commit adds.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fleet::Fleet;
use model::change::{Changes, HostId, NameId, TargetRow};
use model::timeline::{TimelineBody, TimelineKind, TimelineRow};
use model::topology::split_instance_name;
use model::{FullName, Op, TaskId, UnixMillis};
use roaring::RoaringBitmap;

/// Registrations of a commit, by process and what was done.
type Registrations = BTreeMap<(NameId, &'static str), RoaringBitmap>;

/// Operations of a commit, by task, process and operation, with the job that they belong to.
type Operated = BTreeMap<(TaskId, NameId, &'static str), (BTreeSet<HostId>, Option<u32>)>;

/// One row for each process and what was done to it, whatever the number of hosts.
pub(crate) fn rows_of(fleet: &Fleet, changes: &Changes, at: UnixMillis) -> Vec<TimelineRow> {
    let mut rows = operations(fleet, changes, at);
    rows.extend(specs(fleet, changes, at));
    rows.extend(files(fleet, changes, at));
    rows
}

fn operations(fleet: &Fleet, changes: &Changes, at: UnixMillis) -> Vec<TimelineRow> {
    if changes.targets.is_empty() {
        return Vec::new();
    }
    let new_names: HashMap<&FullName, NameId> = changes
        .names
        .iter()
        .map(|row| (&row.name, row.id))
        .collect();
    let name_of = |name: &FullName| {
        let known = fleet.name_id(name);
        known.or_else(|| new_names.get(name).copied())
    };
    let jobs: HashMap<_, u32> = (changes.job_tasks.iter())
        .filter_map(|row| Some((row.op?, row.job.0)))
        .collect();
    let mut operated = Operated::new();
    let mut last: Option<(&TargetRow, NameId)> = None;
    for target in &changes.targets {
        let (Some(host), false) = (target.host, target.op == Op::Query) else {
            continue;
        };
        let name = match last {
            Some((before, name)) if before.process == target.process => name,
            _ => match name_of(&target.process) {
                Some(name) => name,
                // Never registered: there is no process to have a timeline.
                None => continue,
            },
        };
        last = Some((target, name));
        let key = (target.op_id.task, name, target.op.as_str());
        let (hosts, job) = operated.entry(key).or_default();
        hosts.insert(host);
        *job = job.or_else(|| jobs.get(&target.op_id).copied());
    }
    let by = |task: TaskId| changes.tasks.iter().find(|row| row.id == task);
    let from = changes.audit.first().map(|line| line.from.clone());
    let row =
        |((task, name, op), (hosts, job)): ((TaskId, NameId, &str), (BTreeSet<HostId>, _))| {
            let by = by(task);
            TimelineRow {
                at,
                kind: TimelineKind::Operation,
                process: Some(name),
                hosts: hosts.into_iter().collect(),
                body: TimelineBody {
                    code: op.to_owned(),
                    user: by.map(|row| row.user.clone()).unwrap_or_default(),
                    app: by.map(|row| row.app.clone()).unwrap_or_default(),
                    from: from.clone().unwrap_or_default(),
                    task: Some(task.to_string()),
                    job,
                    ..TimelineBody::default()
                },
            }
        };
    operated.into_iter().map(row).collect()
}

fn specs(fleet: &Fleet, changes: &Changes, at: UnixMillis) -> Vec<TimelineRow> {
    let mut all = Registrations::new();
    for row in changes
        .processes_gone
        .iter()
        .filter_map(|id| fleet.registration(*id))
    {
        all.entry((row.name, "unregistered"))
            .or_default()
            .insert(row.host.0);
    }
    for row in &changes.processes {
        let before = fleet.registered(row.host, row.name);
        let code = match before {
            None => "registered",
            Some(before) if before.incarnation != row.incarnation => "registered",
            Some(before) if before.definition != row.definition => "updated",
            Some(_) => continue,
        };
        all.entry((row.name, code)).or_default().insert(row.host.0);
    }
    let by = changes.audit.first();
    let row = |((name, code), hosts): ((NameId, &str), RoaringBitmap)| TimelineRow {
        at,
        kind: TimelineKind::Spec,
        process: Some(name),
        hosts: hosts.into_iter().map(HostId).collect(),
        body: TimelineBody {
            code: code.to_owned(),
            user: by.map(|line| line.user.clone()).unwrap_or_default(),
            app: by.map(|line| line.app.clone()).unwrap_or_default(),
            from: by.map(|line| line.from.clone()).unwrap_or_default(),
            ..TimelineBody::default()
        },
    };
    all.into_iter().map(row).collect()
}

/// Config files that were written on hosts.
fn files(fleet: &Fleet, changes: &Changes, at: UnixMillis) -> Vec<TimelineRow> {
    let mut rows = Vec::new();
    for file in &changes.templates.files {
        let Some(released) = &file.released else {
            continue;
        };
        let before = fleet
            .view()
            .config_file(file.process, file.local_inst_id, file.template);
        if before.and_then(|before| before.released.as_ref()) == Some(released) {
            continue;
        }
        let mut instances = fleet
            .instances_of(file.process)
            .filter_map(|id| fleet.row(id));
        let Some(instance) = instances.find(|row| {
            let split = split_instance_name(&row.name().name);
            split.is_some_and(|(_, local)| local == file.local_inst_id)
        }) else {
            continue;
        };
        let job = (changes.job_tasks.iter())
            .find(|row| row.target.instance() == Some((file.process, file.local_inst_id)));
        let change = instance.to_change();
        let params = [
            ("path", released.path.clone()),
            ("md5", released.md5.clone()),
        ];
        rows.push(TimelineRow {
            at,
            kind: TimelineKind::Config,
            process: Some(change.name),
            hosts: vec![change.host],
            body: TimelineBody {
                code: "released".to_owned(),
                params: params.map(|(key, value)| (key.to_owned(), value)).into(),
                user: released.by.clone(),
                job: job.map(|row| row.job.0),
                ..TimelineBody::default()
            },
        });
    }
    rows
}
