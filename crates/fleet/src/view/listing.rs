//! Adds the processes of a commit to the bitmaps of the rows that they belong to: many at once, because a bitmap takes many
//! ids much faster than one by one.

use std::sync::Arc;

use hashbrown::HashMap;
use model::topology::{BusinessId, ModuleId, ProgramId, ServiceId, ViewProcessRow};
use roaring::RoaringBitmap;

use super::{Home, View};

/// Processes that no bitmap has yet.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The service of the processes in `run`.
    service: Option<ServiceId>,
    run: Vec<u32>,
    /// Bitmaps with very many processes are extended last.
    by_module: HashMap<ModuleId, Vec<u32>>,
    by_cloud: HashMap<u32, Vec<u32>>,
    by_alias: HashMap<(BusinessId, ProgramId), Vec<u32>>,
    /// How many processes of a module have a program, and did not vanish, or did.
    counts: HashMap<(ModuleId, ProgramId, bool), u32>,
    home: Option<Home>,
}

impl View {
    /// Takes a process that is in no bitmap.
    pub(super) fn list_later(&mut self, row: &ViewProcessRow, listing: &mut Listing) {
        if listing.service != Some(row.service) {
            self.end_run(listing);
            listing.service = Some(row.service);
            listing.home = self.home(row.id);
        }
        let (Some(home), true) = (listing.home, self.programs.contains_key(&row.program)) else {
            return;
        };
        listing.run.push(row.id.0);
        let key = (home.business, row.program);
        listing.by_alias.entry(key).or_default().push(row.id.0);
        let key = (home.module, row.program, !row.vanished);
        *listing.counts.entry(key).or_default() += 1;
    }

    /// Adds the processes of one service to their machine.
    fn end_run(&mut self, listing: &mut Listing) {
        if let Some(home) = listing.home.filter(|_| !listing.run.is_empty()) {
            if let Some(machine) = self.machines.get_mut(&home.machine) {
                Arc::make_mut(machine).processes.extend(&listing.run);
            }
            let of_cloud = listing.by_cloud.entry(home.cloud).or_default();
            of_cloud.extend_from_slice(&listing.run);
            let of_module = listing.by_module.entry(home.module).or_default();
            of_module.append(&mut listing.run);
        }
        listing.run.clear();
        listing.service = None;
    }

    /// Adds all that were taken to all bitmaps.
    pub(super) fn end_listing(&mut self, listing: &mut Listing) {
        self.end_run(listing);
        for (id, ids) in listing.by_module.drain() {
            let ids = RoaringBitmap::from_iter(ids);
            let Some(module) = self.modules.get_mut(&id).map(Arc::make_mut) else {
                continue;
            };
            module.processes |= &ids;
            let Some(set) = self.sets.get_mut(&module.row.set).map(Arc::make_mut) else {
                continue;
            };
            set.processes |= &ids;
            let businesses = Arc::make_mut(&mut self.businesses);
            if let Some(business) = businesses.get_mut(&set.row.business) {
                Arc::make_mut(business).processes |= &ids;
            }
        }
        for (cloud, ids) in listing.by_cloud.drain() {
            let all = self.by_cloud.get_or_default(cloud);
            *Arc::make_mut(all) |= RoaringBitmap::from_iter(ids);
        }
        for ((module, program, stays), count) in listing.counts.drain() {
            let program = self.programs.get(&program);
            let module = self.modules.get_mut(&module).map(Arc::make_mut);
            if let Some((module, program)) = module.zip(program) {
                module.count_in(&program.bk_process_name, stays, program.proc_num, count);
            }
        }
        for ((business, program), ids) in listing.by_alias.drain() {
            let Some(program) = self.programs.get(&program) else {
                continue;
            };
            let ids = RoaringBitmap::from_iter(ids);
            let aliases = self.aliases.get_or_default(business);
            match aliases.get_mut(program.bk_process_name.as_str()) {
                Some(named) => *Arc::make_mut(named) |= ids,
                None => {
                    let alias = program.bk_process_name.as_str().into();
                    aliases.insert(alias, Arc::new(ids));
                }
            }
        }
    }
}
