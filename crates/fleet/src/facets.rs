//! Facets: how many processes that match a filter have each value of a dimension, so that a person sees how to narrow a list.
//!
//! One pass over the columns counts by name, host, state or module; what these belong to (namespace, cloud area, set, …) is
//! summed up afterwards.

use std::collections::BTreeMap;

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
    pub(crate) fn new(mut values: Vec<FacetValue>, top: usize) -> Self {
        values.retain(|value| value.count > 0);
        let by_count = |a: &FacetValue, b: &FacetValue| {
            (b.count.cmp(&a.count)).then_with(|| a.value.cmp(&b.value))
        };
        let more = values.len().saturating_sub(top);
        if more > 0 {
            values.select_nth_unstable_by(top, by_count);
            values.truncate(top);
        }
        values.sort_unstable_by(by_count);
        Self { values, more }
    }
}

/// Counts by value.
#[derive(Debug, Default)]
pub(crate) struct Counts(BTreeMap<String, (Option<String>, u64)>);

impl Counts {
    pub(crate) fn add(&mut self, value: String, name: Option<&str>, count: u64) {
        if count > 0 {
            let name = || (name.map(str::to_owned), 0);
            self.0.entry(value).or_insert_with(name).1 += count;
        }
    }

    pub(crate) fn into_facet(self, top: usize) -> Facet {
        let values = self.0.into_iter();
        let values = values.map(|(value, (name, count))| FacetValue { value, name, count });
        Facet::new(values.collect(), top)
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
        let mut counts = Counts::default();
        match key {
            FacetKey::Namespace => self.count_names(ids, |name, count| {
                counts.add(name.namespace.as_str().to_owned(), None, count);
            }),
            FacetKey::Name => self.count_names(ids, |name, count| {
                counts.add(name.name.as_str().to_owned(), None, count);
            }),
            FacetKey::Connected => self.count_hosts(ids, |host, count| {
                counts.add(host.link.is_up().to_string(), None, count);
            }),
            FacetKey::Cloud => self.count_hosts(ids, |host, count| {
                let cloud = host.host.cloud;
                counts.add(cloud.to_string(), self.view.cloud_name(cloud), count);
            }),
            FacetKey::Version => self.count_hosts(ids, |host, count| {
                if let Some(info) = host.info {
                    counts.add(info.version.clone(), None, count);
                }
            }),
            FacetKey::Module => self.count_modules(ids, |module, _, count| {
                counts.add(module.id.to_string(), Some(&module.name), count);
            }),
            FacetKey::Set => self.count_modules(ids, |_, set, count| {
                counts.add(set.id.to_string(), Some(&set.name), count);
            }),
            FacetKey::Env => self.count_modules(ids, |_, set, count| {
                counts.add(set.env.as_str().to_owned(), None, count);
            }),
            FacetKey::Business => self.count_modules(ids, |_, set, count| {
                let business = self.view.business(set.business);
                let name = business.map(|business| business.name.as_str());
                counts.add(set.business.to_string(), name, count);
            }),
            FacetKey::State => {
                let up = self.hosts_up();
                let found = self.tally(ids, Marks::N_STATES, || {
                    |block: &Block, at: usize| match up[block.host[at] as usize] {
                        true => Some(block.condition(at).marks.state_number()),
                        false => Some(0),
                    }
                });
                for state in ProcessState::ALL {
                    let count = found[usize::from(state.number())];
                    counts.add(state.as_str().to_owned(), None, count);
                }
            }
            FacetKey::Wanted => {
                let found = self.tally(ids, 3, || {
                    |block: &Block, at: usize| Some(usize::from(u8::from(block.flag(at))))
                });
                for flag in [Flag::Running, Flag::Stopped] {
                    let count = found[usize::from(u8::from(flag))];
                    counts.add(flag.as_str().to_owned(), None, count);
                }
            }
            FacetKey::Managed => {
                let found = self.tally(ids, 2, || {
                    |block: &Block, at: usize| Some(usize::from(block.managed(at)))
                });
                counts.add("false".to_owned(), None, found[0]);
                counts.add("true".to_owned(), None, found[1]);
            }
        }
        counts.into_facet(top)
    }

    fn count_names(&self, ids: &RoaringBitmap, mut add: impl FnMut(&model::FullName, u64)) {
        let found = self.tally(ids, self.names.next_id() as usize, || {
            |block: &Block, at: usize| Some(block.name[at] as usize)
        });
        for (id, count) in (0..).zip(found) {
            if let Some(name) = self.names.get(NameId(id)).filter(|_| count > 0) {
                add(name, count);
            }
        }
    }

    fn count_hosts(&self, ids: &RoaringBitmap, mut add: impl FnMut(HostView<'_>, u64)) {
        let found = self.tally(ids, self.hosts.next_id() as usize, || {
            |block: &Block, at: usize| Some(block.host[at] as usize)
        });
        for (id, count) in (0..).zip(found) {
            if let Some(view) = self.hosts.view(HostId(id)).filter(|_| count > 0) {
                add(view, count);
            }
        }
    }

    fn count_modules(&self, ids: &RoaringBitmap, mut add: impl FnMut(&ModuleRow, &SetRow, u64)) {
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
        for ((module, set), count) in modules.into_iter().zip(found) {
            add(module, set, count);
        }
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
