//! Statuses as bytes, block by block, for the store: a restart shows them until agents report again.
//!
//! A shard is a format byte, then one entry per process that has ever reported. Each entry carries the incarnation of its
//! process, so that a process registered again does not inherit a status.

use model::bounds::{MAX_MESSAGE, MAX_VERSION};
use model::change::ProcessId;
use model::status::OomMemory;
use model::text::{sanitize_line, sanitize_lines};
use model::{State, UnixMillis};
use roaring::RoaringBitmap;

use crate::columns::{BLOCK, Block, Texts};
use crate::condition::{Condition, Health, Marks, PackedExit, ProbeHealth};
use crate::{Fleet, Link};

/// Statuses with their conditions, the memory of killed runs and the results of probes. Shards of earlier formats, which lack
/// some of it, are read, too.
const FORMAT: u8 = 4;
const FORMAT_WITHOUT_PROBES: u8 = 3;
const FORMAT_WITHOUT_MEMORY: u8 = 2;
const FORMAT_WITHOUT_CONDITIONS: u8 = 1;
/// Of the agents' last contacts.
const FORMAT_HOSTS: u8 = 1;
/// Shards with this bit hold agents' last contacts, not statuses.
const HOSTS: u32 = 1 << 31;
const HOSTS_PER_SHARD: u32 = 4096;

impl Fleet {
    /// The shards where more than figures changed since the last call.
    pub fn take_dirty_shards(&mut self) -> Vec<u32> {
        let dirty = std::mem::take(&mut self.columns.dirty);
        self.columns.stale -= &dirty;
        dirty.into_iter().collect()
    }

    /// Some of the shards where only figures changed, round robin. These can wait: agents report figures again.
    pub fn take_stale_shards(&mut self, most: usize) -> Vec<u32> {
        let (stale, next) = (&self.columns.stale, self.columns.next_stale);
        let in_turn = stale.range(next..).chain(stale.range(..next));
        let taken: Vec<u32> = in_turn.take(most).collect();
        self.columns.stale -= taken.iter().collect::<RoaringBitmap>();
        self.columns.next_stale = taken.last().map_or(0, |last| last + 1);
        taken
    }

    /// Marks a shard as not saved, after a failed save.
    pub fn mark_dirty(&mut self, shard: u32) {
        if shard & HOSTS == 0 {
            self.columns.dirty.insert(shard);
        }
    }

    /// Whether an agent connected or disconnected since the last call.
    pub fn take_links_moved(&mut self) -> bool {
        std::mem::take(&mut self.hosts.links_moved)
    }

    /// The last contact of each agent. Few and small, so written as a whole.
    pub fn link_shards(&self) -> Vec<(u32, Vec<u8>)> {
        let mut shards: Vec<(u32, Vec<u8>)> = Vec::new();
        for host in self.hosts() {
            let since = match host.link {
                Link::Never => continue,
                Link::Up { since } => host.heard_at.max(since),
                Link::Down { since } => since,
            };
            let number = HOSTS | (host.id.0 / HOSTS_PER_SHARD);
            if shards.last().is_none_or(|(last, _)| *last != number) {
                shards.push((number, vec![FORMAT_HOSTS]));
            }
            if let Some((_, bytes)) = shards.last_mut() {
                bytes.extend(host.id.0.to_le_bytes());
                bytes.extend(since.0.to_le_bytes());
            }
        }
        shards
    }

    /// Encodes one shard. An empty one may be deleted.
    pub fn encode_shard(&self, shard: u32) -> Vec<u8> {
        let Some(block) = self
            .columns
            .blocks
            .get(shard as usize)
            .and_then(|block| block.as_deref())
        else {
            return Vec::new();
        };
        let mut bytes = vec![FORMAT];
        for at in (0..BLOCK).filter(|at| block.is_live(*at) && block.reported_at[*at] != 0) {
            let texts = self
                .columns
                .texts(ProcessId(shard * BLOCK as u32 + at as u32));
            bytes.extend((at as u16).to_le_bytes());
            write_entry(&mut bytes, block, at, texts);
            let id = ProcessId(shard * BLOCK as u32 + at as u32);
            write_condition(&mut bytes, block, at, self.columns.health(id));
            match self.columns.oom_memory(id) {
                None => bytes.push(0),
                Some(memory) => {
                    bytes.push(1);
                    write_memory(&mut bytes, memory);
                }
            }
            match self.columns.probes(id) {
                None => bytes.push(0),
                Some(probes) => {
                    bytes.push(1);
                    write_probes(&mut bytes, probes);
                }
            }
        }
        bytes
    }

