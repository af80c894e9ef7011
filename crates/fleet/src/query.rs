//! Pages of processes: any filter, any offset, with the exact total.

use model::Namespace;
use model::change::{HostId, NameId, ProcessId};
use roaring::RoaringBitmap;

use crate::{Filter, Fleet, Row, scan};

/// How many keys a page can be sorted by; more are ignored.
pub const MAX_ORDER_KEYS: usize = 3;

/// What rows are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderKey {
    /// What needs attention first, see [`model::ProcessState::rank`].
    State,
    Restarts,
    /// When the last run ended.
    LastExit,
    Started,
    Cpu,
    Memory,
    /// Namespace, then name.
    Name,
    /// Cloud area, then address.
    Host,
    /// When it was registered.
    Registered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowOrder {
    pub key: OrderKey,
    pub descending: bool,
}

/// An order with what it needs to compare texts as numbers.
struct Ranking {
    order: RowOrder,
    /// The place of each name or host among all, by id; empty for keys that are numbers.
    places: Vec<u32>,
}

impl Ranking {
    fn new(fleet: &Fleet, order: RowOrder) -> Self {
        let places = match order.key {
            OrderKey::Name => {
                let n_names = fleet.names.next_id();
                places(n_names, |id| fleet.names.get(NameId(id)))
            }
            OrderKey::Host => {
                let n_hosts = fleet.hosts.next_id();
                let host = |id| fleet.hosts.view(HostId(id)).map(|view| view.host);
                places(n_hosts, |id| host(id).map(|host| (host.cloud, host.ip)))
            }
            OrderKey::State
            | OrderKey::Restarts
            | OrderKey::LastExit
            | OrderKey::Started
            | OrderKey::Cpu
            | OrderKey::Memory
            | OrderKey::Registered => Vec::new(),
        };
        Self { order, places }
    }

    /// A number that sorts as the row does.
    fn rank(&self, row: &Row<'_>) -> u64 {
        let place = |id: usize| u64::from(self.places.get(id).copied().unwrap_or_default());
        let rank = match self.order.key {
            OrderKey::State => row.process_state().rank().into(),
            OrderKey::Restarts => row.restarts().into(),
            OrderKey::LastExit => row.last_exit().map_or(0, |last| last.at.0.max(0) as u64),
            OrderKey::Started => row.started_at().0.max(0) as u64,
            OrderKey::Cpu => (f64::from(row.cpu()) * 100.0) as u64,
            OrderKey::Memory => (f64::from(row.mem()) * 100.0) as u64,
            OrderKey::Name => place(row.name_id().index()),
            OrderKey::Host => place(row.host().id.index()),
            OrderKey::Registered => row.registered_at().0.max(0) as u64,
        };
        match self.order.descending {
            true => !rank,
            false => rank,
        }
    }
}

/// The place of each id in the order of its value.
fn places<T: Ord>(n_ids: u32, value: impl Fn(u32) -> Option<T>) -> Vec<u32> {
    let mut sorted: Vec<u32> = (0..n_ids).collect();
    sorted.sort_by_cached_key(|id| value(*id));
    let mut places = vec![0; sorted.len()];
    for (place, id) in sorted.into_iter().enumerate() {
        places[id as usize] = place as u32;
    }
    places
}

/// A page of a result, with the total. Ordered as asked, then by process id, which is stable from page to page.
#[derive(Debug)]
pub struct Page<'a> {
    pub count: u64,
    pub rows: Vec<Row<'a>>,
}

impl Fleet {
    /// The most common query: everything in one namespace. Costs the page, not the offset.
    pub fn page_of_namespace(&self, namespace: &Namespace, start: u64, limit: usize) -> Page<'_> {
        let Some(ids) = self.names.processes_in(namespace) else {
            return Page {
                count: 0,
                rows: Vec::new(),
            };
        };
        self.page_of(ids, start, limit)
    }

    /// A page of the rows that match, sorted by these keys. A sorted page costs all rows that match.
    pub fn page(&self, filter: &Filter, order: &[RowOrder], start: u64, limit: usize) -> Page<'_> {
        if !order.is_empty() {
            return self.sorted_page(&self.matching(filter), order, start, limit);
        }
        match filter.only_namespace() {
            Some(namespace) => self.page_of_namespace(namespace, start, limit),
            None => self.page_of(&self.matching(filter), start, limit),
        }
    }

    fn page_of(&self, ids: &RoaringBitmap, start: u64, limit: usize) -> Page<'_> {
        let first = u32::try_from(start)
            .ok()
            .and_then(|start| ids.select(start));
        let rows = first.map(|first| {
            let from_here = ids.range(first..);
            from_here
                .take(limit)
                .filter_map(|id| self.row(ProcessId(id)))
                .collect()
        });
        Page {
            count: ids.len(),
            rows: rows.unwrap_or_default(),
        }
    }

    fn sorted_page(
        &self,
        ids: &RoaringBitmap,
        order: &[RowOrder],
        start: u64,
        limit: usize,
    ) -> Page<'_> {
        let rankings: Vec<Ranking> = order.iter().map(|key| Ranking::new(self, *key)).collect();
        let ranked = scan::mapped(ids, |run| {
            let rows = run.iter().filter_map(|id| self.row(ProcessId(*id)));
            rows.map(|row| {
                let mut ranks = [0; MAX_ORDER_KEYS];
                for (rank, ranking) in ranks.iter_mut().zip(&rankings) {
                    *rank = ranking.rank(&row);
                }
                (ranks, row.id().0)
            })
            .collect()
        });
        let mut ranked: Vec<([u64; MAX_ORDER_KEYS], u32)> = ranked.concat();
        let skipped = usize::try_from(start).unwrap_or(usize::MAX);
        let end = skipped.saturating_add(limit);
        if end < ranked.len() {
            // Sorts only up to the end of this page.
            ranked.select_nth_unstable(end);
            ranked.truncate(end);
        }
        ranked.sort_unstable();
        let page = ranked.into_iter().skip(skipped).take(limit);
        Page {
            count: ids.len(),
            rows: page.filter_map(|(_, id)| self.row(ProcessId(id))).collect(),
        }
    }
}
