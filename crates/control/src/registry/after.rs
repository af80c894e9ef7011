//! Refuses changes whose `spec.after` would make processes wait for each other in a circle.
//!
//! The graph is over names, whatever the hosts: of two processes that wait for each other on different hosts neither could
//! be started first. Only names that a new spec leads to are looked at.

use fleet::Fleet;
use model::change::{Changes, DefinitionRow, NameId};
use model::spec::Dependency;
use model::spec::after::cycle_through;
use model::{FullName, Invalid, Spec};

/// Checks the new definitions of a plan, together with those that stay.
pub(crate) fn refuse_cycles(fleet: &Fleet, changes: &Changes) -> Result<(), Invalid> {
    let is_ordered = |row: &&DefinitionRow| !row.spec.after.is_empty();
    for row in changes.definitions.iter().filter(is_ordered) {
        let Some(name) = name_of(fleet, changes, row.name) else {
            continue;
        };
        refuse(fleet, changes, name, &row.spec)?;
    }
    Ok(())
}

/// Checks a spec that a process may get later, together with the definitions that are registered.
pub(crate) fn refuse_cycle(fleet: &Fleet, name: &FullName, spec: &Spec) -> Result<(), Invalid> {
    refuse(fleet, &Changes::default(), name, spec)
}

fn refuse(fleet: &Fleet, changes: &Changes, name: &FullName, spec: &Spec) -> Result<(), Invalid> {
    let further = |name: &FullName| {
        let all = dependencies_of(fleet, changes, name).into_iter();
        all.map(|dependency| &dependency.process).collect()
    };
    let Some(cycle) = cycle_through(name, &spec.after, further) else {
        return Ok(());
    };
    let names: Vec<String> = cycle.iter().map(ToString::to_string).collect();
    let rule = format!(
        "makes a cycle, in which no process could start: {}; leave one of these dependencies out",
        names.join(" → ")
    );
    Err(Invalid::new("spec.after", rule))
}

fn name_of<'a>(fleet: &'a Fleet, changes: &'a Changes, id: NameId) -> Option<&'a FullName> {
    let new = || changes.names.iter().find(|row| row.id == id);
    fleet.name(id).or_else(|| Some(&new()?.name))
}

/// The dependencies of every definition of a name, once the changes are made.
fn dependencies_of<'a>(
    fleet: &'a Fleet,
    changes: &'a Changes,
    name: &FullName,
) -> Vec<&'a Dependency> {
    let new = || changes.names.iter().find(|row| row.name == *name);
    let Some(id) = fleet.name_id(name).or_else(|| Some(new()?.id)) else {
        return Vec::new();
    };
    let known = fleet.definitions_of(id);
    let known = known.filter(|(id, _)| !changes.definitions_gone.contains(id));
    let known = known.flat_map(|(_, definition)| &definition.spec.after);
    let new = changes.definitions.iter().filter(|row| row.name == id);
    known.chain(new.flat_map(|row| &row.spec.after)).collect()
}
