//! Processes in columns: blocks of [`BLOCK`] rows, one array per field, without padding.
//!
//! A block exists while one of its rows does. Texts (version, message) are beside the columns, because most are empty.

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use model::change::{DefinitionId, HostId, NameId, ProcessId, ProcessRow, Revision};
use model::status::OomMemory;
use model::topology::BkProcessId;
use model::{Flag, State, Status};
use roaring::RoaringBitmap;
use std::hash::BuildHasher;

use crate::condition::{Condition, Health, Marks, PackedExit, ProbeHealth};
use crate::to_secs;

/// Rows in a block; also the size of a status shard in the store.
pub(crate) const BLOCK: usize = 1024;
const NONE: u32 = u32::MAX;
/// How an agent's message says that a file differs from its md5.
const CONFIG_DRIFT: &str = "config drift: ";

#[derive(Debug)]
pub(crate) struct Block {
    live: u32,
    pub(crate) host: [u32; BLOCK],
    pub(crate) name: [u32; BLOCK],
    pub(crate) definition: [u32; BLOCK],
    next_in_host: [u32; BLOCK],
    next_of_owner: [u32; BLOCK],
    pub(crate) incarnation: [u64; BLOCK],
    /// The `bk_process_id` that it is an instance of, or [`NONE`].
    owner: [u32; BLOCK],
    pub(crate) registered_at: [u32; BLOCK],
    flags: [Flags; BLOCK],
    pub(crate) state: [State; BLOCK],
    pub(crate) pid: [i32; BLOCK],
    pub(crate) started_at: [u32; BLOCK],
    pub(crate) reported_at: [u32; BLOCK],
    pub(crate) cpu: [f32; BLOCK],
    pub(crate) mem: [f32; BLOCK],
    pub(crate) fd: [u32; BLOCK],
    pub(crate) disk: [u64; BLOCK],
    pub(crate) net: [u64; BLOCK],
    marks: [Marks; BLOCK],
    restarts: [u16; BLOCK],
    exit: [PackedExit; BLOCK],
    exit_at: [u32; BLOCK],
    next_at: [u32; BLOCK],
}

/// Flag and managed in one byte: the desired ones in the lower half, those that the agent last reported in the upper half. A
/// half that is 0 is unset: the row is free, or no agent has reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flags(u8);

impl Flags {
    const FREE: Self = Self(0);
    const LOWER: u8 = 0x0F;

    fn half(flag: Flag, managed: bool) -> u8 {
        u8::from(flag) | u8::from(managed) << 2 | 1 << 3
    }

    fn of_half(half: u8) -> (Flag, bool) {
        (Flag::try_from(half & 3).unwrap_or_default(), half & 4 != 0)
    }

    fn desired(self) -> (Flag, bool) {
        Self::of_half(self.0 & Self::LOWER)
    }

    fn set_desired(&mut self, flag: Flag, managed: bool) {
        self.0 = self.0 & !Self::LOWER | Self::half(flag, managed);
    }

    fn held(self) -> Option<(Flag, bool)> {
        let half = self.0 >> 4;
        (half != 0).then(|| Self::of_half(half))
    }

    fn set_held(&mut self, held: Option<(Flag, bool)>) {
        let half = held.map_or(0, |(flag, managed)| Self::half(flag, managed));
        self.0 = self.0 & Self::LOWER | half << 4;
    }
}

impl Block {
    fn new() -> Box<Self> {
        Box::new(Self {
            live: 0,
            host: [0; BLOCK],
            name: [0; BLOCK],
            definition: [0; BLOCK],
            next_in_host: [NONE; BLOCK],
            next_of_owner: [NONE; BLOCK],
            incarnation: [0; BLOCK],
            owner: [NONE; BLOCK],
            registered_at: [0; BLOCK],
            flags: [Flags::FREE; BLOCK],
            state: [State::Unknown; BLOCK],
            pid: [-1; BLOCK],
            started_at: [0; BLOCK],
            reported_at: [0; BLOCK],
            cpu: [0.0; BLOCK],
            mem: [0.0; BLOCK],
            fd: [0; BLOCK],
            disk: [0; BLOCK],
            net: [0; BLOCK],
            marks: [Condition::NONE.marks; BLOCK],
            restarts: [0; BLOCK],
            exit: [Condition::NONE.exit; BLOCK],
            exit_at: [0; BLOCK],
            next_at: [0; BLOCK],
        })
    }

    pub(crate) fn is_live(&self, at: usize) -> bool {
        self.flags[at] != Flags::FREE
    }

