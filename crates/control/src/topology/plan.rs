//! What has to change so that the view of a business is what the facts say.

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

use super::places::Places;
use super::{Difference, difference};
use crate::commit::World;
use crate::register::Draft;

pub(super) struct Planner<'a> {
    pub(super) draft: Draft<'a>,
    pub(super) view: &'a View,
    pub(super) ids: FreshTopologyIds,
    pub(super) business: BusinessId,
    pub(super) difference: Difference,
    pub(super) wanted_services: HashMap<ServiceId, ServiceRow>,
    pub(super) wanted_machines: HashMap<BkHostId, MachineRow>,
    /// Who has each registration after this.
    pub(super) desired: HashMap<(HostId, NameId), BkProcessId>,
    /// Processes of which something cannot be registered: what they have stays until their rows are mended.
    pub(super) in_trouble: HashSet<BkProcessId>,
}

/// A process that the facts have.
#[derive(Debug)]
pub(super) struct Wanted<'f> {
    pub(super) row: ViewProcessRow,
    pub(super) program: Arc<Program>,
    pub(super) module: ModuleId,
    /// What a message calls its row.
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
        wanted_services: HashMap::new(),
        wanted_machines: HashMap::new(),
        desired: HashMap::new(),
        in_trouble: HashSet::new(),
    };
    let places = planner.places(facts);
    let mut wanted = planner.processes(facts, &places);
    planner.programs(&mut wanted);
    planner.ordinals(&mut wanted);
    planner.put_processes(&wanted);
    planner.instances(&wanted);
    planner.surplus(&wanted, &places);
    planner.finish(facts, origin, caller)
}

/// Whatever was generated for a process that goes.
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
    fn processes<'f>(&mut self, facts: &'f BusinessFacts, places: &Places) -> Vec<Wanted<'f>> {
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
        let mut wanted = Vec::with_capacity(facts.processes.len());
        let mut left_alone: BTreeSet<u32> = facts.unread.iter().copied().collect();
        for facts in &facts.processes {
            let Some(service) = places.services[facts.service] else {
                left_alone.extend(facts.id);
                continue;
            };
            if let Err(invalid) = facts.program.check() {
                self.trouble(facts.row.0.clone(), invalid.to_string());
                left_alone.extend(facts.id);
                continue;
            }
            let key = (service, facts.program.bk_process_name.as_str());
            // What its source does not number is known by its name, which it has alone.
            if facts.id.is_none() && !named.insert(key) {
                let reason = format!("process {} is there twice in its service instance", key.1);
                self.trouble(facts.row.0.clone(), reason);
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
                let reason = format!("process {id} belongs to business {other}");
                self.trouble(facts.row.0.clone(), reason);
                continue;
            }
            if !taken.insert(id) {
                self.trouble(facts.row.0.clone(), format!("process {id} is there twice"));
                continue;
            }
            let Some(place) = self.wanted_services.get(&service) else {
                continue;
            };
            wanted.push(Wanted {
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
        left_alone.retain(|id| !taken.contains(&BkProcessId(*id)));
        for id in left_alone {
            wanted.extend(self.as_it_is(BkProcessId(id)));
        }
        wanted
    }

    /// A process of this business whose row, or whose place, makes no sense: it stays as the view has it.
    fn as_it_is(&mut self, id: BkProcessId) -> Option<Wanted<'static>> {
        let ours = self.view.processes_of(self.business)?;
        let row = self.view.process(id).filter(|row| !row.vanished)?;
        let (program, service) = (
            self.view.program(row.program)?,
            self.view.service(row.service)?,
        );
        ours.contains(id.0).then(|| {
            let place = self.wanted_services.entry(row.service).or_insert(service);
            Wanted {
                row: *row,
                program: program.clone(),
                module: place.module,
                source: format!("bk_process_id {id}").into(),
            }
        })
    }

    /// Gives each process the program that says what it says: one that this business has already, or a new one.
    fn programs(&mut self, wanted: &mut [Wanted<'_>]) {
        let mut known: HashMap<Arc<Program>, ProgramId> = HashMap::new();
        let existing = self.view.processes_of(self.business).into_iter().flatten();
        for row in existing.filter_map(|id| self.view.process(BkProcessId(id))) {
            if let Some(program) = self.view.program(row.program) {
                known.entry(program.clone()).or_insert(row.program);
            }
        }
        for process in wanted {
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

    fn put_processes(&mut self, wanted: &[Wanted<'_>]) {
        let used: HashSet<ServiceId> = wanted.iter().map(|process| process.row.service).collect();
        let hosts: HashMap<ServiceId, String> = wanted
            .iter()
            .filter_map(|process| {
                let service = self.wanted_services.get(&process.row.service)?;
                Some((process.row.service, service.name.to_string()))
            })
            .collect();
        for process in wanted {
            let before = self.view.process(process.row.id);
            if before == Some(&process.row) {
                continue;
            }
            let word = self.difference.processes.count(before.is_some());
            let program = before.and_then(|before| self.view.program(before.program));
            let what = program.map_or_else(String::new, |before| {
                difference::changed(before, &process.program)
            });
            let service = hosts.get(&process.row.service).map_or("", |name| name);
            self.difference.line(|| {
                let (alias, id) = (&process.program.bk_process_name, process.row.id);
                format!("{word} process {id} {alias} of {service}{what}")
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
        // That it was looked at is worth a commit only together with something else.
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
