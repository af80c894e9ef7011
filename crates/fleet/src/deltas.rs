//! Statuses as bytes, for other replicas.
//!
//! Each is an entry as in a shard of format 1, after the id of its process and the flags that its agent holds. Conditions are
//! beside them, each after the id of its process, so that replicas of earlier versions can read the rest; so are the memory of
//! runs that the kernel killed and the results of probes. Only the latest status
//! matters, so there is no queue: changed processes are a set of ids ([`crate::moved`]), and their statuses are read when they
//! are sent.

use std::collections::HashMap;

use model::change::{HostId, ProcessId};
use model::status::OomMemory;

use crate::Fleet;
use crate::condition::ProbeHealth;
use crate::moved::MovedProcess;
use crate::shards::{
    Entry, Reader, Told, read_memory, read_probes, write_condition, write_entry, write_memory,
    write_probes,
};

impl Fleet {
    /// Starts to collect the ids of processes with reports.
    pub fn follow_moves(&mut self) {
        self.unsaved.moved.get_or_insert_default();
    }

    /// Processes of which more than figures changed since the last call; and about `most_figures` others with reports, those
    /// of a host together, the hosts in turn.
    pub fn take_moved(&mut self, most_figures: usize) -> Vec<MovedProcess> {
        let Self {
            unsaved,
            hosts,
            columns,
            ..
        } = self;
        let Some(moved) = &mut unsaved.moved else {
            return Vec::new();
        };
        let host_of = |id| columns.identity(id).map(|(host, _)| host);
        let processes_of = |host| hosts.processes(host).iter().map(|(_, id)| *id);
        moved.take(most_figures, host_of, processes_of)
    }

    /// All processes of a host with reports since they were last taken.
    pub fn take_moved_of(&mut self, host: HostId) -> Vec<MovedProcess> {
        let Self { unsaved, hosts, .. } = self;
        let Some(moved) = &mut unsaved.moved else {
            return Vec::new();
        };
        let processes = hosts.processes(host).iter();
        moved.take_of(host, processes.map(|(_, id)| *id))
    }

    /// Appends the status of one process, unless no agent has ever reported it.
    pub fn write_status(&self, id: ProcessId, written: &mut WrittenStatuses) {
        let Some((block, at)) = self.columns.block(id) else {
            return;
        };
        let seen = block.observed.read(at);
        if seen.reported_at != 0 {
            let WrittenStatuses {
                statuses,
                conditions,
                memories,
                probes,
            } = written;
            statuses.extend(id.0.to_le_bytes());
            statuses.push(seen.held);
            write_entry(statuses, block.incarnation[at], &seen);
            conditions.extend(id.0.to_le_bytes());
            write_condition(conditions, &seen);
            let extras = seen.extras.as_deref();
            if let Some(memory) = extras.and_then(|extras| extras.oom_memory) {
                memories.extend(id.0.to_le_bytes());
                write_memory(memories, memory);
            }
            if let Some(results) = extras.and_then(|extras| extras.probes.as_deref()) {
                probes.extend(id.0.to_le_bytes());
                write_probes(probes, results);
            }
        }
    }

    /// Applies what [`Self::write_status`] wrote at another replica, for processes of this host only. Stops at invalid bytes.
    pub fn read_statuses(
        &mut self,
        host: HostId,
        statuses: &[u8],
        conditions: &[u8],
        memories: &[u8],
        probes: &[u8],
    ) -> StatusesRead {
        let (mut reader, mut conditions) = (Reader(statuses), Reader(conditions));
        let memories: HashMap<ProcessId, OomMemory> = by_process(memories, read_memory);
        let mut probes: HashMap<ProcessId, ProbeHealth> = by_process(probes, read_probes);
        let mut read = StatusesRead::default();
        while let Some((id, held, mut entry)) = read_one(&mut reader) {
            // In the same order; a replica of an earlier version sends none.
            if let Some((of, told)) = read_condition(&mut conditions)
                && of == id
            {
                entry.told = told;
                entry.told.memory = memories.get(&id).copied();
                entry.told.probes = probes.remove(&id).map(Box::new);
            }
            let is_here = self.columns.identity(id).is_some_and(|(of, _)| of == host);
            let Some(moved) = is_here
                .then(|| self.put_entry(id, entry, Some(held)))
                .flatten()
            else {
                read.n_unknown += 1;
                continue;
            };
            self.unsaved.mark(id, moved);
            if moved {
                read.changed.push(id);
            }
        }
        read
    }
}

/// Statuses of one host as bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenStatuses {
    pub statuses: Vec<u8>,
    pub conditions: Vec<u8>,
    pub memories: Vec<u8>,
    pub probes: Vec<u8>,
}

impl WrittenStatuses {
    pub fn n_bytes(&self) -> usize {
        let more = self.memories.len() + self.probes.len();
        self.statuses.len() + self.conditions.len() + more
    }
}

/// How statuses of another replica changed the fleet.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StatusesRead {
    /// Processes of which more than figures changed.
    pub changed: Vec<ProcessId>,
    /// Statuses of processes that are not known here, or were registered again.
    pub n_unknown: usize,
}

/// What some processes have, each after the id of its process.
fn by_process<T>(bytes: &[u8], read: fn(&mut Reader<'_>) -> Option<T>) -> HashMap<ProcessId, T> {
    let mut reader = Reader(bytes);
    std::iter::from_fn(|| {
        let id = reader.u32()?;
        Some((ProcessId(id), read(&mut reader)?))
    })
    .collect()
}

fn read_one(reader: &mut Reader<'_>) -> Option<(ProcessId, u8, Entry)> {
    let (id, held) = (reader.u32()?, reader.u8()?);
    Some((ProcessId(id), held, Entry::read(reader)?))
}

fn read_condition(reader: &mut Reader<'_>) -> Option<(ProcessId, Told)> {
    let id = reader.u32()?;
    Some((ProcessId(id), Told::read(reader)?))
}
