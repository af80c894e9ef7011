//! Sets, modules, hosts and service instances: which of the facts is which of the view, and what is new.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;

use fleet::view::View;
use model::topology::{
    BkHostId, BkProcessId, BusinessFacts, BusinessId, ModuleId, ModuleRow, ServiceId, ServiceRow,
    SetId, SetRow, SourceFault, SourceRow,
};

use super::plan::Planner;

/// What each row of the facts is in the view, by its index; None when it is wrong.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) sets: Vec<Option<SetId>>,
    pub(super) modules: Vec<Option<ModuleId>>,
    pub(super) machines: Vec<Option<BkHostId>>,
    pub(super) services: Vec<Option<ServiceId>>,
}

/// The places of a business that are in the view, by name. Those that the facts number themselves are not looked for.
#[derive(Debug)]
struct Known<'a> {
    sets: HashMap<&'a str, SetId>,
    modules: HashMap<(SetId, &'a str), ModuleId>,
    services: HashMap<(ModuleId, BkHostId, std::sync::Arc<str>), ServiceId>,
}

impl<'a> Known<'a> {
    fn of(view: &'a View, business: BusinessId, facts: &BusinessFacts) -> Self {
        let given: HashSet<u32> = facts.sets.iter().filter_map(|set| set.id).collect();
        let sets = view.sets_of(business);
        let unnumbered = sets.iter().filter(|set| !given.contains(&set.id.0));
        let by_name = unnumbered.map(|set| (&*set.name, set.id)).collect();
        let given: HashSet<u32> = facts.modules.iter().filter_map(|row| row.id).collect();
        let modules = sets.iter().flat_map(|set| view.modules_of(set.id));
        let modules = modules.filter(|module| !given.contains(&module.id.0));
        let modules = modules.map(|module| ((module.set, &*module.name), module.id));
        let given: HashSet<u32> = facts.services.iter().filter_map(|row| row.id).collect();
        let processes = view.processes_of(business).into_iter().flatten();
        let services: BTreeSet<ServiceId> = processes
            .filter_map(|id| view.process(BkProcessId(id)))
            .map(|row| row.service)
            .filter(|id| !given.contains(&id.0))
            .collect();
        let services = services.into_iter().filter_map(|id| view.service(id));
        Self {
            sets: by_name,
            modules: modules.collect(),
            services: services
                .map(|row| ((row.module, row.machine, row.name), row.id))
                .collect(),
        }
    }
}

