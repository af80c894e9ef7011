//! Usage from control groups. A group counts the CPU time of every process that was ever in it, so children that began and
//! ended between two passes are counted. A group that used nothing since the last pass costs one small read.

use std::fs::File;

use super::{Members, Pass, ProcessTree, Root, Sample, Sampler};
use crate::machine::Run;
use crate::os::clock;
use crate::os::procfs::Stat;

/// After how many passes the members of an idle group are read all the same: its memory may have been reclaimed.
const IDLE_AGE: u32 = 12;

/// The counts of a group that are kept from pass to pass.
#[derive(Debug)]
pub(super) struct GroupCounts {
    /// Its `cpu.stat`: reading an open file costs a third.
    file: Option<File>,
    usage_us: u64,
    /// When that was read.
    at_boot_ms: u64,
    /// Passes since it was read.
    skipped: u32,
    /// How often it was read since its members were.
    age: u32,
    last: Sample,
    /// It used no CPU between the last two readings.
    is_idle: bool,
    pub(super) members: Members,
}

impl GroupCounts {
    /// The last sample, without its CPU usage.
    pub(super) fn sample(&self) -> Sample {
        Sample {
            cpu: 0.0,
            is_idle: true,
            ..self.last
        }
    }
}

/// A reading of a group.
pub(super) enum GroupReading {
    /// No member used CPU.
    Idle(GroupCounts),
    Busy(Busy),
}

pub(super) struct Busy {
    run: Run,
    file: Option<File>,
    usage_us: u64,
    at_boot_ms: u64,
    usage_before_us: Option<u64>,
    /// Since it was read before.
    pub(super) elapsed_ms: Option<u64>,
    /// Every member belongs to this run, so the group's usage is the run's.
    is_its_own: bool,
    pub(super) members: Vec<Stat>,
    pub(super) memory_pages: Option<u64>,
}

impl Busy {
    /// Seconds of CPU since the last pass; `None` if the group's count does not apply.
    pub(super) fn used_secs(&self, last_ticks: u64) -> Option<f64> {
        let before = match self.usage_before_us {
            Some(before) => before,
            // Started since the last pass, in a new group: all of it is new.
            None if self.run.start >= last_ticks => 0,
            None => return None,
        };
        let used_us = self.usage_us.saturating_sub(before);
        self.is_its_own.then_some(used_us as f64 / 1_000_000.0)
    }

    pub(super) fn counted(self, sample: Sample, members: Members) -> GroupCounts {
        GroupCounts {
            file: self.file,
            usage_us: self.usage_us,
            at_boot_ms: self.at_boot_ms,
            skipped: 0,
            // Those that began together are not read again together.
            age: match self.usage_before_us {
                Some(_) => 0,
                None => self.run.pid as u32 % IDLE_AGE,
            },
            last: sample,
            is_idle: false,
            members,
        }
    }
}

impl Sampler {
    /// Reads the group of a run; `None` if it has none that can be read, and needs a walk over `/proc`.
    pub(super) fn read_group(
        &mut self,
        root: &Root,
        keeps: bool,
        pass: &Pass,
    ) -> Option<GroupReading> {
        let (run, group, runs) = (root.run, root.group.as_ref()?, &pass.runs);
        let mut known = self.counts.remove(&run);
        let pause = if root.is_limited { 1 } else { pass.pause };
        if let Some(counts) = known.take_if(|counts| counts.is_idle && counts.skipped + 1 < pause) {
            return Some(GroupReading::Idle(GroupCounts {
                skipped: counts.skipped + 1,
                ..counts
            }));
        }
        let mut file = known.as_mut().and_then(|counts| counts.file.take());
        let usage_us = group.cpu_usage_us(&mut file)?;
        let at_boot_ms = clock::boot_ms();
        file.take_if(|_| !keeps);
        let usage_before_us = known.as_ref().map(|counts| counts.usage_us);
        let before_boot_ms = known.as_ref().map(|counts| counts.at_boot_ms);
        match known {
            Some(counts) if counts.usage_us == usage_us && counts.age < IDLE_AGE => {
                return Some(GroupReading::Idle(GroupCounts {
                    file,
                    at_boot_ms,
                    skipped: 0,
                    is_idle: true,
                    age: counts.age + 1,
                    ..counts
                }));
            }
            Some(_) | None => {}
        }
        let pids = group.pids().ok()?;
        let stats: Vec<Stat> = pids.iter().filter_map(|pid| self.read(*pid)).collect();
        let tree = ProcessTree::of(stats.iter().copied());
        // The run of another held process counts for that process, with its descendants.
        let mut others: Vec<i32> = Vec::new();
        for stat in &stats {
            if stat.run() != run && runs.get(&stat.pid) == Some(&stat.run()) {
                let family = tree.family(stat.run());
                others.extend(family.iter().map(|stat| stat.pid));
            }
        }
        let belongs =
            |stat: &&Stat| stat.is_live() && stat.start >= run.start && !others.contains(&stat.pid);
        let members: Vec<Stat> = stats.iter().filter(belongs).copied().collect();
        if !members.iter().any(|stat| stat.run() == run) {
            return None;
        }
        let is_its_own = members.len() == stats.len();
        let page = rustix::param::page_size() as u64;
        let memory = group.working_set().filter(|_| is_its_own);
        Some(GroupReading::Busy(Busy {
            run,
            file,
            usage_us,
            at_boot_ms,
            usage_before_us,
            elapsed_ms: before_boot_ms.map(|before| at_boot_ms.saturating_sub(before)),
            is_its_own,
            members,
            memory_pages: memory.map(|bytes| bytes / page),
        }))
    }
}
