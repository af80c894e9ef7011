//! Facets of the process view: how many processes of a business have each value of a dimension. Counted by bitmaps where there
//! are some.

use model::ProcessState;
use model::scope::{ProcessStatus, Selection, ViewFilter};
use model::topology::{BkProcessId, BusinessId, ModuleRow, ServiceId, SetEnv, SetRow};
use roaring::RoaringBitmap;

use super::View;
use crate::cow::CowMap;
use crate::facets::word;
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
        let all_running = self.running.to_bitmap();
        let counts = |ids: &RoaringBitmap| (ids.len(), ids.intersection_len(&all_running));
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
    ) -> impl Iterator<Item = (&super::Set, u64)> {
        let sets = self.businesses.get(&business).map(|place| &place.sets);
        let sets = sets.into_iter().flatten();
        let sets = sets.filter_map(|set| self.sets.get(set));
        sets.map(|set| (&**set, ids.intersection_len(&set.processes)))
    }

    /// The number of processes of each service. A service may occur more than once: processes of one service have
    /// neighbouring ids, mostly.
    fn count_services(&self, ids: &RoaringBitmap) -> impl Iterator<Item = (ServiceId, u64)> {
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
        runs.into_iter().flatten()
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
        let view = &self.view;
        match key {
            ViewFacetKey::Env => {
                let sets = view.count_sets(business, ids);
                Facet::of_texts(sets.map(|(set, count)| (set.row.env.as_str(), count)), top)
            }
            ViewFacetKey::Set => {
                let sets = view.count_sets(business, ids);
                let sets = sets.map(|(set, count)| (set.row.id, count));
                let name = |id| view.set(id).map(|set| &*set.name);
                Facet::of_ids(sets, top, name)
            }
            ViewFacetKey::Module => {
                let sets = view.sets_of(business).into_iter();
                let modules = sets.flat_map(|set| view.modules_of(set.id));
                let count = |module: &ModuleRow| {
                    let processes = view.processes_of_module(module.id);
                    processes.map_or(0, |processes| ids.intersection_len(processes))
                };
                let modules = modules.map(|module| (module.id, count(module)));
                let name = |id| view.module(id).map(|module| &*module.name);
                Facet::of_ids(modules, top, name)
            }
            ViewFacetKey::Service => {
                let name = |id: ServiceId| view.services.get(id.0).map(|service| &*service.name);
                Facet::of_ids(view.count_services(ids), top, name)
            }
            ViewFacetKey::Name => {
                let aliases = view
                    .aliases
                    .get(&business)
                    .into_iter()
                    .flat_map(CowMap::iter);
                let count = |processes: &RoaringBitmap| ids.intersection_len(processes);
                let aliases = aliases.map(|(alias, processes)| (&**alias, count(processes)));
                Facet::of_texts(aliases, top)
            }
            ViewFacetKey::Status => {
                let running = view.running.count_among(ids);
                let unregistered = view.unregistered.count_among(ids);
                let stopped = ids.len() - running - unregistered;
                let statuses = [
                    (ProcessStatus::Running, running),
                    (ProcessStatus::Unregistered, unregistered),
                    (ProcessStatus::Terminated, stopped),
                ];
                Facet::of_texts(
                    statuses.map(|(status, count)| (status.as_str(), count)),
                    top,
                )
            }
            ViewFacetKey::State => Facet::of_texts(self.count_states(ids), top),
            ViewFacetKey::Managed => {
                let managed = ids.intersection_len(&view.managed);
                let other = ids.len() - managed;
                Facet::of_texts([(word(true), managed), (word(false), other)], top)
            }
            ViewFacetKey::Connected => {
                let connected = self.count_connected(ids);
                let other = ids.len() - connected;
                Facet::of_texts([(word(true), connected), (word(false), other)], top)
            }
            ViewFacetKey::Cloud => {
                let clouds = view.by_cloud.iter();
                let clouds =
                    clouds.map(|(cloud, processes)| (*cloud, ids.intersection_len(processes)));
                Facet::of_ids(clouds, top, |cloud| view.cloud_name(cloud))
            }
        }
    }

    fn count_connected(&self, ids: &RoaringBitmap) -> u64 {
        let runs = scan::mapped(ids, |run| {
            let (mut connected, mut last) = (0_u64, None);
            for id in run {
                let service = self.view.service_of(BkProcessId(*id));
                let is_up = match last {
                    Some((same, is_up)) if same == service => is_up,
                    _ => {
                        let service = service.and_then(|id| self.view.services.get(id.0));
                        service.is_some_and(|service| self.is_connected(service.machine))
                    }
                };
                last = Some((service, is_up));
                connected += u64::from(is_up);
            }
            vec![connected]
        });
        runs.into_iter().flatten().sum()
    }

    /// By state, and those that are not registered.
    fn count_states(&self, ids: &RoaringBitmap) -> impl Iterator<Item = (&'static str, u64)> {
        const N_STATES: usize = ProcessState::ALL.len();
        let up = self.hosts_up();
        let runs = scan::mapped(ids, |run| {
            let mut found = [0_u64; N_STATES];
            for id in run {
                let mut has = [false; N_STATES];
                for instance in self.instances_of(BkProcessId(*id)) {
                    if let Some((block, at)) = self.columns.block(instance) {
                        let known = block.observed.marks(at).state_number();
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
        let states = ProcessState::ALL.into_iter().map(move |state| {
            let slot = usize::from(state.number());
            (state.as_str(), runs.iter().map(|run| run[slot]).sum())
        });
        let unregistered = self.view.unregistered.count_among(ids);
        states.chain([(ProcessStatus::Unregistered.as_str(), unregistered)])
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
