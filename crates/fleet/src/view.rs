//! The process view: businesses, sets, modules, service instances and their processes, with bitmaps over `bk_process_id`.
//!
//! Topology arrives as [`TopologyChanges`], instances as registered processes with an owner. Whether all instances of a process
//! run, or are managed, is kept in bitmaps, too, so that every filter is a bitmap and agrees with the rows.

mod addresses;
mod facets;
mod filter;
mod ids;
mod instances;
mod listing;
mod order;
mod places;
mod read;
mod row;
mod templates;
#[cfg(test)]
mod tests;

pub use facets::{SetCounts, ViewFacetKey};
pub use filter::Narrowed;
pub use ids::FreshTopologyIds;
pub use order::ViewPage;
pub use row::{Instance, ViewRow};

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use model::topology::{
    BkHostId, BkProcessId, BusinessId, ModuleId, Program, ProgramId, ServiceId, SetId,
    TopologyChanges, ViewProcessRow,
};
use roaring::RoaringBitmap;

use crate::bits::SharedBits;
use crate::cow::{CowMap, Paged};
use addresses::Addresses;
use listing::Listing;
use places::{Business, Machine, Module, Service, Set};
use templates::Templates;

#[derive(Debug, Clone, Default)]
pub struct View {
    clouds: Arc<BTreeMap<u32, Arc<str>>>,
    businesses: Arc<BTreeMap<BusinessId, Arc<Business>>>,
    sets: CowMap<SetId, Arc<Set>>,
    modules: CowMap<ModuleId, Arc<Module>>,
    machines: CowMap<BkHostId, Arc<Machine>>,
    services: Paged<Service>,
    programs: CowMap<ProgramId, Arc<Program>>,
    /// How many processes each program has.
    program_users: CowMap<ProgramId, u32>,
    processes: Paged<Cell>,
    aliases: CowMap<BusinessId, Aliases>,
    by_cloud: CowMap<u32, Arc<RoaringBitmap>>,
    by_ip: CowMap<IpAddr, Vec<BkHostId>>,
    /// Once a query has needed them; another cell whenever a machine changes.
    addresses: Arc<OnceLock<Addresses>>,
    /// The newest instance of each owner; the columns link the others.
    first_instance: Paged<model::change::ProcessId>,
    /// Processes whose instances all run. Statuses decide it, so all snapshots share it.
    running: SharedBits,
    /// Processes whose instances are all managed.
    managed: Arc<RoaringBitmap>,
    /// Processes without a reported instance. Statuses decide it, so all snapshots share it.
    unregistered: SharedBits,
    /// Processes that vanished from their source, or have too many instances.
    surplus: Arc<RoaringBitmap>,
    templates: Arc<Templates>,
    ids: ids::NextIds,
}

/// The processes of each alias of a business.
type Aliases = CowMap<Arc<str>, Arc<RoaringBitmap>>;

/// One process.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    row: ViewProcessRow,
    next_in_service: Option<BkProcessId>,
}

/// The rows that a process belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home {
    pub(crate) business: BusinessId,
    pub(crate) set: SetId,
    pub(crate) module: ModuleId,
    pub(crate) machine: BkHostId,
    pub(crate) cloud: u32,
}

impl View {
    /// Folds a commit in: referenced rows are added first and removed last.
    pub(crate) fn apply(&mut self, changes: &TopologyChanges) {
        for row in &changes.clouds {
            Arc::make_mut(&mut self.clouds).insert(row.id, row.name.as_str().into());
        }
        for row in &changes.businesses {
            self.put_business(row);
        }
        for row in &changes.sets {
            self.put_set(row);
        }
        for row in &changes.modules {
            self.put_module(row);
        }
        for row in &changes.machines {
            self.put_machine(row);
        }
        self.unlist_replaced(changes);
        for row in &changes.programs {
            self.ids.program = self.ids.program.max(row.id.0 + 1);
            self.programs.insert(row.id, row.program.clone());
        }
        for row in &changes.services {
            self.put_service(row);
        }
        for id in &changes.processes_gone {
            self.remove_process(*id);
        }
        let mut listing = Listing::default();
        for row in &changes.processes {
            self.put_process(row, &mut listing);
        }
        self.end_listing(&mut listing);
        for id in &changes.services_gone {
            self.services.remove(id.0);
        }
        for id in &changes.machines_gone {
            self.remove_machine(*id);
        }
        for id in &changes.modules_gone {
            self.remove_module(*id);
        }
        for id in &changes.sets_gone {
            self.remove_set(*id);
        }
        for id in &changes.businesses_gone {
            Arc::make_mut(&mut self.businesses).remove(id);
            self.aliases.remove(id);
        }
        for id in &changes.programs_gone {
            self.programs.remove(id);
        }
    }

    /// When several commits are folded in at once, the id of a removed program may belong to another one: processes of the old
    /// program are removed from the bitmaps under its old alias.
    fn unlist_replaced(&mut self, changes: &TopologyChanges) {
        let is_replaced = changes.programs.iter().any(|row| {
            let before = self.programs.get(&row.id);
            before.is_some_and(|before| **before != *row.program)
        });
        if is_replaced {
            let put = changes.processes.iter().map(|row| row.id);
            for id in put.chain(changes.processes_gone.iter().copied()) {
                self.unlist(id);
            }
        }
    }

    fn put_process(&mut self, row: &ViewProcessRow, listing: &mut Listing) {
        let is_new = self.processes.get(row.id.0).is_none();
        if !is_new {
            self.end_listing(listing);
            self.unlist(row.id);
            self.unchain(row.id);
        }
        let first = self
            .services
            .get_mut(row.service.0)
            .and_then(|service| service.first_process.replace(row.id));
        let cell = Cell {
            row: *row,
            next_in_service: first,
        };
        *self.program_users.get_or_default(row.program) += 1;
        self.running.make_room(row.id.0);
        self.unregistered.make_room(row.id.0);
        if let Some(before) = self.processes.insert(row.id.0, cell) {
            self.release_program(before.row.program);
        }
        match is_new {
            true => self.list_later(row, listing),
            false => self.list(row.id),
        }
    }

