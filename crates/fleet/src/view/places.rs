//! Businesses, sets, modules, machines and service instances, each with the processes below it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use hashbrown::HashMap;

use model::topology::{
    BkHostId, BkProcessId, BusinessId, BusinessRow, MachineRow, ModuleId, ModuleRow, ServiceRow,
    SetId, SetRow,
};
use roaring::RoaringBitmap;

use super::View;

#[derive(Debug, Clone)]
pub(crate) struct Business {
    pub(crate) row: Arc<BusinessRow>,
    pub(crate) sets: BTreeSet<SetId>,
    pub(crate) processes: RoaringBitmap,
}

#[derive(Debug, Clone)]
pub(crate) struct Set {
    pub(crate) row: Arc<SetRow>,
    pub(crate) modules: BTreeSet<ModuleId>,
    pub(crate) processes: RoaringBitmap,
}

#[derive(Debug, Clone)]
pub(crate) struct Module {
    pub(crate) row: Arc<ModuleRow>,
    pub(crate) processes: RoaringBitmap,
    /// By alias.
    pub(crate) proc_nums: HashMap<Arc<str>, ProcNums>,
}

/// How many processes of one alias have each `proc_num`. Keys of processes that did not vanish are larger, so the last key is
/// the base of `inst_id`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcNums(BTreeMap<(bool, u32), u32>);

impl ProcNums {
    pub(crate) fn largest(&self) -> Option<u32> {
        self.0.last_key_value().map(|((_, proc_num), _)| *proc_num)
    }

    fn add(&mut self, stays: bool, proc_num: u32, more: u32) {
        *self.0.entry((stays, proc_num)).or_default() += more;
    }

    fn take(&mut self, stays: bool, proc_num: u32) {
        if let Some(n) = self.0.get_mut(&(stays, proc_num)) {
            *n -= 1;
            if *n == 0 {
                self.0.remove(&(stays, proc_num));
            }
        }
    }
}

impl Module {
    /// Counts more processes of an alias.
    pub(crate) fn count_in(&mut self, alias: &str, stays: bool, proc_num: u32, more: u32) {
        match self.proc_nums.get_mut(alias) {
            Some(counts) => counts.add(stays, proc_num, more),
            None => {
                let mut counts = ProcNums::default();
                counts.add(stays, proc_num, more);
                self.proc_nums.insert(alias.into(), counts);
            }
        }
    }

    pub(crate) fn count_out(&mut self, alias: &str, stays: bool, proc_num: u32) {
        if let Some(counts) = self.proc_nums.get_mut(alias) {
            counts.take(stays, proc_num);
            if counts.largest().is_none() {
                self.proc_nums.remove(alias);
            }
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) row: Arc<MachineRow>,
    pub(crate) processes: RoaringBitmap,
}

#[derive(Debug, Clone)]
pub(crate) struct Service {
    pub(crate) module: ModuleId,
    pub(crate) machine: BkHostId,
    pub(crate) name: Arc<str>,
    pub(crate) first_process: Option<BkProcessId>,
}

impl View {
    pub(super) fn put_business(&mut self, row: &BusinessRow) {
        let fresh = || {
            Arc::new(Business {
                row: Arc::new(row.clone()),
                sets: BTreeSet::new(),
                processes: RoaringBitmap::new(),
            })
        };
        let businesses = Arc::make_mut(&mut self.businesses);
        let business = businesses.entry(row.id).or_insert_with(fresh);
        Arc::make_mut(business).row = Arc::new(row.clone());
    }

    fn business_mut(&mut self, id: BusinessId) -> Option<&mut Business> {
        let businesses = Arc::make_mut(&mut self.businesses);
        businesses.get_mut(&id).map(Arc::make_mut)
    }

    pub(super) fn put_set(&mut self, row: &SetRow) {
        let moved = self
            .sets
            .get(&row.id)
            .map(|set| set.row.business)
            .filter(|before| *before != row.business);
        if moved.is_some() {
            self.relist_set(row.id, |view| view.place_set(row));
        } else {
            self.place_set(row);
        }
    }

    fn place_set(&mut self, row: &SetRow) {
        let before = self.sets.get(&row.id).map(|set| set.row.business);
        if let Some(business) = before.and_then(|before| self.business_mut(before)) {
            business.sets.remove(&row.id);
        }
        if let Some(business) = self.business_mut(row.business) {
            business.sets.insert(row.id);
        }
        match self.sets.get_mut(&row.id) {
            Some(set) => Arc::make_mut(set).row = Arc::new(row.clone()),
            None => {
                let set = Set {
                    row: Arc::new(row.clone()),
                    modules: BTreeSet::new(),
                    processes: RoaringBitmap::new(),
                };
                self.sets.insert(row.id, Arc::new(set));
            }
        }
        self.ids.set = self.ids.set.max(row.id.0 + 1);
    }

    /// Removes its processes from all bitmaps, applies a change, and adds them again.
    fn relist_set(&mut self, id: SetId, change: impl FnOnce(&mut Self)) {
        let processes = self.sets.get(&id).map(|set| set.processes.clone());
        self.relist(processes.unwrap_or_default(), change);
    }

