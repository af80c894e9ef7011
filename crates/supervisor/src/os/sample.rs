//! Samples the usage of processes: one pass for all of them together, in slices, because the agent has one thread and its
//! other work must not wait for thousands of small files.
//!
//! The usage of a run is that of its family: the members of its control group (`grouped`), or, from a walk over `/proc`,
//! the run, its descendants and its session. Memory is the sum of resident sets, so pages that members share count once
//! for each, unless the group counts memory itself.

mod grouped;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;
use std::time::Instant;

use super::cgroup::Group;
use super::procfs::{self, Stat};
use super::{clock, shortage, sockets};
use crate::machine::Run;
use grouped::{GroupCounts, GroupReading};

/// How many files are kept open from pass to pass, if the limit of descriptors allows: reading an open file costs a third.
const MAX_OPEN_FILES: usize = 8192;
/// The sockets of a process are looked up again after this many passes even if its count of descriptors is the same.
const SOCKETS_AGE: u32 = 6;
/// How many descriptors one pass reads to find sockets. Processes beyond that keep their known sockets and are looked up in
/// a later pass.
const MAX_LOOKUPS: usize = 32_768;

/// From so many runs on, groups that are idle are read in every second pass only, and from twice as many in every third.
const MANY_RUNS: usize = 2500;
const MAX_PAUSE: u32 = 3;

/// The usage of one run's family.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sample {
    /// Percent of the whole machine.
    pub(crate) cpu: f64,
    pub(crate) mem: f64,
    pub(crate) fd: u32,
    /// It used no CPU since the last pass.
    pub(crate) is_idle: bool,
}

/// A run to sample with its family.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) run: Run,
    /// The control group that holds all of the family.
    pub(crate) group: Option<Group>,
    /// It is read in every pass, also while it is idle.
    pub(crate) is_limited: bool,
}

/// The members of a family, each with its count of descriptors.
type Members = Arc<[(Run, u32)]>;

#[derive(Debug)]
pub(crate) struct Sampler {
    last_readings: HashMap<i32, LastReading>,
    counts: HashMap<Run, GroupCounts>,
    last_boot_ms: Option<u64>,
    cores: f64,
    total_pages: f64,
    max_open_files: usize,
    traffic: HashMap<u32, u64>,
    traffic_boot_ms: Option<u64>,
    owners: HashMap<i32, Sockets>,
}

/// A member of some family at the last pass.
#[derive(Debug)]
struct LastReading {
    run: Run,
    ticks: u64,
    file: Option<File>,
}

#[derive(Debug)]
struct Sockets {
    run: Run,
    fd: u32,
    age: u32,
    /// None for a process that has no sockets, as most have none.
    open: Option<Box<OpenSockets>>,
}

#[derive(Debug)]
struct OpenSockets {
    inodes: Vec<u32>,
    /// Those that were TCP sockets in the last pass.
    tcp: Vec<u32>,
}

/// One pass over the families of many runs, which may be interrupted after each of them.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    /// `None` for a family that could not be read.
    pub(crate) samples: Vec<Option<Sample>>,
    roots: Vec<Root>,
    members: Vec<Members>,
    /// The runs by their pids.
    runs: HashMap<i32, Run>,
    /// The next root whose group is read.
    next_group: usize,
    /// Roots without a group that could be read, and the next of them to look for in `tree`.
    ungrouped: Vec<usize>,
    next_ungrouped: usize,
    walk: Option<Walk>,
    tree: ProcessTree,
    last_readings: HashMap<i32, LastReading>,
    counts: HashMap<Run, GroupCounts>,
    elapsed_ms: u64,
    last_ticks: u64,
    /// In how many passes an idle group is read once.
    pause: u32,
}

/// A walk over all processes of the host.
type Walk = procfs::Pids;

/// The traffic of the families of a pass, which may be interrupted after each of them.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// Bytes per second over the TCP sockets of each family since the last call.
    pub(crate) rates: Vec<u64>,
    sockets: HashMap<u32, u64>,
    owners: HashMap<i32, Sockets>,
    elapsed_ms: Option<u64>,
    n_lookups: usize,
}

