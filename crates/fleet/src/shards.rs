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

use crate::columns::BLOCK;
use crate::condition::{Condition, Health, Marks, PackedExit, ProbeHealth};
use crate::observed::{Extras, Observation};
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
        let dirty = std::mem::take(&mut self.unsaved.dirty);
        self.unsaved.stale -= &dirty;
        dirty.into_iter().collect()
    }

    /// Some of the shards where only figures changed, round robin. These can wait: agents report figures again.
    pub fn take_stale_shards(&mut self, most: usize) -> Vec<u32> {
        let (stale, next) = (&self.unsaved.stale, self.unsaved.next_stale);
        let in_turn = stale.range(next..).chain(stale.range(..next));
        let taken: Vec<u32> = in_turn.take(most).collect();
        self.unsaved.stale -= taken.iter().collect::<RoaringBitmap>();
        self.unsaved.next_stale = taken.last().map_or(0, |last| last + 1);
        taken
    }

    /// Marks a shard as not saved, after a failed save.
    pub fn mark_dirty(&mut self, shard: u32) {
        if shard & HOSTS == 0 {
            self.unsaved.dirty.insert(shard);
        }
    }

    /// Whether an agent connected or disconnected since the last call.
    pub fn take_links_moved(&mut self) -> bool {
        std::mem::take(&mut self.unsaved.links_moved)
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
        let Some(block) = self.columns.block_numbered(shard) else {
            return Vec::new();
        };
        let mut bytes = vec![FORMAT];
        let reported = |at: &usize| block.is_live(*at) && block.observed.reported_at(*at) != 0;
        for at in (0..BLOCK).filter(reported) {
            let seen = block.observed.read(at);
            bytes.extend((at as u16).to_le_bytes());
            write_entry(&mut bytes, block.incarnation[at], &seen);
            write_condition(&mut bytes, &seen);
            let extras = seen.extras.as_deref();
            match extras.and_then(|extras| extras.oom_memory) {
                None => bytes.push(0),
                Some(memory) => {
                    bytes.push(1);
                    write_memory(&mut bytes, memory);
                }
            }
            match extras.and_then(|extras| extras.probes.as_deref()) {
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
        self.columns.block_numbered(shard)?;
        let id = ProcessId(shard * BLOCK as u32 + at as u32);
        self.put_entry(id, entry, None);
        Some(())
    }

    /// None when the process was registered again; else whether more than figures changed. Without `held`, what its agent
    /// holds stays as it was.
    pub(crate) fn put_entry(
        &mut self,
        id: ProcessId,
        entry: Entry,
        held: Option<u8>,
    ) -> Option<bool> {
        let (block, at) = self.columns.block(id)?;
        if block.incarnation[at] != entry.incarnation {
            return None;
        }
        let owner = block.owner(at);
        let Told {
            condition,
            health,
            memory,
            probes,
        } = entry.told;
        let extras = Extras {
            health,
            probes,
            oom_memory: memory,
            ..entry.texts
        };
        let seen = Observation {
            held: held.unwrap_or_else(|| block.observed.read(at).held),
            condition,
            extras: extras.kept(),
            ..entry.seen
        };
        let moved = block.observed.write(at, seen);
        if let Some(owner) = owner {
            self.recount(owner);
        }
        Some(moved)
    }
}

/// The status of one process, with its incarnation: a successor under the same id has another one.
#[derive(Debug)]
pub(crate) struct Entry {
    incarnation: u64,
    /// Without its condition and extras.
    seen: Observation,
    texts: Extras,
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
            told: Told {
                condition: Condition::of_state(state),
                health: None,
                memory: None,
                probes: None,
            },
            seen: Observation {
                state,
                pid: reader.u32()? as i32,
                started_at: reader.u32()?,
                reported_at: reader.u32()?,
                cpu: f32::from_bits(reader.u32()?),
                mem: f32::from_bits(reader.u32()?),
                fd: reader.u32()?,
                disk: reader.u64()?,
                net: reader.u64()?,
                ..Observation::NONE
            },
            texts: Extras {
                version: bounded(reader.text()?, sanitize_line, MAX_VERSION),
                message: bounded(reader.text()?, sanitize_lines, MAX_MESSAGE),
                ..Extras::default()
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

pub(crate) fn write_entry(bytes: &mut Vec<u8>, incarnation: u64, seen: &Observation) {
    bytes.extend(incarnation.to_le_bytes());
    bytes.push(seen.state.number());
    bytes.extend(seen.pid.to_le_bytes());
    bytes.extend(seen.started_at.to_le_bytes());
    bytes.extend(seen.reported_at.to_le_bytes());
    bytes.extend(seen.cpu.to_le_bytes());
    bytes.extend(seen.mem.to_le_bytes());
    bytes.extend(seen.fd.to_le_bytes());
    bytes.extend(seen.disk.to_le_bytes());
    bytes.extend(seen.net.to_le_bytes());
    let extras = seen.extras.as_deref();
    write_text(bytes, extras.map_or("", |extras| &extras.version));
    write_text(bytes, extras.map_or("", |extras| &extras.message));
}

fn write_text(bytes: &mut Vec<u8>, text: &str) {
    let text = &text[..text.floor_char_boundary(usize::from(u16::MAX))];
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
}

pub(crate) fn write_condition(bytes: &mut Vec<u8>, seen: &Observation) {
    let Condition {
        marks,
        restarts,
        exit,
        exit_at,
        next_at,
    } = seen.condition;
    bytes.push(marks.0);
    bytes.extend(restarts.to_le_bytes());
    bytes.extend(exit.0.to_le_bytes());
    bytes.extend(exit_at.to_le_bytes());
    bytes.extend(next_at.to_le_bytes());
    let extras = seen.extras.as_deref();
    write_health(bytes, extras.and_then(|extras| extras.health.as_ref()));
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
