//! What the kernel's log says of processes that its memory killer ended: for hosts whose control groups do not count that.
//!
//! `/dev/kmsg` gives one record for each read, and a whole log has thousands. The agent reads it when it begins, if no group
//! counts kills, and from then on only what is new when a run ended by SIGKILL: a restart waits for that.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

use model::status::OomMemory;

/// A record is at most this long.
const MAX_RECORD: usize = 8192;
/// The log is a ring of a few MiB at most; no more records are read at once.
const MAX_RECORDS: usize = 200_000;
/// How many records about kills are kept.
const MAX_KEPT: usize = 256;
/// Older records may be about an earlier process of the same pid.
const RECENT_US: u64 = 30_000_000;

/// The kernel's log, as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct KernelLog {
    /// Kept open: it remembers what was read. None before the first reading, and where it cannot be opened.
    file: Option<File>,
    kills: KillRecords,
}

impl KernelLog {
    /// The memory of a process that the kernel has killed lately because memory was short; None if the log does not say so,
    /// or cannot be read.
    pub(crate) fn oom_kill_of(&mut self, pid: i32) -> Option<OomMemory> {
        self.read_on();
        self.kills.find(pid)
    }

    /// Reads what was written since the last call; at the first call, the whole log.
    pub(crate) fn read_on(&mut self) {
        if self.file.is_none() {
            self.file = open().ok();
        }
        if let Some(file) = &mut self.file {
            self.kills.read_on(file);
        }
    }
}

fn open() -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    options.custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    options.open("/dev/kmsg")
}

/// The last records about kills.
#[derive(Debug, Default)]
struct KillRecords {
    records: VecDeque<Record>,
    /// Of the last record, whatever it was about.
    now_us: u64,
}

impl KillRecords {
    /// Reads what was written since the last call; each read gives one record.
    fn read_on(&mut self, log: &mut impl Read) {
        let mut buffer = [0; MAX_RECORD];
        for _ in 0..MAX_RECORDS {
            match log.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => self.take(&String::from_utf8_lossy(&buffer[..length])),
                // Records were overwritten meanwhile: the next read begins at the oldest that is left.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
                Err(_) => break,
            }
        }
    }

    fn take(&mut self, record: &str) {
        let Some(record) = Record::parse(record) else {
            return;
        };
        self.now_us = record.at_us;
        if record.text.contains(KILLED) || record.text.contains(USAGE) {
            if self.records.len() == MAX_KEPT {
                self.records.pop_front();
            }
            self.records.push_back(record);
        }
    }

    /// The last kill of this process, if it is not old.
    fn find(&self, pid: i32) -> Option<OomMemory> {
        let named = format!("{KILLED}{pid} (");
        let records = &self.records;
        let at = (0..records.len()).rfind(|at| records[*at].text.contains(&named))?;
        let kill = &records[at];
        if self.now_us.saturating_sub(kill.at_us) > RECENT_US {
            return None;
        }
        let used = ["anon-rss:", "file-rss:", "shmem-rss:"].map(|name| kibibytes(&kill.text, name));
        // Some lines before it stands which group was over which limit, if it was one.
        let report = records.range(..at).rev().take_while(|record| {
            kill.at_us.saturating_sub(record.at_us) < RECENT_US && !record.text.contains(KILLED)
        });
        let mut limits = report.filter(|record| record.text.contains(USAGE));
        let limit = limits
            .next()
            .map_or(0, |record| kibibytes(&record.text, "limit "));
        Some(OomMemory {
            used: used.iter().sum(),
            limit: if limit < NO_LIMIT { limit } else { 0 },
        })
    }
}

const KILLED: &str = "illed process ";
const USAGE: &str = "memory: usage ";

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    at_us: u64,
    text: String,
}

impl Record {
    /// `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT`, then lines with facts.
    fn parse(record: &str) -> Option<Self> {
        let (head, text) = record.split_once(';')?;
        Some(Self {
            at_us: head.split(',').nth(2)?.parse().ok()?,
            text: text.lines().next().unwrap_or_default().to_owned(),
        })
    }
}