    /// Restores a shard. Invalid bytes are skipped: agents report again.
    pub fn restore_shard(&mut self, shard: u32, bytes: &[u8]) {
        let mut reader = Reader(bytes);
        let format = reader.u8();
        if shard & HOSTS != 0 {
            if format != Some(FORMAT_HOSTS) {
                return;
            }
            while let (Some(host), Some(at)) = (reader.u32(), reader.u64()) {
                let (host, at) = (model::change::HostId(host), UnixMillis(at as i64));
                self.set_link(host, Link::Down { since: at });
                self.heard(host, at);
            }
            return;
        }
        let Some(format @ FORMAT_WITHOUT_CONDITIONS..=FORMAT) = format else {
            return;
        };
        while (self.restore_entry(shard, &mut reader, format)).is_some() {}
    }

    fn restore_entry(&mut self, shard: u32, reader: &mut Reader<'_>, format: u8) -> Option<()> {
        let at = usize::from(reader.u16()?);
        let mut entry = Entry::read(reader)?;
        if format >= FORMAT_WITHOUT_MEMORY {
            entry.told = Told::read(reader)?;
        }
        if format > FORMAT_WITHOUT_MEMORY && reader.u8()? != 0 {
            entry.told.memory = Some(read_memory(reader)?);
        }
        if format > FORMAT_WITHOUT_PROBES && reader.u8()? != 0 {
            entry.told.probes = Some(Box::new(read_probes(reader)?));
        }
        if at >= BLOCK {
            return None;
        }
        self.columns.blocks.get(shard as usize)?.as_deref()?;
        self.put_entry(ProcessId(shard * BLOCK as u32 + at as u32), entry);
        Some(())
    }

    /// None when the process was registered again; else whether more than figures changed.
    pub(crate) fn put_entry(&mut self, id: ProcessId, entry: Entry) -> Option<bool> {
        let (block, at) = self.columns.block_mut(id)?;
        if block.incarnation[at] != entry.incarnation {
            return None;
        }
        let moved = (block.state[at], block.pid[at], block.started_at[at])
            != (entry.state, entry.pid, entry.started_at);
        block.state[at] = entry.state;
        block.pid[at] = entry.pid;
        block.started_at[at] = entry.started_at;
        block.reported_at[at] = entry.reported_at;
        (block.cpu[at], block.mem[at]) = (entry.cpu, entry.mem);
        block.fd[at] = entry.fd;
        (block.disk[at], block.net[at]) = (entry.disk, entry.net);
        let moved = block.set_condition(at, entry.told.condition) | moved;
        let moved = moved | self.columns.set_texts(id, entry.texts);
        let moved = moved | self.columns.set_health(id, entry.told.health);
        let moved = moved | self.columns.set_oom_memory(id, entry.told.memory);
        let moved = moved | self.columns.set_probes(id, entry.told.probes);
        if let Some(owner) = self.columns.owner(id) {
            self.recount(owner);
        }
        Some(moved)
    }
}

/// The status of one process, with its incarnation: a successor under the same id has another one.
#[derive(Debug)]
pub(crate) struct Entry {
    incarnation: u64,
    state: State,
    pid: i32,
    started_at: u32,
    reported_at: u32,
    cpu: f32,
    mem: f32,
    fd: u32,
    disk: u64,
    net: u64,
    texts: Texts,
    pub(crate) told: Told,
}

/// Condition, health, memory and probes of an entry.
#[derive(Debug)]
pub(crate) struct Told {
    condition: Condition,
    health: Option<Health>,
    /// Not among the bytes of a condition.
    pub(crate) memory: Option<OomMemory>,
    /// Neither.
    pub(crate) probes: Option<Box<ProbeHealth>>,
}

impl Told {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let condition = Condition {
            marks: Marks(reader.u8()?),
            restarts: reader.u16()?,
            exit: PackedExit(reader.u16()?),
            exit_at: reader.u32()?,
            next_at: reader.u32()?,
        };
        let health = read_health(reader)?;
        Some(Self {
            condition,
            health,
            memory: None,
            probes: None,
        })
    }
}

