//! Exports the view of a business as facts.

use std::collections::HashMap;

use fleet::Fleet;
use model::topology::{
    BkProcessId, BusinessFacts, BusinessId, HostFacts, ModuleFacts, ProcessFacts, ProcessSource,
    ServiceFacts, SetFacts,
};

/// Without vanished processes: the source does not have them.
pub(super) fn of(fleet: &Fleet, business: BusinessId) -> Option<BusinessFacts> {
    let view = fleet.view();
    let row = view.business(business)?;
    let mut facts = BusinessFacts {
        business: Some(business),
        name: row.name.clone(),
        variables: row.variables.clone(),
        ..BusinessFacts::default()
    };
    let mut modules = HashMap::new();
    for set in view.sets_of(business) {
        for module in view.modules_of(set.id) {
            modules.insert(module.id, facts.modules.len());
            facts.modules.push(ModuleFacts {
                id: Some(module.id.0),
                set: facts.sets.len(),
                name: module.name.to_string(),
                service_template: module.service_template,
                attributes: module.attributes.clone(),
            });
        }
        facts.sets.push(SetFacts {
            id: Some(set.id.0),
            name: set.name.to_string(),
            env: set.env,
            attributes: set.attributes.clone(),
        });
    }
    let (mut hosts, mut services) = (HashMap::new(), HashMap::new());
    for id in view.processes_of(business)?.iter().map(BkProcessId) {
        let Some(process) = view.process(id).filter(|process| !process.vanished) else {
            continue;
        };
        let Some(service) = view.service(process.service) else {
            continue;
        };
        let (Some(machine), Some(program)) =
            (view.machine(service.machine), view.program(process.program))
        else {
            continue;
        };
        let host = *hosts.entry(machine.id).or_insert_with(|| {
            facts.hosts.push(HostFacts {
                id: Some(machine.id.0),
                cloud: machine.host.cloud,
                ip: machine.host.ip,
                ip_v6: machine.ip_v6,
                other_innerips: machine.other_innerips.clone(),
                agent_id: machine.agent_id.clone(),
                attributes: machine.attributes.clone(),
            });
            facts.hosts.len() - 1
        });
        let Some(module) = modules.get(&service.module).copied() else {
            continue;
        };
        let service = *services.entry(service.id).or_insert_with(|| {
            facts.services.push(ServiceFacts {
                id: Some(service.id.0),
                module,
                host,
                name: service.name.to_string(),
            });
            facts.services.len() - 1
        });
        facts.processes.push(ProcessFacts {
            id: Some(id.0),
            service,
            process_template: process.process_template,
            program: program.clone(),
            row: ProcessSource::new(format!("bk_process_id {id}")),
        });
    }
    let mut clouds: Vec<u32> = facts.hosts.iter().map(|host| host.cloud).collect();
    clouds.sort_unstable();
    clouds.dedup();
    let named = clouds.into_iter();
    facts.clouds = named
        .filter_map(|id| Some((id, view.cloud_name(id)?.to_owned())))
        .collect();
    Some(facts)
}
