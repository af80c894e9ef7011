//! Reads `/proc`: one small read per process, without allocations beyond the buffer.

use std::fs;
use std::io::{self, Read};

use super::shortage::is_shortage;
use crate::machine::Run;

/// More than the kernel allows.
const MAX_ENVIRONMENT: u64 = 8 * 1024 * 1024;
/// More than the kernel writes into `/proc/PID/status`.
const MAX_STATUS: u64 = 64 * 1024;

/// The fields of `/proc/PID/stat` that the agent uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: i32,
    pub(crate) comm: Comm,
    pub(crate) state: u8,
    pub(crate) ppid: i32,
    pub(crate) session: i32,
    pub(crate) utime: u64,
    pub(crate) stime: u64,
    pub(crate) threads: u32,
    pub(crate) start: u64,
    pub(crate) rss_pages: u64,
    /// As `wait` would give it; only for a zombie that the agent may trace.
    pub(crate) exit_code: i32,
}

/// A task name: at most 15 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Comm {
    bytes: [u8; 16],
    len: u8,
}

impl Comm {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl Stat {
    pub(crate) fn run(&self) -> Run {
        Run {
            pid: self.pid,
            start: self.start,
        }
    }

    /// Neither a zombie nor dead.
    pub(crate) fn is_live(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Whether all of its threads have ended. The first thread may be a zombie while others run.
    pub(crate) fn has_ended(&self) -> bool {
        !self.is_live() && self.threads <= 1
    }

    /// The process with this pid; `None` when there is none. An error means that it is not known: the agent may lack
    /// descriptors or permission.
    pub(crate) fn find(pid: i32) -> io::Result<Option<Self>> {
        let path = format!("/proc/{pid}/stat");
        let mut buffer = [0; 1024];
        let read = fs::File::open(&path).and_then(|mut file| file.read(&mut buffer));
        match read {
            Ok(length) => match Self::parse(&buffer[..length]) {
                Some(stat) => Ok(Some(stat)),
                None => Err(io::Error::other(format!("{path} cannot be understood"))),
            },
            Err(error) if is_gone(&error) => Ok(None),
            // stat(2) takes no descriptor.
            Err(error) => match fs::metadata(&path) {
                Err(other) if is_gone(&other) => Ok(None),
                Ok(_) | Err(_) => Err(error),
            },
        }
    }

    /// As [`Self::find`], for callers that treat an error like a missing process.
    pub(crate) fn read(pid: i32) -> Option<Self> {
        Self::find(pid).ok().flatten()
    }

    /// The name is in parentheses and may contain anything, so the last parenthesis ends it.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let open = text.iter().position(|b| *b == b'(')?;
        let close = text.iter().rposition(|b| *b == b')')?;
        let pid = number(text.get(..open)?.trim_ascii())?;
        let name = text.get(open + 1..close)?;
        let mut comm = Comm::default();
        let length = name.len().min(comm.bytes.len());
        comm.bytes[..length].copy_from_slice(&name[..length]);
        comm.len = length as u8;
        let mut stat = Self {
            pid: pid as i32,
            comm,
            ..Self::default()
        };
        let fields = text.get(close + 1..)?.split(u8::is_ascii_whitespace);
        let mut last = 2;
        for value in fields.filter(|field| !field.is_empty()) {
            last += 1;
            let number = match value {
                [b'-', digits @ ..] => number(digits).map_or(0, |n| -n),
                digits => number(digits).unwrap_or(0),
            };
            match last {
                3 => stat.state = value[0],
                4 => stat.ppid = number as i32,
                6 => stat.session = number as i32,
                14 => stat.utime = number as u64,
                15 => stat.stime = number as u64,
                20 => stat.threads = number as u32,
                22 => stat.start = number as u64,
                24 => stat.rss_pages = number.max(0) as u64,
                52 => stat.exit_code = number as i32,
                _ => {}
            }
        }
        (last >= 24).then_some(stat)
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_i64, |sum, digit| {
        digit
            .is_ascii_digit()
            .then(|| sum.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')))
    })
}

/// Whether an error of `/proc/PID` says that the process is not there.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH))
}

/// The result of reading one of many processes. A process that is gone or hidden from the agent is left out; a shortage
/// fails the whole walk, because a missed process would look like an exit.
fn unless_short<T>(read: io::Result<Option<T>>) -> io::Result<Option<T>> {
    match read {
        Err(error) if !is_shortage(&error) => Ok(None),
        other => other,
    }
}

/// Every process of the host, by one walk.
pub(crate) fn pids() -> io::Result<Vec<i32>> {
    let mut pids = Vec::new();
    for entry in fs::read_dir("/proc")? {
        pids.extend(pid_of(&entry?));
    }
    Ok(pids)
}

fn pid_of(entry: &fs::DirEntry) -> Option<i32> {
    entry.file_name().to_str()?.parse().ok()
}

/// The same walk one by one. It ends early if `/proc` cannot be read.
#[derive(Debug)]
pub(crate) struct Pids(Option<fs::ReadDir>);

impl Pids {
    pub(crate) fn begin() -> Self {
        Self(fs::read_dir("/proc").ok())
    }
}

impl Iterator for Pids {
    type Item = i32;