/// The totals of one family.
#[derive(Debug, Default)]
struct FamilyTotals {
    ticks: u64,
    pages: u64,
    fd: u32,
    members: Vec<(Run, u32)>,
}

impl Sampler {
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let page_kib = (rustix::param::page_size() as u64 / 1024).max(1);
        let total_pages = procfs::meminfo_kib("MemTotal") / page_kib;
        let files = shortage::descriptors_for_watching();
        Self {
            last_readings: HashMap::new(),
            counts: HashMap::new(),
            last_boot_ms: None,
            cores: cores as f64,
            total_pages: total_pages.max(1) as f64,
            max_open_files: MAX_OPEN_FILES.min(files / 2),
            traffic: HashMap::new(),
            traffic_boot_ms: None,
            owners: HashMap::new(),
        }
    }

    /// Begins to sample the families of these runs.
    pub(crate) fn begin(&mut self, roots: Vec<Root>) -> Pass {
        let now = clock::boot_ms();
        let last = self.last_boot_ms.replace(now);
        let runs = roots.iter().map(|root| (root.run.pid, root.run));
        Pass {
            samples: vec![None; roots.len()],
            members: vec![Members::default(); roots.len()],
            runs: runs.collect(),
            counts: HashMap::with_capacity(self.counts.len()),
            elapsed_ms: last.map_or(0, |last| now.saturating_sub(last)),
            last_ticks: last.unwrap_or(now) * clock::ticks_per_second() / 1000,
            pause: ((roots.len() / MANY_RUNS) as u32 + 1).min(MAX_PAUSE),
            roots,
            ..Pass::default()
        }
    }

    /// Reads on until this moment; true when every family is sampled.
    pub(crate) fn read_on(&mut self, pass: &mut Pass, until: Instant) -> bool {
        while pass.next_group < pass.roots.len() {
            let index = pass.next_group;
            pass.next_group += 1;
            if !self.sample_group(pass, index) {
                pass.ungrouped.push(index);
            }
            if Instant::now() >= until {
                return false;
            }
        }
        if pass.walk.is_none() && !pass.ungrouped.is_empty() {
            pass.walk = Some(procfs::Pids::begin());
        }
        if let Some(walk) = &mut pass.walk {
            for pid in walk.by_ref() {
                if let Some(stat) = self.read(pid) {
                    pass.tree.add(stat);
                }
                if Instant::now() >= until {
                    return false;
                }
            }
        }
        while let Some(index) = pass.ungrouped.get(pass.next_ungrouped).copied() {
            pass.next_ungrouped += 1;
            self.sample_family(pass, index);
            if Instant::now() >= until {
                return false;
            }
        }
        self.last_readings = std::mem::take(&mut pass.last_readings);
        self.counts = std::mem::take(&mut pass.counts);
        true
    }

    /// Samples a family by its control group; false if that cannot be read.
    fn sample_group(&mut self, pass: &mut Pass, index: usize) -> bool {
        let root = &pass.roots[index];
        let keeps = index < self.max_open_files;
        let Some(reading) = self.read_group(root, keeps, pass) else {
            return false;
        };
        let run = root.run;
        let (sample, counts) = match reading {
            GroupReading::Idle(idle) => {
                for (run, _) in idle.members.iter() {
                    let known = self.last_readings.remove_entry(&run.pid);
                    pass.last_readings.extend(known);
                }
                (idle.sample(), idle)
            }
            GroupReading::Busy(group) => {
                // Members of a group are read only when the group was busy.
                let used_secs = group.used_secs(pass.last_ticks);
                let members = group.members.iter();
                let totals = self.totals(members, pass, 0, used_secs.is_none());
                let ticks_secs = totals.ticks as f64 / clock::ticks_per_second() as f64;
                let pages = group.memory_pages.unwrap_or(totals.pages);
                let elapsed_ms = group.elapsed_ms.unwrap_or(pass.elapsed_ms);
                let used_secs = used_secs.unwrap_or(ticks_secs);
                let sample = self.sample(used_secs, elapsed_ms, pages, totals.fd);
                (sample, group.counted(sample, totals.members.into()))
            }
        };
        pass.members[index] = Arc::clone(&counts.members);
        pass.samples[index] = (!counts.members.is_empty()).then_some(sample);
        pass.counts.insert(run, counts);
        true
    }

    /// Samples a family as the walk has found it.
    fn sample_family(&mut self, pass: &mut Pass, index: usize) {
        let root = pass.roots[index].run;
        let tree = std::mem::take(&mut pass.tree);
        let family = tree.family(root);
        let max_open_files = self.max_open_files;
        let totals = self.totals(family.into_iter(), pass, max_open_files, true);
        pass.tree = tree;
        let used_secs = totals.ticks as f64 / clock::ticks_per_second() as f64;
        let sample = self.sample(used_secs, pass.elapsed_ms, totals.pages, totals.fd);
        pass.samples[index] = (!totals.members.is_empty()).then_some(sample);
        pass.members[index] = totals.members.into();
    }

    /// Adds the members up, and keeps their readings for the next pass if their ticks count.
    fn totals<'a>(
        &mut self,
        members: impl Iterator<Item = &'a Stat>,
        pass: &mut Pass,
        max_open_files: usize,
        counts_ticks: bool,
    ) -> FamilyTotals {
        let mut totals = FamilyTotals::default();
        for stat in members {
            let (run, total) = (stat.run(), stat.utime + stat.stime);
            let before = self
                .last_readings
                .get(&run.pid)
                .filter(|last_readings| last_readings.run == run);
            totals.ticks += match before {
                Some(seen) => total.saturating_sub(seen.ticks),
                // Started since the last pass: all of it is new.
                None if stat.start >= pass.last_ticks => total,
                None => 0,
            };
            totals.pages += stat.rss_pages;
            let fd = count_fds(run.pid);
            totals.fd += fd;
            totals.members.push((run, fd));
            if counts_ticks && !pass.last_readings.contains_key(&run.pid) {
                let known = self
                    .last_readings
                    .remove(&run.pid)
                    .filter(|last_readings| last_readings.run == run);
                let kept = known.and_then(|seen| seen.file);
                let file = kept.or_else(|| {
                    let keeps = pass.last_readings.len() < max_open_files;
                    keeps.then(|| open_stat(run.pid)).flatten()
                });
                let ticks = total;
                let reading = LastReading { run, ticks, file };
                pass.last_readings.insert(run.pid, reading);
            }
        }
        totals
    }

    fn sample(&self, used_secs: f64, elapsed_ms: u64, pages: u64, fd: u32) -> Sample {
        let capacity_secs = elapsed_ms as f64 / 1000.0 * self.cores;
        Sample {
            cpu: match capacity_secs > 0.0 {
                true => used_secs / capacity_secs * 100.0,
                false => 0.0,
            },
            mem: pages as f64 / self.total_pages * 100.0,
            fd,
            is_idle: false,
        }
    }

    fn read(&self, pid: i32) -> Option<Stat> {
        let kept = self
            .last_readings
            .get(&pid)
            .and_then(|last_readings| last_readings.file.as_ref());
        if let Some(file) = kept {
            let mut buffer = [0; 1024];
            // The file of a process that is gone cannot be read, even if its pid is reused.
            if let Ok(length) = file.read_at(&mut buffer, 0)
                && let Some(stat) = Stat::parse(&buffer[..length])
            {
                return Some(stat);
            }
        }
        Stat::read(pid)
    }

    /// Begins to find the traffic of the families of a pass. Sees the sockets of the agent's network namespace only.
    pub(crate) fn begin_traffic(&mut self) -> Traffic {
        let now = clock::boot_ms();
        let last = self.traffic_boot_ms.replace(now);
        Traffic {
            rates: Vec::new(),
            sockets: sockets::bytes_by_inode(),
            owners: HashMap::new(),
            elapsed_ms: last.map(|last| now.saturating_sub(last)),
            n_lookups: MAX_LOOKUPS,
        }
    }

    /// Goes on until this moment; true when the traffic of every family is known.
    pub(crate) fn traffic_on(
        &mut self,
        traffic: &mut Traffic,
        pass: &Pass,
        until: Instant,
    ) -> bool {
        while let Some(members) = pass.members.get(traffic.rates.len()) {
            let sample = pass.samples[traffic.rates.len()];
            let is_idle = sample.is_some_and(|sample| sample.is_idle);
            let bytes = match traffic.sockets.is_empty() {
                true => 0,
                false => self.bytes_of(members, is_idle, traffic),
            };
            traffic.rates.push(match traffic.elapsed_ms {
                Some(elapsed) if elapsed > 0 => bytes * 1000 / elapsed,
                // Traffic before the first call gives no rate.
                Some(_) | None => 0,
            });
            if Instant::now() >= until {
                return false;
            }
        }
        self.owners = std::mem::take(&mut traffic.owners);
        self.traffic = std::mem::take(&mut traffic.sockets);
        true
    }

    /// What one family has sent and received since the last call.
    fn bytes_of(&mut self, members: &Members, is_idle: bool, traffic: &mut Traffic) -> u64 {
        let mut bytes = 0;
        for (run, fd) in members.iter() {
            let known = self.owners.remove(&run.pid);
            let mut owned = refresh(known, *run, *fd, is_idle, traffic);
            if let Some(open) = &mut owned.open {
                open.tcp.clear();
                for inode in &open.inodes {
                    let Some(now) = traffic.sockets.get(inode) else {
                        continue;
                    };
                    open.tcp.push(*inode);
                    let before = self.traffic.get(inode).copied().unwrap_or(0);
                    bytes += now.saturating_sub(before);
                }
            }
            traffic.owners.insert(run.pid, owned);
        }
        bytes
    }
}