    fn release_program(&mut self, id: ProgramId) {
        if let Some(users) = self.program_users.get_mut(&id) {
            *users -= 1;
            if *users == 0 {
                self.program_users.remove(&id);
            }
        }
    }

    fn remove_process(&mut self, id: BkProcessId) {
        self.unlist(id);
        self.unchain(id);
        if let Some(before) = self.processes.remove(id.0) {
            self.release_program(before.row.program);
        }
        self.running.set(id.0, false);
        self.unregistered.set(id.0, false);
        put(&mut self.managed, id.0, false);
        put(&mut self.surplus, id.0, false);
    }

    /// Removes it from the list of its service.
    fn unchain(&mut self, id: BkProcessId) {
        let Some(cell) = self.processes.get(id.0) else {
            return;
        };
        let (service, after) = (cell.row.service, cell.next_in_service);
        let before = self
            .processes_of_service(service)
            .find(|other| self.next_in_service(*other) == Some(id));
        if let Some(before) = before {
            if let Some(cell) = self.processes.get_mut(before.0) {
                cell.next_in_service = after;
            }
        } else if let Some(service) = self.services.get_mut(service.0)
            && service.first_process == Some(id)
        {
            service.first_process = after;
        }
    }

    fn next_in_service(&self, id: BkProcessId) -> Option<BkProcessId> {
        self.processes.get(id.0)?.next_in_service
    }

    /// Adds a process to the bitmaps of the rows that it belongs to.
    fn list(&mut self, id: BkProcessId) {
        let (Some(home), Some(program)) = (self.home(id), self.program_of(id)) else {
            return;
        };
        let alias = program.bk_process_name.as_str();
        let stays = !self.has_vanished(id);
        if let Some(module) = self.modules.get_mut(&home.module).map(Arc::make_mut)
            && !module.processes.contains(id.0)
        {
            module.count_in(alias, stays, program.proc_num, 1);
        }
        for bitmap in self.bitmaps(&home).into_iter().flatten() {
            bitmap.insert(id.0);
        }
        let aliases = self.aliases.get_or_default(home.business);
        match aliases.get_mut(alias) {
            Some(named) => drop(Arc::make_mut(named).insert(id.0)),
            None => {
                let named = RoaringBitmap::from([id.0]);
                aliases.insert(alias.into(), Arc::new(named));
            }
        }
    }

    fn unlist(&mut self, id: BkProcessId) {
        let (Some(home), Some(program)) = (self.home(id), self.program_of(id)) else {
            return;
        };
        let alias = program.bk_process_name.as_str();
        let stays = !self.has_vanished(id);
        if let Some(module) = self.modules.get_mut(&home.module).map(Arc::make_mut)
            && module.processes.contains(id.0)
        {
            module.count_out(alias, stays, program.proc_num);
        }
        for bitmap in self.bitmaps(&home).into_iter().flatten() {
            bitmap.remove(id.0);
        }
        let aliases = self.aliases.get_or_default(home.business);
        if let Some(named) = aliases.get_mut(alias) {
            Arc::make_mut(named).remove(id.0);
            if named.is_empty() {
                aliases.remove(alias);
            }
        }
    }

    fn bitmaps(&mut self, home: &Home) -> [Option<&mut RoaringBitmap>; 5] {
        let cloud = self.by_cloud.get_or_default(home.cloud);
        let business = Arc::make_mut(&mut self.businesses).get_mut(&home.business);
        let set = self.sets.get_mut(&home.set);
        let module = self.modules.get_mut(&home.module);
        let machine = self.machines.get_mut(&home.machine);
        [
            Some(Arc::make_mut(cloud)),
            business.map(|place| &mut Arc::make_mut(place).processes),
            set.map(|place| &mut Arc::make_mut(place).processes),
            module.map(|place| &mut Arc::make_mut(place).processes),
            machine.map(|place| &mut Arc::make_mut(place).processes),
        ]
    }

    /// The rows of a process, if all are known.
    pub(crate) fn home(&self, id: BkProcessId) -> Option<Home> {
        let cell = self.processes.get(id.0)?;
        let service = self.services.get(cell.row.service.0)?;
        let module = self.modules.get(&service.module)?;
        let set = self.sets.get(&module.row.set)?;
        let machine = self.machines.get(&service.machine)?;
        Some(Home {
            business: set.row.business,
            set: module.row.set,
            module: service.module,
            machine: service.machine,
            cloud: machine.row.host.cloud,
        })
    }

    fn program_of(&self, id: BkProcessId) -> Option<Arc<Program>> {
        let cell = self.processes.get(id.0)?;
        self.programs.get(&cell.row.program).cloned()
    }

    /// The processes of a service instance.
    pub fn processes_of_service(&self, id: ServiceId) -> impl Iterator<Item = BkProcessId> + '_ {
        let mut next = self
            .services
            .get(id.0)
            .and_then(|service| service.first_process);
        std::iter::from_fn(move || {
            let id = next?;
            next = self.next_in_service(id);
            Some(id)
        })
    }
}

/// Adds an id to a set or removes it; copies the set only if that changes it.
fn put(set: &mut Arc<RoaringBitmap>, id: u32, is_member: bool) {
    if set.contains(id) != is_member {
        let set = Arc::make_mut(set);
        match is_member {
            true => set.insert(id),
            false => set.remove(id),
        };
    }
}
