//! One business with a few of everything, and a fleet that has it.

use std::sync::Arc;

use model::change::{Changes, DefinitionRow, HostRow, NameRow, ProcessRow, Revision};
use model::change::{DefinitionId, HostId, NameId, ProcessId};
use model::topology::{
    BkHostId, BkProcessId, BusinessId, BusinessRow, CloudRow, MachineRow, ModuleId, ModuleRow,
    Origin, Program, ProgramId, ProgramRow, ServiceId, ServiceRow, SetEnv, SetId, SetRow,
    TopologyChanges, ViewProcessRow, instance_name,
};
use model::{Flag, Host, State, Status, UnixMillis};

use crate::Fleet;

pub(super) const BUSINESS: BusinessId = BusinessId(2);
pub(super) const N_SETS: u32 = 3;
pub(super) const N_MODULES: u32 = 6;
pub(super) const N_MACHINES: u32 = 8;
pub(super) const N_SERVICES: u32 = 12;
pub(super) const ALIASES: [&str; 4] = ["gse_agent", "gse_data", "nginx", "中间件"];

/// A process in the naive implementation.
#[derive(Debug, Clone)]
pub(super) struct Plain {
    pub(super) id: u32,
    pub(super) service: u32,
    pub(super) alias: usize,
    pub(super) states: Vec<(State, bool)>,
}

pub(super) fn machine_of(service: u32) -> u32 {
    service % N_MACHINES + 1
}

pub(super) fn module_of(service: u32) -> u32 {
    service % N_MODULES + 1
}

pub(super) fn set_of(module: u32) -> u32 {
    module % N_SETS + 1
}

pub(super) fn ip_of(machine: u32) -> String {
    format!("10.0.{}.{machine}", machine % 3)
}

pub(super) fn cloud_of(machine: u32) -> u32 {
    machine % 2
}

pub(super) fn service_name(service: u32) -> String {
    format!("{}_service{service}", ip_of(machine_of(service)))
}

pub(super) fn set_name(set: u32) -> String {
    format!("set-{set}")
}

pub(super) fn module_name(module: u32) -> String {
    format!("module{}", module % 4)
}

pub(super) fn env_of(set: u32) -> SetEnv {
    SetEnv::ALL[set as usize % 2 + 1]
}

fn places() -> TopologyChanges {
    let mut changes = TopologyChanges::default();
    changes.businesses.push(BusinessRow {
        id: BUSINESS,
        name: "game".into(),
        origin: Origin::Imported,
        refreshed_at: UnixMillis(1),
        variables: Default::default(),
        troubles: Vec::new(),
    });
    for (id, name) in [(0, "default area"), (1, "边缘")] {
        let name = name.to_owned();
        changes.clouds.push(CloudRow { id, name });
    }
    for set in 1..=N_SETS {
        changes.sets.push(SetRow {
            id: SetId(set),
            business: BUSINESS,
            name: set_name(set).into(),
            env: env_of(set),
            attributes: Default::default(),
        });
    }
    for module in 1..=N_MODULES {
        changes.modules.push(ModuleRow {
            id: ModuleId(module),
            set: SetId(set_of(module)),
            name: module_name(module).into(),
            service_template: 0,
            attributes: Default::default(),
        });
    }
    for machine in 1..=N_MACHINES {
        changes.machines.push(MachineRow {
            id: BkHostId(machine),
            host: Host::parse(i64::from(cloud_of(machine)), &ip_of(machine)).unwrap(),
            ip_v6: None,
            other_innerips: Vec::new(),
            agent_id: None,
            attributes: Default::default(),
        });
    }
    for service in 0..N_SERVICES {
        changes.services.push(ServiceRow {
            id: ServiceId(service + 1),
            module: ModuleId(module_of(service)),
            machine: BkHostId(machine_of(service)),
            name: service_name(service).into(),
        });
    }
    for (index, alias) in ALIASES.iter().enumerate() {
        changes.programs.push(ProgramRow {
            id: ProgramId(index as u32),
            program: Arc::new(Program {
                bk_process_name: (*alias).to_owned(),
                proc_num: 1,
                ..Program::default()
            }),
        });
    }
    changes
}

pub(super) fn row_of(process: &Plain) -> ViewProcessRow {
    ViewProcessRow {
        id: BkProcessId(process.id),
        service: ServiceId(process.service + 1),
        program: ProgramId(process.alias as u32),
        process_template: 0,
        ordinal: 1,
        vanished: false,
    }
}

/// A fleet with these processes, some of which had other parents before.
pub(super) fn fleet_of(before: &[Plain], processes: &[Plain]) -> Fleet {
    let mut fleet = Fleet::new();
    let mut topology = places();
    topology.processes = before.iter().map(row_of).collect();
    let first = Changes {
        topology,
        ..Changes::default()
    };
    fleet.apply(Revision(1), &first);
    let kept = |id: u32| processes.iter().any(|process| process.id == id);
    let mut changes = Changes {
        topology: TopologyChanges {
            processes_gone: before
                .iter()
                .filter(|process| !kept(process.id))
                .map(|process| BkProcessId(process.id))
                .collect(),
            processes: processes.iter().map(row_of).collect(),
            ..TopologyChanges::default()
        },
        ..Changes::default()
    };
    let mut next = 0;
    let mut statuses = Vec::new();
    for process in processes {
        for (local, (state, managed)) in process.states.iter().enumerate() {
            let alias = ALIASES[process.alias];
            let name = instance_name(BUSINESS, alias, local as u32 + 1 + process.id * 10);
            let machine = machine_of(process.service);
            let host = Host::parse(i64::from(cloud_of(machine)), &ip_of(machine)).unwrap();
            changes.hosts.push(HostRow::new(HostId(machine), host));
            changes.names.push(NameRow {
                id: NameId(next),
                name: name.clone(),
            });
            changes.definitions.push(DefinitionRow {
                id: DefinitionId(next),
                name: NameId(next),
                spec: Arc::new(crate::tests::spec("true")),
                labels: Default::default(),
            });
            changes.processes.push(ProcessRow {
                id: ProcessId(next),
                host: HostId(machine),
                name: NameId(next),
                definition: DefinitionId(next),
                flag: Flag::Running,
                managed: *managed,
                registered_at: UnixMillis(1),
                incarnation: Revision(2),
                owner: Some(BkProcessId(process.id)),
            });
            statuses.push((HostId(machine), name, *state));
            next += 1;
        }
    }
    fleet.apply(Revision(2), &changes);
    for (host, name, state) in statuses {
        if state != State::Unknown {
            // With another status before.
            for state in [State::Running, State::Stopped, state] {
                let status = Status {
                    state,
                    ..Status::default()
                };
                fleet.observe_named(host, &name, status);
            }
        }
    }
    fleet
}
