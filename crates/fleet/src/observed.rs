//! What agents reported, in columns of atomic numbers.
//!
//! All snapshots of a fleet share these columns: a status is seen by every reader at once, and neither copies nor waits for
//! anything. One thread writes at a time (the one that holds the fleet), any number read. A counter makes a row whole: a reader
//! that overlaps with a write of the block reads again.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU16, AtomicU32, AtomicU64, fence};

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
        (self != Self::default()).then(|| Arc::new(self))
    }

    /// Whether more than the times of checks differs.
    fn differ(old: Option<&Self>, new: Option<&Self>) -> bool {
        let none = Self::default();
        let (old, new) = (old.unwrap_or(&none), new.unwrap_or(&none));
        (&old.version, &old.message, old.oom_memory) != (&new.version, &new.message, new.oom_memory)
            || Health::differs(old.health.as_ref(), new.health.as_ref())
            || ProbeHealth::differs(old.probes.as_deref(), new.probes.as_deref())
    }
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
        held(self.held)
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

fn held(byte: u8) -> Option<(Flag, bool)> {
    (byte != 0).then(|| (Flag::try_from(byte & 3).unwrap_or_default(), byte & 4 != 0))
}

/// The statuses of a block of processes.
#[derive(Debug)]
pub(crate) struct ObservedBlock {
    /// Odd while a row is being written.
    writes: AtomicU32,
    state: [AtomicU8; BLOCK],
    held: [AtomicU8; BLOCK],
    marks: [AtomicU8; BLOCK],
    pid: [AtomicI32; BLOCK],
    started_at: [AtomicU32; BLOCK],
    reported_at: [AtomicU32; BLOCK],
    /// The bits of floating-point numbers.
    cpu: [AtomicU32; BLOCK],
    mem: [AtomicU32; BLOCK],
    fd: [AtomicU32; BLOCK],
    disk: [AtomicU64; BLOCK],
    net: [AtomicU64; BLOCK],
    restarts: [AtomicU16; BLOCK],
    exit: [AtomicU16; BLOCK],
    exit_at: [AtomicU32; BLOCK],
    next_at: [AtomicU32; BLOCK],
    extras: Mutex<HashMap<u16, Arc<Extras>>>,
    /// Rows that are in `extras`: others need no lock.
    has_extras: [AtomicU64; BLOCK / 64],
    /// Rows whose message says that a config file differs.
    drifted: [AtomicU64; BLOCK / 64],
}

impl ObservedBlock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            writes: AtomicU32::new(0),
            state: [const { AtomicU8::new(0) }; BLOCK],
            held: [const { AtomicU8::new(0) }; BLOCK],
            marks: [const { AtomicU8::new(Condition::NONE.marks.0) }; BLOCK],
            pid: [const { AtomicI32::new(-1) }; BLOCK],
            started_at: [const { AtomicU32::new(0) }; BLOCK],
            reported_at: [const { AtomicU32::new(0) }; BLOCK],
            cpu: [const { AtomicU32::new(0) }; BLOCK],
            mem: [const { AtomicU32::new(0) }; BLOCK],
            fd: [const { AtomicU32::new(0) }; BLOCK],
            disk: [const { AtomicU64::new(0) }; BLOCK],
            net: [const { AtomicU64::new(0) }; BLOCK],
            restarts: [const { AtomicU16::new(0) }; BLOCK],
            exit: [const { AtomicU16::new(Condition::NONE.exit.0) }; BLOCK],
            exit_at: [const { AtomicU32::new(0) }; BLOCK],
            next_at: [const { AtomicU32::new(0) }; BLOCK],
            extras: Mutex::new(HashMap::new()),
            has_extras: [const { AtomicU64::new(0) }; BLOCK / 64],
            drifted: [const { AtomicU64::new(0) }; BLOCK / 64],
        })
    }

    pub(crate) fn state(&self, at: usize) -> State {
        State::from_number(self.state[at].load(Relaxed))
    }

    pub(crate) fn marks(&self, at: usize) -> Marks {
        Marks(self.marks[at].load(Relaxed))
    }

    pub(crate) fn reported_at(&self, at: usize) -> u32 {
        self.reported_at[at].load(Relaxed)
    }

    pub(crate) fn is_drifted(&self, at: usize) -> bool {
        bit(&self.drifted, at)
    }

    /// The whole row, as one write left it.
    pub(crate) fn read(&self, at: usize) -> Observation {
        loop {
            let before = self.writes.load(Acquire);
            let row = self.row(at);
            fence(Acquire);
            if before.is_multiple_of(2) && self.writes.load(Relaxed) == before {
                return row;
            }
            // The writer may have lost its core in the middle of a row.
            std::thread::yield_now();
        }
    }

    fn row(&self, at: usize) -> Observation {
        Observation {
            state: self.state(at),
            held: self.held[at].load(Relaxed),
            pid: self.pid[at].load(Relaxed),
            started_at: self.started_at[at].load(Relaxed),
            reported_at: self.reported_at[at].load(Relaxed),
            cpu: f32::from_bits(self.cpu[at].load(Relaxed)),
            mem: f32::from_bits(self.mem[at].load(Relaxed)),
            fd: self.fd[at].load(Relaxed),
            disk: self.disk[at].load(Relaxed),
            net: self.net[at].load(Relaxed),
            condition: Condition {
                marks: self.marks(at),
                restarts: self.restarts[at].load(Relaxed),
                exit: PackedExit(self.exit[at].load(Relaxed)),
                exit_at: self.exit_at[at].load(Relaxed),
                next_at: self.next_at[at].load(Relaxed),
            },
            extras: match bit(&self.has_extras, at) {
                true => self.extras.lock().get(&(at as u16)).cloned(),
                false => None,
            },
        }
    }

    /// Writes a row; true when more than figures changed. Only the holder of the fleet may call it.
    pub(crate) fn write(&self, at: usize, new: Observation) -> bool {
        let before = self.row(at);
        let moved = new.moved_from(&before);
        let writes = self.writes.load(Relaxed);
        self.writes.store(writes.wrapping_add(1), Relaxed);
        fence(Release);
        self.state[at].store(new.state.number(), Relaxed);
        self.held[at].store(new.held, Relaxed);
        self.pid[at].store(new.pid, Relaxed);
        self.started_at[at].store(new.started_at, Relaxed);
        self.reported_at[at].store(new.reported_at, Relaxed);
        self.cpu[at].store(new.cpu.to_bits(), Relaxed);
        self.mem[at].store(new.mem.to_bits(), Relaxed);
        self.fd[at].store(new.fd, Relaxed);
        self.disk[at].store(new.disk, Relaxed);
        self.net[at].store(new.net, Relaxed);
        let Condition {
            marks,
            restarts,
            exit,
            exit_at,
            next_at,
        } = new.condition;
        self.marks[at].store(marks.0, Relaxed);
        self.restarts[at].store(restarts, Relaxed);
        self.exit[at].store(exit.0, Relaxed);
        self.exit_at[at].store(exit_at, Relaxed);
        self.next_at[at].store(next_at, Relaxed);
        if new.extras != before.extras {
            self.set_extras(at, new.extras);
        }
        self.writes.store(writes.wrapping_add(2), Release);
        moved
    }

    fn set_extras(&self, at: usize, extras: Option<Arc<Extras>>) {
        let message = extras.as_ref().map_or("", |extras| &*extras.message);
        set_bit(&self.drifted, at, message.contains(CONFIG_DRIFT));
        set_bit(&self.has_extras, at, extras.is_some());
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
