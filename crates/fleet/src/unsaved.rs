//! What changed since statuses were last saved, or sent to other replicas. Only the fleet that is changed has it, not its
//! snapshots.

use model::change::{HostId, ProcessId};
use roaring::RoaringBitmap;

use crate::columns::place;
use crate::moved::Moved;

#[derive(Debug, Default)]
pub(crate) struct Unsaved {
    /// Blocks where more than figures changed since they were last saved.
    pub(crate) dirty: RoaringBitmap,
    /// Blocks where only figures changed: they are saved later.
    pub(crate) stale: RoaringBitmap,
    /// Where the next search for stale blocks starts, so that each gets its turn.
    pub(crate) next_stale: u32,
    /// Kept only for other replicas.
    pub(crate) moved: Option<Moved>,
    /// An agent connected or disconnected since the last save.
    pub(crate) links_moved: bool,
}

impl Unsaved {
    /// An agent connected here reported a status; `moved` when more than figures changed. Other replicas show what it holds,
    /// too.
    pub(crate) fn reported(&mut self, host: HostId, id: ProcessId, moved: bool, holds_other: bool) {
        if let Some(ids) = &mut self.moved {
            ids.add(host, id, moved || holds_other);
        }
        self.mark(id, moved);
    }

    /// Marks the block of a status as not saved.
    pub(crate) fn mark(&mut self, id: ProcessId, moved: bool) {
        let (block, _) = place(id);
        match moved {
            true => self.dirty.insert(block),
            false => self.stale.insert(block),
        };
    }
}
