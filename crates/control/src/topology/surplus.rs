//! Removes what the source of a business no longer has.

use std::collections::BTreeSet;

use hashbrown::{HashMap, HashSet};
use model::State;
use model::topology::{
    BkHostId, BkProcessId, ModuleId, ProgramId, ServiceId, ServiceRow, SetId, ViewProcessRow,
};
use roaring::RoaringBitmap;

use super::difference::ChangeOf;
use super::places::Places;
use super::plan::{PlannedProcess, Planner, forget_files};

/// The rows that the business keeps.
#[derive(Debug, Default)]
struct KeptRows {
    services: RoaringBitmap,
    programs: HashSet<ProgramId>,
    modules: HashSet<ModuleId>,
    sets: HashSet<SetId>,
    machines: HashSet<BkHostId>,
}

impl Planner<'_> {
    /// Removes stopped processes, and marks running ones as vanished until they stop.
    pub(super) fn surplus(&mut self, planned: &[PlannedProcess<'_>], places: &Places) {
        let ids: RoaringBitmap = planned.iter().map(|process| process.row.id.0).collect();
        let ours = self.view.processes_of(self.business).cloned();
        let ours = ours.unwrap_or_default();
        let mut kept = KeptRows {
            services: planned
                .iter()
                .map(|process| process.row.service.0)
                .collect(),
            programs: planned.iter().map(|process| process.row.program).collect(),
            modules: places.modules.iter().flatten().copied().collect(),
            sets: places.sets.iter().flatten().copied().collect(),
            machines: HashSet::new(),
        };
        for id in ours.iter().map(BkProcessId) {
            let runs = self.forget_stopped(id);
            let Some(before) = self.view.process(id).filter(|_| !ids.contains(id.0)) else {
                continue;
            };
            let alias = self.view.alias_of(id).unwrap_or_default();
            if runs {
                kept.services.insert(before.service.0);
                kept.programs.insert(before.program);
                if !before.vanished {
                    let row = ViewProcessRow {
                        vanished: true,
                        ..*before
                    };
                    self.draft.changes.topology.processes.push(row);
                    self.difference.vanished += 1;
                    self.difference.line('!', || ChangeOf::StillRuns {
                        id,
                        name: alias.to_owned(),
                    });
                }
            } else {
                self.draft.changes.topology.processes_gone.push(id);
                forget_files(&mut self.draft, self.view, id);
                self.difference.processes.gone += 1;
                self.difference.line('-', || ChangeOf::ProcessGone {
                    id,
                    name: alias.to_owned(),
                });
            }
        }
        self.keep_places(&mut kept);
        self.drop_places(&ours, &kept);
    }

    /// Unregisters stopped surplus instances of a process; true when some run.
    fn forget_stopped(&mut self, id: BkProcessId) -> bool {
        let fleet = self.draft.fleet;
        let mut runs = false;
        for instance in fleet.instances_of(id) {
            let Some(change) = fleet.registration(instance) else {
                continue;
            };
            if self.desired.contains_key(&(change.host, change.name)) {
                continue;
            }
            match fleet
                .row(instance)
                .map_or(State::Unknown, |row| row.state())
            {
                State::Stopped | State::Unknown if self.faulty.contains(&id) => {}
                State::Running => runs = true,
                State::Stopped | State::Unknown => {
                    self.draft.forget(instance);
                    self.difference.instances.gone += 1;
                }
            }
        }
        runs
    }

    /// Keeps the modules, sets and machines of kept services.
    fn keep_places(&self, kept: &mut KeptRows) {
        let drafted: HashMap<ServiceId, &ServiceRow> = self
            .draft
            .changes
            .topology
            .services
            .iter()
            .map(|row| (row.id, row))
            .collect();
        for id in kept.services.iter().map(ServiceId) {
            let drafted = drafted.get(&id).map(|row| (row.module, row.machine));
            let Some(row) = drafted.or_else(|| self.view.place_of_service(id)) else {
                continue;
            };
            kept.modules.insert(row.0);
            kept.machines.insert(row.1);
        }
        let moved: HashMap<ModuleId, SetId> = self
            .draft
            .changes
            .topology
            .modules
            .iter()
            .map(|row| (row.id, row.set))
            .collect();
        for id in &kept.modules {
            let set = moved.get(id).copied();
            let set = set.or_else(|| self.view.module(*id).map(|row| row.set));
            kept.sets.extend(set);
        }
    }

    fn drop_places(&mut self, ours: &RoaringBitmap, kept: &KeptRows) {
        let (view, topology) = (self.view, &mut self.draft.changes.topology);
        let (mut services, mut programs) = (RoaringBitmap::new(), RoaringBitmap::new());
        for row in ours.iter().filter_map(|id| view.process(BkProcessId(id))) {
            services.insert(row.service.0);
            programs.insert(row.program.0);
        }
        // Another business may use the machine, too.
        let machines: BTreeSet<BkHostId> = services
            .iter()
            .filter_map(|id| view.place_of_service(ServiceId(id)))
            .map(|(_, machine)| machine)
            .filter(|id| !kept.machines.contains(id))
            .filter(|id| {
                view.processes_on(*id)
                    .is_none_or(|there| there.is_subset(ours))
            })
            .collect();
        services -= &kept.services;
        let programs = programs.iter().map(ProgramId);
        let programs = programs.filter(|id| !kept.programs.contains(id));
        self.difference.services.gone += services.len() as u32;
        self.difference.hosts.gone += machines.len() as u32;
        topology.machines_gone.extend(machines);
        topology
            .services_gone
            .extend(services.iter().map(ServiceId));
        topology.programs_gone.extend(programs);
        for set in view.sets_of(self.business) {
            for module in view.modules_of(set.id) {
                if !kept.modules.contains(&module.id) {
                    self.difference.modules.gone += 1;
                    self.difference
                        .line('-', || ChangeOf::Module(module.name.to_string()));
                    topology.modules_gone.push(module.id);
                }
            }
            if !kept.sets.contains(&set.id) {
                self.difference.sets.gone += 1;
                self.difference
                    .line('-', || ChangeOf::Set(set.name.to_string()));
                topology.sets_gone.push(set.id);
            }
        }
    }
}