impl Entry {
    /// Reads an entry without a condition: its state says what it can.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let incarnation = reader.u64()?;
        let state = State::from_number(reader.u8()?);
        Some(Self {
            incarnation,
            state,
            told: Told {
                condition: Condition::of_state(state),
                health: None,
                memory: None,
                probes: None,
            },
            pid: reader.u32()? as i32,
            started_at: reader.u32()?,
            reported_at: reader.u32()?,
            cpu: f32::from_bits(reader.u32()?),
            mem: f32::from_bits(reader.u32()?),
            fd: reader.u32()?,
            disk: reader.u64()?,
            net: reader.u64()?,
            texts: Texts {
                version: bounded(reader.text()?, sanitize_line, MAX_VERSION),
                message: bounded(reader.text()?, sanitize_lines, MAX_MESSAGE),
            },
        })
    }
}

/// Limits texts of other replicas, and of stores from before there were limits.
fn bounded(text: &str, clean: fn(&mut String, usize), max: usize) -> Box<str> {
    let mut text = text.to_owned();
    clean(&mut text, max);
    text.into()
}

pub(crate) fn write_entry(bytes: &mut Vec<u8>, block: &Block, at: usize, texts: Option<&Texts>) {
    bytes.extend(block.incarnation[at].to_le_bytes());
    bytes.push(match block.state[at] {
        State::Unknown => 0,
        State::Running => 1,
        State::Stopped => 2,
    });
    bytes.extend(block.pid[at].to_le_bytes());
    bytes.extend(block.started_at[at].to_le_bytes());
    bytes.extend(block.reported_at[at].to_le_bytes());
    bytes.extend(block.cpu[at].to_le_bytes());
    bytes.extend(block.mem[at].to_le_bytes());
    bytes.extend(block.fd[at].to_le_bytes());
    bytes.extend(block.disk[at].to_le_bytes());
    bytes.extend(block.net[at].to_le_bytes());
    write_text(bytes, texts.map_or("", |t| &*t.version));
    write_text(bytes, texts.map_or("", |t| &*t.message));
}

fn write_text(bytes: &mut Vec<u8>, text: &str) {
    let text = &text[..text.floor_char_boundary(usize::from(u16::MAX))];
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
}

pub(crate) fn write_condition(
    bytes: &mut Vec<u8>,
    block: &Block,
    at: usize,
    health: Option<&Health>,
) {
    let Condition {
        marks,
        restarts,
        exit,
        exit_at,
        next_at,
    } = block.condition(at);
    bytes.push(marks.0);
    bytes.extend(restarts.to_le_bytes());
    bytes.extend(exit.0.to_le_bytes());
    bytes.extend(exit_at.to_le_bytes());
    bytes.extend(next_at.to_le_bytes());
    write_health(bytes, health);
}

fn write_health(bytes: &mut Vec<u8>, health: Option<&Health>) {
    match health {
        None => bytes.push(NO_HEALTH),
        Some(health) => {
            bytes.push(if health.ok { HEALTHY } else { NOT_HEALTHY });
            bytes.extend(health.checked_at.to_le_bytes());
            write_text(bytes, &health.message);
        }
    }
}

fn read_health(reader: &mut Reader<'_>) -> Option<Option<Health>> {
    Some(match reader.u8()? {
        NO_HEALTH => None,
        ok => Some(Health {
            ok: ok == HEALTHY,
            checked_at: reader.u32()?,
            message: bounded(reader.text()?, sanitize_lines, MAX_MESSAGE),
        }),
    })
}

pub(crate) fn write_probes(bytes: &mut Vec<u8>, probes: &ProbeHealth) {
    write_health(bytes, probes.ready.as_ref());
    write_health(bytes, probes.live.as_ref());
}

pub(crate) fn read_probes(reader: &mut Reader<'_>) -> Option<ProbeHealth> {
    Some(ProbeHealth {
        ready: read_health(reader)?,
        live: read_health(reader)?,
    })
}

pub(crate) fn write_memory(bytes: &mut Vec<u8>, memory: OomMemory) {
    bytes.extend(memory.used.to_le_bytes());
    bytes.extend(memory.limit.to_le_bytes());
}

pub(crate) fn read_memory(reader: &mut Reader<'_>) -> Option<OomMemory> {
    Some(OomMemory {
        used: reader.u64()?,
        limit: reader.u64()?,
    })
}

const NO_HEALTH: u8 = 0;
const HEALTHY: u8 = 1;
const NOT_HEALTHY: u8 = 2;

pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(len)?;
        self.0 = tail;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<&'a str> {
        let len = usize::from(self.u16()?);
        std::str::from_utf8(self.take(len)?).ok()
    }
}
