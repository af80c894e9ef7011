//! What a commit means for watchers, besides its tasks and jobs: registrations, what operators want, topologies, templates.
//!
//! Every replica folds every commit, so each tells its own watchers.

use std::collections::{BTreeMap, BTreeSet};

use fleet::Fleet;
use fleet::view::View;
use model::UnixMillis;
use model::change::{Changes, NameId, ProcessId};
use model::config_template::TemplateId;
use model::topology::{BusinessId, ModuleId, ServiceId, SetId};

use super::{ChangeEvent, Registered};

/// What is known of a commit before it is folded in.
#[derive(Debug, Default)]
pub(crate) struct Committed {
    registered: BTreeMap<(NameId, Registered), usize>,
    /// Processes with another flag, or managed in another way.
    wanted: Vec<ProcessId>,
    businesses: BTreeSet<BusinessId>,
    templates: BTreeMap<TemplateId, BusinessId>,
}

impl Committed {
    pub(crate) fn before(fleet: &Fleet, changes: &Changes) -> Self {
        let mut committed = Self::default();
        for row in changes
            .processes_gone
            .iter()
            .filter_map(|id| fleet.row(*id))
        {
            committed.count(row.to_change().name, Registered::Gone);
        }
        for row in &changes.processes {
            let before = fleet.process(row.host, row.name).map(|row| row.to_change());
            match before {
                None => committed.count(row.name, Registered::New),
                Some(before)
                    if (before.definition, before.incarnation)
                        != (row.definition, row.incarnation) =>
                {
                    committed.count(row.name, Registered::Updated);
                }
                Some(before) if (before.flag, before.managed) != (row.flag, row.managed) => {
                    committed.wanted.push(row.id);
                }
                Some(_) => {}
            }
        }
        committed.add_places(fleet.view(), changes);
        committed.add_gone(fleet.view(), changes);
        committed.add_templates(fleet.view(), changes);
        committed
    }

    /// The changes, once the commit is folded in.
    pub(crate) fn after(
        mut self,
        fleet: &Fleet,
        changes: &Changes,
        at: UnixMillis,
    ) -> Vec<ChangeEvent> {
        self.add_places(fleet.view(), changes);
        self.add_templates(fleet.view(), changes);
        let registered = self
            .registered
            .into_iter()
            .filter_map(|((name, what), n_hosts)| {
                Some(ChangeEvent::Registration {
                    process: fleet.name(name)?.clone(),
                    n_hosts,
                    what,
                })
            });
        let wanted = self.wanted.iter().filter_map(|id| fleet.row(*id));
        let wanted = wanted.map(|row| ChangeEvent::status(&row, at));
        let topologies =
            (self.businesses.into_iter()).map(|business| ChangeEvent::Topology { business });
        let templates = (self.templates.into_iter())
            .map(|(template, business)| ChangeEvent::Template { business, template });
        registered
            .chain(wanted)
            .chain(topologies)
            .chain(templates)
            .collect()
    }

    fn count(&mut self, name: NameId, what: Registered) {
        *self.registered.entry((name, what)).or_default() += 1;
    }

    /// The businesses of places that the commit writes, as far as the view knows them: before it, or after it.
    fn add_places(&mut self, view: &View, changes: &Changes) {
        let topology = &changes.topology;
        self.businesses
            .extend(topology.businesses.iter().map(|row| row.id));
        self.businesses
            .extend(topology.sets.iter().map(|row| row.business));
        let of_modules = topology
            .modules
            .iter()
            .filter_map(|row| of_set(view, row.set));
        self.businesses.extend(of_modules);
        let of_services = (topology.services.iter()).filter_map(|row| of_module(view, row.module));
        self.businesses.extend(of_services);
        let services: BTreeSet<ServiceId> =
            topology.processes.iter().map(|row| row.service).collect();
        let of_processes = services.into_iter().filter_map(|id| of_service(view, id));
        self.businesses.extend(of_processes);
    }

    fn add_gone(&mut self, view: &View, changes: &Changes) {
        let topology = &changes.topology;
        self.businesses.extend(&topology.businesses_gone);
        let of_sets = topology.sets_gone.iter().filter_map(|id| of_set(view, *id));
        self.businesses.extend(of_sets);
        let of_modules = (topology.modules_gone.iter()).filter_map(|id| of_module(view, *id));
        self.businesses.extend(of_modules);
        let of_services = (topology.services_gone.iter()).filter_map(|id| of_service(view, *id));
        self.businesses.extend(of_services);
        let processes = topology
            .processes_gone
            .iter()
            .filter_map(|id| view.process(*id));
        let services: BTreeSet<ServiceId> = processes.map(|row| row.service).collect();
        let of_processes = services.into_iter().filter_map(|id| of_service(view, id));
        self.businesses.extend(of_processes);
    }

    fn add_templates(&mut self, view: &View, changes: &Changes) {
        let templates = &changes.templates;
        let of_rows = templates.templates.iter().map(|row| (row.id, row.business));
        self.templates.extend(of_rows);
        let of_versions = templates.versions.iter().map(|row| row.template);
        let gone = templates
            .versions_gone
            .iter()
            .filter_map(|id| view.version(*id));
        let named = of_versions
            .chain(gone.map(|row| row.template))
            .chain(templates.templates_gone.iter().copied());
        let found = named.filter_map(|id| Some((id, view.template(id)?.business)));
        self.templates.extend(found);
    }
}

fn of_set(view: &View, id: SetId) -> Option<BusinessId> {
    view.set(id).map(|row| row.business)
}

fn of_module(view: &View, id: ModuleId) -> Option<BusinessId> {
    of_set(view, view.module(id)?.set)
}

fn of_service(view: &View, id: ServiceId) -> Option<BusinessId> {
    of_module(view, view.service(id)?.module)
}
