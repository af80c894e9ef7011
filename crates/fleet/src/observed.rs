//! What agents reported, in rows of atomic numbers.
//!
//! All snapshots of a fleet share these rows: a status is seen by every reader at once, and neither copies nor waits for
//! anything. One thread writes at a time (the one that holds the fleet), any number read. A counter makes a row whole: a reader
//! that overlaps with a write of it reads again.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU16, AtomicU32, AtomicU64, fence};

use hashbrown::HashMap;
use locks::Mutex;
use model::status::OomMemory;
use model::{Flag, State, Status};

use crate::columns::BLOCK;
use crate::condition::{Condition, Health, Marks, PackedExit, ProbeHealth};
use crate::to_secs;

/// How an agent's message says that a file differs from its md5.
const CONFIG_DRIFT: &str = "config drift: ";

/// The status of one process.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Observation {
    pub(crate) state: State,
    /// See [`held_byte`].
    pub(crate) held: u8,
    pub(crate) pid: i32,
    pub(crate) started_at: u32,
    /// 0 before the first report.
    pub(crate) reported_at: u32,
    pub(crate) cpu: f32,
    pub(crate) mem: f32,
    pub(crate) fd: u32,
    pub(crate) disk: u64,
    pub(crate) net: u64,
    pub(crate) condition: Condition,
    pub(crate) extras: Option<Arc<Extras>>,
}

/// What few processes have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Extras {
    pub(crate) version: Box<str>,
    pub(crate) message: Box<str>,
    /// Of a process with a health check.
    pub(crate) health: Option<Health>,
    /// Of a process with probes.
    pub(crate) probes: Option<Box<ProbeHealth>>,
    /// Of a process whose last run the kernel killed because memory was short.
    pub(crate) oom_memory: Option<OomMemory>,
}

impl Extras {
    /// None where there is nothing.
    pub(crate) fn kept(self) -> Option<Arc<Self>> {
        let has_text = !self.version.is_empty() || !self.message.is_empty();
        let has_checks = self.health.is_some() || self.probes.is_some();
        (has_text || has_checks || self.oom_memory.is_some()).then(|| Arc::new(self))
    }

    /// Whether more than the times of checks differs.
    fn differ(old: Option<&Self>, new: Option<&Self>) -> bool {
        if old.is_none() && new.is_none() {
            return false;
        }
        let none = Self::default();
        let (old, new) = (old.unwrap_or(&none), new.unwrap_or(&none));
        differs(&old.version, &new.version)
            || differs(&old.message, &new.message)
            || old.oom_memory != new.oom_memory
            || Health::differs(old.health.as_ref(), new.health.as_ref())
            || ProbeHealth::differs(old.probes.as_deref(), new.probes.as_deref())
    }
}

/// Without a comparison of nothing. An empty text points to no memory, and `memcmp` with AVX-512 loads from there, masked: the
/// processor takes a quarter of a microsecond to find that it must not.
fn differs(old: &str, new: &str) -> bool {
    old.len() != new.len() || !old.is_empty() && old != new
}

impl Observation {
    /// Of a process that no agent has reported.
    pub(crate) const NONE: Self = Self {
        state: State::Unknown,
        held: 0,
        pid: -1,
        started_at: 0,
        reported_at: 0,
        cpu: 0.0,
        mem: 0.0,
        fd: 0,
        disk: 0,
        net: 0,
        condition: Condition::NONE,
        extras: None,
    };

    pub(crate) fn of(status: Status) -> Self {
        let condition = Condition::of(&status);
        let extras = Extras {
            version: status.version.into(),
            message: status.message.into(),
            health: status.health.map(Health::of),
            probes: ProbeHealth::of(status.probes),
            oom_memory: status.last_exit.and_then(|last| last.memory),
        };
        Self {
            state: status.state,
            held: held_byte(status.flag.zip(status.managed)),
            pid: status.pid,
            started_at: to_secs(status.started_at),
            reported_at: to_secs(status.reported_at),
            cpu: status.cpu,
            mem: status.mem,
            fd: status.fd,
            disk: status.disk,
            net: status.net,
            condition,
            extras: extras.kept(),
        }
    }

    /// Flag and managed as the agent last reported them.
    pub(crate) fn held(&self) -> Option<(Flag, bool)> {
        unpack_held(self.held)
    }

    /// Whether more than figures differs.
    fn moved_from(&self, before: &Self) -> bool {
        let key = |one: &Self| (one.state, one.pid, one.started_at, one.condition);
        key(self) != key(before) || Extras::differ(before.extras.as_deref(), self.extras.as_deref())
    }
}

