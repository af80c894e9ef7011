//! Ordinals number the hosts that run the same alias in the same module; `inst_id` derives from them.

use hashbrown::{HashMap, HashSet};
use model::State;
use model::topology::{BkHostId, BkProcessId, ModuleId};
use roaring::RoaringBitmap;

use super::plan::{PlannedProcess, Planner};
use super::programs::AliasNumber;

/// Ordinals are unique within a module and alias.
type Group = (ModuleId, AliasNumber);

/// A group and a host in it.
type Place = (Group, BkHostId);

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
    ///
    /// A group that no process enters or leaves keeps its ordinals, so only the other groups are looked at as a whole.
    pub(super) fn ordinals(&mut self, planned: &mut [PlannedProcess<'_>]) {
        let ids: RoaringBitmap = planned.iter().map(|process| process.row.id.0).collect();
        let mut moved: HashSet<Group> = HashSet::new();
        for process in &mut *planned {
            let after = self.place_of(process);
            match self.ordinal_of(process.row.id) {
                Some((before, ordinal)) if before == after => process.row.ordinal = ordinal,
                before => moved.extend(
                    before
                        .map(|((group, _), _)| group)
                        .into_iter()
                        .chain([after.0]),
                ),
            }
        }
        let existing = self.view.processes_of(self.business).cloned();
        let existing = existing.unwrap_or_default();
        let go = &existing - &ids;
        let left = go.iter().filter_map(|id| self.ordinal_of(BkProcessId(id)));
        moved.extend(left.map(|((group, _), _)| group));
        if moved.is_empty() {
            return;
        }
        let needed: HashSet<Place> = planned
            .iter()
            .map(|process| self.place_of(process))
            .filter(|(group, _)| moved.contains(group))
            .collect();
        let mut groups: HashMap<Group, Ordinals> = HashMap::new();
        let stay = &existing & &ids;
        // Processes that stay come first, so that they keep their ordinals.
        for id in stay.iter().chain(&go).map(BkProcessId) {
            let Some((place, ordinal)) = self.ordinal_of(id) else {
                continue;
            };
            // A vanished process keeps its ordinal while it runs.
            if needed.contains(&place) || (go.contains(id.0) && self.runs(id)) {
                let (group, host) = place;
                groups.entry(group).or_default().keep(host, ordinal);
            }
        }
        for process in planned {
            let (group, host) = self.place_of(process);
            if moved.contains(&group) {
                process.row.ordinal = groups.entry(group).or_default().get(host);
            }
        }
    }

    /// The group and host of a process by the facts.
    fn place_of(&self, process: &PlannedProcess<'_>) -> Place {
        let alias = self.programs.get(process.program).alias;
        ((process.module, alias), process.machine)
    }

    /// The group, host and ordinal of a process in the view.
    fn ordinal_of(&self, id: BkProcessId) -> Option<(Place, u32)> {
        let row = self.view.process(id)?;
        let (module, machine) = self.view.place_of_service(row.service)?;
        let alias = self.programs.alias_of(row.program)?;
        Some((((module, alias), machine), row.ordinal))
    }

    /// Whether any instance of a process runs.
    fn runs(&self, id: BkProcessId) -> bool {
        let fleet = self.draft.fleet;
        let mut rows = fleet.instances_of(id).filter_map(|id| fleet.row(id));
        rows.any(|row| row.state() == State::Running)
    }
}