    pub(crate) fn flag(&self, at: usize) -> Flag {
        self.flags[at].desired().0
    }

    pub(crate) fn managed(&self, at: usize) -> bool {
        self.flags[at].desired().1
    }

    /// Flag and managed as the agent last reported them.
    pub(crate) fn held(&self, at: usize) -> Option<(Flag, bool)> {
        self.flags[at].held()
    }

    /// The same as a byte; 0 when no agent has reported.
    pub(crate) fn held_byte(&self, at: usize) -> u8 {
        self.flags[at].0 >> 4
    }

    pub(crate) fn set_held_byte(&mut self, at: usize, held: u8) {
        self.flags[at].0 = self.flags[at].0 & Flags::LOWER | (held & Flags::LOWER) << 4;
    }

    pub(crate) fn owner(&self, at: usize) -> Option<BkProcessId> {
        Some(self.owner[at])
            .filter(|owner| *owner != NONE)
            .map(BkProcessId)
    }

    fn write(&mut self, at: usize, row: &ProcessRow) {
        self.host[at] = row.host.0;
        self.name[at] = row.name.0;
        self.definition[at] = row.definition.0;
        self.incarnation[at] = row.incarnation.0;
        self.owner[at] = row.owner.map_or(NONE, |owner| owner.0);
        self.registered_at[at] = to_secs(row.registered_at);
        self.flags[at].set_desired(row.flag, row.managed);
    }

    fn clear_status(&mut self, at: usize) {
        self.state[at] = State::Unknown;
        self.pid[at] = -1;
        self.flags[at].set_held(None);
        (self.started_at[at], self.reported_at[at]) = (0, 0);
        (self.cpu[at], self.mem[at]) = (0.0, 0.0);
        (self.fd[at], self.disk[at], self.net[at]) = (0, 0, 0);
        self.set_condition(at, Condition::NONE);
    }

    pub(crate) fn condition(&self, at: usize) -> Condition {
        Condition {
            marks: self.marks[at],
            restarts: self.restarts[at],
            exit: self.exit[at],
            exit_at: self.exit_at[at],
            next_at: self.next_at[at],
        }
    }

