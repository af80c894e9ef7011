//! Removes a whole business from the view.

use std::collections::BTreeSet;

use model::UnixMillis;
use model::access::{Audit, Caller};
use model::change::Changes;
use model::topology::{BkProcessId, BusinessId};

use super::plan::forget_files;
use super::{Difference, no_such_business};
use crate::ControlError;
use crate::commit::World;
use crate::draft::Draft;

/// Removes a business, with the registrations of its instances.
pub(super) fn remove(
    world: &World<'_>,
    business: BusinessId,
    caller: &Caller,
    at: UnixMillis,
) -> Result<(Changes, Difference), ControlError> {
    let view = world.fleet.view();
    let Some(before) = view.business(business) else {
        return Err(no_such_business(business));
    };
    let mut draft = Draft::new(world, at);
    let mut difference = Difference::default();
    let (mut services, mut programs) = (BTreeSet::new(), BTreeSet::new());
    let ours = view.processes_of(business).cloned().unwrap_or_default();
    for id in ours.iter().map(BkProcessId) {
        for instance in world.fleet.instances_of(id) {
            draft.forget(instance);
            difference.instances.gone += 1;
        }
        if let Some(row) = view.process(id) {
            services.insert(row.service);
            programs.insert(row.program);
        }
        draft.changes.topology.processes_gone.push(id);
        forget_files(&mut draft, view, id);
        difference.processes.gone += 1;
    }
    let machines: BTreeSet<_> = services
        .iter()
        .filter_map(|id| view.service(*id))
        .map(|row| row.machine)
        .filter(|id| {
            view.processes_on(*id)
                .is_none_or(|there| there.is_subset(&ours))
        })
        .collect();
    difference.hosts.gone = machines.len() as u32;
    difference.services.gone = services.len() as u32;
    let topology = &mut draft.changes.topology;
    topology.services_gone.extend(services);
    topology.programs_gone.extend(programs);
    topology.machines_gone.extend(machines);
    for set in view.sets_of(business) {
        let modules = view.modules_of(set.id);
        difference.modules.gone += modules.len() as u32;
        topology
            .modules_gone
            .extend(modules.iter().map(|module| module.id));
        topology.sets_gone.push(set.id);
        difference.sets.gone += 1;
    }
    topology.businesses_gone.push(business);
    for template in view.templates_of(business) {
        let versions = view.versions_of(template.id).map(|version| version.id);
        draft.changes.templates.versions_gone.extend(versions);
        draft.changes.templates.templates_gone.push(template.id);
    }
    let object = format!("business {business} {}", before.name);
    draft.audit(Audit::new(
        caller,
        at,
        "remove_business",
        object,
        difference.summary(),
    ));
    Ok((draft.finish(), difference))
}
