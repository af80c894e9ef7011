//! Statuses on their way into the fleet.
//!
//! Who receives a status finds its process in a snapshot and packs it ([`HostProcesses`], [`PackedStatus`]), so that the holder of
//! the fleet has only to check that the process is still the same one, and to write.

use model::change::{HostId, NameId, ProcessId, Revision};
use model::topology::BkProcessId;
use model::{Flag, Status};

use crate::Fleet;
use crate::observed::{Observation, unpack_held};

/// The processes of one host, found by name: fastest in the order in which the fleet lists them.
#[derive(Debug)]
pub struct HostProcesses<'a> {
    fleet: &'a Fleet,
    host: HostId,
    listed: &'a [(NameId, ProcessId)],
    /// Behind the one that was found last.
    next: usize,
}

/// A status as the fleet keeps it, and its process.
#[derive(Debug)]
pub struct PackedStatus {
    host: HostId,
    /// Of the fleet in which its process was found.
    found_at: Revision,
    /// None if no such process was registered.
    process: Option<(NameId, ProcessId)>,
    seen: Observation,
}

impl PackedStatus {
    pub fn host(&self) -> HostId {
        self.host
    }
}

/// How one reported status changed the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    pub id: ProcessId,
    pub name: NameId,
    /// The state, run or message changed: watchers are notified. Otherwise only figures did.
    pub has_changed: bool,
    /// The process of the view that it is an instance of, if something changed.
    pub owner: Option<BkProcessId>,
    /// What the agent holds, if that is not what is recorded, or not what the agent held before.
    pub held: Option<(Flag, bool)>,
}

impl HostProcesses<'_> {
    /// None when there is no such process: the agent may be a moment behind.
    pub fn find(&mut self, namespace: &str, name: &str) -> Option<(NameId, ProcessId)> {
        let names = &self.fleet.names;
        if let Some(found) = self.listed.get(self.next)
            && names.get(found.0).is_some_and(|known| {
                (known.namespace.as_str(), known.name.as_str()) == (namespace, name)
            })
        {
            self.next += 1;
            return Some(*found);
        }
        let id = names.find_parts(namespace, name)?;
        let at = self
            .listed
            .binary_search_by_key(&id, |(name, _)| *name)
            .ok()?;
        self.next = at + 1;
        Some(self.listed[at])
    }

    /// Packs the status of a process, also of one that was not found, so that it counts as a status.
    pub fn pack(&self, process: Option<(NameId, ProcessId)>, status: Status) -> PackedStatus {
        PackedStatus {
            host: self.host,
            found_at: self.fleet.revision,
            process,
            seen: Observation::of(status),
        }
    }
}

impl Fleet {
    /// The processes of a host, for its agent's reports.
    pub fn host_processes(&self, host: HostId) -> HostProcesses<'_> {
        HostProcesses {
            fleet: self,
            host,
            listed: self.hosts.processes(host),
            next: 0,
        }
    }

    /// Applies a status that an agent reported. None when its process is not registered.
    pub fn observe(&mut self, status: PackedStatus) -> Option<Observed> {
        let PackedStatus {
            host,
            found_at,
            process,
            seen,
        } = status;
        let (name, found) = process?;
        let id =
            match found_at == self.revision || self.columns.identity(found) == Some((host, name)) {
                true => found,
                // It was registered again since it was found.
                false => self.hosts.find_process(host, name)?,
            };
        let (block, at) = self.columns.block(id)?;
        let before = block.observed.held(at);
        let holds_other = before != seen.held;
        let (held, held_before) = (unpack_held(seen.held), unpack_held(before));
        let recorded = (block.flag(at), block.managed(at));
        // The report before may still wait to be recorded: this one must come after it.
        let is_new = |held: &(Flag, bool)| {
            recorded != *held || held_before.is_some_and(|before| before != *held)
        };
        let has_changed = block.observed.write(at, seen);
        let owner = has_changed.then(|| block.owner(at)).flatten();
        self.unsaved.reported(host, id, has_changed, holds_other);
        if let Some(owner) = owner {
            self.recount(owner);
        }
        Some(Observed {
            id,
            name,
            has_changed,
            owner,
            held: held.filter(is_new),
        })
    }
}
