//! Ordinals number the hosts that run the same alias in the same module; `inst_id` derives from them.

use std::collections::{HashMap, HashSet};

use model::State;
use model::topology::{BkHostId, BkProcessId, ModuleId};

use super::plan::{PlannedProcess, Planner};

/// Ordinals are unique within a module and alias.
type Group = (ModuleId, String);

/// The ordinals of one group.
#[derive(Debug, Default)]
struct Ordinals {
    of: HashMap<BkHostId, u32>,
    taken: HashSet<u32>,
    next: u32,
}

impl Ordinals {
    /// Keeps the ordinal of a host, unless another host has it.
    fn keep(&mut self, host: BkHostId, ordinal: u32) {
        if !self.of.contains_key(&host) && self.taken.insert(ordinal) {
            self.of.insert(host, ordinal);
        }
    }

    /// The host's ordinal, or the smallest free one.
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
    /// Hosts keep their ordinal within module and alias, even if ids of services and processes change; new hosts get the
    /// smallest free one.
    pub(super) fn ordinals(&mut self, planned: &mut [PlannedProcess<'_>]) {
        let places: Vec<Option<(Group, BkHostId)>> = planned
            .iter()
            .map(|process| self.place_of(process))
            .collect();
        let needed: HashSet<&(Group, BkHostId)> = places.iter().flatten().collect();
        let ids: HashSet<BkProcessId> = planned.iter().map(|process| process.row.id).collect();
        let mut groups: HashMap<Group, Ordinals> = HashMap::new();
        let existing = self.view.processes_of(self.business).into_iter().flatten();
        let (stay, go): (Vec<BkProcessId>, Vec<BkProcessId>) =
            existing.map(BkProcessId).partition(|id| ids.contains(id));
        // Processes that stay come first, so that they keep their ordinals.
        for id in stay.into_iter().chain(go) {
            let Some((place, ordinal)) = self.ordinal_of(id) else {
                continue;
            };
            // A vanished process keeps its ordinal while it runs.
            if needed.contains(&place) || (!ids.contains(&id) && self.runs(id)) {
                let (group, host) = place;
                groups.entry(group).or_default().keep(host, ordinal);
            }
        }
        for (process, place) in planned.iter_mut().zip(places) {
            if let Some((group, host)) = place {
                process.row.ordinal = groups.entry(group).or_default().get(host);
            }
        }
    }

    /// The group and host of a process by the facts.
    fn place_of(&self, process: &PlannedProcess<'_>) -> Option<(Group, BkHostId)> {
        let service = self.planned_services.get(&process.row.service)?;
        let alias = process.program.bk_process_name.clone();
        Some(((process.module, alias), service.machine))
    }

    /// The group, host and ordinal of a process in the view.
    fn ordinal_of(&self, id: BkProcessId) -> Option<((Group, BkHostId), u32)> {
        let row = self.view.process(id)?;
        let service = self.view.service(row.service)?;
        let alias = self.view.alias_of(id)?.to_owned();
        Some((((service.module, alias), service.machine), row.ordinal))
    }

    /// Whether any instance of a process runs.
    fn runs(&self, id: BkProcessId) -> bool {
        let fleet = self.draft.fleet;
        let mut rows = fleet.instances_of(id).filter_map(|id| fleet.row(id));
        rows.any(|row| row.state() == State::Running)
    }
}
