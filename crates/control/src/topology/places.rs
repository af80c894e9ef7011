//! Matches the sets, modules and service instances of the facts with rows of the view, and drafts new ones.

use std::hash::Hash;

use fleet::view::View;
use hashbrown::{HashMap, HashSet};
use model::topology::{
    BkHostId, BkProcessId, BusinessFacts, BusinessId, CloudRow, ModuleId, ModuleRow, ServiceId,
    ServiceRow, SetId, SetRow,
};
use roaring::RoaringBitmap;

use super::difference::ChangeOf;
use super::fault::{Fault, RowKind};
use super::plan::Planner;

/// The view's ids of the rows of the facts, by index; None for an invalid row.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) sets: Vec<Option<SetId>>,
    pub(super) modules: Vec<Option<ModuleId>>,
    pub(super) machines: Vec<Option<BkHostId>>,
    pub(super) services: Vec<Option<PlacedService>>,
}

/// A service instance of the facts.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedService {
    pub(super) id: ServiceId,
    pub(super) module: ModuleId,
    pub(super) machine: BkHostId,
}

/// The view's rows by name, without those whose ids the facts contain.
#[derive(Debug)]
struct ViewIds<'a> {
    sets: HashMap<&'a str, SetId>,
    modules: HashMap<(SetId, &'a str), ModuleId>,
    services: HashMap<(ModuleId, BkHostId, std::sync::Arc<str>), ServiceId>,
}

impl<'a> ViewIds<'a> {
    fn of(view: &'a View, business: BusinessId, facts: &BusinessFacts) -> Self {
        let given: HashSet<u32> = facts.sets.iter().filter_map(|set| set.id).collect();
        let sets = view.sets_of(business);
        let unnumbered = sets.iter().filter(|set| !given.contains(&set.id.0));
        let by_name = unnumbered.map(|set| (&*set.name, set.id)).collect();
        let given: HashSet<u32> = facts.modules.iter().filter_map(|row| row.id).collect();
        let modules = sets.iter().flat_map(|set| view.modules_of(set.id));
        let modules = modules.filter(|module| !given.contains(&module.id.0));
        let modules = modules.map(|module| ((module.set, &*module.name), module.id));
        let given: RoaringBitmap = facts.services.iter().filter_map(|row| row.id).collect();
        let services = match facts.services.iter().all(|row| row.id.is_some()) {
            // Nothing is looked up by its name.
            true => RoaringBitmap::new(),
            false => services_of(view, business) - given,
        };
        let services = services.iter().map(ServiceId);
        let services = services.filter_map(|id| view.service(id));
        Self {
            sets: by_name,
            modules: modules.collect(),
            services: services
                .map(|row| ((row.module, row.machine, row.name), row.id))
                .collect(),
        }
    }
}

/// The service instances with a process of this business.
fn services_of(view: &View, business: BusinessId) -> RoaringBitmap {
    let processes = view.processes_of(business).into_iter().flatten();
    let mut services = RoaringBitmap::new();
    let mut last = None;
    for row in processes.filter_map(|id| view.process(BkProcessId(id))) {
        // Processes of one service have neighbouring ids, mostly.
        if last.replace(row.service) != Some(row.service) {
            services.insert(row.service.0);
        }
    }
    services
}

/// Names of rows without ids: each must be unique.
#[derive(Debug)]
struct Names<T>(HashSet<T>);

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self(HashSet::new())
    }
}

impl<T: Eq + Hash> Names<T> {
    fn is_new(&mut self, given: Option<u32>, name: T) -> bool {
        given.is_some() || self.0.insert(name)
    }
}

