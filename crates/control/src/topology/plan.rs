//! Plans the changes that make the view of a business equal to the facts.

use std::collections::BTreeSet;

use fleet::view::{FreshTopologyIds, View};
use hashbrown::{HashMap, HashSet};
use model::UnixMillis;
use model::access::{Audit, Caller};
use model::change::{Changes, HostId, NameId};
use model::config_template::ConfigFileRow;
use model::topology::{
    BkHostId, BkProcessId, BusinessFacts, BusinessId, BusinessRow, MachineRow, ModuleId, Origin,
    ProcessSource, ProgramId, ProgramRow, ServiceId, ServiceRow, ViewProcessRow,
};
use roaring::RoaringBitmap;

use super::difference::ChangeOf;
use super::fault::{Fault, RowKind};
use super::places::Places;
use super::programs::{AliasNumber, ProgramNumber, Programs};
use super::{Difference, difference};
use crate::commit::World;
use crate::draft::Draft;

pub(super) struct Planner<'a> {
    pub(super) draft: Draft<'a>,
    pub(super) view: &'a View,
    pub(super) ids: FreshTopologyIds,
    pub(super) business: BusinessId,
    pub(super) difference: Difference,
    pub(super) planned_services: HashMap<ServiceId, ServiceRow>,
    pub(super) planned_machines: HashMap<BkHostId, MachineRow>,
    pub(super) programs: Programs,
    /// The owner of each registration after the plan.
    pub(super) desired: HashMap<(HostId, NameId), BkProcessId>,
    /// Processes with an instance that cannot be registered. Their registrations stay until their rows are valid again.
    pub(super) faulty: HashSet<BkProcessId>,
}

/// A process of the facts.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlannedProcess<'f> {
    pub(super) row: ViewProcessRow,
    pub(super) program: ProgramNumber,
    pub(super) module: ModuleId,
    pub(super) machine: BkHostId,
    /// None for a process that stays as it is in the view.
    source: Option<&'f ProcessSource>,
}

impl PlannedProcess<'_> {
    /// The name of its row in messages.
    pub(super) fn source(&self) -> String {
        match self.source {
            Some(source) => source.to_string(),
            None => format!("bk_process_id {}", self.row.id),
        }
    }
}

pub(super) fn plan(
    world: &World<'_>,
    facts: &BusinessFacts,
    business: BusinessId,
    origin: Origin,
    caller: &Caller,
    at: UnixMillis,
) -> (Changes, Difference) {
    let view = world.fleet.view();
    let mut planner = Planner {
        draft: Draft::new(world, at),
        view,
        ids: view.fresh_ids(),
        business,
        difference: Difference {
            troubles: facts.troubles.clone(),
            ..Difference::default()
        },
        planned_services: HashMap::new(),
        planned_machines: HashMap::new(),
        programs: Programs::default(),
        desired: HashMap::new(),
        faulty: HashSet::new(),
    };
    let places = planner.places(facts);
    let mut planned = planner.processes(facts, &places);
    planner.programs(&mut planned);
    planner.ordinals(&mut planned);
    planner.put_processes(&planned);
    planner.instances(&planned);
    planner.surplus(&planned, &places);
    planner.finish(facts, origin, caller)
}

/// Deletes the config files of a process that goes.
pub(super) fn forget_files(draft: &mut Draft<'_>, view: &View, id: BkProcessId) {
    let gone = view.config_files(id).map(|file| ConfigFileRow {
        generated: None,
        released: None,
        ..(**file).clone()
    });
    draft.changes.templates.files.extend(gone);
}