    /// True when it changed.
    pub(crate) fn set_condition(&mut self, at: usize, condition: Condition) -> bool {
        let changed = self.condition(at) != condition;
        let Condition {
            marks,
            restarts,
            exit,
            exit_at,
            next_at,
        } = condition;
        (self.marks[at], self.restarts[at], self.exit[at]) = (marks, restarts, exit);
        (self.exit_at[at], self.next_at[at]) = (exit_at, next_at);
        changed
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Texts {
    pub(crate) version: Box<str>,
    pub(crate) message: Box<str>,
}

#[derive(Debug, Default)]
pub(crate) struct Columns {
    pub(crate) blocks: Vec<Option<Box<Block>>>,
    by_key: HashTable<u32>,
    hasher: DefaultHashBuilder,
    texts: HashMap<ProcessId, Texts>,
    /// Processes whose message says that a config file differs.
    pub(crate) drifted: RoaringBitmap,
    /// Of processes with a health check.
    health: HashMap<ProcessId, Health>,
    /// Of processes with probes.
    probes: HashMap<ProcessId, Box<ProbeHealth>>,
    /// Of processes whose last run the kernel killed because memory was short.
    oom_memory: HashMap<ProcessId, OomMemory>,
    free: RoaringBitmap,
    next_id: u32,
    len: usize,
    /// Blocks where more than figures changed since they were last saved.
    pub(crate) dirty: RoaringBitmap,
    /// Blocks where only figures changed: they are saved later.
    pub(crate) stale: RoaringBitmap,
    /// Where the next search for stale blocks starts, so that each gets its turn.
    pub(crate) next_stale: u32,
    /// Processes with a report since the last call; kept only for other replicas.
    pub(crate) moved: Option<RoaringBitmap>,
}

pub(crate) fn place(id: ProcessId) -> (usize, usize) {
    (id.index() / BLOCK, id.index() % BLOCK)
}

impl Columns {
    pub(crate) fn block(&self, id: ProcessId) -> Option<(&Block, usize)> {
        let (block, at) = place(id);
        let block = self.blocks.get(block)?.as_deref()?;
        block.is_live(at).then_some((block, at))
    }

    pub(crate) fn block_mut(&mut self, id: ProcessId) -> Option<(&mut Block, usize)> {
        let (block, at) = place(id);
        let block = self.blocks.get_mut(block)?.as_deref_mut()?;
        block.is_live(at).then_some((block, at))
    }

    pub(crate) fn identity(&self, id: ProcessId) -> Option<(HostId, NameId)> {
        self.block(id)
            .map(|(block, at)| (HostId(block.host[at]), NameId(block.name[at])))
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

    pub(crate) fn next_in_host(&self, id: ProcessId) -> Option<ProcessId> {
        let (block, at) = self.block(id)?;
        Some(block.next_in_host[at])
            .filter(|next| *next != NONE)
            .map(ProcessId)
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

    pub(crate) fn texts(&self, id: ProcessId) -> Option<&Texts> {
        self.texts.get(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn n_running(&self) -> usize {
        self.count(|block| &block.state, |state| *state == State::Running)
    }

    pub(crate) fn n_ready(&self) -> usize {
        self.count(|block| &block.marks, |marks| marks.is_ready())
    }

    fn count<T>(
        &self,
        column: fn(&Block) -> &[T; BLOCK],
        is_counted: impl Fn(&T) -> bool,
    ) -> usize {
        let in_block = |block: &Block| {
            let rows = column(block).iter().zip(&block.flags);
            rows.filter(|(value, flags)| is_counted(value) && **flags != Flags::FREE)
                .count()
        };
        let blocks = self.blocks.iter().flatten();
        blocks.map(|block| in_block(block)).sum()
    }

    pub(crate) fn next_id(&self) -> u32 {
        self.next_id
    }

    pub(crate) fn free_ids(&self) -> Vec<u32> {
        // Taken from the end, so the smallest come first.
        self.free.iter().rev().collect()
    }

    pub(crate) fn find(&self, host: HostId, name: NameId) -> Option<ProcessId> {
        self.by_key
            .find(self.hasher.hash_one((host.0, name.0)), |id| {
                self.identity(ProcessId(*id)) == Some((host, name))
            })
            .map(|id| ProcessId(*id))
    }

    /// Adds a row that was free; `first` is the head of its host's list.
    pub(crate) fn insert(&mut self, row: &ProcessRow, first: Option<ProcessId>) {
        let (index, at) = place(row.id);
        if self.blocks.len() <= index {
            self.blocks.resize_with(index + 1, || None);
        }
        // Skipped ids are free.
        if row.id.0 >= self.next_id {
            self.free.insert_range(self.next_id..row.id.0);
            self.next_id = row.id.0 + 1;
        } else {
            self.free.remove(row.id.0);
        }
        let block = self.blocks[index].get_or_insert_with(Block::new);
        block.write(at, row);
        block.clear_status(at);
        block.next_in_host[at] = first.map_or(NONE, |first| first.0);
        block.next_of_owner[at] = NONE;
        block.live += 1;
        self.len += 1;
        let (blocks, hasher) = (&self.blocks, &self.hasher);
        self.by_key
            .insert_unique(hasher.hash_one((row.host.0, row.name.0)), row.id.0, |id| {
                hash_of(hasher, blocks, *id)
            });
    }

    pub(crate) fn update(&mut self, row: &ProcessRow) {
        if let Some((block, at)) = self.block_mut(row.id) {
            block.write(at, row);
        }
    }

    /// Removes a row; returns the new head of its host's list.
    pub(crate) fn remove(&mut self, id: ProcessId, first: Option<ProcessId>) -> Option<ProcessId> {
        let (host, name) = self.identity(id)?;
        let hash = self.hasher.hash_one((host.0, name.0));
        if let Ok(entry) = self.by_key.find_entry(hash, |other| *other == id.0) {
            entry.remove();
        }
        let first = self.unchain(id, first);
        self.texts.remove(&id);
        self.drifted.remove(id.0);
        self.health.remove(&id);
        self.probes.remove(&id);
        self.oom_memory.remove(&id);
        let (index, at) = place(id);
        if let Some(block) = self.blocks[index].as_deref_mut() {
            block.flags[at] = Flags::FREE;
            block.live -= 1;
            if block.live == 0 {
                self.blocks[index] = None;
            }
        }
        self.dirty.insert(index as u32);
        self.free.insert(id.0);
        self.len -= 1;
        first
    }

    fn unchain(&mut self, id: ProcessId, first: Option<ProcessId>) -> Option<ProcessId> {
        let after = self.next_in_host(id);
        if first == Some(id) {
            return after;
        }
        let mut cursor = first;
        while let Some(current) = cursor {
            cursor = self.next_in_host(current);
            if cursor == Some(id)
                && let Some((block, at)) = self.block_mut(current)
            {
                block.next_in_host[at] = after.map_or(NONE, |after| after.0);
                break;
            }
        }
        first
    }

    pub(crate) fn forget_status(&mut self, id: ProcessId) {
        self.texts.remove(&id);
        self.drifted.remove(id.0);
        self.health.remove(&id);
        self.probes.remove(&id);
        self.oom_memory.remove(&id);
        if let Some((block, at)) = self.block_mut(id) {
            block.clear_status(at);
        }
    }

    /// Writes a status; true when more than figures changed.
    pub(crate) fn observe(&mut self, id: ProcessId, status: Status) -> bool {
        if let Some(moved) = &mut self.moved {
            moved.insert(id.0);
        }
        let Some((block, at)) = self.block_mut(id) else {
            return false;
        };
        let started_at = to_secs(status.started_at);
        let moved = block.state[at] != status.state
            || block.pid[at] != status.pid
            || block.started_at[at] != started_at;
        block.state[at] = status.state;
        block.pid[at] = status.pid;
        block.started_at[at] = started_at;
        block.reported_at[at] = to_secs(status.reported_at);
        block.cpu[at] = status.cpu;
        block.mem[at] = status.mem;
        block.fd[at] = status.fd;
        block.disk[at] = status.disk;
        block.net[at] = status.net;
        block.flags[at].set_held(status.flag.zip(status.managed));
        let moved = block.set_condition(at, Condition::of(&status)) | moved;
        let texts = Texts {
            version: status.version.into(),
            message: status.message.into(),
        };
        let health = status.health.map(Health::of);
        let probes = ProbeHealth::of(status.probes);
        let memory = status.last_exit.and_then(|last| last.memory);
        let moved = moved | self.set_texts(id, texts) | self.set_health(id, health);
        let moved = moved | self.set_oom_memory(id, memory) | self.set_probes(id, probes);
        self.mark_unsaved(id, moved);
        moved
    }

    /// Marks the block of a status as not saved.
    pub(crate) fn mark_unsaved(&mut self, id: ProcessId, moved: bool) {
        let block = (id.index() / BLOCK) as u32;
        match moved {
            true => self.dirty.insert(block),
            false => self.stale.insert(block),
        };
    }

    pub(crate) fn health(&self, id: ProcessId) -> Option<&Health> {
        self.health.get(&id)
    }

    pub(crate) fn probes(&self, id: ProcessId) -> Option<&ProbeHealth> {
        self.probes.get(&id).map(Box::as_ref)
    }

    pub(crate) fn oom_memory(&self, id: ProcessId) -> Option<OomMemory> {
        self.oom_memory.get(&id).copied()
    }

    /// True when it changed.
    pub(crate) fn set_oom_memory(&mut self, id: ProcessId, memory: Option<OomMemory>) -> bool {
        let before = match memory {
            Some(memory) => self.oom_memory.insert(id, memory),
            None => self.oom_memory.remove(&id),
        };
        before != memory
    }

    /// True when more than its time changed.
    pub(crate) fn set_health(&mut self, id: ProcessId, health: Option<Health>) -> bool {
        let changed = Health::differs(self.health.get(&id), health.as_ref());
        match health {
            Some(health) => drop(self.health.insert(id, health)),
            None => drop(self.health.remove(&id)),
        }
        changed
    }

    /// True when more than their times changed.
    pub(crate) fn set_probes(&mut self, id: ProcessId, probes: Option<Box<ProbeHealth>>) -> bool {
        let changed = ProbeHealth::differs(self.probes(id), probes.as_deref());
        match probes {
            Some(probes) => drop(self.probes.insert(id, probes)),
            None => drop(self.probes.remove(&id)),
        }
        changed
    }

    /// True when they changed.
    pub(crate) fn set_texts(&mut self, id: ProcessId, texts: Texts) -> bool {
        match texts.message.contains(CONFIG_DRIFT) {
            true => self.drifted.insert(id.0),
            false => self.drifted.remove(id.0),
        };
        match (self.texts.get(&id), texts == Texts::default()) {
            (None, true) => false,
            (Some(_), true) => self.texts.remove(&id).is_some(),
            (Some(before), false) if *before == texts => false,
            (Some(_) | None, false) => {
                self.texts.insert(id, texts);
                true
            }
        }
    }
}

fn hash_of(hasher: &DefaultHashBuilder, blocks: &[Option<Box<Block>>], id: u32) -> u64 {
    let (block, at) = place(ProcessId(id));
    match &blocks[block] {
        Some(block) => hasher.hash_one((block.host[at], block.name[at])),
        None => 0,
    }
}
