//! Facets: how many processes that match a filter have each value of a dimension, so that a person sees how to narrow a list.
//!
//! One pass over the columns counts by name, host, state or module; what these belong to (namespace, cloud area, set, …) is
//! summed up afterwards.

use std::fmt::Display;
use std::hash::Hash;

use hashbrown::HashMap;
use model::change::{HostId, NameId, ProcessId};
use model::topology::{ModuleId, ModuleRow, SetRow};
use model::{Flag, ProcessState};
use roaring::RoaringBitmap;

use crate::columns::Block;
use crate::condition::Marks;
use crate::filter::PlaceCache;
use crate::{Filter, Fleet, HostView, scan};

/// What processes are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FacetKey {
    Namespace,
    Business,
    Env,
    Set,
    Module,
    Name,
    State,
    Wanted,
    Managed,
    Connected,
    Cloud,
    /// Of the agent.
    Version,
}

impl FacetKey {
    pub const ALL: [Self; 12] = [
        Self::Namespace,
        Self::Business,
        Self::Env,
        Self::Set,
        Self::Module,
        Self::Name,
        Self::State,
        Self::Wanted,
        Self::Managed,
        Self::Connected,
        Self::Cloud,
        Self::Version,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Business => "business",
            Self::Env => "env",
            Self::Set => "set",
            Self::Module => "module",
            Self::Name => "name",
            Self::State => "state",
            Self::Wanted => "wanted",
            Self::Managed => "managed",
            Self::Connected => "connected",
            Self::Cloud => "cloud",
            Self::Version => "version",
        }
    }
}

/// How many processes have one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FacetValue {
    /// As the filter takes it.
    pub value: String,
    /// Of a value that is an id.
    pub name: Option<String>,
    pub count: u64,
}

/// The values of one dimension, the most frequent first. A process without a value, such as one of no business, is not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facet {
    pub values: Vec<FacetValue>,
    /// How many values were left off.
    pub more: usize,
}

impl Facet {
    /// Of texts, some of which may occur more than once.
    pub(crate) fn of_texts<'a>(
        counts: impl IntoIterator<Item = (&'a str, u64)>,
        top: usize,
    ) -> Self {
        let value = |text: &str, count| FacetValue {
            value: text.to_owned(),
            name: None,
            count,
        };
        Self::of(counts, top, value)
    }

    /// Of ids with their names, some of which may occur more than once.
    pub(crate) fn of_ids<'a, K: Copy + Ord + Hash + Display>(
        counts: impl IntoIterator<Item = (K, u64)>,
        top: usize,
        name: impl Fn(K) -> Option<&'a str>,
    ) -> Self {
        let value = |id: K, count| FacetValue {
            value: id.to_string(),
            name: name(id).map(str::to_owned),
            count,
        };
        Self::of(counts, top, value)
    }

    /// Makes texts only of the values that are shown.
    fn of<K: Copy + Ord + Hash>(
        counts: impl IntoIterator<Item = (K, u64)>,
        top: usize,
        value: impl Fn(K, u64) -> FacetValue,
    ) -> Self {
        let mut sums: HashMap<K, u64> = HashMap::new();
        for (key, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            *sums.entry(key).or_default() += count;
        }
        let mut sums: Vec<(K, u64)> = sums.into_iter().collect();
        let by_count = |a: &(K, u64), b: &(K, u64)| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0));
        let more = sums.len().saturating_sub(top);
        if more > 0 {
            sums.select_nth_unstable_by(top, by_count);
            sums.truncate(top);
        }
        sums.sort_unstable_by(by_count);
        let values = sums.into_iter().map(|(key, count)| value(key, count));
        Self {
            values: values.collect(),
            more,
        }
    }
}

impl Fleet {
    /// The number of processes that match, and the first `top` values of each key. A key is not narrowed by its own part of
    /// the filter, so that its other values are seen.
    pub fn facets(&self, filter: &Filter, keys: &[FacetKey], top: usize) -> (u64, Vec<Facet>) {
        let ids = self.matching(filter);
        let facet = |key: &FacetKey| {
            let wider = without(filter, *key);
            match wider == *filter {
                true => self.facet(&ids, *key, top),
                false => self.facet(&self.matching(&wider), *key, top),
            }
        };
        (ids.len(), keys.iter().map(facet).collect())
    }