impl Planner<'_> {
    /// The processes of the facts, each once, with its id.
    fn processes<'f>(
        &mut self,
        facts: &'f BusinessFacts,
        places: &Places,
    ) -> Vec<PlannedProcess<'f>> {
        self.programs_of_view();
        let given = facts.processes.iter().filter_map(|row| row.id).collect();
        let mut known = KnownProcesses::new(given);
        let mut taken = RoaringBitmap::new();
        let mut named: HashSet<(ServiceId, AliasNumber)> = HashSet::new();
        let mut planned = Vec::with_capacity(facts.processes.len());
        let mut untouched: BTreeSet<u32> = facts.unread.iter().copied().collect();
        for facts in &facts.processes {
            let Some(place) = places.services[facts.service] else {
                untouched.extend(facts.id);
                continue;
            };
            let service = place.id;
            let number = self.programs.number(&facts.program);
            let program = self.programs.get(number);
            if let Some(invalid) = &program.fault {
                let fault = Fault::Invalid(invalid.clone());
                self.add_fault(facts.row.to_string(), fault);
                untouched.extend(facts.id);
                continue;
            }
            // A process without an id is identified by its name, which must be unique.
            let alias = program.alias;
            if facts.id.is_none() && !named.insert((service, alias)) {
                let name = facts.program.bk_process_name.clone();
                self.add_fault(facts.row.to_string(), Fault::TwiceInService { name });
                continue;
            }
            let id = facts.id.map(BkProcessId);
            let id = id
                .or_else(|| known.find(self, service, alias))
                .unwrap_or_else(|| self.ids.process());
            let before = self.view.process(id);
            let elsewhere = before
                .filter(|row| row.service != service)
                .and_then(|row| self.business_of_service(row.service))
                .filter(|other| *other != self.business);
            if let Some(other) = elsewhere {
                let fault = Fault::Elsewhere {
                    kind: RowKind::Process,
                    id: id.to_string(),
                    business: other,
                };
                self.add_fault(facts.row.to_string(), fault);
                continue;
            }
            if !taken.insert(id.0) {
                let fault = Fault::Twice {
                    kind: RowKind::Process,
                    name: id.to_string(),
                };
                self.add_fault(facts.row.to_string(), fault);
                continue;
            }
            planned.push(PlannedProcess {
                row: ViewProcessRow {
                    id,
                    service,
                    program: ProgramId(0),
                    process_template: facts.process_template,
                    ordinal: 0,
                    vanished: false,
                },
                program: number,
                module: place.module,
                machine: place.machine,
                source: Some(&facts.row),
            });
        }
        untouched.retain(|id| !taken.contains(*id));
        for id in untouched {
            planned.extend(self.unchanged(BkProcessId(id)));
        }
        planned
    }

    /// Notes the programs of the business.
    fn programs_of_view(&mut self) {
        let existing = self.view.processes_of(self.business).into_iter().flatten();
        for row in existing.filter_map(|id| self.view.process(BkProcessId(id))) {
            if !self.programs.is_known(row.program)
                && let Some(program) = self.view.program(row.program)
            {
                self.programs.add_known(row.program, program);
            }
        }
    }

    /// A process of this business with an invalid row or service: it stays as it is in the view.
    fn unchanged(&mut self, id: BkProcessId) -> Option<PlannedProcess<'static>> {
        let ours = self.view.processes_of(self.business)?;
        let row = self.view.process(id).filter(|row| !row.vanished)?;
        let (program, service) = (
            self.view.program(row.program)?,
            self.view.service(row.service)?,
        );
        let program = self.programs.number(program);
        ours.contains(id.0).then(|| {
            let place = self.planned_services.entry(row.service).or_insert(service);
            PlannedProcess {
                row: *row,
                program,
                module: place.module,
                machine: place.machine,
                source: None,
            }
        })
    }

    /// Assigns each process an equal program of this business, or a new one.
    fn programs(&mut self, planned: &mut [PlannedProcess<'_>]) {
        for process in planned {
            let program = self.programs.get_mut(process.program);
            process.row.program = *program.id.get_or_insert_with(|| {
                let (id, program) = (self.ids.program(), program.program.clone());
                let programs = &mut self.draft.changes.topology.programs;
                programs.push(ProgramRow { id, program });
                id
            });
        }
    }

    fn put_processes(&mut self, planned: &[PlannedProcess<'_>]) {
        let mut used = RoaringBitmap::new();
        for process in planned {
            used.insert(process.row.service.0);
            let before = self.view.process(process.row.id);
            if before == Some(&process.row) {
                continue;
            }
            let sign = self.difference.processes.count(before.is_some());
            let program = before.and_then(|before| self.view.program(before.program));
            let now = &self.programs.get(process.program).program;
            let service = self.planned_services.get(&process.row.service);
            self.difference.line(sign, || ChangeOf::Process {
                id: process.row.id,
                name: now.bk_process_name.clone(),
                service: service.map_or_else(String::new, |service| service.name.to_string()),
                fields: program.map_or_else(String::new, |before| difference::changed(before, now)),
            });
            self.draft.changes.topology.processes.push(process.row);
        }
        self.used_services(&used);
    }

    fn finish(
        mut self,
        facts: &BusinessFacts,
        origin: Origin,
        caller: &Caller,
    ) -> (Changes, Difference) {
        self.difference.bound_troubles();
        let before = self.view.business(self.business);
        let row = BusinessRow {
            id: self.business,
            name: facts.name.clone(),
            origin,
            refreshed_at: self.draft.at,
            variables: facts.variables.clone(),
            troubles: self.difference.troubles.clone(),
        };
        // A new `refreshed_at` alone is not worth a commit.
        let same = before.is_some_and(|before| {
            *before
                == BusinessRow {
                    refreshed_at: before.refreshed_at,
                    ..row.clone()
                }
        });
        if !same || !self.draft.changes.is_empty() {
            self.draft.changes.topology.businesses.push(row);
        }
        let object = format!("business {} {}", self.business, facts.name);
        let detail = self.difference.summary();
        let audit = Audit::new(caller, self.draft.at, "import_topology", object, detail);
        self.draft.audit(audit);
        (self.draft.finish(), self.difference)
    }
}

/// Finds processes of the view by service and alias, for facts without ids: they are sorted by service, mostly.
struct KnownProcesses {
    /// The ids that the facts contain: these processes are found by nothing else.
    given: RoaringBitmap,
    service: Option<ServiceId>,
    /// Of that service, by alias and id.
    processes: Vec<(AliasNumber, BkProcessId)>,
}

impl KnownProcesses {
    fn new(given: RoaringBitmap) -> Self {
        Self {
            given,
            service: None,
            processes: Vec::new(),
        }
    }

    /// The newest process of this alias in a service.
    fn find(
        &mut self,
        planner: &Planner<'_>,
        service: ServiceId,
        alias: AliasNumber,
    ) -> Option<BkProcessId> {
        if self.service != Some(service) {
            self.service = Some(service);
            let ids = planner.view.processes_of_service(service);
            let ids = ids.filter(|id| !self.given.contains(id.0));
            let named = ids.filter_map(|id| {
                let row = planner.view.process(id)?;
                Some((planner.programs.alias_of(row.program)?, id))
            });
            self.processes.clear();
            self.processes.extend(named);
            self.processes.sort_unstable();
        }
        let after = self.processes.partition_point(|(other, _)| *other <= alias);
        let (found, id) = *self.processes.get(after.checked_sub(1)?)?;
        (found == alias).then_some(id)
    }
}