/// The sockets of a process: the known ones, unless its count of descriptors has changed or a TCP socket is gone. An idle
/// process has opened none since.
fn refresh(
    known: Option<Sockets>,
    run: Run,
    fd: u32,
    is_idle: bool,
    traffic: &mut Traffic,
) -> Sockets {
    let known = known.filter(|known| known.run == run);
    let is_current = |known: &Sockets| {
        let mut tcp = known.open.iter().flat_map(|open| &open.tcp);
        known.fd == fd
            && (known.age < SOCKETS_AGE || is_idle)
            && tcp.all(|inode| traffic.sockets.contains_key(inode))
    };
    match known {
        Some(known) if is_current(&known) || traffic.n_lookups < fd as usize => Sockets {
            age: known.age.saturating_add(1),
            ..known
        },
        Some(_) | None => {
            traffic.n_lookups = traffic.n_lookups.saturating_sub(fd as usize);
            let inodes = sockets::inodes_of(run.pid);
            let open = (!inodes.is_empty()).then(|| OpenSockets {
                inodes,
                tcp: Vec::new(),
            });
            Sockets {
                run,
                fd,
                age: 0,
                open: open.map(Box::new),
            }
        }
    }
}

fn open_stat(pid: i32) -> Option<File> {
    File::open(format!("/proc/{pid}/stat")).ok()
}

