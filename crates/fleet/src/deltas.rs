//! Statuses as bytes, for other replicas.
//!
//! Each is an entry as in a shard, after the id of its process and the flags that its agent holds. Only the latest status
//! matters, so there is no queue: changed processes are a set of ids, and their statuses are read when they are sent.

use model::change::{HostId, ProcessId};
use roaring::RoaringBitmap;

use crate::Fleet;
use crate::shards::{Entry, Reader, write_entry};

impl Fleet {
    /// Starts to collect the ids of processes with reports.
    pub fn follow_moves(&mut self) {
        self.columns.moved.get_or_insert_default();
    }

    /// Processes with reports since the last call.
    pub fn take_moved(&mut self) -> RoaringBitmap {
        self.columns
            .moved
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Appends the status of one process, unless no agent has ever reported it; returns its host.
    pub fn write_status(&self, id: ProcessId, bytes: &mut Vec<u8>) -> Option<HostId> {
        let (block, at) = self.columns.block(id)?;
        if block.reported_at[at] != 0 {
            bytes.extend(id.0.to_le_bytes());
            bytes.push(block.held_byte(at));
            write_entry(bytes, block, at, self.columns.texts(id));
        }
        Some(HostId(block.host[at]))
    }

    /// Applies what [`Self::write_status`] wrote at another replica, for processes of this host only. Stops at invalid bytes.
    pub fn read_statuses(&mut self, host: HostId, bytes: &[u8]) -> StatusesRead {
        let mut reader = Reader(bytes);
        let mut read = StatusesRead::default();
        while let Some((id, held, entry)) = read_one(&mut reader) {
            let is_here = self.columns.identity(id).is_some_and(|(of, _)| of == host);
            let Some(moved) = is_here.then(|| self.put_entry(id, entry)).flatten() else {
                read.n_unknown += 1;
                continue;
            };
            if let Some((block, at)) = self.columns.block_mut(id) {
                block.set_held_byte(at, held);
            }
            self.columns.mark_unsaved(id, moved);
            if moved {
                read.changed.push(id);
            }
        }
        read
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

fn read_one(reader: &mut Reader<'_>) -> Option<(ProcessId, u8, Entry)> {
    let (id, held) = (reader.u32()?, reader.u8()?);
    Some((ProcessId(id), held, Entry::read(reader)?))
}
