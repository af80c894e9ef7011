//! Sets, modules, hosts and service instances: which of the facts is which of the view, and what is new.

use std::collections::{BTreeSet, HashMap, HashSet};

use fleet::view::View;
use model::Host;
use model::topology::{
    BkHostId, BusinessId, Facts, MachineRow, ModuleId, ModuleRow, ServiceId, ServiceRow, SetId,
    SetRow, SourceRow, Trouble,
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

/// The places of a business that are in the view, by name.
#[derive(Debug)]
struct Known<'a> {
    sets: HashMap<&'a str, SetId>,
    modules: HashMap<(SetId, &'a str), ModuleId>,
    services: HashMap<(ModuleId, BkHostId, std::sync::Arc<str>), ServiceId>,
}

impl<'a> Known<'a> {
    fn of(view: &'a View, business: BusinessId) -> Self {
        let sets = view.sets_of(business);
        let mut modules = HashMap::new();
        for set in &sets {
            for module in view.modules_of(set.id) {
                modules.insert((set.id, &*module.name), module.id);
            }
        }
        let mut services = HashMap::new();
        let mut seen = HashSet::new();
        for id in view.processes_of(business).into_iter().flatten() {
            let service = view
                .process(model::topology::BkProcessId(id))
                .map(|row| row.service)
                .filter(|id| seen.insert(*id))
                .and_then(|id| view.service(id));
            if let Some(row) = service {
                services.insert((row.module, row.machine, row.name), row.id);
            }
        }
        Self {
            sets: sets.iter().map(|set| (&*set.name, set.id)).collect(),
            modules,
            services,
        }
    }
}

impl Planner<'_> {
    /// Resolves all places and drafts the rows that differ.
    pub(super) fn places(&mut self, facts: &Facts) -> Places {
        let known = Known::of(self.view, self.business);
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
    fn skip_given_ids(&mut self, facts: &Facts) {
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
            .for_each(|id| ids.skip_process(model::topology::BkProcessId(id)));
    }

    fn sets(&mut self, facts: &Facts, known: &Known<'_>, places: &mut Places) {
        let mut taken = HashSet::new();
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
            if !taken.insert(id) {
                let reason = format!("set {id} is there twice");
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

    fn modules(&mut self, facts: &Facts, known: &Known<'_>, places: &mut Places) {
        let mut taken = HashSet::new();
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
                Some(_) | None if !taken.insert(id) => Some(format!("module {id} is there twice")),
                Some(_) | None => None,
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

    fn machines(&mut self, facts: &Facts, places: &mut Places) {
        let mut drafted: HashMap<Host, BkHostId> = HashMap::new();
        for facts in &facts.hosts {
            let host = Host::new(facts.cloud, facts.ip);
            let known = || {
                let there = self.view.machines_at(facts.ip);
                let there = there.filter(|row| row.host == host);
                there.map(|row| row.id).min()
            };
            let id = facts
                .id
                .map(BkHostId)
                .or_else(|| drafted.get(&host).copied())
                .or_else(known)
                .unwrap_or_else(|| self.ids.machine());
            let twice = self
                .wanted_machines
                .get(&id)
                .filter(|other| other.host != host);
            if let Some(other) = twice {
                let reason = format!("host {id} is there twice, also as {}", other.host);
                self.trouble(format!("host {host}"), reason);
                places.machines.push(None);
                continue;
            }
            drafted.insert(host, id);
            self.wanted_machines
                .entry(id)
                .or_insert_with(|| MachineRow {
                    id,
                    host,
                    ip_v6: facts.ip_v6,
                    agent_id: facts.agent_id.clone(),
                    attributes: facts.attributes.clone(),
                });
            places.machines.push(Some(id));
        }
    }

    fn services(&mut self, facts: &Facts, known: &Known<'_>, places: &mut Places) {
        let mut taken = HashSet::new();
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
                None if !taken.insert(id) => Some(format!("service instance {id} is there twice")),
                None => None,
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

    /// Drafts the machines that any of these services is on.
    fn used_machines(&mut self, services: &[ServiceRow]) {
        let used: BTreeSet<BkHostId> = services.iter().map(|row| row.machine).collect();
        for id in used {
            let Some(row) = self.wanted_machines.get(&id).cloned() else {
                continue;
            };
            let before = self.view.machine(id);
            if before != Some(&row) {
                let word = self.difference.hosts.count(before.is_some());
                let moved = before.filter(|before| before.host != row.host);
                self.difference.line(|| match moved {
                    Some(before) => format!("{word} host {}, which was {}", row.host, before.host),
                    None => format!("{word} host {}", row.host),
                });
                self.draft.changes.topology.machines.push(row);
            }
        }
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
        self.difference.troubles.push(Trouble {
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