/// Where there is no limit, the kernel writes one that no host has.
const NO_LIMIT: u64 = 1 << 60;

/// The number after a name, written as `123kB`, in bytes; 0 if there is none.
fn kibibytes(text: &str, name: &str) -> u64 {
    let number = text.split_once(name).and_then(|(_, rest)| {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        rest[..end].parse::<u64>().ok()
    });
    number.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of Linux 3.10 (CentOS 7) and 6.18, shortened.
    const OLD: &str = "\
3,1,1000,-;odd invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=0
6,2,1010,-;memory: usage 102400kB, limit 102400kB, failcnt 31
6,3,1020,-;Memory cgroup out of memory: Kill process 4242 (odd) score 988 or sacrifice child
3,4,1030,-;Killed process 4242 (odd) total-vm:211984kB, anon-rss:101404kB, file-rss:996kB
6,5,2000,-;eth0: link up";
    const NEW: &str = "\
6,1,1000,-;Tasks state (memory values in pages):
3,2,1010,-;Out of memory: Killed process 77 (odd) total-vm:211984kB, anon-rss:2048kB, file-rss:0kB, shmem-rss:1024kB, UID:0 pgtables:452kB oom_score_adj:0";

    fn after(text: &str) -> KillRecords {
        let mut kills = KillRecords::default();
        text.lines().for_each(|line| kills.take(line));
        kills
    }

    #[test]
    fn a_kill_is_found_with_its_figures() {
        let memory = |used: u64, limit: u64| {
            Some(OomMemory {
                used: used << 10,
                limit: limit << 10,
            })
        };
        assert_eq!(after(OLD).find(4242), memory(102_400, 102_400));
        assert_eq!(after(NEW).find(77), memory(3072, 0));
        assert_eq!(after(NEW).find(7), None, "another pid");
        assert_eq!(after("").find(7), None);
    }

    #[test]
    fn an_old_kill_may_be_of_another_process() {
        let late = format!("{OLD}\n6,6,{},-;later", 1030 + RECENT_US + 1);
        assert_eq!(after(&late).find(4242), None);
    }

    #[test]
    fn lines_that_are_no_records_are_skipped() {
        let text = "nonsense\n6,2\n6,x,y,-;text\n SUBSYSTEM=pci";
        let kills = after(text);
        assert_eq!((kills.records.len(), kills.now_us), (0, 0));
    }

    #[test]
    fn a_bounded_number_of_records_is_kept_and_the_last_ones_count() {
        let mut kills = KillRecords::default();
        for pid in 0..1000 {
            kills.take(&format!(
                "3,1,1000,-;Killed process {pid} (odd) anon-rss:4kB, x"
            ));
        }
        assert_eq!(kills.records.len(), MAX_KEPT);
        assert_eq!(kills.find(1), None);
        assert_eq!(kills.find(999).unwrap().used, 4096);
    }

    /// A log that gives one record for each read, like `/dev/kmsg`.
    struct Log(VecDeque<Result<String, i32>>);

    impl Read for Log {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.pop_front() {
                Some(Ok(record)) => record.as_bytes().read(buffer),
                Some(Err(error)) => Err(io::Error::from_raw_os_error(error)),
                None => Err(io::Error::from_raw_os_error(libc::EAGAIN)),
            }
        }
    }

    #[test]
    fn only_what_is_new_is_read_again() {
        let mut kills = KillRecords::default();
        let mut log = Log(OLD.lines().map(|line| Ok(line.to_owned())).collect());
        kills.read_on(&mut log);
        assert!(kills.find(4242).is_some() && kills.find(77).is_none());
        // Some records were lost between the two readings.
        log.0.push_back(Err(libc::EPIPE));
        log.0.extend(NEW.lines().map(|line| Ok(line.to_owned())));
        kills.read_on(&mut log);
        assert!(kills.find(4242).is_some() && kills.find(77).is_some());
        assert!(log.0.is_empty());
    }
}
