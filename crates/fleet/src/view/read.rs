//! Unfiltered reads of the view.

use std::net::IpAddr;
use std::sync::Arc;

use model::topology::{
    BkHostId, BkProcessId, BusinessId, BusinessRow, MachineRow, ModuleId, ModuleRow, Program,
    ProgramId, ServiceId, ServiceRow, SetEnv, SetId, SetRow, ViewProcessRow,
};
use roaring::RoaringBitmap;

use super::View;

impl View {
    pub fn businesses(&self) -> impl Iterator<Item = &BusinessRow> {
        self.businesses.values().map(|business| &*business.row)
    }

    pub fn business(&self, id: BusinessId) -> Option<&BusinessRow> {
        self.businesses.get(&id).map(|business| &*business.row)
    }

    /// The sets of a business, by id.
    pub fn sets_of(&self, business: BusinessId) -> Vec<&SetRow> {
        let ids = self.businesses.get(&business).map(|place| &place.sets);
        let ids = ids.into_iter().flatten();
        ids.filter_map(|id| self.set(*id)).collect()
    }

    /// The modules of a set, by id.
    pub fn modules_of(&self, set: SetId) -> Vec<&ModuleRow> {
        let ids = self.sets.get(&set).map(|place| &place.modules);
        let ids = ids.into_iter().flatten();
        ids.filter_map(|id| self.module(*id)).collect()
    }

    /// Every process of a business, including vanished ones.
    pub fn processes_of(&self, business: BusinessId) -> Option<&RoaringBitmap> {
        self.businesses
            .get(&business)
            .map(|business| &business.processes)
    }

    pub fn processes_of_module(&self, module: ModuleId) -> Option<&RoaringBitmap> {
        self.modules.get(&module).map(|module| &module.processes)
    }

    pub fn set(&self, id: SetId) -> Option<&SetRow> {
        self.sets.get(&id).map(|set| &*set.row)
    }

    pub fn module(&self, id: ModuleId) -> Option<&ModuleRow> {
        self.modules.get(&id).map(|module| &*module.row)
    }

    pub fn machine(&self, id: BkHostId) -> Option<&MachineRow> {
        self.machines.get(&id).map(|machine| &*machine.row)
    }

    pub fn n_machines(&self) -> usize {
        self.machines.len()
    }

    pub fn machines(&self) -> impl Iterator<Item = &MachineRow> {
        self.machines.values().map(|machine| &*machine.row)
    }

    /// The machines with this address, in any cloud area.
    pub fn machines_at(&self, ip: IpAddr) -> impl Iterator<Item = &MachineRow> {
        let ids = self.by_ip.get(&ip).into_iter().flatten();
        ids.filter_map(|id| self.machine(*id))
    }

    /// The processes on a machine, of all businesses.
    pub fn processes_on(&self, id: BkHostId) -> Option<&RoaringBitmap> {
        self.machines.get(&id).map(|machine| &machine.processes)
    }

    pub fn service(&self, id: ServiceId) -> Option<ServiceRow> {
        let service = self.services.get(id.0)?;
        Some(ServiceRow {
            id,
            module: service.module,
            machine: service.machine,
            name: service.name.clone(),
        })
    }

    /// The module and the machine of a service instance.
    pub fn place_of_service(&self, id: ServiceId) -> Option<(ModuleId, BkHostId)> {
        let service = self.services.get(id.0)?;
        Some((service.module, service.machine))
    }

    pub(crate) fn service_of(&self, id: BkProcessId) -> Option<ServiceId> {
        self.processes.get(id.0).map(|cell| cell.row.service)
    }

    pub(crate) fn module_of_service(&self, id: ServiceId) -> Option<ModuleId> {
        self.services.get(id.0).map(|service| service.module)
    }

    /// Every process of these businesses.
    pub(crate) fn processes_of_businesses(&self, businesses: &[BusinessId]) -> RoaringBitmap {
        let places = businesses.iter().filter_map(|id| self.businesses.get(id));
        places.fold(RoaringBitmap::new(), |all, one| all | &one.processes)
    }

    /// The modules of these businesses and environments; None for all.
    pub(crate) fn modules_within(
        &self,
        businesses: Option<&[BusinessId]>,
        envs: Option<&[SetEnv]>,
    ) -> impl Iterator<Item = ModuleId> {
        let sets = self.sets.values().filter(move |set| {
            businesses.is_none_or(|wanted| wanted.contains(&set.row.business))
                && envs.is_none_or(|wanted| wanted.contains(&set.row.env))
        });
        sets.flat_map(|set| set.modules.iter().copied())
    }

    /// Every module with its set, in no order.
    pub(crate) fn modules(&self) -> impl Iterator<Item = (&ModuleRow, &SetRow)> {
        let modules = self.modules.values();
        modules.filter_map(|module| Some((&*module.row, self.set(module.row.set)?)))
    }

    pub fn program(&self, id: ProgramId) -> Option<&Arc<Program>> {
        self.programs.get(&id)
    }

    /// How many processes use it.
    pub fn program_users(&self, id: ProgramId) -> u32 {
        self.program_users.get(&id).copied().unwrap_or(0)
    }

    pub fn programs(&self) -> impl Iterator<Item = (ProgramId, &Arc<Program>)> {
        self.programs.iter().map(|(id, program)| (*id, program))
    }

    pub fn process(&self, id: BkProcessId) -> Option<&ViewProcessRow> {
        self.processes.get(id.0).map(|cell| &cell.row)
    }

    pub fn alias_of(&self, id: BkProcessId) -> Option<&str> {
        let cell = self.processes.get(id.0)?;
        let program = self.programs.get(&cell.row.program)?;
        Some(&program.bk_process_name)
    }

    pub fn cloud_name(&self, id: u32) -> Option<&str> {
        self.clouds.get(&id).map(|name| &**name)
    }

    pub fn n_processes(&self) -> usize {
        self.processes.len()
    }

    /// How many instances it should have.
    pub fn expected_instances(&self, id: BkProcessId) -> u32 {
        let cell = self.processes.get(id.0).filter(|cell| !cell.row.vanished);
        let program = cell.and_then(|cell| self.programs.get(&cell.row.program));
        program.map_or(0, |program| program.proc_num)
    }

    pub fn has_vanished(&self, id: BkProcessId) -> bool {
        let cell = self.processes.get(id.0);
        cell.is_some_and(|cell| cell.row.vanished)
    }

    /// Processes that vanished from their source, or have too many instances: `control` unregisters stopped ones.
    pub fn surplus(&self) -> &RoaringBitmap {
        &self.surplus
    }

    /// The largest `proc_num` of an alias in a module, the base of `inst_id`. Vanished processes count only if no other is left.
    pub fn largest_proc_num(&self, module: ModuleId, alias: &str) -> u32 {
        let counts = self
            .modules
            .get(&module)
            .and_then(|place| place.proc_nums.get(alias));
        counts.and_then(|counts| counts.largest()).unwrap_or(1)
    }
}
