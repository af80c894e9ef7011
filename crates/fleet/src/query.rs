//! Pages of processes: any filter, any offset, with the exact total.

use model::change::{HostId, ProcessId};
use model::{Host, Namespace, ProcessName, State};
use roaring::RoaringBitmap;

use crate::{Fleet, Row};

/// Which processes. Every field that is set must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub namespaces: Option<Vec<Namespace>>,
    pub name: Option<ProcessName>,
    pub hosts: Option<Vec<Host>>,
    pub state: Option<State>,
    pub managed: Option<bool>,
}

/// A page of a result, with the total. Ordered by process id, which is stable from page to page.
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

    /// Narrows by indexes first, then tests each remaining row.
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
