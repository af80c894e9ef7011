//! Ordinals: the number of a host among those that run the same alias in the same module, from which `inst_id` comes.

use std::collections::{HashMap, HashSet};

use model::State;
use model::topology::{BkHostId, BkProcessId, ModuleId};

use super::plan::{Planner, Wanted};

/// What ordinals are counted within.
type Group = (ModuleId, String);

/// The ordinals of one group.
#[derive(Debug, Default)]
struct Ordinals {
    of: HashMap<BkHostId, u32>,
    taken: HashSet<u32>,
    next: u32,
}

impl Ordinals {
    /// A host that has one keeps it, unless another has the same.
    fn keep(&mut self, host: BkHostId, ordinal: u32) {
        if !self.of.contains_key(&host) && self.taken.insert(ordinal) {
            self.of.insert(host, ordinal);
        }
    }

    /// What it has, or the smallest that is free.
    fn get(&mut self, host: BkHostId) -> u32 {
        if let Some(ordinal) = self.of.get(&host) {
            return *ordinal;
        }
        self.next = self.next.max(1);
        while !self.taken.insert(self.next) {
            self.next += 1;
        }
        self.of.insert(host, self.next);
        self.next
    }
}

impl Planner<'_> {
    /// Hosts keep their ordinal within module and alias, whatever happens to the ids of services and processes there; new
    /// ones take the smallest that is free.
    pub(super) fn ordinals(&mut self, wanted: &mut [Wanted<'_>]) {
        let places: Vec<Option<(Group, BkHostId)>> = wanted
            .iter()
            .map(|process| self.place_of(process))
            .collect();
        let needed: HashSet<&(Group, BkHostId)> = places.iter().flatten().collect();
        let ids: HashSet<BkProcessId> = wanted.iter().map(|process| process.row.id).collect();
        let mut groups: HashMap<Group, Ordinals> = HashMap::new();
        let existing = self.view.processes_of(self.business).into_iter().flatten();
        let (stay, go): (Vec<BkProcessId>, Vec<BkProcessId>) =
            existing.map(BkProcessId).partition(|id| ids.contains(id));
        // Those that stay first: what goes must not push them aside.
        for id in stay.into_iter().chain(go) {
            let Some((place, ordinal)) = self.ordinal_of(id) else {
                continue;
            };
            // What vanished may still run, and has its numbers as long as it does.
            if needed.contains(&place) || (!ids.contains(&id) && self.runs(id)) {
                let (group, host) = place;
                groups.entry(group).or_default().keep(host, ordinal);
            }
        }
        for (process, place) in wanted.iter_mut().zip(places) {
            if let Some((group, host)) = place {
                process.row.ordinal = groups.entry(group).or_default().get(host);
            }
        }
    }

    /// Where the facts have a process.
    fn place_of(&self, process: &Wanted<'_>) -> Option<(Group, BkHostId)> {
        let service = self.wanted_services.get(&process.row.service)?;
        let alias = process.program.bk_process_name.clone();
        Some(((process.module, alias), service.machine))
    }

    /// Where the view has it, and its ordinal there.
    fn ordinal_of(&self, id: BkProcessId) -> Option<((Group, BkHostId), u32)> {
        let row = self.view.process(id)?;
        let service = self.view.service(row.service)?;
        let alias = self.view.alias_of(id)?.to_owned();
        Some((((service.module, alias), service.machine), row.ordinal))
    }

    /// Whether any instance of a process does.
    fn runs(&self, id: BkProcessId) -> bool {
        let fleet = self.draft.fleet;
        let mut rows = fleet.instances_of(id).filter_map(|id| fleet.row(id));
        rows.any(|row| row.state() == State::Running)
    }
}
