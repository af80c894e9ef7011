//! Pages of processes: any filter, any offset, with the exact total.

use model::change::{HostId, ProcessId};
use model::selector::{LabelSelector, NamePattern};
use model::{Host, Namespace, ProcessName, ProcessState};
use roaring::RoaringBitmap;

use crate::{Fleet, Row};

/// How many keys a page can be sorted by; more are ignored.
pub const MAX_ORDER_KEYS: usize = 3;

/// Which processes. Every field that is set must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub namespaces: Option<Vec<Namespace>>,
    pub name: Option<ProcessName>,
    pub hosts: Option<Vec<Host>>,
    /// In one of these states, as the native API shows them.
    pub states: Option<Vec<ProcessState>>,
    pub managed: Option<bool>,
    pub restart_needed: Option<bool>,
    /// With a name that matches one of these.
    pub processes: Option<Vec<NamePattern>>,
    pub labels: Option<LabelSelector>,
}

/// What rows are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderKey {
    /// What needs attention first, see [`ProcessState::rank`].
    State,
    Restarts,
    /// When the last run ended.
    LastExit,
    Started,
    Cpu,
    Memory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowOrder {
    pub key: OrderKey,
    pub descending: bool,
}

impl RowOrder {
    /// A number that sorts as the row does.
    fn rank(self, row: &Row<'_>) -> u64 {
        let rank = match self.key {
            OrderKey::State => row.process_state().rank().into(),
            OrderKey::Restarts => row.restarts().into(),
            OrderKey::LastExit => row.last_exit().map_or(0, |last| last.at.0.max(0) as u64),
            OrderKey::Started => row.started_at().0.max(0) as u64,
            OrderKey::Cpu => (f64::from(row.cpu()) * 100.0) as u64,
            OrderKey::Memory => (f64::from(row.mem()) * 100.0) as u64,
        };
        match self.descending {
            true => !rank,
            false => rank,
        }
    }
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
        if let Filter {
            namespaces: Some(one),
            name: None,
            hosts: None,
            states: None,
            managed: None,
            restart_needed: None,
            processes: None,
            labels: None,
        } = filter
            && let [namespace] = one.as_slice()
        {
            return self.page_of_namespace(namespace, start, limit);
        }
        self.page_of(&self.matching(filter), start, limit)
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
        let rows = ids.iter().filter_map(|id| self.row(ProcessId(id)));
        let mut ranked: Vec<([u64; MAX_ORDER_KEYS], u32)> = rows
            .map(|row| {
                let mut ranks = [0; MAX_ORDER_KEYS];
                for (rank, order) in ranks.iter_mut().zip(order) {
                    *rank = order.rank(&row);
                }
                (ranks, row.id().0)
            })
            .collect();
        ranked.sort_unstable();
        let skipped = usize::try_from(start).unwrap_or(usize::MAX);
        let page = ranked.into_iter().skip(skipped).take(limit);
        Page {
            count: ids.len(),
            rows: page.filter_map(|(_, id)| self.row(ProcessId(id))).collect(),
        }
    }

    /// Narrows by indexes first, then tests each remaining row.
    fn matching(&self, filter: &Filter) -> RoaringBitmap {
        let by_index = [
            filter.hosts.as_deref().map(|all| self.ids_of_hosts(all)),
            (filter.namespaces.as_deref()).map(|all| self.ids_of_namespaces(all)),
            (filter.processes.as_deref()).map(|all| self.names.processes_matching(all)),
        ];
        let narrowed = by_index.into_iter().flatten().reduce(|all, one| all & one);
        let ids = narrowed.unwrap_or_else(|| self.all_ids());
        if filter.name.is_none()
            && filter.states.is_none()
            && filter.managed.is_none()
            && filter.restart_needed.is_none()
            && filter.labels.is_none()
        {
            return ids;
        }
        let matches = |id: &u32| {
            self.row(ProcessId(*id)).is_some_and(|row| {
                filter
                    .name
                    .as_ref()
                    .is_none_or(|name| row.name().name == *name)
                    && (filter.states.as_ref())
                        .is_none_or(|states| states.contains(&row.process_state()))
                    && (filter.restart_needed).is_none_or(|needed| row.restart_needed() == needed)
                    && filter
                        .managed
                        .is_none_or(|managed| row.managed() == managed)
                    && (filter.labels.as_ref())
                        .is_none_or(|labels| labels.matches(|key| row.label(key)))
            })
        };
        ids.iter().filter(matches).collect()
    }

    pub(crate) fn ids_of_namespaces(&self, namespaces: &[Namespace]) -> RoaringBitmap {
        let bitmaps = namespaces
            .iter()
            .filter_map(|namespace| self.names.processes_in(namespace));
        bitmaps.fold(RoaringBitmap::new(), |all, one| all | one)
    }

    fn ids_of_hosts(&self, hosts: &[Host]) -> RoaringBitmap {
        let ids: Vec<HostId> = hosts.iter().filter_map(|host| self.host_id(host)).collect();
        ids.into_iter()
            .flat_map(|host| self.processes_of(host))
            .map(|row| row.id().0)
            .collect()
    }

    fn all_ids(&self) -> RoaringBitmap {
        self.names.all_processes()
    }
}
