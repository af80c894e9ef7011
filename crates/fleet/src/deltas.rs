//! Statuses on their way to other replicas: those of some processes, as bytes.
//!
//! Each is an entry as in a shard, behind the id of its process and what its agent holds. The latest counts, so nothing
//! waits in a queue: what moved is a set of ids, and their statuses are read when they are sent.

use model::change::{HostId, ProcessId};
use roaring::RoaringBitmap;

use crate::Fleet;
use crate::shards::{Entry, Reader, write_entry};

impl Fleet {
    /// From now on it is remembered which processes' agents report.
    pub fn follow_moves(&mut self) {
        self.columns.moved.get_or_insert_default();
    }

    /// Processes whose agents reported since the last call.
    pub fn take_moved(&mut self) -> RoaringBitmap {
        self.columns
            .moved
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// The status of one process, appended; nothing, when no agent has ever reported it. The host is whose it is.
    pub fn write_status(&self, id: ProcessId, bytes: &mut Vec<u8>) -> Option<HostId> {
        let (block, at) = self.columns.block(id)?;
        if block.reported_at[at] != 0 {
            bytes.extend(id.0.to_le_bytes());
            bytes.push(block.held_byte(at));
            write_entry(bytes, block, at, self.columns.texts(id));
        }
        Some(HostId(block.host[at]))
    }

    /// Takes in what [`Self::write_status`] wrote elsewhere, for processes of this host alone. Bytes that make no sense
    /// end it.
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
                block.hold_byte(at, held);
            }
            self.columns.soil(id, moved);
            if moved {
                read.changed.push(id);
            }
        }
        read
    }
}

/// What other replicas' statuses did to the picture.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StatusesRead {
    /// More than their figures changed.
    pub changed: Vec<ProcessId>,
    /// Of processes that are not here, or are others by now.
    pub n_unknown: usize,
}

fn read_one(reader: &mut Reader<'_>) -> Option<(ProcessId, u8, Entry)> {
    let (id, held) = (reader.u32()?, reader.u8()?);
    Some((ProcessId(id), held, Entry::read(reader)?))
}
