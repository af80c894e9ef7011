//! What changed since statuses were last saved, or sent to other replicas. Only the fleet that is changed has it, not its
//! snapshots.

use model::change::ProcessId;
use roaring::RoaringBitmap;

use crate::columns::place;

#[derive(Debug, Default)]
pub(crate) struct Unsaved {
    /// Blocks where more than figures changed since they were last saved.
    pub(crate) dirty: RoaringBitmap,
    /// Blocks where only figures changed: they are saved later.
    pub(crate) stale: RoaringBitmap,
    /// Where the next search for stale blocks starts, so that each gets its turn.
    pub(crate) next_stale: u32,
    /// Processes with a report since the last call; kept only for other replicas.
    pub(crate) moved: Option<RoaringBitmap>,
    /// An agent connected or disconnected since the last save.
    pub(crate) links_moved: bool,
}

impl Unsaved {
    /// An agent connected here reported a status; `moved` when more than figures changed.
    pub(crate) fn reported(&mut self, id: ProcessId, moved: bool) {
        if let Some(ids) = &mut self.moved {
            ids.insert(id.0);
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