    fn relist(&mut self, processes: RoaringBitmap, change: impl FnOnce(&mut Self)) {
        for id in &processes {
            self.unlist(BkProcessId(id));
        }
        change(self);
        for id in &processes {
            self.list(BkProcessId(id));
        }
    }

    pub(super) fn put_module(&mut self, row: &ModuleRow) {
        let before = self.modules.get(&row.id).map(|module| module.row.set);
        match before {
            Some(before) if before != row.set => {
                let processes = self.processes_of_module(row.id).cloned();
                self.relist(processes.unwrap_or_default(), |view| view.place_module(row));
            }
            Some(_) | None => self.place_module(row),
        }
    }

    fn place_module(&mut self, row: &ModuleRow) {
        let before = self.modules.get(&row.id).map(|module| module.row.set);
        if let Some(set) = before.and_then(|before| self.sets.get_mut(&before)) {
            Arc::make_mut(set).modules.remove(&row.id);
        }
        if let Some(set) = self.sets.get_mut(&row.set) {
            Arc::make_mut(set).modules.insert(row.id);
        }
        match self.modules.get_mut(&row.id) {
            Some(module) => Arc::make_mut(module).row = Arc::new(row.clone()),
            None => {
                let module = Module {
                    row: Arc::new(row.clone()),
                    processes: RoaringBitmap::new(),
                    proc_nums: HashMap::new(),
                };
                self.modules.insert(row.id, Arc::new(module));
            }
        }
        self.ids.module = self.ids.module.max(row.id.0 + 1);
    }

    pub(super) fn put_machine(&mut self, row: &MachineRow) {
        self.forget_addresses(row.id);
        for address in addresses(row) {
            self.by_ip.get_or_default(address).push(row.id);
        }
        self.ids.machine = self.ids.machine.max(row.id.0 + 1);
        let moved = self
            .machines
            .get(&row.id)
            .filter(|machine| machine.row.host.cloud != row.host.cloud);
        let processes = moved.map(|machine| machine.processes.clone());
        self.relist(processes.unwrap_or_default(), |view| {
            view.place_machine(row);
        });
    }

    fn place_machine(&mut self, row: &MachineRow) {
        self.forget_addresses_in_order();
        match self.machines.get_mut(&row.id) {
            Some(machine) => {
                Arc::make_mut(machine).row = Arc::new(row.clone());
            }
            None => {
                let machine = Machine {
                    row: Arc::new(row.clone()),
                    processes: RoaringBitmap::new(),
                };
                self.machines.insert(row.id, Arc::new(machine));
            }
        }
    }

    pub(super) fn remove_machine(&mut self, id: BkHostId) {
        self.forget_addresses(id);
        self.machines.remove(&id);
        self.forget_addresses_in_order();
    }

    fn forget_addresses(&mut self, id: BkHostId) {
        let Some(row) = self.machines.get(&id).map(|machine| machine.row.clone()) else {
            return;
        };
        for address in addresses(&row) {
            if let Some(there) = self.by_ip.get_mut(&address) {
                there.retain(|other| *other != id);
                if there.is_empty() {
                    self.by_ip.remove(&address);
                }
            }
        }
    }

    pub(super) fn put_service(&mut self, row: &ServiceRow) {
        let Some(before) = self.services.get(row.id.0) else {
            let service = Service {
                module: row.module,
                machine: row.machine,
                name: row.name.clone(),
                first_process: None,
            };
            self.services.insert(row.id.0, service);
            return;
        };
        let stays = (before.module, before.machine) == (row.module, row.machine);
        let processes = match stays {
            true => RoaringBitmap::new(),
            false => self.processes_of_service(row.id).map(|id| id.0).collect(),
        };
        self.relist(processes, |view| {
            if let Some(service) = view.services.get_mut(row.id.0) {
                service.module = row.module;
                service.machine = row.machine;
                service.name = row.name.clone();
            }
        });
    }

    pub(super) fn remove_set(&mut self, id: SetId) {
        let Some(set) = self.sets.remove(&id) else {
            return;
        };
        if let Some(business) = self.business_mut(set.row.business) {
            business.sets.remove(&id);
        }
    }

    pub(super) fn remove_module(&mut self, id: ModuleId) {
        let Some(module) = self.modules.remove(&id) else {
            return;
        };
        if let Some(set) = self.sets.get_mut(&module.row.set) {
            Arc::make_mut(set).modules.remove(&id);
        }
    }
}

/// Every address that a machine is found by.
pub(super) fn addresses(row: &MachineRow) -> impl Iterator<Item = IpAddr> {
    let first = row.host.ip;
    let second = row.ip_v6.map(IpAddr::V6).filter(|ip| *ip != first);
    let two = std::iter::once(first).chain(second);
    let others = row.other_innerips.iter().copied();
    two.chain(others.filter(move |ip| *ip != first && Some(*ip) != second))
}