    fn next(&mut self) -> Option<i32> {
        let entries = self.0.as_mut()?.map_while(Result::ok);
        let pid = { entries }.find_map(|entry| pid_of(&entry));
        if pid.is_none() {
            self.0 = None;
        }
        pid
    }
}

/// These processes, without those that are gone.
pub(crate) fn find_all(pids: &[i32]) -> io::Result<Vec<Stat>> {
    let mut stats = Vec::with_capacity(pids.len());
    for pid in pids {
        stats.extend(unless_short(Stat::find(*pid))?);
    }
    Ok(stats)
}

pub(crate) fn all() -> io::Result<Vec<Stat>> {
    find_all(&pids()?)
}

/// The children of every thread of a process.
pub(crate) fn children(pid: i32) -> io::Result<Vec<i32>> {
    let mut children = Vec::new();
    let some = |read: io::Result<_>| unless_short(read.map(Some));
    let Some(tasks) = some(fs::read_dir(format!("/proc/{pid}/task")))? else {
        return Ok(children);
    };
    for task in tasks {
        let Some(task) = unless_short(task.map(Some))? else {
            continue;
        };
        let list = fs::read_to_string(task.path().join("children"));
        let list = unless_short(list.map(Some))?.unwrap_or_default();
        children.extend(
            list.split_whitespace()
                .filter_map(|pid| pid.parse::<i32>().ok()),
        );
    }
    Ok(children)
}

/// Whether this is the number of a process, and not of one of its threads: `/proc` knows those, too, if asked.
pub(crate) fn is_process(pid: i32) -> io::Result<bool> {
    let process = status(pid, b"Tgid:")?;
    Ok(process.and_then(|digits| number(digits.trim_ascii())) == Some(i64::from(pid)))
}

/// Real, effective and saved uid. The owner of `/proc/PID` is none of them where a process is not dumpable, as one with
/// file capabilities: then it is root.
pub(crate) fn uids(pid: i32) -> io::Result<Option<[u32; 3]>> {
    let Some(line) = status(pid, b"Uid:")? else {
        return Ok(None);
    };
    let fields = line.split(u8::is_ascii_whitespace);
    let fields = fields.filter(|field| !field.is_empty());
    let uids: Vec<u32> = fields
        .filter_map(|field| Some(number(field)? as u32))
        .collect();
    Ok(uids.first_chunk().copied())
}

/// What stands behind a name in `/proc/PID/status`. Bytes: the name of a task need not be text.
fn status(pid: i32, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let text = read_text(pid, "status", MAX_STATUS)?;
    let mut lines = text.split(|byte| *byte == b'\n');
    let found = lines.find_map(|line| line.strip_prefix(name));
    Ok(found.map(<[u8]>::to_vec))
}

/// The user that it runs as.
pub(crate) fn owner(pid: i32) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    Some(fs::metadata(format!("/proc/{pid}")).ok()?.uid())
}

