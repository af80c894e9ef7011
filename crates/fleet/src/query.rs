//! Pages of processes: any filter, any offset, with the exact total.

use model::change::{HostId, ProcessId};
use model::{Host, Namespace, ProcessName, State};
use roaring::RoaringBitmap;

use crate::{Fleet, Row};

/// Which processes. Everything that is given must match; nothing given matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub namespaces: Option<Vec<Namespace>>,
    pub name: Option<ProcessName>,
    pub hosts: Option<Vec<Host>>,
    pub state: Option<State>,
    pub managed: Option<bool>,
}

/// Part of a result, and how large the whole is. Ordered by process id, which is stable from page to page.
#[derive(Debug)]
pub struct Page<'a> {
    pub count: u64,
    pub rows: Vec<Row<'a>>,
}

impl Fleet {
    /// The commonest question: everything in one namespace. Costs the page, not the offset.
    pub fn page_of_namespace(&self, namespace: &Namespace, start: u64, limit: usize) -> Page<'_> {
        let Some(ids) = self.names.processes_in(namespace) else {
            return Page {
                count: 0,
                rows: Vec::new(),
            };
        };
        self.page_of(ids, start, limit)
    }

    pub fn page(&self, filter: &Filter, start: u64, limit: usize) -> Page<'_> {
        if let Filter {
            namespaces: Some(one),
            name: None,
            hosts: None,
            state: None,
            managed: None,
        } = filter
            && let [namespace] = one.as_slice()
        {
            return self.page_of_namespace(namespace, start, limit);
        }
        self.page_of(&self.matching(filter), start, limit)
    }

    /// Every process that matches, in order of id.
    pub fn select(&self, filter: &Filter) -> impl Iterator<Item = Row<'_>> {
        self.matching(filter)
            .into_iter()
            .filter_map(|id| self.row(ProcessId(id)))
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

    /// Narrows by what has an index first, then looks at each row that is left.
    fn matching(&self, filter: &Filter) -> RoaringBitmap {
        let mut ids = match (&filter.hosts, &filter.namespaces) {
            (Some(hosts), _) => self.ids_of_hosts(hosts),
            (None, Some(namespaces)) => self.ids_of_namespaces(namespaces),
            (None, None) => self.all_ids(),
        };
        if let (Some(_), Some(namespaces)) = (&filter.hosts, &filter.namespaces) {
            ids &= self.ids_of_namespaces(namespaces);
        }
        if filter.name.is_none() && filter.state.is_none() && filter.managed.is_none() {
            return ids;
        }
        let matches = |id: &u32| {
            self.row(ProcessId(*id)).is_some_and(|row| {
                filter
                    .name
                    .as_ref()
                    .is_none_or(|name| row.name().name == *name)
                    && filter.state.is_none_or(|state| row.state() == state)
                    && filter
                        .managed
                        .is_none_or(|managed| row.managed() == managed)
            })
        };
        ids.iter().filter(matches).collect()
    }

    fn ids_of_namespaces(&self, namespaces: &[Namespace]) -> RoaringBitmap {
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
