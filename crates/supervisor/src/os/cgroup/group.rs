//! One cgroup v2 group: its members, their usage, and killing them all.
//!
//! Every descendant of a process is in its group, whatever it did to its session, parents or environment; only a process
//! that may write to the control groups can leave.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::os::shortage::is_shortage;

/// How deep groups below a group are followed: a container runtime creates some.
const MAX_DEPTH: u32 = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group(PathBuf);

/// A group in which a command is created.
#[derive(Debug)]
pub(crate) struct GroupEntry {
    pub(crate) directory: OwnedFd,
    procs: PathBuf,
}

impl GroupEntry {
    /// Moves a process into the group.
    pub(crate) fn add(&self, pid: i32) -> io::Result<()> {
        fs::write(&self.procs, pid.to_string())
    }
}

impl Group {
    pub(super) fn at(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn entry(&self) -> io::Result<GroupEntry> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(GroupEntry {
            directory: rustix::fs::open(&self.0, flags, Mode::empty())?,
            procs: self.0.join("cgroup.procs"),
        })
    }

    /// Every member of it and of the groups below it, without zombies.
    pub(crate) fn pids(&self) -> io::Result<Vec<i32>> {
        let mut pids = Vec::new();
        collect(&self.0, 0, &mut pids)?;
        Ok(pids)
    }

    /// Microseconds of CPU of every process that was ever in it. `file` is its `cpu.stat`, kept open for the next call.
    pub(crate) fn cpu_usage_us(&self, file: &mut Option<File>) -> Option<u64> {
        let mut buffer = [0; 512];
        let read = file.as_ref().and_then(|f| f.read_at(&mut buffer, 0).ok());
        let length = match read {
            Some(length) => length,
            // Not open yet, or its group was removed.
            None => {
                let opened = File::open(self.0.join("cpu.stat")).ok()?;
                let length = opened.read_at(&mut buffer, 0).ok()?;
                *file = Some(opened);
                length
            }
        };
        let text = std::str::from_utf8(&buffer[..length]).ok()?;
        figure(text, "usage_usec")
    }

    /// Bytes of memory in use without inactive file cache. `None` if the group does not count memory.
    pub(crate) fn working_set(&self) -> Option<u64> {
        let current = fs::read_to_string(self.0.join("memory.current")).ok()?;
        let stat = fs::read_to_string(self.0.join("memory.stat")).ok()?;
        let current: u64 = current.trim().parse().ok()?;
        Some(current.saturating_sub(figure(&stat, "inactive_file")?))
    }

    /// SIGKILL to every member at once, including forks in between, if the kernel can (5.14). Some kernels also kill processes
    /// that are created in the group later (6.1.190 and 6.18 do): create the group again before it is used again.
    pub(crate) fn kill(&self) {
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
    }

    /// Removes it and the groups below it, if they are empty.
    pub(super) fn remove(&self) -> bool {
        remove(&self.0, 0)
    }
}

/// One of the lines NAME VALUE.
pub(super) fn figure(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let (_, value) = lines.find(|(known, _)| *known == name)?;
    value.trim().parse().ok()
}

/// The reading of a group; the default if the group does not exist or lists no processes because it is threaded. A
/// shortage stays an error: it says nothing about the members.
fn unless_short<T: Default>(read: io::Result<T>) -> io::Result<T> {
    match read {
        Err(error) if !is_shortage(&error) => Ok(T::default()),
        other => other,
    }
}

/// The groups below a group. Its link count shows for most that there are none.
fn below(at: &Path) -> io::Result<Vec<PathBuf>> {
    if fs::metadata(at).is_ok_and(|data| data.nlink() <= 2) {
        return Ok(Vec::new());
    }
    let mut groups = Vec::new();
    for entry in unless_short(fs::read_dir(at).map(Some))?
        .into_iter()
        .flatten()
    {
        let is_group = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let entry = unless_short(entry.map(Some))?;
        groups.extend(entry.filter(is_group).map(|entry| entry.path()));
    }
    Ok(groups)
}

fn collect(at: &Path, depth: u32, pids: &mut Vec<i32>) -> io::Result<()> {
    let listed = unless_short(fs::read_to_string(at.join("cgroup.procs")))?;
    // A process outside of the agent's pid namespace is listed as 0.
    let known = listed.lines().filter_map(|line| line.parse::<i32>().ok());
    pids.extend(known.filter(|pid| *pid > 0));
    if depth < MAX_DEPTH {
        for group in below(at)? {
            collect(&group, depth + 1, pids)?;
        }
    }
    Ok(())
}

fn remove(at: &Path, depth: u32) -> bool {
    match fs::remove_dir(at) {
        Ok(()) => return true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return false,
        // It has members, or groups below it.
        Err(_) => {}
    }
    if depth >= MAX_DEPTH {
        return false;
    }
    let groups = below(at).unwrap_or_default();
    for group in &groups {
        remove(group, depth + 1);
    }
    !groups.is_empty() && fs::remove_dir(at).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inactive_file_cache_does_not_count_as_memory_in_use() {
        let dir = tempfile::tempdir().unwrap();
        let group = Group::at(dir.path().to_owned());
        assert_eq!(group.working_set(), None, "it does not count memory");
        let write = |file: &str, text: &str| fs::write(dir.path().join(file), text).unwrap();
        write("memory.current", "9000\n");
        write(
            "memory.stat",
            "anon 1000\nfile 8000\ninactive_anon 5\nactive_file 500\ninactive_file 7500\n",
        );
        assert_eq!(group.working_set(), Some(1500));
    }

    #[test]
    fn the_file_of_a_removed_group_is_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let group = Group::at(dir.path().to_owned());
        let mut file = None;
        assert_eq!(group.cpu_usage_us(&mut file), None);
        fs::write(dir.path().join("cpu.stat"), "usage_usec 7\nuser_usec 5\n").unwrap();
        assert_eq!(group.cpu_usage_us(&mut file), Some(7));
        // Like the file of a removed group, a directory cannot be read.
        file = Some(File::open(dir.path()).unwrap());
        assert_eq!(group.cpu_usage_us(&mut file), Some(7));
    }
}