    fn facet(&self, ids: &RoaringBitmap, key: FacetKey, top: usize) -> Facet {
        match key {
            FacetKey::Namespace => {
                let names = self.count_names(ids);
                Facet::of_texts(
                    names.map(|(name, count)| (name.namespace.as_str(), count)),
                    top,
                )
            }
            FacetKey::Name => {
                let names = self.count_names(ids);
                Facet::of_texts(names.map(|(name, count)| (name.name.as_str(), count)), top)
            }
            FacetKey::Connected => {
                let hosts = self.count_hosts(ids);
                Facet::of_texts(
                    hosts.map(|(host, count)| (word(host.link.is_up()), count)),
                    top,
                )
            }
            FacetKey::Cloud => {
                let hosts = self.count_hosts(ids);
                let clouds = hosts.map(|(host, count)| (host.host.cloud, count));
                Facet::of_ids(clouds, top, |cloud| self.view.cloud_name(cloud))
            }
            FacetKey::Version => {
                let hosts = self.count_hosts(ids);
                let versions =
                    hosts.filter_map(|(host, count)| Some((host.info?.version.as_str(), count)));
                Facet::of_texts(versions, top)
            }
            FacetKey::Module => {
                let modules = self.count_modules(ids);
                let modules = modules.map(|(module, _, count)| (module.id, count));
                let name = |id| self.view.module(id).map(|module| &*module.name);
                Facet::of_ids(modules, top, name)
            }
            FacetKey::Set => {
                let sets = self.count_modules(ids);
                let sets = sets.map(|(_, set, count)| (set.id, count));
                let name = |id| self.view.set(id).map(|set| &*set.name);
                Facet::of_ids(sets, top, name)
            }
            FacetKey::Env => {
                let sets = self.count_modules(ids);
                Facet::of_texts(sets.map(|(_, set, count)| (set.env.as_str(), count)), top)
            }
            FacetKey::Business => {
                let sets = self.count_modules(ids);
                let businesses = sets.map(|(_, set, count)| (set.business, count));
                let name = |id| {
                    self.view
                        .business(id)
                        .map(|business| business.name.as_str())
                };
                Facet::of_ids(businesses, top, name)
            }
            FacetKey::State => {
                let up = self.hosts_up();
                let found = self.tally(ids, Marks::N_STATES, || {
                    |block: &Block, at: usize| match up[block.host[at] as usize] {
                        true => Some(block.observed.marks(at).state_number()),
                        false => Some(0),
                    }
                });
                let states = ProcessState::ALL.into_iter();
                let count = |state: ProcessState| found[usize::from(state.number())];
                Facet::of_texts(states.map(|state| (state.as_str(), count(state))), top)
            }
            FacetKey::Wanted => {
                let found = self.tally(ids, 3, || {
                    |block: &Block, at: usize| Some(usize::from(u8::from(block.flag(at))))
                });
                let flags = [Flag::Running, Flag::Stopped].into_iter();
                let count = |flag: Flag| found[usize::from(u8::from(flag))];
                Facet::of_texts(flags.map(|flag| (flag.as_str(), count(flag))), top)
            }
            FacetKey::Managed => {
                let found = self.tally(ids, 2, || {
                    |block: &Block, at: usize| Some(usize::from(block.managed(at)))
                });
                Facet::of_texts([(word(false), found[0]), (word(true), found[1])], top)
            }
        }
    }

    fn count_names(&self, ids: &RoaringBitmap) -> impl Iterator<Item = (&model::FullName, u64)> {
        let found = self.tally(ids, self.names.next_id() as usize, || {
            |block: &Block, at: usize| Some(block.name[at] as usize)
        });
        let found = (0..).zip(found).filter(|(_, count)| *count > 0);
        found.filter_map(|(id, count)| Some((self.names.get(NameId(id))?, count)))
    }

    fn count_hosts(&self, ids: &RoaringBitmap) -> impl Iterator<Item = (HostView<'_>, u64)> {
        let found = self.tally(ids, self.hosts.next_id() as usize, || {
            |block: &Block, at: usize| Some(block.host[at] as usize)
        });
        let found = (0..).zip(found).filter(|(_, count)| *count > 0);
        found.filter_map(|(id, count)| Some((self.hosts.view(HostId(id))?, count)))
    }

    fn count_modules(
        &self,
        ids: &RoaringBitmap,
    ) -> impl Iterator<Item = (&ModuleRow, &SetRow, u64)> {
        let modules: Vec<(&ModuleRow, &SetRow)> = self.view.modules().collect();
        let slots = modules.iter().enumerate();
        let slots: HashMap<ModuleId, usize> =
            slots.map(|(slot, (module, _))| (module.id, slot)).collect();
        let found = self.tally(ids, modules.len(), || {
            let mut places = PlaceCache::new(self);
            let (slots, mut last) = (&slots, None);
            move |block: &Block, at: usize| {
                let module = places.module(block, at)?;
                match last {
                    Some((same, slot)) if same == module => slot,
                    _ => {
                        let slot = slots.get(&module).copied();
                        last = Some((module, slot));
                        slot
                    }
                }
            }
        });
        let counted = modules.into_iter().zip(found);
        counted.map(|((module, set), count)| (module, set, count))
    }

    /// How many processes are in each of `n_slots` slots. `make` makes the question for each thread.
    fn tally<T>(&self, ids: &RoaringBitmap, n_slots: usize, make: impl Fn() -> T + Sync) -> Vec<u64>
    where
        T: FnMut(&Block, usize) -> Option<usize>,
    {
        let runs = scan::mapped(ids, |run| {
            let (mut slot, mut counts) = (make(), vec![0_u64; n_slots]);
            for id in run {
                let place = self.columns.block(ProcessId(*id));
                if let Some(slot) = place.and_then(|(block, at)| slot(block, at)) {
                    counts[slot] += 1;
                }
            }
            counts
        });
        let mut all = vec![0; n_slots];
        for run in runs {
            for (all, one) in all.iter_mut().zip(run) {
                *all += one;
            }
        }
        all
    }
}

/// A value that is true or false, as the filter takes it.
pub(crate) fn word(is_so: bool) -> &'static str {
    if is_so { "true" } else { "false" }
}

/// The filter without its part for this key.
fn without(filter: &Filter, key: FacetKey) -> Filter {
    let mut wider = filter.clone();
    match key {
        FacetKey::Namespace => wider.namespaces = None,
        FacetKey::Business => wider.businesses = None,
        FacetKey::Env => wider.envs = None,
        FacetKey::Name => wider.names = None,
        FacetKey::State => wider.states = None,
        FacetKey::Wanted => wider.wanted = None,
        FacetKey::Managed => wider.managed = None,
        FacetKey::Connected => wider.connected = None,
        FacetKey::Cloud => wider.clouds = None,
        FacetKey::Version => wider.versions = None,
        FacetKey::Set | FacetKey::Module => {}
    }
    wider
}
