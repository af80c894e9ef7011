//! Plans the changes that make the view of a business equal to the facts.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use fleet::view::{FreshTopologyIds, View};
use model::UnixMillis;
use model::access::{Audit, Caller};
use model::change::{Changes, HostId, NameId};
use model::config_template::ConfigFileRow;
use model::topology::{
    BkHostId, BkProcessId, BusinessFacts, BusinessId, BusinessRow, MachineRow, ModuleId, Origin,
    Program, ProgramId, ProgramRow, ServiceId, ServiceRow, ViewProcessRow,
};

use super::difference::ChangeOf;
use super::fault::{Fault, RowKind};
use super::places::Places;
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
    /// The owner of each registration after the plan.
    pub(super) desired: HashMap<(HostId, NameId), BkProcessId>,
    /// Processes with an instance that cannot be registered. Their registrations stay until their rows are valid again.
    pub(super) faulty: HashSet<BkProcessId>,
}

/// A process of the facts.
#[derive(Debug)]
pub(super) struct PlannedProcess<'f> {
    pub(super) row: ViewProcessRow,
    pub(super) program: Arc<Program>,
    pub(super) module: ModuleId,
    /// The name of its row in messages.
    pub(super) source: Cow<'f, str>,
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
        let mut known: HashMap<(ServiceId, &str), BkProcessId> = HashMap::new();
        let given: HashSet<u32> = facts.processes.iter().filter_map(|row| row.id).collect();
        let existing = self.view.processes_of(self.business).into_iter().flatten();
        let existing = existing.filter(|id| !given.contains(id));
        for id in existing.map(BkProcessId) {
            if let (Some(row), Some(alias)) = (self.view.process(id), self.view.alias_of(id)) {
                known.insert((row.service, alias), id);
            }
        }
        let (mut taken, mut named) = (HashSet::new(), HashSet::new());
        let mut planned = Vec::with_capacity(facts.processes.len());
        let mut untouched: BTreeSet<u32> = facts.unread.iter().copied().collect();
        for facts in &facts.processes {
            let Some(service) = places.services[facts.service] else {
                untouched.extend(facts.id);
                continue;
            };
            if let Err(invalid) = facts.program.check() {
                self.add_fault(facts.row.0.clone(), Fault::Invalid(invalid));
                untouched.extend(facts.id);
                continue;
            }
            let key = (service, facts.program.bk_process_name.as_str());
            // A process without an id is identified by its name, which must be unique.
            if facts.id.is_none() && !named.insert(key) {
                let name = key.1.to_owned();
                self.add_fault(facts.row.0.clone(), Fault::TwiceInService { name });
                continue;
            }
            let id = facts.id.map(BkProcessId);
            let id = id
                .or_else(|| known.get(&key).copied())
                .unwrap_or_else(|| self.ids.process());
            let elsewhere = self
                .view
                .process(id)
                .and_then(|row| self.business_of_service(row.service))
                .filter(|other| *other != self.business);
            if let Some(other) = elsewhere {
                let fault = Fault::Elsewhere {
                    kind: RowKind::Process,
                    id: id.to_string(),
                    business: other,
                };
                self.add_fault(facts.row.0.clone(), fault);
                continue;
            }
            if !taken.insert(id) {
                let fault = Fault::Twice {
                    kind: RowKind::Process,
                    name: id.to_string(),
                };
                self.add_fault(facts.row.0.clone(), fault);
                continue;
            }
            let Some(place) = self.planned_services.get(&service) else {
                continue;
            };
            planned.push(PlannedProcess {
                row: ViewProcessRow {
                    id,
                    service,
                    program: ProgramId(0),
                    process_template: facts.process_template,
                    ordinal: 0,
                    vanished: false,
                },
                program: Arc::new(facts.program.clone()),
                module: place.module,
                source: facts.row.0.as_str().into(),
            });
        }
        untouched.retain(|id| !taken.contains(&BkProcessId(*id)));
        for id in untouched {
            planned.extend(self.unchanged(BkProcessId(id)));
        }
        planned
    }

    /// A process of this business with an invalid row or service: it stays as it is in the view.
    fn unchanged(&mut self, id: BkProcessId) -> Option<PlannedProcess<'static>> {
        let ours = self.view.processes_of(self.business)?;
        let row = self.view.process(id).filter(|row| !row.vanished)?;
        let (program, service) = (
            self.view.program(row.program)?,
            self.view.service(row.service)?,
        );
        ours.contains(id.0).then(|| {
            let place = self.planned_services.entry(row.service).or_insert(service);
            PlannedProcess {
                row: *row,
                program: program.clone(),
                module: place.module,
                source: format!("bk_process_id {id}").into(),
            }
        })
    }

    /// Assigns each process an equal program of this business, or a new one.
    fn programs(&mut self, planned: &mut [PlannedProcess<'_>]) {
        let mut known: HashMap<Arc<Program>, ProgramId> = HashMap::new();
        let existing = self.view.processes_of(self.business).into_iter().flatten();
        for row in existing.filter_map(|id| self.view.process(BkProcessId(id))) {
            if let Some(program) = self.view.program(row.program) {
                known.entry(program.clone()).or_insert(row.program);
            }
        }
        for process in planned {
            let id = match known.get_key_value(&process.program) {
                Some((program, id)) => {
                    process.program = program.clone();
                    *id
                }
                None => {
                    let id = self.ids.program();
                    known.insert(process.program.clone(), id);
                    let program = process.program.clone();
                    self.draft
                        .changes
                        .topology
                        .programs
                        .push(ProgramRow { id, program });
                    id
                }
            };
            process.row.program = id;
        }
    }

    fn put_processes(&mut self, planned: &[PlannedProcess<'_>]) {
        let used: HashSet<ServiceId> = planned.iter().map(|process| process.row.service).collect();
        let hosts: HashMap<ServiceId, String> = planned
            .iter()
            .filter_map(|process| {
                let service = self.planned_services.get(&process.row.service)?;
                Some((process.row.service, service.name.to_string()))
            })
            .collect();
        for process in planned {
            let before = self.view.process(process.row.id);
            if before == Some(&process.row) {
                continue;
            }
            let sign = self.difference.processes.count(before.is_some());
            let program = before.and_then(|before| self.view.program(before.program));
            let fields = program.map_or_else(String::new, |before| {
                difference::changed(before, &process.program)
            });
            let service = hosts.get(&process.row.service).map_or("", |name| name);
            self.difference.line(sign, || ChangeOf::Process {
                id: process.row.id,
                name: process.program.bk_process_name.clone(),
                service: service.to_owned(),
                fields,
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
