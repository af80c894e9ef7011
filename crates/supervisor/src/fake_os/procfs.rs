//! `/proc` of the fake host.

use std::io;

use super::host;
use super::process_table::Mark;
use crate::machine::Run;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: i32,
    pub(crate) comm: Comm,
    pub(crate) state: u8,
    pub(crate) ppid: i32,
    pub(crate) utime: u64,
    pub(crate) stime: u64,
    pub(crate) threads: u32,
    pub(crate) start: u64,
    pub(crate) rss_pages: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Comm(String);

impl Comm {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Stat {
    pub(crate) fn run(&self) -> Run {
        Run {
            pid: self.pid,
            start: self.start,
        }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.state != b'Z'
    }

    pub(crate) fn has_ended(&self) -> bool {
        !self.is_live()
    }

    pub(crate) fn find(pid: i32) -> io::Result<Option<Self>> {
        Ok(Self::read(pid))
    }

    pub(crate) fn read(pid: i32) -> Option<Self> {
        host::call(|table| {
            let proc = table.live(pid)?;
            Some(Self {
                pid,
                comm: Comm(proc.name.clone()),
                state: b'S',
                // Orphans are reparented to the agent.
                ppid: match proc.agent == table.agent {
                    true => std::process::id() as i32,
                    false => 1,
                },
                utime: 0,
                stime: 0,
                threads: 1,
                start: proc.run.start,
                rss_pages: 1,
            })
        })
    }
}

/// Whether a process was started with these variables.
pub(crate) fn has_environment(pid: i32, wanted: &[String]) -> io::Result<bool> {
    let mark = Mark::of(wanted);
    let has = host::call(|table| table.live(pid).is_some_and(|proc| proc.mark == mark));
    Ok(has)
}

pub(crate) fn cmdline(_pid: i32, _max: u64) -> io::Result<Vec<u8>> {
    Ok(Vec::new())
}

pub(crate) fn meminfo_kib(_key: &str) -> u64 {
    1024 * 1024
}

/// Not called without control groups.
pub(crate) fn pids() -> io::Result<Vec<i32>> {
    Ok(Vec::new())
}

pub(crate) fn environment(_pid: i32) -> io::Result<Vec<u8>> {
    Ok(Vec::new())
}

pub(crate) fn owner(_pid: i32) -> Option<u32> {
    None
}

/// Users are not simulated: a process without uids passes every check.
pub(crate) fn uids(_pid: i32) -> io::Result<Option<[u32; 3]>> {
    Ok(None)
}
