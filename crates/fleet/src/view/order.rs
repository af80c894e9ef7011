//! Pages of the view: in order of `bk_process_id`, or as the caller wants it; equal keys by id, so that pages are stable.

use std::cmp::Ordering as Compared;
use std::net::IpAddr;

use hashbrown::HashMap;
use model::scope::{SortKey, SortOrder, StateFilter, ViewFilter};
use model::topology::{BkHostId, BkProcessId, ModuleId};
use roaring::RoaringBitmap;

use super::addresses::MachineAddress;
use super::filter::union;
use super::places::Service;
use super::{View, ViewRow};
use crate::{Fleet, scan};

/// A page of a result, with the total.
#[derive(Debug)]
pub struct ViewPage<'a> {
    pub count: u64,
    pub rows: Vec<ViewRow<'a>>,
}

impl Fleet {
    pub fn view_page(&self, filter: &ViewFilter, start: u64, limit: usize) -> ViewPage<'_> {
        let ids = self.view_matching(filter);
        let page = match filter.ordering.as_slice() {
            [] => in_order(&ids, start, limit),
            [
                SortOrder {
                    key: SortKey::InnerIp,
                    descending,
                },
            ] => self.view.in_ip_order(&ids, *descending, start, limit),
            ordering => self.sorted_view(&ids, ordering, start, limit),
        };
        ViewPage {
            count: ids.len(),
            rows: self.view_rows(page),
        }
    }

    /// All processes that match, in order of `bk_process_id`.
    pub fn view_matching(&self, filter: &ViewFilter) -> RoaringBitmap {
        let ids = self.with_connection(self.view.matching(filter), filter);
        self.with_instances(ids, filter)
    }

    /// Keeps processes on hosts whose agent is connected, or is not.
    fn with_connection(&self, ids: RoaringBitmap, filter: &ViewFilter) -> RoaringBitmap {
        let Some(wanted) = filter.connected else {
            return ids;
        };
        self.view.by_service(&ids, || {
            |service: &Service| self.is_connected(service.machine) == wanted
        })
    }

    pub(super) fn is_connected(&self, machine: BkHostId) -> bool {
        let machine = self.view.machines.get(&machine);
        let host = machine.and_then(|machine| self.find_host(&machine.row.host));
        host.is_some_and(|host| host.link.is_up())
    }

    /// Keeps processes that have an instance as the filter wants it.
    fn with_instances(&self, ids: RoaringBitmap, filter: &ViewFilter) -> RoaringBitmap {
        if filter.states.is_none() && filter.restart_needed.is_none() {
            return ids;
        }
        scan::filtered(&ids, || {
            |id| {
                let rows = || {
                    let instances = self.instances_of(BkProcessId(id));
                    instances.filter_map(|id| self.row(id))
                };
                let in_state = |wanted: &StateFilter| {
                    rows().any(|row| wanted.states.contains(&row.process_state()))
                        || (wanted.unregistered && self.view.unregistered.contains(id))
                };
                let is_pending = || rows().any(|row| row.restart_needed());
                filter.states.as_ref().is_none_or(in_state)
                    && filter
                        .restart_needed
                        .is_none_or(|wanted| wanted == is_pending())
            }
        })
    }

    /// Several rows at once: shared lookups are done once.
    pub fn view_rows(&self, ids: impl IntoIterator<Item = BkProcessId>) -> Vec<ViewRow<'_>> {
        let view = &self.view;
        let mut largest: HashMap<(ModuleId, &str), u32> = HashMap::new();
        let row = |id: BkProcessId| {
            let cell = view.processes.get(id.0)?;
            let program = view.programs.get(&cell.row.program)?;
            let service = view.services.get(cell.row.service.0)?;
            let key = (service.module, program.bk_process_name.as_str());
            let largest = *largest
                .entry(key)
                .or_insert_with(|| view.largest_proc_num(key.0, key.1));
            self.view_row_with(id, largest)
        };
        ids.into_iter().filter_map(row).collect()
    }
}

fn in_order(ids: &RoaringBitmap, start: u64, limit: usize) -> Vec<BkProcessId> {
    let first = u32::try_from(start).ok().and_then(|n| ids.select(n));
    let page = first.map(|first| ids.range(first..).take(limit).map(BkProcessId).collect());
    page.unwrap_or_default()
}