/// Linux 6.2 reports the count as the directory's size; older kernels need a listing.
fn count_fds(pid: i32) -> u32 {
    let path = format!("/proc/{pid}/fd");
    match std::fs::metadata(&path).map(|found| found.size()) {
        Ok(0) => std::fs::read_dir(&path).map_or(0, |entries| entries.count() as u32),
        Ok(size) => size as u32,
        Err(_) => 0,
    }
}

/// Processes with their parents and sessions.
#[derive(Debug, Default)]
struct ProcessTree {
    stats: Vec<Stat>,
    by_pid: HashMap<i32, usize>,
    by_parent: HashMap<i32, Vec<usize>>,
    by_session: HashMap<i32, Vec<usize>>,
}

impl ProcessTree {
    fn of(stats: impl IntoIterator<Item = Stat>) -> Self {
        let mut tree = Self::default();
        stats.into_iter().for_each(|stat| tree.add(stat));
        tree
    }

    fn add(&mut self, stat: Stat) {
        let index = self.stats.len();
        self.stats.push(stat);
        if stat.is_live() {
            self.by_pid.insert(stat.pid, index);
            self.by_parent.entry(stat.ppid).or_default().push(index);
            self.by_session.entry(stat.session).or_default().push(index);
        }
    }

    fn family(&self, root: Run) -> Vec<&Stat> {
        let Some(&first) = self.by_pid.get(&root.pid) else {
            return Vec::new();
        };
        if self.stats[first].run() != root {
            return Vec::new();
        }
        let mut members = vec![first];
        let session = self.by_session.get(&root.pid).into_iter().flatten();
        members.extend(session.filter(|index| **index != first));
        let mut known: HashSet<usize> = members.iter().copied().collect();
        let mut next = 0;
        while next < members.len() {
            let pid = self.stats[members[next]].pid;
            let children = self.by_parent.get(&pid).into_iter().flatten();
            members.extend(children.filter(|child| known.insert(**child)));
            next += 1;
        }
        members.sort_unstable();
        members.iter().map(|index| &self.stats[*index]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each slice is as short as it can be.
    fn whole_pass(sampler: &mut Sampler, run: Run) -> Pass {
        let mut pass = sampler.begin(vec![Root {
            run,
            group: None,
            is_limited: false,
        }]);
        while !sampler.read_on(&mut pass, Instant::now()) {}
        pass
    }

    fn whole_traffic(sampler: &mut Sampler, pass: &Pass) -> Vec<u64> {
        let mut traffic = sampler.begin_traffic();
        while !sampler.traffic_on(&mut traffic, pass, Instant::now()) {}
        traffic.rates
    }

    #[test]
    fn a_family_is_the_session_and_all_descendants_once_each() {
        let process = |pid, ppid, session| Stat {
            pid,
            ppid,
            session,
            state: b'S',
            start: 100,
            ..Stat::default()
        };
        let stats = [
            process(10, 1, 10),
            process(11, 10, 10),
            process(12, 11, 12),
            process(13, 1, 10),
            process(14, 13, 14),
            process(20, 1, 20),
        ];
        let family = |pid, start| -> Vec<i32> {
            let tree = ProcessTree::of(stats);
            let members = tree.family(Run { pid, start });
            members.iter().map(|stat| stat.pid).collect()
        };
        assert_eq!(family(10, 100), [10, 11, 12, 13, 14]);
        assert_eq!(family(12, 100), [12]);
        assert!(family(10, 99).is_empty(), "another run of that pid");
        assert!(family(99, 100).is_empty());
    }

    #[test]
    fn a_replaced_connection_is_counted() {
        use std::io::{Read, Write};
        use std::net::{TcpListener, TcpStream};

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let talk = || {
            let mut client = TcpStream::connect(address).unwrap();
            let (mut server, _) = listener.accept().unwrap();
            client.write_all(&[1; 50_000]).unwrap();
            server.read_exact(&mut [0; 50_000]).unwrap();
            (client, server)
        };
        let me = Stat::read(std::process::id() as i32).unwrap().run();
        let mut sampler = Sampler::new();
        let first = talk();
        // The first pass keeps a file of ours open.
        whole_pass(&mut sampler, me);
        let pass = whole_pass(&mut sampler, me);
        let n_before = pass.samples[0].unwrap().fd;
        whole_traffic(&mut sampler, &pass);
        drop(first);
        let _second = talk();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let pass = whole_pass(&mut sampler, me);
        assert_eq!(
            pass.samples[0].unwrap().fd,
            n_before,
            "as many descriptors as before"
        );
        let rate = whole_traffic(&mut sampler, &pass)[0];
        assert!(rate > 0, "{rate}");
    }

    #[test]
    fn our_own_figures_are_sane() {
        let me = Stat::read(std::process::id() as i32).unwrap().run();
        let mut sampler = Sampler::new();
        whole_pass(&mut sampler, me);
        let begin = std::time::Instant::now();
        while begin.elapsed().as_millis() < 120 {
            std::hint::black_box(begin);
        }
        let pass = whole_pass(&mut sampler, me);
        let sample = pass.samples[0].unwrap();
        assert!(sample.cpu > 1.0 && sample.cpu <= 110.0, "{sample:?}");
        assert!(sample.mem > 0.0 && sample.mem < 50.0, "{sample:?}");
        assert!(sample.fd >= 3, "{sample:?}");
    }
}