impl Planner<'_> {
    /// Matches all rows, and drafts those that differ.
    pub(super) fn places(&mut self, facts: &BusinessFacts) -> Places {
        let existing = ViewIds::of(self.view, self.business, facts);
        self.reserve_ids(facts);
        let mut places = Places::default();
        self.sets(facts, &existing, &mut places);
        self.modules(facts, &existing, &mut places);
        self.machines(facts, &mut places);
        self.services(facts, &existing, &mut places);
        for (id, name) in &facts.clouds {
            if self.view.cloud_name(*id) != Some(name) {
                let (id, name) = (*id, name.clone());
                let clouds = &mut self.draft.changes.topology.clouds;
                clouds.push(CloudRow { id, name });
            }
        }
        places
    }

    /// Keeps ids of the source from being assigned to other rows.
    fn reserve_ids(&mut self, facts: &BusinessFacts) {
        let ids = &mut self.ids;
        for id in facts.sets.iter().filter_map(|row| row.id) {
            ids.skip_set(SetId(id));
        }
        for id in facts.modules.iter().filter_map(|row| row.id) {
            ids.skip_module(ModuleId(id));
        }
        for id in facts.hosts.iter().filter_map(|row| row.id) {
            ids.skip_machine(BkHostId(id));
        }
        for id in facts.services.iter().filter_map(|row| row.id) {
            ids.skip_service(ServiceId(id));
        }
        for id in facts.processes.iter().filter_map(|row| row.id) {
            ids.skip_process(BkProcessId(id));
        }
    }

    fn sets(&mut self, facts: &BusinessFacts, existing: &ViewIds<'_>, places: &mut Places) {
        let (mut taken, mut names) = (HashSet::new(), Names::default());
        for set in &facts.sets {
            let id = set.id.map(SetId);
            let id = id
                .or_else(|| existing.sets.get(set.name.as_str()).copied())
                .unwrap_or_else(|| self.ids.set());
            let row = SetRow {
                id,
                business: self.business,
                name: set.name.as_str().into(),
                env: set.env,
                attributes: set.attributes.clone(),
            };
            let before = self.view.set(id);
            let elsewhere = before.filter(|before| before.business != self.business);
            if let Some(before) = elsewhere {
                let fault = Fault::Elsewhere {
                    kind: RowKind::Set,
                    id: id.to_string(),
                    business: before.business,
                };
                self.add_fault(format!("set {}", set.name), fault);
                places.sets.push(None);
                continue;
            }
            if !names.is_new(set.id, &set.name) || !taken.insert(id) {
                let fault = Fault::Twice {
                    kind: RowKind::Set,
                    name: set.name.clone(),
                };
                self.add_fault(format!("set {}", set.name), fault);
                places.sets.push(None);
                continue;
            }
            if before != Some(&row) {
                let sign = self.difference.sets.count(before.is_some());
                self.difference
                    .line(sign, || ChangeOf::Set(set.name.clone()));
                self.draft.changes.topology.sets.push(row);
            }
            places.sets.push(Some(id));
        }
    }

    fn modules(&mut self, facts: &BusinessFacts, existing: &ViewIds<'_>, places: &mut Places) {
        let (mut taken, mut names) = (HashSet::new(), Names::default());
        for module in &facts.modules {
            let Some(set) = places.sets[module.set] else {
                places.modules.push(None);
                continue;
            };
            let id = module.id.map(ModuleId);
            let id = id
                .or_else(|| existing.modules.get(&(set, module.name.as_str())).copied())
                .unwrap_or_else(|| self.ids.module());
            let row = ModuleRow {
                id,
                set,
                name: module.name.as_str().into(),
                service_template: module.service_template,
                attributes: module.attributes.clone(),
            };
            let before = self.view.module(id);
            let owner = before.and_then(|before| self.view.set(before.set));
            let refusal = match owner {
                Some(owner) if owner.business != self.business => Some(Fault::Elsewhere {
                    kind: RowKind::Module,
                    id: id.to_string(),
                    business: owner.business,
                }),
                Some(_) | None => {
                    let is_new = names.is_new(module.id, (set, &module.name)) && taken.insert(id);
                    (!is_new).then(|| Fault::Twice {
                        kind: RowKind::Module,
                        name: module.name.clone(),
                    })
                }
            };
            if let Some(fault) = refusal {
                self.add_fault(format!("module {}", module.name), fault);
                places.modules.push(None);
                continue;
            }
            if before != Some(&row) {
                let sign = self.difference.modules.count(before.is_some());
                self.difference
                    .line(sign, || ChangeOf::Module(module.name.clone()));
                self.draft.changes.topology.modules.push(row);
            }
            places.modules.push(Some(id));
        }
    }

    fn services(&mut self, facts: &BusinessFacts, existing: &ViewIds<'_>, places: &mut Places) {
        let (mut taken, mut names) = (HashSet::new(), Names::default());
        for service in &facts.services {
            let place = places.modules[service.module].zip(places.machines[service.host]);
            let Some((module, machine)) = place else {
                places.services.push(None);
                continue;
            };
            let name: std::sync::Arc<str> = service.name.as_str().into();
            let id = service.id.map(ServiceId);
            let id = id
                .or_else(|| {
                    let key = (module, machine, name.clone());
                    existing.services.get(&key).copied()
                })
                .unwrap_or_else(|| self.ids.service());
            let elsewhere = self
                .business_of_service(id)
                .filter(|other| *other != self.business);
            let refusal = match elsewhere {
                Some(other) => Some(Fault::Elsewhere {
                    kind: RowKind::Service,
                    id: id.to_string(),
                    business: other,
                }),
                None => {
                    let is_new = names.is_new(service.id, (module, machine, &service.name))
                        && taken.insert(id);
                    (!is_new).then(|| Fault::Twice {
                        kind: RowKind::Service,
                        name: service.name.clone(),
                    })
                }
            };
            if let Some(fault) = refusal {
                self.add_fault(format!("service instance {name}"), fault);
                places.services.push(None);
                continue;
            }
            let row = ServiceRow {
                id,
                module,
                machine,
                name,
            };
            self.planned_services.insert(id, row);
            places.services.push(Some(PlacedService {
                id,
                module,
                machine,
            }));
        }
    }

    pub(super) fn business_of_service(&self, id: ServiceId) -> Option<BusinessId> {
        let (module, _) = self.view.place_of_service(id)?;
        let module = self.view.module(module)?;
        self.view.set(module.set).map(|set| set.business)
    }

    /// Drafts the services that have processes, with their machines. Others are not stored.
    pub(super) fn used_services(&mut self, used: &RoaringBitmap) {
        let mut rows: Vec<ServiceRow> = std::mem::take(&mut self.planned_services)
            .into_values()
            .filter(|row| used.contains(row.id.0))
            .collect();
        rows.sort_by_key(|row| row.id);
        self.used_machines(&rows);
        for row in rows {
            let before = self.view.service(row.id);
            if before.as_ref() != Some(&row) {
                let sign = self.difference.services.count(before.is_some());
                self.difference
                    .line(sign, || ChangeOf::Service(row.name.to_string()));
                self.draft.changes.topology.services.push(row);
            }
        }
    }

    pub(super) fn add_fault(&mut self, row: String, fault: Fault) {
        self.difference.troubles.push(fault.of(row));
    }
}

impl super::ChangeCounts {
    /// Counts a row; returns the sign for its line.
    pub(super) fn count(&mut self, was_there: bool) -> char {
        match was_there {
            true => {
                self.changed += 1;
                '~'
            }
            false => {
                self.new += 1;
                '+'
            }
        }
    }
}