impl View {
    /// A page in the order of addresses: looks at the machines up to the end of the page, instead of at each process.
    fn in_ip_order(
        &self,
        ids: &RoaringBitmap,
        descending: bool,
        start: u64,
        limit: usize,
    ) -> Vec<BkProcessId> {
        let machines = self.addresses().in_order();
        let mut same_ip: Vec<&[MachineAddress]> = machines.chunk_by(|a, b| a.ip == b.ip).collect();
        if descending {
            same_ip.reverse();
        }
        let (mut to_skip, mut page) = (start, Vec::new());
        for machines in same_ip {
            let on_them = machines.iter().filter_map(|one| self.machines.get(&one.id));
            let here = match machines.len() {
                1 => on_them.map(|machine| &machine.processes & ids).next(),
                _ => Some(union(on_them.map(|machine| &machine.processes)) & ids),
            };
            let here = here.unwrap_or_default();
            if here.len() <= to_skip {
                to_skip -= here.len();
                continue;
            }
            let rest = here.iter().skip(to_skip as usize).map(BkProcessId);
            page.extend(rest.take(limit - page.len()));
            to_skip = 0;
            if page.len() == limit {
                break;
            }
        }
        page
    }
}

/// The sort key of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SortValue<'a> {
    Number(u32),
    Text(&'a str),
    Ip(IpAddr),
}

impl Fleet {
    fn sorted_view(
        &self,
        ids: &RoaringBitmap,
        ordering: &[SortOrder],
        start: u64,
        limit: usize,
    ) -> Vec<BkProcessId> {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        if start >= ids.len() as usize {
            return Vec::new();
        }
        let width = ordering.len();
        let keys = scan::mapped(ids, |run| {
            let of = |id: &u32| {
                let id = BkProcessId(*id);
                ordering.iter().map(move |order| self.key(id, order.key))
            };
            run.iter().flat_map(of).collect()
        });
        let keys = keys.concat();
        let positions = ids.iter().enumerate();
        let mut positions: Vec<(u32, u32)> = positions.map(|(at, id)| (at as u32, id)).collect();
        let of = |position: u32| &keys[position as usize * width..][..width];
        let compare = |a: &(u32, u32), b: &(u32, u32)| {
            let pairs = of(a.0).iter().zip(of(b.0)).zip(ordering);
            let decided = pairs
                .map(|((a, b), order)| match order.descending {
                    true => b.cmp(a),
                    false => a.cmp(b),
                })
                .find(|compared| *compared != Compared::Equal);
            decided.unwrap_or_else(|| a.1.cmp(&b.1))
        };
        let end = start.saturating_add(limit).min(positions.len());
        if end < positions.len() {
            // Sorts only up to the end of this page.
            positions.select_nth_unstable_by(end, compare);
            positions.truncate(end);
        }
        positions.sort_unstable_by(compare);
        let page = positions.drain(start..end);
        page.map(|(_, id)| BkProcessId(id)).collect()
    }

    fn key(&self, id: BkProcessId, key: SortKey) -> SortValue<'_> {
        let view = &self.view;
        let service = || {
            let cell = view.processes.get(id.0)?;
            view.services.get(cell.row.service.0)
        };
        let instances = || self.instances_of(id).filter_map(|id| self.row(id));
        match key {
            SortKey::ProcessId => SortValue::Number(id.0),
            SortKey::Set => {
                let module = service().and_then(|service| view.modules.get(&service.module));
                SortValue::Number(module.map_or(0, |module| module.row.set.0))
            }
            SortKey::Module => SortValue::Number(service().map_or(0, |service| service.module.0)),
            SortKey::ProcessName => SortValue::Text(view.alias_of(id).unwrap_or_default()),
            SortKey::InnerIp => {
                let machine = service().and_then(|service| view.machines.get(&service.machine));
                machine.map_or(SortValue::Number(0), |machine| {
                    SortValue::Ip(machine.row.host.ip)
                })
            }
            SortKey::Status if view.running.contains(id.0) => SortValue::Number(2),
            SortKey::Status if view.unregistered.contains(id.0) => SortValue::Number(1),
            SortKey::Status => SortValue::Number(0),
            SortKey::State => {
                let ranks = instances().map(|row| row.process_state().rank());
                SortValue::Number(ranks.min().map_or(u32::MAX, u32::from))
            }
            SortKey::Started => {
                let starts = instances().map(|row| row.started_secs());
                SortValue::Number(starts.max().unwrap_or_default())
            }
        }
    }
}