/// Names of what its source does not number: each may be there once.
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
    /// Resolves all places and drafts the rows that differ.
    pub(super) fn places(&mut self, facts: &BusinessFacts) -> Places {
        let known = Known::of(self.view, self.business, facts);
        self.skip_given_ids(facts);
        let mut places = Places::default();
        self.sets(facts, &known, &mut places);
        self.modules(facts, &known, &mut places);
        self.machines(facts, &mut places);
        self.services(facts, &known, &mut places);
        for (id, name) in &facts.clouds {
            if self.view.cloud_name(*id) != Some(name) {
                self.draft
                    .changes
                    .topology
                    .clouds
                    .push(model::topology::CloudRow {
                        id: *id,
                        name: name.clone(),
                    });
            }
        }
        places
    }

    /// What the source numbers itself is not handed out.
    fn skip_given_ids(&mut self, facts: &BusinessFacts) {
        let ids = &mut self.ids;
        facts
            .sets
            .iter()
            .filter_map(|set| set.id)
            .for_each(|id| ids.skip_set(SetId(id)));
        facts
            .modules
            .iter()
            .filter_map(|row| row.id)
            .for_each(|id| ids.skip_module(ModuleId(id)));
        facts
            .hosts
            .iter()
            .filter_map(|row| row.id)
            .for_each(|id| ids.skip_machine(BkHostId(id)));
        facts
            .services
            .iter()
            .filter_map(|row| row.id)
            .for_each(|id| ids.skip_service(ServiceId(id)));
        facts
            .processes
            .iter()
            .filter_map(|row| row.id)
            .for_each(|id| ids.skip_process(BkProcessId(id)));
    }

    fn sets(&mut self, facts: &BusinessFacts, known: &Known<'_>, places: &mut Places) {
        let (mut taken, mut names) = (HashSet::new(), Names::default());
        for set in &facts.sets {
            let id = set.id.map(SetId);
            let id = id
                .or_else(|| known.sets.get(set.name.as_str()).copied())
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
                let reason = format!("set {id} belongs to business {}", before.business);
                self.trouble(format!("set {}", set.name), reason);
                places.sets.push(None);
                continue;
            }
            if !names.is_new(set.id, &set.name) || !taken.insert(id) {
                let reason = format!("set {} is there twice", set.name);
                self.trouble(format!("set {}", set.name), reason);
                places.sets.push(None);
                continue;
            }
            if before != Some(&row) {
                let word = self.difference.sets.count(before.is_some());
                self.difference.line(|| format!("{word} set {}", set.name));
                self.draft.changes.topology.sets.push(row);
            }
            places.sets.push(Some(id));
        }
    }

    fn modules(&mut self, facts: &BusinessFacts, known: &Known<'_>, places: &mut Places) {
        let (mut taken, mut names) = (HashSet::new(), Names::default());
        for module in &facts.modules {
            let Some(set) = places.sets[module.set] else {
                places.modules.push(None);
                continue;
            };
            let id = module.id.map(ModuleId);
            let id = id
                .or_else(|| known.modules.get(&(set, module.name.as_str())).copied())
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
                Some(owner) if owner.business != self.business => Some(format!(
                    "module {id} belongs to business {}",
                    owner.business
                )),
                Some(_) | None => {
                    let is_new = names.is_new(module.id, (set, &module.name)) && taken.insert(id);
                    (!is_new).then(|| format!("module {} is there twice", module.name))
                }
            };
            if let Some(reason) = refusal {
                self.trouble(format!("module {}", module.name), reason);
                places.modules.push(None);
                continue;
            }
            if before != Some(&row) {
                let word = self.difference.modules.count(before.is_some());
                self.difference
                    .line(|| format!("{word} module {}", module.name));
                self.draft.changes.topology.modules.push(row);
            }
            places.modules.push(Some(id));
        }
    }

    fn services(&mut self, facts: &BusinessFacts, known: &Known<'_>, places: &mut Places) {
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
                    known.services.get(&key).copied()
                })
                .unwrap_or_else(|| self.ids.service());
            let elsewhere = self
                .business_of_service(id)
                .filter(|other| *other != self.business);
            let refusal = match elsewhere {
                Some(other) => Some(format!("service instance {id} belongs to business {other}")),
                None => {
                    let is_new = names.is_new(service.id, (module, machine, &service.name))
                        && taken.insert(id);
                    (!is_new).then(|| format!("service instance {name} is there twice"))
                }
            };
            if let Some(reason) = refusal {
                self.trouble(format!("service instance {name}"), reason);
                places.services.push(None);
                continue;
            }
            let row = ServiceRow {
                id,
                module,
                machine,
                name,
            };
            self.wanted_services.insert(id, row);
            places.services.push(Some(id));
        }
    }

    pub(super) fn business_of_service(&self, id: ServiceId) -> Option<BusinessId> {
        let service = self.view.service(id)?;
        let module = self.view.module(service.module)?;
        self.view.set(module.set).map(|set| set.business)
    }

    /// Drafts the services that any process is in, with their machines: those of nobody are not kept.
    pub(super) fn used_services(&mut self, used: &HashSet<ServiceId>) {
        let mut rows: Vec<ServiceRow> = std::mem::take(&mut self.wanted_services)
            .into_values()
            .filter(|row| used.contains(&row.id))
            .collect();
        rows.sort_by_key(|row| row.id);
        self.used_machines(&rows);
        for row in rows {
            let before = self.view.service(row.id);
            if before.as_ref() != Some(&row) {
                let word = self.difference.services.count(before.is_some());
                self.difference
                    .line(|| format!("{word} service instance {}", row.name));
                self.draft.changes.topology.services.push(row);
            }
        }
    }

    pub(super) fn trouble(&mut self, row: String, reason: String) {
        self.difference.troubles.push(SourceFault {
            row: SourceRow(row),
            reason,
        });
    }
}

impl super::Tally {
    /// Counts one and answers the sign for its line.
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
