//! What the kernel's log says of processes that its memory killer ended: for hosts whose control groups do not count that.
//!
//! `/dev/kmsg` gives one record for each read. The agent reads it only when a run ended by SIGKILL and no group explains that.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;

use model::status::OomMemory;

/// A record is at most this long.
const MAX_RECORD: usize = 8192;
/// The log is a ring of a few MiB at most; no more records are read.
const MAX_RECORDS: usize = 200_000;
/// Older records may be about an earlier process of the same pid.
const RECENT_US: u64 = 30_000_000;

/// The memory of a process that the kernel has killed lately because memory was short; None if the log does not say so, or
/// cannot be read.
pub(crate) fn oom_kill_of(pid: i32) -> Option<OomMemory> {
    let mut log = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/kmsg")
        .ok()?;
    let mut records = Vec::new();
    let mut buffer = [0; MAX_RECORD];
    for _ in 0..MAX_RECORDS {
        match log.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                records.extend(Record::parse(&String::from_utf8_lossy(&buffer[..length])))
            }
            // Records were overwritten meanwhile: the next read begins at the oldest that is left.
            Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
            Err(_) => break,
        }
    }
    find(&records, pid)
}

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

/// The last kill of this process among records that are not old.
fn find(records: &[Record], pid: i32) -> Option<OomMemory> {
    let now_us = records.last()?.at_us;
    let named = format!("illed process {pid} (");
    let at = records
        .iter()
        .rposition(|record| record.text.contains(&named))?;
    let kill = &records[at];
    if now_us.saturating_sub(kill.at_us) > RECENT_US {
        return None;
    }
    let used = ["anon-rss:", "file-rss:", "shmem-rss:"].map(|name| kibibytes(&kill.text, name));
    // Some lines before it stands which group was over which limit, if it was one.
    let report = records[..at].iter().rev().take_while(|record| {
        kill.at_us.saturating_sub(record.at_us) < RECENT_US
            && !record.text.contains("illed process ")
    });
    let mut limits = report.filter(|record| record.text.contains("memory: usage "));
    let limit = limits
        .next()
        .map_or(0, |record| kibibytes(&record.text, "limit "));
    Some(OomMemory {
        used: used.iter().sum(),
        limit: if limit < NO_LIMIT { limit } else { 0 },
    })
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

    fn records(text: &str) -> Vec<Record> {
        text.lines().filter_map(Record::parse).collect()
    }

    #[test]
    fn a_kill_is_found_with_its_figures() {
        let memory = |used: u64, limit: u64| {
            Some(OomMemory {
                used: used << 10,
                limit: limit << 10,
            })
        };
        assert_eq!(find(&records(OLD), 4242), memory(102_400, 102_400));
        assert_eq!(find(&records(NEW), 77), memory(3072, 0));
        assert_eq!(find(&records(NEW), 7), None, "another pid");
        assert_eq!(find(&[], 7), None);
    }

    #[test]
    fn an_old_kill_may_be_of_another_process() {
        let late = format!("{OLD}\n6,6,{},-;later", 1030 + RECENT_US + 1);
        assert_eq!(find(&records(&late), 4242), None);
    }

    #[test]
    fn lines_that_are_no_records_are_skipped() {
        let text = "nonsense\n6,2\n6,x,y,-;text\n SUBSYSTEM=pci";
        assert_eq!(records(text), []);
    }
}
