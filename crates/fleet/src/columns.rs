//! Processes in columns: blocks of [`BLOCK`] rows, one array per field, without padding.
//!
//! A block exists while one of its rows does. What is registered is copied on write, block by block; what agents reported is
//! shared by all copies of a block, see [`ObservedBlock`].

use std::sync::Arc;

use model::change::{DefinitionId, HostId, NameId, ProcessId, ProcessRow, Revision};
use model::topology::BkProcessId;
use model::{Flag, State, UnixMillis};
use roaring::RoaringBitmap;

use crate::cow::Paged;
use crate::observed::{Observation, ObservedBlock};
use crate::to_secs;

/// Rows in a block; also the size of a status shard in the store.
pub(crate) const BLOCK: usize = 1024;
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
pub(crate) struct Block {
    live: u32,
    pub(crate) host: [u32; BLOCK],
    pub(crate) name: [u32; BLOCK],
    pub(crate) definition: [u32; BLOCK],
    next_of_owner: [u32; BLOCK],
    pub(crate) incarnation: [u64; BLOCK],
    /// The `bk_process_id` that it is an instance of, or [`NONE`].
    owner: [u32; BLOCK],
    pub(crate) registered_at: [u32; BLOCK],
    wanted: [Wanted; BLOCK],
    pub(crate) observed: Arc<ObservedBlock>,
}

/// The desired flag and managed in one byte; 0 for a row that is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wanted(u8);

impl Wanted {
    const FREE: Self = Self(0);

    fn new(flag: Flag, managed: bool) -> Self {
        Self(u8::from(flag) | u8::from(managed) << 2 | 1 << 3)
    }

    fn flag(self) -> Flag {
        Flag::try_from(self.0 & 3).unwrap_or_default()
    }

    fn managed(self) -> bool {
        self.0 & 4 != 0
    }
}

impl Block {
    fn new() -> Self {
        Self {
            live: 0,
            host: [0; BLOCK],
            name: [0; BLOCK],
            definition: [0; BLOCK],
            next_of_owner: [NONE; BLOCK],
            incarnation: [0; BLOCK],
            owner: [NONE; BLOCK],
            registered_at: [0; BLOCK],
            wanted: [Wanted::FREE; BLOCK],
            observed: ObservedBlock::new(),
        }
    }

    pub(crate) fn is_live(&self, at: usize) -> bool {
        self.wanted[at] != Wanted::FREE
    }

    pub(crate) fn flag(&self, at: usize) -> Flag {
        self.wanted[at].flag()
    }

    pub(crate) fn managed(&self, at: usize) -> bool {
        self.wanted[at].managed()
    }

    pub(crate) fn owner(&self, at: usize) -> Option<BkProcessId> {
        Some(self.owner[at])
            .filter(|owner| *owner != NONE)
            .map(BkProcessId)
    }

    /// What is registered.
    pub(crate) fn row(&self, id: ProcessId, at: usize) -> ProcessRow {
        ProcessRow {
            id,
            host: HostId(self.host[at]),
            name: NameId(self.name[at]),
            definition: DefinitionId(self.definition[at]),
            flag: self.flag(at),
            managed: self.managed(at),
            registered_at: UnixMillis::from_secs(i64::from(self.registered_at[at])),
            incarnation: Revision(self.incarnation[at]),
            owner: self.owner(at),
        }
    }

    fn write(&mut self, at: usize, row: &ProcessRow) {
        self.host[at] = row.host.0;
        self.name[at] = row.name.0;
        self.definition[at] = row.definition.0;
        self.incarnation[at] = row.incarnation.0;
        self.owner[at] = row.owner.map_or(NONE, |owner| owner.0);
        self.registered_at[at] = to_secs(row.registered_at);
        self.wanted[at] = Wanted::new(row.flag, row.managed);
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    blocks: Paged<Arc<Block>>,
    free: Arc<RoaringBitmap>,
    next_id: u32,
    len: usize,
}

pub(crate) fn place(id: ProcessId) -> (u32, usize) {
    (id.0 / BLOCK as u32, id.index() % BLOCK)
}

impl Columns {
    #[inline]
    pub(crate) fn block(&self, id: ProcessId) -> Option<(&Block, usize)> {
        let (block, at) = place(id);
        let block = self.blocks.get(block)?;
        block.is_live(at).then_some((&**block, at))
    }

