//! Figures from control groups. A group knows what everybody who was ever in it has used, so work of children that came
//! and went between two passes is counted; and a group that used nothing since the last pass is as it was: it costs one
//! small read.

use std::collections::HashMap;
use std::fs::File;

use super::{Members, Root, Sample, Sampler, Table};
use crate::machine::Run;
use crate::os::cgroup::Group;
use crate::os::procfs::Stat;

/// After how many passes one that seems idle is looked at all the same: its memory may have been taken from it.
const IDLE_AGE: u32 = 12;

/// What is kept of a group from pass to pass.
#[derive(Debug)]
pub(super) struct Counts {
    /// Its `cpu.stat`: reading an open one costs a third.
    file: Option<File>,
    usage_us: u64,
    /// Passes since its members were looked at.
    age: u32,
    last: Sample,
    pub(super) members: Members,
}

impl Counts {
    /// As at the last look, without the work of then.
    pub(super) fn sample(&self) -> Sample {
        Sample {
            cpu: 0.0,
            ..self.last
        }
    }
}

/// What a look at a group shows.
pub(super) enum Looked {
    /// Nobody in it did anything.
    Idle(Counts),
    Busy(Busy),
}

pub(super) struct Busy {
    run: Run,
    file: Option<File>,
    usage_us: u64,
    usage_before_us: Option<u64>,
    /// Everybody in it belongs to this run, so what the group counted is what the run used.
    is_its_own: bool,
    pub(super) members: Vec<Stat>,
    pub(super) memory_pages: Option<u64>,
}

impl Busy {
    /// Seconds of cpu since the last pass; nothing if the group cannot tell.
    pub(super) fn used_secs(&self, last_ticks: u64) -> Option<f64> {
        let before = match self.usage_before_us {
            Some(before) => before,
            // Begun since the last pass, in a group made for it: all of it is new.
            None if self.run.start >= last_ticks => 0,
            None => return None,
        };
        let used_us = self.usage_us.saturating_sub(before);
        self.is_its_own.then_some(used_us as f64 / 1_000_000.0)
    }

    pub(super) fn counted(self, sample: Sample, members: Members) -> Counts {
        Counts {
            file: self.file,
            usage_us: self.usage_us,
            age: 0,
            last: sample,
            members,
        }
    }
}

impl Sampler {
    /// Looks into the groups of those who have one; nothing for whom `/proc` must be walked.
    pub(super) fn look_into_groups(&mut self, roots: &[Root]) -> Vec<Option<Looked>> {
        let runs = roots.iter().map(|root| (root.run.pid, root.run));
        let runs: HashMap<i32, Run> = runs.collect();
        let mut looks = Vec::with_capacity(roots.len());
        for root in roots {
            let keeps = looks.len() < self.max_kept;
            let group = root.group.as_ref();
            looks.push(group.and_then(|group| self.look_into(root.run, group, keeps, &runs)));
        }
        looks
    }

    fn look_into(
        &mut self,
        run: Run,
        group: &Group,
        keeps: bool,
        runs: &HashMap<i32, Run>,
    ) -> Option<Looked> {
        let mut known = self.counts.remove(&run);
        let mut file = known.as_mut().and_then(|counts| counts.file.take());
        let usage_us = group.cpu_usage_us(&mut file)?;
        file.take_if(|_| !keeps);
        let usage_before_us = known.as_ref().map(|counts| counts.usage_us);
        match known {
            Some(counts) if counts.usage_us == usage_us && counts.age < IDLE_AGE => {
                return Some(Looked::Idle(Counts {
                    file,
                    age: counts.age + 1,
                    ..counts
                }));
            }
            Some(_) | None => {}
        }
        let pids = group.pids().ok()?;
        let stats: Vec<Stat> = pids.iter().filter_map(|pid| self.read(*pid)).collect();
        let table = Table::of(&stats);
        // What another held process has become counts for that one, with all that is below it.
        let mut others: Vec<i32> = Vec::new();
        for stat in &stats {
            if stat.run() != run && runs.get(&stat.pid) == Some(&stat.run()) {
                let family = table.family(stat.run());
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
        Some(Looked::Busy(Busy {
            run,
            file,
            usage_us,
            usage_before_us,
            is_its_own,
            members,
            memory_pages: memory.map(|bytes| bytes / page),
        }))
    }
}