/// Flag and managed in one byte; 0 for none.
pub(crate) fn held_byte(held: Option<(Flag, bool)>) -> u8 {
    held.map_or(0, |(flag, managed)| {
        u8::from(flag) | u8::from(managed) << 2 | 1 << 3
    })
}

pub(crate) fn unpack_held(byte: u8) -> Option<(Flag, bool)> {
    (byte != 0).then(|| (Flag::try_from(byte & 3).unwrap_or_default(), byte & 4 != 0))
}

/// The status of one process in one cache line: a report touches no other, as long as only figures change.
#[derive(Debug)]
#[repr(align(64))]
struct ObservedRow {
    disk: AtomicU64,
    net: AtomicU64,
    /// Odd while the row is being written.
    writes: AtomicU32,
    pid: AtomicI32,
    started_at: AtomicU32,
    reported_at: AtomicU32,
    /// The bits of floating-point numbers.
    cpu: AtomicU32,
    mem: AtomicU32,
    fd: AtomicU32,
    exit_at: AtomicU32,
    next_at: AtomicU32,
    restarts: AtomicU16,
    exit: AtomicU16,
    state: AtomicU8,
    marks: AtomicU8,
    held: AtomicU8,
    /// It is in the block's `extras`: others need no lock.
    has_extras: AtomicBool,
}

impl ObservedRow {
    #[expect(
        clippy::declare_interior_mutable_const,
        reason = "each row of a new block is a copy of its own"
    )]
    const NONE: Self = Self {
        disk: AtomicU64::new(0),
        net: AtomicU64::new(0),
        writes: AtomicU32::new(0),
        pid: AtomicI32::new(-1),
        started_at: AtomicU32::new(0),
        reported_at: AtomicU32::new(0),
        cpu: AtomicU32::new(0),
        mem: AtomicU32::new(0),
        fd: AtomicU32::new(0),
        exit_at: AtomicU32::new(0),
        next_at: AtomicU32::new(0),
        restarts: AtomicU16::new(0),
        exit: AtomicU16::new(Condition::NONE.exit.0),
        state: AtomicU8::new(0),
        marks: AtomicU8::new(Condition::NONE.marks.0),
        held: AtomicU8::new(0),
        has_extras: AtomicBool::new(false),
    };

    /// Without its extras.
    fn load(&self) -> Observation {
        Observation {
            state: State::from_number(self.state.load(Relaxed)),
            held: self.held.load(Relaxed),
            pid: self.pid.load(Relaxed),
            started_at: self.started_at.load(Relaxed),
            reported_at: self.reported_at.load(Relaxed),
            cpu: f32::from_bits(self.cpu.load(Relaxed)),
            mem: f32::from_bits(self.mem.load(Relaxed)),
            fd: self.fd.load(Relaxed),
            disk: self.disk.load(Relaxed),
            net: self.net.load(Relaxed),
            condition: Condition {
                marks: Marks(self.marks.load(Relaxed)),
                restarts: self.restarts.load(Relaxed),
                exit: PackedExit(self.exit.load(Relaxed)),
                exit_at: self.exit_at.load(Relaxed),
                next_at: self.next_at.load(Relaxed),
            },
            extras: None,
        }
    }

    /// The same way back.
    fn store(&self, new: &Observation) {
        self.state.store(new.state.number(), Relaxed);
        self.held.store(new.held, Relaxed);
        self.pid.store(new.pid, Relaxed);
        self.started_at.store(new.started_at, Relaxed);
        self.reported_at.store(new.reported_at, Relaxed);
        self.cpu.store(new.cpu.to_bits(), Relaxed);
        self.mem.store(new.mem.to_bits(), Relaxed);
        self.fd.store(new.fd, Relaxed);
        self.disk.store(new.disk, Relaxed);
        self.net.store(new.net, Relaxed);
        let Condition {
            marks,
            restarts,
            exit,
            exit_at,
            next_at,
        } = new.condition;
        self.marks.store(marks.0, Relaxed);
        self.restarts.store(restarts, Relaxed);
        self.exit.store(exit.0, Relaxed);
        self.exit_at.store(exit_at, Relaxed);
        self.next_at.store(next_at, Relaxed);
    }
}

/// The statuses of a block of processes.
#[derive(Debug)]
pub(crate) struct ObservedBlock {
    rows: [ObservedRow; BLOCK],
    /// What the rows have, once more side by side: scans read no rows.
    states: [AtomicU8; BLOCK],
    marks: [AtomicU8; BLOCK],
    extras: Mutex<HashMap<u16, Arc<Extras>>>,
    /// Rows whose message says that a config file differs.
    drifted: [AtomicU64; BLOCK / 64],
}

