//! `spec.after` of the orders that files ask for, once all files are read.
//!
//! A reader says which of its processes waits for which, and how ([`Wish`]). Here each wish becomes a dependency, or is
//! reported with the reason: a dependency that is not in the import, one that could never be met, a cycle.

use std::collections::BTreeMap;

use model::spec::AutoType;
use model::spec::after::{Dependency, MAX_DEPENDENCIES, Place, When, cycle_through};
use model::{FullName, Spec};

use super::ledger::EntryId;
use super::{Imported, ImportedProcess};

/// A process, or the replicas of one, as its file calls it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// Inside which the name is unique: the file; empty for units of systemd.
    scope: String,
    name: String,
}

impl Source {
    pub(super) fn new(scope: &str, name: &str) -> Self {
        Self {
            scope: scope.to_owned(),
            name: name.to_owned(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// What a dependency must have come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// It runs.
    Started,
    /// Its health check succeeds.
    Healthy,
    /// It ended with code 0.
    Completed,
    /// Its start is over: it runs, or has run if it runs once.
    StartOver,
    /// Nothing: it is needed, in whatever order the two are started.
    Unordered,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub(super) wait: Wait,
    pub(super) patience: Patience,
    /// Whether the dependent is restarted with the dependency.
    pub(super) restart: bool,
}

impl Rule {
    /// Waits without end.
    pub(super) fn of(wait: Wait) -> Self {
        Self {
            wait,
            patience: Patience::Endless,
            restart: false,
        }
    }
}

/// How long the dependent waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    Endless,
    /// As long as a start of the dependency may take (`op_timeout`).
    OfItsStart,
    /// So many seconds longer than the start check of the dependency.
    BeyondItsCheck(u32),
}

/// One order that a file asks for.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    /// The settings that say so, each with what is lost of it though the order is kept.
    pub(super) entries: Vec<(EntryId, Option<String>)>,
    pub(super) dependent: Source,
    pub(super) dependency: Source,
    pub(super) rule: Rule,
}

impl Wish {
    pub(super) fn names(&self, id: EntryId) -> bool {
        self.entries.iter().any(|(entry, _)| *entry == id)
    }
}

/// What became of one setting.
#[derive(Debug, Default)]
struct Account {
    made: Vec<String>,
    lost: Vec<String>,
}

/// Makes dependencies of the wishes, in their order: of a cycle, the last one is given up.
pub(super) fn resolve(imported: &mut Imported) {
    let mut accounts: BTreeMap<EntryId, Account> = BTreeMap::new();
    for wish in std::mem::take(&mut imported.wishes) {
        let made = grant(&wish, imported);
        for (id, lost) in wish.entries {
            let account = accounts.entry(id).or_default();
            match &made {
                Ok(partly_lost) => {
                    let (waiting, for_what) = (&wish.dependent.name, &wish.dependency.name);
                    push(&mut account.made, format!("{waiting} waits for {for_what}"));
                    for lost in lost.into_iter().chain(partly_lost.clone()) {
                        push(&mut account.lost, lost);
                    }
                }
                Err(why) => push(&mut account.lost, why.clone()),
            }
        }
    }
    for (id, account) in accounts {
        let (made, lost) = (account.made.join(", "), account.lost.join("; "));
        match (made.is_empty(), lost.is_empty()) {
            (_, true) => imported.ledger.carried(id, format!("after ({made})")),
            (true, false) => imported.ledger.not_carried(id, lost),
            (false, false) => {
                imported
                    .ledger
                    .not_carried(id, format!("{made}, but {lost}"));
            }
        }
    }
}

fn push(list: &mut Vec<String>, text: String) {
    if !list.contains(&text) {
        list.push(text);
    }
}

/// Makes the dependencies of one wish. What is lost of them, or why there is none.
fn grant(wish: &Wish, imported: &mut Imported) -> Result<Option<String>, String> {
    let (dependent, dependency) = (&wish.dependent, &wish.dependency);
    let of = |source: &Source| -> Vec<usize> {
        let each = imported.processes.iter().enumerate();
        let of_source = each.filter(|(_, process)| process.source == *source);
        of_source.map(|(index, _)| index).collect()
    };
    let (dependents, dependencies) = (of(dependent), of(dependency));
    if dependents.is_empty() {
        return Err(format!("{} is not in this import", dependent.name));
    }
    if dependencies.is_empty() {
        return Err(format!("{} is not in this import", dependency.name));
    }
    if dependent.name == dependency.name && dependent.scope == dependency.scope {
        return Err("it names itself".to_owned());
    }
    let mut lost = None;
    for &from in &dependents {
        for &to in &dependencies {
            let (made, partly_lost) = dependency_on(&imported.processes[to], wish)?;
            lost = lost.or(partly_lost);
            add(&mut imported.processes, from, made)?;
        }
    }
    if wish.rule.patience == Patience::OfItsStart {
        imported.ledger.note(format!(
            "{} waits for {} as long as the start of that may take (patience); systemd goes on as soon as that start has failed",
            dependent.name, dependency.name
        ));
    }
    Ok(lost)
}

/// The dependency on this process, and what is lost of the wish.
fn dependency_on(
    process: &ImportedProcess,
    wish: &Wish,
) -> Result<(Dependency, Option<String>), String> {
    let (spec, name) = (&process.definition.spec, wish.dependency.name());
    let auto_type = spec.monitor_policy.auto_type;
    let (when, lost) = match (wish.rule.wait, auto_type) {
        (Wait::Unordered, _) => {
            return Err(format!(
                "without After={name} it orders nothing, and Muster starts no process with another"
            ));
        }
        (_, AutoType::Periodic) => {
            return Err(format!("{name} runs on its schedule: nothing waits for it"));
        }
        (Wait::Started | Wait::StartOver, AutoType::Resident) => (When::Up, None),
        (Wait::StartOver | Wait::Completed, AutoType::OneShot) => (When::ExitedOk, None),
        (Wait::Healthy, AutoType::Resident) if spec.probes.ready.is_some() => (When::Ready, None),
        (Wait::Healthy, AutoType::Resident) => (
            When::Ready,
            Some(format!(
                "{name} has no health check here, and counts as ready when it runs"
            )),
        ),
        (Wait::Started | Wait::Healthy, AutoType::OneShot) => {
            return Err(format!(
                "{name} runs once: when it has ended, it does not count as started"
            ));
        }
        (Wait::Completed, AutoType::Resident) => {
            return Err(format!(
                "{name} is restarted after any exit, and never counts as completed"
            ));
        }
    };
    let made = Dependency {
        process: process.definition.name.clone(),
        when,
        place: Place::SameHost,
        patience: patience(wish.rule.patience, spec),
        restart: wish.rule.restart && when != When::ExitedOk,
    };
    Ok((made, lost))
}

fn patience(rule: Patience, spec: &Spec) -> Option<u32> {
    let policy = &spec.monitor_policy;
    match rule {
        Patience::Endless => None,
        Patience::OfItsStart => Some(policy.op_timeout),
        Patience::BeyondItsCheck(secs) => Some(policy.start_check_secs.saturating_add(secs)),
    }
}

/// Gives a process a dependency, unless that makes a cycle or one too many.
fn add(processes: &mut [ImportedProcess], index: usize, made: Dependency) -> Result<(), String> {
    let after: BTreeMap<FullName, Vec<FullName>> = processes
        .iter()
        .map(|one| {
            let definition = &one.definition;
            let names = definition.spec.after.iter().map(|one| one.process.clone());
            (definition.name.clone(), names.collect())
        })
        .collect();
    let definition = &mut processes[index].definition;
    if definition
        .spec
        .after
        .iter()
        .any(|one| one.process == made.process)
    {
        return Ok(());
    }
    let of = |name: &FullName| after.get(name).into_iter().flatten().collect();
    let made = [made];
    if let Some(cycle) = cycle_through(&definition.name, &made, of) {
        let names: Vec<&str> = cycle.iter().map(|name| name.name.as_str()).collect();
        return Err(format!("it makes a cycle: {}", names.join(" → ")));
    }
    if definition.spec.after.len() >= MAX_DEPENDENCIES {
        return Err(format!(
            "{} would wait for more than {MAX_DEPENDENCIES} processes",
            definition.name.name
        ));
    }
    definition.spec.after.extend(made);
    Ok(())
}
