//! Spools: files for the output of commands without a log. A free spool is reused by commands that start in the same turn:
//! when a thousand processes exit at once, removing and creating as many files would cost more than all else.
//!
//! A process of the earlier command may still write into a free spool. A file lease shows it: the kernel grants one only for
//! a file that no other process has open.
#![allow(unsafe_code)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::clock;
use crate::machine::Sink;

/// How many free spools are kept.
const MAX_FREE: usize = 1024;
/// Larger spools are removed instead, to free their space.
const MAX_FREE_BYTES: u64 = 4096;

#[derive(Debug)]
pub(crate) struct Spools {
    dir: PathBuf,
    /// The number of the last new spool: above those of earlier agents.
    last: u64,
    free: Vec<PathBuf>,
}

/// A new file for output, which only the agent's user can read.
pub(super) fn create_output(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

impl Spools {
    pub(crate) fn in_dir(dir: PathBuf) -> Self {
        Self {
            dir,
            last: clock::boot_ms() << 20,
            free: Vec::new(),
        }
    }

    /// An empty spool that no other process has open.
    pub(crate) fn open(&mut self) -> io::Result<(Sink, OwnedFd)> {
        while let Some(path) = self.free.pop() {
            match reopen(&path) {
                Ok(file) => return Ok(sink(path, file)),
                Err(_) => remove(&path),
            }
        }
        self.last += 1;
        let path = self.dir.join(format!("{:x}", self.last));
        let file = create_output(&path)?;
        Ok(sink(path, file))
    }

    /// Frees a spool that is no longer read. The output of a run is no spool, and stays.
    pub(crate) fn give_back(&mut self, path: &Path) {
        if path.parent() != Some(&self.dir) {
            return;
        }
        let is_small = fs::symlink_metadata(path).is_ok_and(|found| found.len() <= MAX_FREE_BYTES);
        match is_small && self.free.len() < MAX_FREE {
            true => self.free.push(path.to_owned()),
            false => remove(path),
        }
    }

    /// The end of a turn: removes spools that were not reused.
    pub(crate) fn tidy(&mut self) {
        self.free.drain(..).for_each(|path| remove(&path));
    }

    /// Removes unused spools of earlier agents.
    pub(crate) fn remove_strays(&self, is_used: impl Fn(&Path) -> bool) {
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if !is_used(&path) {
                remove(&path);
            }
        }
    }
}

fn sink(path: PathBuf, file: File) -> (Sink, OwnedFd) {
    let sink = Sink {
        path,
        offset: 0,
        spool: true,
        instead_of_log: String::new(),
    };
    (sink, file.into())
}

fn remove(path: &Path) {
    // It may be removed already.
    let _ = fs::remove_file(path);
}

/// Opens a free spool, if no other process has it open.
fn reopen(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .append(true)
        .custom_flags(libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    require_sole_user(&file)?;
    file.set_len(0)?;
    rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::APPEND)?;
    Ok(file)
}

/// An error if another process has the file open, or this agent a second time.
pub(crate) fn require_sole_user(file: &File) -> io::Result<()> {
    let control = |command: i32, value: i32| {
        // SAFETY: an open descriptor, and commands that take a number.
        match unsafe { libc::fcntl(file.as_raw_fd(), command, value) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // If another process opens the file while the lease exists, the kernel sends a signal: choose one without effect.
    control(F_SETSIG, libc::SIGURG)?;
    control(libc::F_SETLEASE, libc::F_WRLCK)?;
    control(libc::F_SETLEASE, libc::F_UNLCK)?;
    Ok(())
}

/// From `fcntl.h`; not every C library's binding has it.
const F_SETSIG: i32 = 10;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_spool_is_reused_once_no_process_has_it_open() {
        let dir = tempfile::tempdir().unwrap();
        let mut spools = Spools::in_dir(dir.path().to_owned());
        let files = || fs::read_dir(dir.path()).unwrap().count();
        let (first, output) = spools.open().unwrap();
        let mut output = File::from(output);
        output.write_all(b"said before").unwrap();

        spools.give_back(&first.path);
        let (second, _) = spools.open().unwrap();
        assert_ne!(second.path, first.path, "a process may still write there");
        assert_eq!(files(), 1);

        drop(output);
        spools.give_back(&second.path);
        let (third, output) = spools.open().unwrap();
        assert_eq!(third.path, second.path);
        assert_eq!(fs::metadata(&third.path).unwrap().len(), 0);
        File::from(output).write_all(b"said").unwrap();
        assert_eq!(fs::read(&third.path).unwrap(), b"said");
        assert_eq!(files(), 1);
    }

    #[test]
    fn a_reused_spool_is_empty_and_large_spools_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let mut spools = Spools::in_dir(dir.path().to_owned());
        let (sink, output) = spools.open().unwrap();
        File::from(output).write_all(b"said before").unwrap();
        spools.give_back(&sink.path);
        let (again, output) = spools.open().unwrap();
        assert_eq!(again.path, sink.path);
        assert_eq!(fs::read(&again.path).unwrap(), b"");
        let much = vec![b'x'; MAX_FREE_BYTES as usize + 1];
        File::from(output).write_all(&much).unwrap();
        spools.give_back(&again.path);
        assert!(!again.path.exists());
        spools.give_back(&again.path);
        let (other, _) = spools.open().unwrap();
        assert_ne!(other.path, again.path);
        spools.give_back(&other.path);
        assert!(other.path.exists());
        spools.tidy();
        assert!(!other.path.exists());
    }
}
