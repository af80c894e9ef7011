//! Files for the output of commands that have no log. One that nobody needs any more is used again by whatever is started
//! in the same turn: where a thousand processes end at once, removing as many files and making as many new ones costs more
//! than all else.
//!
//! Whoever ran before may have left somebody who still writes there. A lease tells: the kernel gives one only for a file
//! that nobody else has open.
#![allow(unsafe_code)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::clock;
use crate::machine::Sink;

/// How many files are kept to be used again.
const MAX_FREE: usize = 1024;
/// Larger ones are not kept: nobody would miss their room.
const MAX_FREE_BYTES: u64 = 4096;

#[derive(Debug)]
pub(crate) struct Spools {
    dir: PathBuf,
    /// The last number that was given to a file: above all of earlier agents.
    last: u64,
    free: Vec<PathBuf>,
}

impl Spools {
    pub(crate) fn in_dir(dir: PathBuf) -> Self {
        Self {
            dir,
            last: clock::boot_ms() << 20,
            free: Vec::new(),
        }
    }

    /// An empty file that nobody else writes into.
    pub(crate) fn open(&mut self) -> io::Result<(Sink, OwnedFd)> {
        while let Some(path) = self.free.pop() {
            match reopen(&path) {
                Ok(file) => return Ok(sink(path, file)),
                Err(_) => remove(&path),
            }
        }
        self.last += 1;
        let path = self.dir.join(format!("{:x}", self.last));
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_CLOEXEC)
            .open(&path)?;
        Ok(sink(path, file))
    }

    /// Nobody reads this one any more.
    pub(crate) fn give_back(&mut self, path: &Path) {
        let is_small = fs::symlink_metadata(path).is_ok_and(|found| found.len() <= MAX_FREE_BYTES);
        match is_small && self.free.len() < MAX_FREE {
            true => self.free.push(path.to_owned()),
            false => remove(path),
        }
    }

    /// The end of a turn: what is free by now was not needed again at once.
    pub(crate) fn tidy(&mut self) {
        self.free.drain(..).for_each(|path| remove(&path));
    }

    /// Removes what nobody refers to, left by earlier agents.
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
    // Gone is gone.
    let _ = fs::remove_file(path);
}

/// Opens a file that was used before, if nobody else has it open.
fn reopen(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .append(true)
        .custom_flags(libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    let control = |command: i32, value: i32| {
        // SAFETY: an open descriptor, and commands that take a number.
        match unsafe { libc::fcntl(file.as_raw_fd(), command, value) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // Whoever opens the file while there is a lease makes the kernel send a signal: one that does nothing.
    control(F_SETSIG, libc::SIGURG)?;
    control(libc::F_SETLEASE, libc::F_WRLCK)?;
    control(libc::F_SETLEASE, libc::F_UNLCK)?;
    file.set_len(0)?;
    rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::APPEND)?;
    Ok(file)
}

/// Of `fcntl.h`; not every C library's binding has it.
const F_SETSIG: i32 = 10;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_is_used_again_once_nobody_has_it_open() {
        let dir = tempfile::tempdir().unwrap();
        let mut spools = Spools::in_dir(dir.path().to_owned());
        let files = || fs::read_dir(dir.path()).unwrap().count();
        let (first, output) = spools.open().unwrap();
        let mut output = File::from(output);
        output.write_all(b"said before").unwrap();

        spools.give_back(&first.path);
        let (second, _) = spools.open().unwrap();
        assert_ne!(second.path, first.path, "somebody may still write there");
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
    fn what_was_said_before_is_gone_and_large_files_are_not_kept() {
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
