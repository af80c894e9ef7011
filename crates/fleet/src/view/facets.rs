//! Facets of the process view: how many processes of a business have each value of a dimension. Counted by bitmaps where there
//! are some.

use hashbrown::HashMap;
use model::ProcessState;
use model::scope::{ProcessStatus, Selection, ViewFilter};
use model::topology::{BkHostId, BkProcessId, BusinessId, ModuleRow, ServiceId, SetEnv, SetRow};
use roaring::RoaringBitmap;

use super::View;
use crate::facets::Counts;
use crate::{Facet, Fleet, scan};

/// What processes of the view are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewFacetKey {
    Env,
    Set,
    Module,
    Service,
    Name,
    Status,
    /// A process counts once for each state that an instance of it is in.
    State,
    Managed,
    Connected,
    Cloud,
}

impl ViewFacetKey {
    pub const ALL: [Self; 10] = [
        Self::Env,
        Self::Set,
        Self::Module,
        Self::Service,
        Self::Name,
        Self::Status,
        Self::State,
        Self::Managed,
        Self::Connected,
        Self::Cloud,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Env => "env",
            Self::Set => "set",
            Self::Module => "module",
            Self::Service => "service",
            Self::Name => "name",
            Self::Status => "status",
            Self::State => "state",
            Self::Managed => "managed",
            Self::Connected => "connected",
            Self::Cloud => "cloud",
        }
    }
}

/// A set with its modules, and how many processes each has and how many of them run.
#[derive(Debug)]
pub struct SetCounts<'a> {
    pub row: &'a SetRow,
    pub count: u64,
    pub running: u64,
    pub modules: Vec<(&'a ModuleRow, u64, u64)>,
}

impl View {
    /// The sets of a business, by id; None when there is no such business.
    pub fn tree(&self, business: BusinessId, env: Option<SetEnv>) -> Option<Vec<SetCounts<'_>>> {
        let sets = self.businesses.get(&business)?.sets.iter();
        let sets = sets.filter_map(|id| self.sets.get(id));
        let sets = sets.filter(|set| env.is_none_or(|env| set.row.env == env));
        let counts = |ids: &RoaringBitmap| (ids.len(), ids.intersection_len(&self.running));
        let tree = sets.map(|set| {
            let (count, running) = counts(&set.processes);
            let modules = set.modules.iter().filter_map(|id| self.modules.get(id));
            SetCounts {
                row: &set.row,
                count,
                running,
                modules: modules
                    .map(|module| {
                        let (count, running) = counts(&module.processes);
                        (&*module.row, count, running)
                    })
                    .collect(),
            }
        });
        Some(tree.collect())
    }

    fn count_sets(
        &self,
        business: BusinessId,
        ids: &RoaringBitmap,
        mut add: impl FnMut(&super::Set, u64),
    ) {
        let sets = self.businesses.get(&business).map(|place| &place.sets);
        for set in sets.into_iter().flatten() {
            if let Some(set) = self.sets.get(set) {
                add(set, ids.intersection_len(&set.processes));
            }
        }
    }

    /// By the number of processes of each service; those of one service have neighbouring ids.
    fn count_services(&self, ids: &RoaringBitmap) -> HashMap<ServiceId, u64> {
        let runs = scan::mapped(ids, |run| {
            let mut counts: Vec<(ServiceId, u64)> = Vec::new();
            for id in run {
                let Some(service) = self.service_of(BkProcessId(*id)) else {
                    continue;
                };
                match counts.last_mut() {
                    Some((last, count)) if *last == service => *count += 1,
                    _ => counts.push((service, 1)),
                }
            }
            counts
        });
        let mut all = HashMap::new();
        for (service, count) in runs.into_iter().flatten() {
            *all.entry(service).or_default() += count;
        }
        all
    }
}

impl Fleet {
    /// The number of processes that match, and the first `top` values of each key. A key is not narrowed by its own part of
    /// the filter, so that its other values are seen; an expression narrows all.
    pub fn view_facets(
        &self,
        filter: &ViewFilter,
        keys: &[ViewFacetKey],
        top: usize,
    ) -> (u64, Vec<Facet>) {
        let ids = self.view_matching(filter);
        let facet = |key: &ViewFacetKey| {
            let wider = without(filter, *key);
            match wider == *filter {
                true => self.view_facet(filter.business, &ids, *key, top),
                false => {
                    let ids = self.view_matching(&wider);
                    self.view_facet(filter.business, &ids, *key, top)
                }
            }
        };
        (ids.len(), keys.iter().map(facet).collect())
    }