/// The arguments, at most `max` bytes of them. A process that is gone, or that this agent may not read, has none.
pub(crate) fn cmdline(pid: i32, max: u64) -> io::Result<Vec<u8>> {
    read_text(pid, "cmdline", max)
}

/// Its `NAME=value` texts, each with a NUL behind it, in any order: a shell passes them on as it likes. A process that is
/// gone, or that this agent may not read, has none.
pub(crate) fn environment(pid: i32) -> io::Result<Vec<u8>> {
    read_text(pid, "environ", MAX_ENVIRONMENT)
}

fn read_text(pid: i32, file: &str, max: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let opened = fs::File::open(format!("/proc/{pid}/{file}"));
    let read = opened.and_then(|file| file.take(max).read_to_end(&mut text));
    unless_short(read.map(Some))?;
    Ok(text)
}

/// The variables in its environment that may be the agent's marks, each followed by a NUL. Almost no process has any.
pub(crate) fn marks(pid: i32) -> io::Result<Vec<u8>> {
    let text = environment(pid)?;
    let entries = text.split_inclusive(|byte| *byte == 0);
    let ours = entries.filter(|entry| entry.starts_with(b"MUSTER_"));
    Ok(ours.collect::<Vec<_>>().concat())
}

/// Whether its environment holds each of these `NAME=value` texts.
pub(crate) fn has_environment(pid: i32, wanted: &[String]) -> io::Result<bool> {
    let text = environment(pid)?;
    let mut found = 0;
    for entry in text.split(|b| *b == 0) {
        found += wanted.iter().filter(|w| w.as_bytes() == entry).count();
    }
    Ok(found >= wanted.len())
}

/// A value of `/proc/meminfo` in KiB.
pub(crate) fn meminfo_kib(key: &str) -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.trim_start_matches(':').split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_blanks_is_parsed() {
        let line = b"42 (a) b (c)) S 7 42 42 0 -1 4194560 95 0 0 0 11 22 0 0 20 0 3 0 12345 2428928 211 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 256\n";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.pid, stat.ppid, stat.session), (42, 7, 42));
        assert_eq!(stat.comm.as_bytes(), b"a) b (c)");
        assert_eq!((stat.state, stat.start, stat.threads), (b'S', 12345, 3));
        assert_eq!((stat.utime, stat.stime, stat.rss_pages), (11, 22, 211));
        assert_eq!(stat.exit_code, 256);
    }

    #[test]
    fn an_invalid_stat_line_is_none() {
        for bad in ["", "12", "12 (x", "12 (x) S 1", "(x) 12"] {
            assert_eq!(Stat::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn the_own_process_is_found() {
        let me = Stat::read(std::process::id() as i32).unwrap();
        assert!(me.is_live() && me.start > 0);
        assert!(all().unwrap().iter().any(|stat| stat.run() == me.run()));
    }

    #[test]
    fn an_unused_pid_is_not_found() {
        assert_eq!(Stat::find(i32::MAX).unwrap(), None);
    }

    #[test]
    fn a_mark_at_the_end_of_a_large_environment_is_found() {
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .env("A", "x".repeat(100_000))
            .env("Z", "marked")
            .spawn()
            .unwrap();
        let pid = child.id() as i32;
        // There is none for a moment while it becomes its program.
        while environment(pid).unwrap().is_empty() {
            std::thread::yield_now();
        }
        let has = |text: &str| has_environment(pid, &[text.to_owned()]).unwrap();
        let (ours, others) = (has("Z=marked"), has("Z=mark"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(ours && !others);
    }

    #[test]
    fn a_thread_is_no_process() {
        let mine = std::process::id() as i32;
        assert!(is_process(mine).unwrap());
        let thread = std::thread::spawn(|| {
            let link = std::fs::read_link("/proc/thread-self").unwrap();
            let number = link.file_name().unwrap().to_str().unwrap().to_owned();
            is_process(number.parse().unwrap()).unwrap()
        });
        assert!(!thread.join().unwrap());
        assert!(!is_process(i32::MAX).unwrap());
    }
}