impl ObservedBlock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            rows: [const { ObservedRow::NONE }; BLOCK],
            states: [const { AtomicU8::new(0) }; BLOCK],
            marks: [const { AtomicU8::new(Condition::NONE.marks.0) }; BLOCK],
            extras: Mutex::new(HashMap::new()),
            drifted: [const { AtomicU64::new(0) }; BLOCK / 64],
        })
    }

    pub(crate) fn state(&self, at: usize) -> State {
        State::from_number(self.states[at].load(Relaxed))
    }

    pub(crate) fn marks(&self, at: usize) -> Marks {
        Marks(self.marks[at].load(Relaxed))
    }

    pub(crate) fn held(&self, at: usize) -> u8 {
        self.rows[at].held.load(Relaxed)
    }

    pub(crate) fn reported_at(&self, at: usize) -> u32 {
        self.rows[at].reported_at.load(Relaxed)
    }

    pub(crate) fn is_drifted(&self, at: usize) -> bool {
        bit(&self.drifted, at)
    }

    /// The whole row, as one write left it.
    pub(crate) fn read(&self, at: usize) -> Observation {
        let writes = &self.rows[at].writes;
        loop {
            let before = writes.load(Acquire);
            let row = self.row(at);
            fence(Acquire);
            if before.is_multiple_of(2) && writes.load(Relaxed) == before {
                return row;
            }
            // The writer may have lost its core in the middle of a row.
            std::thread::yield_now();
        }
    }

    fn row(&self, at: usize) -> Observation {
        let row = &self.rows[at];
        Observation {
            extras: match row.has_extras.load(Relaxed) {
                true => self.extras.lock().get(&(at as u16)).cloned(),
                false => None,
            },
            ..row.load()
        }
    }

    /// Writes a row; true when more than figures changed. Only the holder of the fleet may call it.
    pub(crate) fn write(&self, at: usize, new: Observation) -> bool {
        let row = &self.rows[at];
        let before = self.row(at);
        let moved = new.moved_from(&before);
        let writes = row.writes.load(Relaxed);
        row.writes.store(writes.wrapping_add(1), Relaxed);
        fence(Release);
        row.store(&new);
        if new.state != before.state {
            self.states[at].store(new.state.number(), Relaxed);
        }
        if new.condition.marks != before.condition.marks {
            self.marks[at].store(new.condition.marks.0, Relaxed);
        }
        if new.extras != before.extras {
            self.set_extras(at, new.extras);
        }
        row.writes.store(writes.wrapping_add(2), Release);
        moved
    }

    fn set_extras(&self, at: usize, extras: Option<Arc<Extras>>) {
        let message = extras.as_ref().map_or("", |extras| &*extras.message);
        set_bit(&self.drifted, at, message.contains(CONFIG_DRIFT));
        self.rows[at].has_extras.store(extras.is_some(), Relaxed);
        let mut all = self.extras.lock();
        match extras {
            Some(extras) => drop(all.insert(at as u16, extras)),
            None => drop(all.remove(&(at as u16))),
        }
    }
}

fn bit(bits: &[AtomicU64], at: usize) -> bool {
    bits[at / 64].load(Relaxed) >> (at % 64) & 1 == 1
}

fn set_bit(bits: &[AtomicU64], at: usize, is_set: bool) {
    let mask = 1 << (at % 64);
    match is_set {
        true => bits[at / 64].fetch_or(mask, Relaxed),
        false => bits[at / 64].fetch_and(!mask, Relaxed),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_fits_into_a_cache_line() {
        assert_eq!(size_of::<ObservedRow>(), 64);
    }

    fn numbered(n: u32) -> Observation {
        Observation {
            pid: n as i32,
            started_at: n,
            reported_at: n,
            disk: n.into(),
            net: n.into(),
            extras: Extras {
                message: n.to_string().into(),
                ..Extras::default()
            }
            .kept(),
            ..Observation::NONE
        }
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let block = ObservedBlock::new();
        assert_eq!(block.read(7), Observation::NONE);
        assert!(block.write(7, numbered(3)));
        assert_eq!(block.read(7), numbered(3));
        assert_eq!(block.read(6), Observation::NONE);
        let figures = Observation {
            cpu: 1.5,
            ..numbered(3)
        };
        assert!(!block.write(7, figures.clone()), "only figures changed");
        assert_eq!(block.read(7), figures);
        assert!(block.write(7, Observation::NONE));
        assert!(block.extras.lock().is_empty());
    }

    #[test]
    fn a_reader_beside_a_writer_never_sees_half_a_status() {
        let block = ObservedBlock::new();
        block.write(1, numbered(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..20_000 {
                    block.write(1, numbered(n));
                }
            });
            for _ in 0..20_000 {
                let seen = block.read(1);
                assert_eq!(seen, numbered(seen.started_at));
            }
        });
    }
}