    fn view_facet(
        &self,
        business: BusinessId,
        ids: &RoaringBitmap,
        key: ViewFacetKey,
        top: usize,
    ) -> Facet {
        let (view, mut counts) = (&self.view, Counts::default());
        match key {
            ViewFacetKey::Env => view.count_sets(business, ids, |set, count| {
                counts.add(set.row.env.as_str().to_owned(), None, count);
            }),
            ViewFacetKey::Set => view.count_sets(business, ids, |set, count| {
                counts.add(set.row.id.to_string(), Some(&set.row.name), count);
            }),
            ViewFacetKey::Module => view.count_sets(business, ids, |set, _| {
                let modules = set.modules.iter().filter_map(|id| view.modules.get(id));
                for module in modules {
                    let count = ids.intersection_len(&module.processes);
                    counts.add(module.row.id.to_string(), Some(&module.row.name), count);
                }
            }),
            ViewFacetKey::Service => {
                for (id, count) in view.count_services(ids) {
                    let service = view.services.get(id.0);
                    let name = service.map(|service| service.name.as_ref());
                    counts.add(id.to_string(), name, count);
                }
            }
            ViewFacetKey::Name => {
                let aliases = view.aliases.get(&business).into_iter().flatten();
                for (alias, processes) in aliases {
                    let count = ids.intersection_len(processes);
                    counts.add(alias.as_ref().to_owned(), None, count);
                }
            }
            ViewFacetKey::Status => {
                let running = ids.intersection_len(&view.running);
                let unregistered = ids.intersection_len(&view.unregistered);
                let stopped = ids.len() - running - unregistered;
                for (status, count) in [
                    (ProcessStatus::Running, running),
                    (ProcessStatus::Unregistered, unregistered),
                    (ProcessStatus::Terminated, stopped),
                ] {
                    counts.add(status.as_str().to_owned(), None, count);
                }
            }
            ViewFacetKey::State => self.count_states(ids, &mut counts),
            ViewFacetKey::Managed => {
                let managed = ids.intersection_len(&view.managed);
                counts.add("true".to_owned(), None, managed);
                counts.add("false".to_owned(), None, ids.len() - managed);
            }
            ViewFacetKey::Connected => {
                let mut known: HashMap<BkHostId, bool> = HashMap::new();
                let mut connected = 0;
                for (service, count) in view.count_services(ids) {
                    let Some(service) = view.services.get(service.0) else {
                        continue;
                    };
                    let machine = service.machine;
                    let is_up = known
                        .entry(machine)
                        .or_insert_with(|| self.is_connected(machine));
                    connected += if *is_up { count } else { 0 };
                }
                counts.add("true".to_owned(), None, connected);
                counts.add("false".to_owned(), None, ids.len() - connected);
            }
            ViewFacetKey::Cloud => {
                for (cloud, processes) in &view.by_cloud {
                    let count = ids.intersection_len(processes);
                    counts.add(cloud.to_string(), view.cloud_name(*cloud), count);
                }
            }
        }
        counts.into_facet(top)
    }

    fn count_states(&self, ids: &RoaringBitmap, counts: &mut Counts) {
        const N_STATES: usize = ProcessState::ALL.len();
        let up = self.hosts_up();
        let runs = scan::mapped(ids, |run| {
            let mut found = [0_u64; N_STATES];
            for id in run {
                let mut has = [false; N_STATES];
                for instance in self.instances_of(BkProcessId(*id)) {
                    if let Some((block, at)) = self.columns.block(instance) {
                        let known = block.condition(at).marks.state_number();
                        let is_up = up[block.host[at] as usize];
                        has[if is_up { known } else { 0 }] = true;
                    }
                }
                for (count, has) in found.iter_mut().zip(has) {
                    *count += u64::from(has);
                }
            }
            found.to_vec()
        });
        for state in ProcessState::ALL {
            let slot = usize::from(state.number());
            let count = runs.iter().map(|run| run[slot]).sum();
            counts.add(state.as_str().to_owned(), None, count);
        }
        let unregistered = ids.intersection_len(&self.view.unregistered);
        let word = ProcessStatus::Unregistered.as_str();
        counts.add(word.to_owned(), None, unregistered);
    }
}

/// The filter without its part for this key.
fn without(filter: &ViewFilter, key: ViewFacetKey) -> ViewFilter {
    let mut wider = filter.clone();
    match (&mut wider.selection, key) {
        (Selection::Scope(scope), ViewFacetKey::Env) => scope.env = None,
        (Selection::Scope(scope), ViewFacetKey::Set) => scope.sets = None,
        (Selection::Scope(scope), ViewFacetKey::Module) => scope.modules = None,
        (Selection::Scope(scope), ViewFacetKey::Service) => scope.services = None,
        (Selection::Scope(scope), ViewFacetKey::Name) => scope.names = None,
        (Selection::Expression { env, .. }, ViewFacetKey::Env) => *env = None,
        (_, ViewFacetKey::Status) => wider.statuses = None,
        (_, ViewFacetKey::State) => wider.states = None,
        (_, ViewFacetKey::Managed) => wider.is_auto = None,
        (_, ViewFacetKey::Connected) => wider.connected = None,
        (_, ViewFacetKey::Cloud) => wider.clouds = None,
        (
            Selection::Expression { .. },
            ViewFacetKey::Set | ViewFacetKey::Module | ViewFacetKey::Service | ViewFacetKey::Name,
        ) => {}
    }
    wider
}
