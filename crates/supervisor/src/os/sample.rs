//! Samples the usage of processes: one pass for all of them together.
//!
//! The usage of a run is that of its family: the members of its control group (`grouped`), or, from a walk over `/proc`,
//! the run, its descendants and its session. Memory is the sum of resident sets, so pages that members share count once
//! for each, unless the group counts memory itself.

mod grouped;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

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

/// The usage of one run's family.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sample {
    /// Percent of the whole machine.
    pub(crate) cpu: f64,
    pub(crate) mem: f64,
    pub(crate) fd: u32,
}

/// A run to sample with its family.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) run: Run,
    /// The control group that holds all of the family.
    pub(crate) group: Option<Group>,
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
    inodes: Vec<u32>,
    /// Those that were TCP sockets in the last pass.
    tcp: Vec<u32>,
}

/// The families of one pass.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    /// `None` for a family that could not be read.
    pub(crate) samples: Vec<Option<Sample>>,
    members: Vec<Members>,
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

    /// Samples the families of these runs, in their order.
    pub(crate) fn pass(&mut self, roots: &[Root]) -> Pass {
        let now = clock::boot_ms();
        let elapsed_ms = self.last_boot_ms.map(|last| now.saturating_sub(last));
        let last_ticks = self.last_boot_ms.unwrap_or(now) * clock::ticks_per_second() / 1000;
        self.last_boot_ms = Some(now);
        let readings = self.read_groups(roots);
        let wants_walk = readings.iter().any(Option::is_none);
        let stats: Vec<Stat> = match wants_walk {
            true => {
                let pids = procfs::pids().unwrap_or_default().into_iter();
                pids.filter_map(|pid| self.read(pid)).collect()
            }
            false => Vec::new(),
        };
        let tree = ProcessTree::of(&stats);
        let mut next: HashMap<i32, LastReading> = HashMap::with_capacity(self.last_readings.len());
        let mut counts: HashMap<Run, GroupCounts> = HashMap::with_capacity(self.counts.len());
        let mut pass = Pass::default();
        let capacity_secs = elapsed_ms.unwrap_or(0) as f64 / 1000.0 * self.cores;
        for (root, look) in roots.iter().zip(readings) {
            let (sample, members) = match look {
                Some(GroupReading::Idle(idle)) => {
                    for (run, _) in idle.members.iter() {
                        next.extend(self.last_readings.remove_entry(&run.pid));
                    }
                    let same = (idle.sample(), Arc::clone(&idle.members));
                    counts.insert(root.run, idle);
                    same
                }
                Some(GroupReading::Busy(group)) => {
                    // Members of a group are read only when the group was busy.
                    let totals = self.totals(group.members.iter(), last_ticks, 0, &mut next);
                    let ticks_secs = totals.ticks as f64 / clock::ticks_per_second() as f64;
                    let used_secs = group.used_secs(last_ticks).unwrap_or(ticks_secs);
                    let pages = group.memory_pages.unwrap_or(totals.pages);
                    let sample = self.sample(used_secs, capacity_secs, pages, totals.fd);
                    let members: Members = totals.members.into();
                    let same = (sample, Arc::clone(&members));
                    counts.insert(root.run, group.counted(sample, members));
                    same
                }
                None => {
                    let family = tree.family(root.run);
                    let max_open_files = self.max_open_files;
                    let totals =
                        self.totals(family.into_iter(), last_ticks, max_open_files, &mut next);
                    let used_secs = totals.ticks as f64 / clock::ticks_per_second() as f64;
                    let sample = self.sample(used_secs, capacity_secs, totals.pages, totals.fd);
                    (sample, totals.members.into())
                }
            };
            pass.samples.push((!members.is_empty()).then_some(sample));
            pass.members.push(members);
        }
        self.last_readings = next;
        self.counts = counts;
        pass
    }

    /// Adds the members up, and keeps their readings for the next pass.
    fn totals<'a>(
        &mut self,
        members: impl Iterator<Item = &'a Stat>,
        last_ticks: u64,
        max_open_files: usize,
        next: &mut HashMap<i32, LastReading>,
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
                None if stat.start >= last_ticks => total,
                None => 0,
            };
            totals.pages += stat.rss_pages;
            let fd = count_fds(run.pid);
            totals.fd += fd;
            totals.members.push((run, fd));
            if !next.contains_key(&run.pid) {
                let known = self
                    .last_readings
                    .remove(&run.pid)
                    .filter(|last_readings| last_readings.run == run);
                let kept = known.and_then(|seen| seen.file);
                let file = kept.or_else(|| {
                    let keeps = next.len() < max_open_files;
                    keeps.then(|| open_stat(run.pid)).flatten()
                });
                let ticks = total;
                next.insert(run.pid, LastReading { run, ticks, file });
            }
        }
        totals
    }

    fn sample(&self, used_secs: f64, capacity_secs: f64, pages: u64, fd: u32) -> Sample {
        Sample {
            cpu: match capacity_secs > 0.0 {
                true => used_secs / capacity_secs * 100.0,
                false => 0.0,
            },
            mem: pages as f64 / self.total_pages * 100.0,
            fd,
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

    /// Bytes per second over the TCP sockets of each family of a pass, since the last call. Sees the sockets of the agent's
    /// network namespace only.
    pub(crate) fn traffic(&mut self, pass: &Pass) -> Vec<u64> {
        let now = clock::boot_ms();
        let sockets = sockets::bytes_by_inode();
        let elapsed_ms = self.traffic_boot_ms.map(|last| now.saturating_sub(last));
        self.traffic_boot_ms = Some(now);
        let mut lookups = MAX_LOOKUPS;
        let mut owners = HashMap::new();
        let mut rates = Vec::with_capacity(pass.members.len());
        for members in &pass.members {
            let mut bytes = 0;
            if !sockets.is_empty() {
                for (run, fd) in members.iter() {
                    let known = self.owners.remove(&run.pid);
                    let mut owned = refresh(known, *run, *fd, &sockets, &mut lookups);
                    owned.tcp.clear();
                    for inode in &owned.inodes {
                        let Some(now) = sockets.get(inode) else {
                            continue;
                        };
                        owned.tcp.push(*inode);
                        let before = self.traffic.get(inode).copied().unwrap_or(0);
                        bytes += now.saturating_sub(before);
                    }
                    owners.insert(run.pid, owned);
                }
            }
            rates.push(match elapsed_ms {
                Some(elapsed) if elapsed > 0 => bytes * 1000 / elapsed,
                // Traffic before the first call gives no rate.
                Some(_) | None => 0,
            });
        }
        self.owners = owners;
        self.traffic = sockets;
        rates
    }
}

/// The sockets of a process: the known ones, unless its count of descriptors has changed or a TCP socket is gone.
fn refresh(
    known: Option<Sockets>,
    run: Run,
    fd: u32,
    sockets: &HashMap<u32, u64>,
    lookups: &mut usize,
) -> Sockets {
    let known = known.filter(|known| known.run == run);
    let is_current = |known: &Sockets| {
        known.fd == fd
            && known.age < SOCKETS_AGE
            && known.tcp.iter().all(|inode| sockets.contains_key(inode))
    };
    match known {
        Some(known) if is_current(&known) || *lookups < fd as usize => Sockets {
            age: known.age.saturating_add(1),
            ..known
        },
        Some(_) | None => {
            *lookups = lookups.saturating_sub(fd as usize);
            Sockets {
                run,
                fd,
                age: 0,
                inodes: sockets::inodes_of(run.pid),
                tcp: Vec::new(),
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

/// All processes with their parents and sessions.
struct ProcessTree<'a> {
    stats: &'a [Stat],
    by_pid: HashMap<i32, usize>,
    by_parent: HashMap<i32, Vec<usize>>,
    by_session: HashMap<i32, Vec<usize>>,
}

impl<'a> ProcessTree<'a> {
    fn of(stats: &'a [Stat]) -> Self {
        let mut tree = Self {
            stats,
            by_pid: HashMap::with_capacity(stats.len()),
            by_parent: HashMap::new(),
            by_session: HashMap::new(),
        };
        for (index, stat) in stats.iter().enumerate().filter(|(_, stat)| stat.is_live()) {
            tree.by_pid.insert(stat.pid, index);
            tree.by_parent.entry(stat.ppid).or_default().push(index);
            tree.by_session.entry(stat.session).or_default().push(index);
        }
        tree
    }

    fn family(&self, root: Run) -> Vec<&'a Stat> {
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
            let members = ProcessTree::of(&stats).family(Run { pid, start });
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
        let roots = [Root {
            run: me,
            group: None,
        }];
        let mut sampler = Sampler::new();
        let first = talk();
        // The first pass keeps a file of ours open.
        sampler.pass(&roots);
        let pass = sampler.pass(&roots);
        let n_before = pass.samples[0].unwrap().fd;
        sampler.traffic(&pass);
        drop(first);
        let _second = talk();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let pass = sampler.pass(&roots);
        assert_eq!(
            pass.samples[0].unwrap().fd,
            n_before,
            "as many descriptors as before"
        );
        let rate = sampler.traffic(&pass)[0];
        assert!(rate > 0, "{rate}");
    }

    #[test]
    fn our_own_figures_are_sane() {
        let me = Stat::read(std::process::id() as i32).unwrap().run();
        let mut sampler = Sampler::new();
        let roots = [Root {
            run: me,
            group: None,
        }];
        sampler.pass(&roots);
        let begin = std::time::Instant::now();
        while begin.elapsed().as_millis() < 120 {
            std::hint::black_box(begin);
        }
        let pass = sampler.pass(&roots);
        let sample = pass.samples[0].unwrap();
        assert!(sample.cpu > 1.0 && sample.cpu <= 110.0, "{sample:?}");
        assert!(sample.mem > 0.0 && sample.mem < 50.0, "{sample:?}");
        assert!(sample.fd >= 3, "{sample:?}");
    }
}
