//! Takes removed hosts out of the process view, as if their source did not list them any more.

use std::collections::{BTreeSet, HashMap};

use fleet::Fleet;
use model::change::HostId;
use model::topology::{BkHostId, BkProcessId, BusinessId, ViewProcessRow};

use super::expected::host_of;
use super::plan::forget_files;
use super::retire::drop_places;
use crate::commit::World;
use crate::draft::Draft;

/// Drops the processes on the machines of these hosts, whose registrations the draft removes. Processes that have instances
/// elsewhere vanish when those have stopped.
pub(crate) fn forget_hosts(draft: &mut Draft<'_>, world: &World<'_>, hosts: &[HostId]) {
    let view = world.fleet.view();
    let hosts: BTreeSet<HostId> = hosts.iter().copied().collect();
    let mut gone: Vec<BkProcessId> = Vec::new();
    for (_, machine) in machines(world.fleet, &hosts) {
        let there = view.processes_on(machine).into_iter().flatten();
        for id in there.map(BkProcessId) {
            let instances = world.fleet.instances_of(id);
            let mut rows = instances.filter_map(|instance| world.fleet.row(instance));
            let is_elsewhere = rows.any(|row| !hosts.contains(&row.host().id));
            match view.process(id) {
                Some(row) if is_elsewhere && !row.vanished => {
                    let row = ViewProcessRow {
                        vanished: true,
                        ..*row
                    };
                    draft.changes.topology.processes.push(row);
                }
                Some(_) if is_elsewhere => {}
                Some(_) | None => {
                    forget_files(draft, view, id);
                    gone.push(id);
                }
            }
        }
    }
    if !gone.is_empty() {
        drop_places(draft, world, &gone);
    }
    draft.changes.topology.processes_gone = gone;
}

/// The businesses with processes on these hosts.
pub(crate) fn businesses_on(
    fleet: &Fleet,
    hosts: &[HostId],
) -> HashMap<HostId, Vec<(BusinessId, String)>> {
    let view = fleet.view();
    let hosts: BTreeSet<HostId> = hosts.iter().copied().collect();
    let mut found: HashMap<HostId, Vec<(BusinessId, String)>> = HashMap::new();
    for (host, machine) in machines(fleet, &hosts) {
        let Some(there) = view.processes_on(machine) else {
            continue;
        };
        let ours = view.businesses().filter(|business| {
            let processes = view.processes_of(business.id);
            processes.is_some_and(|processes| !processes.is_disjoint(there))
        });
        let named = found.entry(host).or_default();
        for business in ours {
            if !named.iter().any(|(id, _)| *id == business.id) {
                named.push((business.id, business.name.clone()));
            }
        }
    }
    found
}

/// The machines of these hosts.
fn machines(fleet: &Fleet, hosts: &BTreeSet<HostId>) -> Vec<(HostId, BkHostId)> {
    let all = fleet.view().machines();
    all.filter_map(|machine| {
        let host = host_of(fleet, machine)?;
        hosts.contains(&host).then_some((host, machine.id))
    })
    .collect()
}