    fn block_mut(&mut self, id: ProcessId) -> Option<(&mut Block, usize)> {
        let (number, at) = place(id);
        if !self.blocks.get(number)?.is_live(at) {
            return None;
        }
        let block = self.blocks.get_mut(number)?;
        Some((Arc::make_mut(block), at))
    }

    /// Every block with its number.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u32, &Block)> {
        self.blocks.iter().map(|(number, block)| (number, &**block))
    }

    pub(crate) fn block_numbered(&self, number: u32) -> Option<&Block> {
        self.blocks.get(number).map(|block| &**block)
    }

    pub(crate) fn identity(&self, id: ProcessId) -> Option<(HostId, NameId)> {
        self.block(id)
            .map(|(block, at)| (HostId(block.host[at]), NameId(block.name[at])))
    }

    pub(crate) fn row(&self, id: ProcessId) -> Option<ProcessRow> {
        let (block, at) = self.block(id)?;
        Some(block.row(id, at))
    }

    pub(crate) fn definition(&self, id: ProcessId) -> DefinitionId {
        DefinitionId(
            self.block(id)
                .map_or(NONE, |(block, at)| block.definition[at]),
        )
    }

    pub(crate) fn incarnation(&self, id: ProcessId) -> Revision {
        Revision(
            self.block(id)
                .map_or(0, |(block, at)| block.incarnation[at]),
        )
    }

    /// The next instance of the same owner.
    pub(crate) fn next_of_owner(&self, id: ProcessId) -> Option<ProcessId> {
        let (block, at) = self.block(id)?;
        Some(block.next_of_owner[at])
            .filter(|next| *next != NONE)
            .map(ProcessId)
    }

    pub(crate) fn set_next_of_owner(&mut self, id: ProcessId, next: Option<ProcessId>) {
        if let Some((block, at)) = self.block_mut(id) {
            block.next_of_owner[at] = next.map_or(NONE, |next| next.0);
        }
    }

    pub(crate) fn owner(&self, id: ProcessId) -> Option<BkProcessId> {
        let (block, at) = self.block(id)?;
        block.owner(at)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn n_running(&self) -> usize {
        self.count(|block, at| block.observed.state(at) == State::Running)
    }

    pub(crate) fn n_ready(&self) -> usize {
        self.count(|block, at| block.observed.marks(at).is_ready())
    }

    fn count(&self, is_counted: impl Fn(&Block, usize) -> bool) -> usize {
        let in_block = |block: &Block| {
            let rows = (0..BLOCK).filter(|at| block.is_live(*at) && is_counted(block, *at));
            rows.count()
        };
        self.blocks().map(|(_, block)| in_block(block)).sum()
    }

    pub(crate) fn next_id(&self) -> u32 {
        self.next_id
    }

    pub(crate) fn free_ids(&self) -> &Arc<RoaringBitmap> {
        &self.free
    }

    /// Adds a row that was free.
    pub(crate) fn insert(&mut self, row: &ProcessRow) {
        let (number, at) = place(row.id);
        // Skipped ids are free.
        if row.id.0 >= self.next_id {
            if row.id.0 > self.next_id {
                Arc::make_mut(&mut self.free).insert_range(self.next_id..row.id.0);
            }
            self.next_id = row.id.0 + 1;
        } else {
            Arc::make_mut(&mut self.free).remove(row.id.0);
        }
        if self.blocks.get(number).is_none() {
            self.blocks.insert(number, Arc::new(Block::new()));
        }
        let Some(block) = self.blocks.get_mut(number) else {
            return;
        };
        let block = Arc::make_mut(block);
        block.write(at, row);
        block.next_of_owner[at] = NONE;
        block.live += 1;
        block.observed.write(at, Observation::NONE);
        self.len += 1;
    }

    pub(crate) fn update(&mut self, row: &ProcessRow) {
        if let Some((block, at)) = self.block_mut(row.id) {
            block.write(at, row);
        }
    }

    pub(crate) fn remove(&mut self, id: ProcessId) {
        let (number, at) = place(id);
        let Some((block, _)) = self.block_mut(id) else {
            return;
        };
        block.wanted[at] = Wanted::FREE;
        block.live -= 1;
        let is_last = block.live == 0;
        block.observed.write(at, Observation::NONE);
        if is_last {
            self.blocks.remove(number);
        }
        Arc::make_mut(&mut self.free).insert(id.0);
        self.len -= 1;
    }

    pub(crate) fn forget_status(&self, id: ProcessId) {
        if let Some((block, at)) = self.block(id) {
            block.observed.write(at, Observation::NONE);
        }
    }
}
