//! Rotation of a log that a process has open: NAME, NAME.1, NAME.2 and so on, the newest first.
//!
//! The process keeps the file open, so the file is copied and then truncated; writers append, so they go on at the
//! beginning. Output between the last copied byte and the truncation is lost: that is the price of rotating without the
//! program's help.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use model::spec::Runtime;
use model::spec::runtime::MAX_LOG_KEEP;
use rustix::fs::{AtFlags, OFlags, renameat, unlinkat};
use rustix::io::Errno;

use super::regular;
use super::rights::OsRights;

/// The default maximum of a log.
const MAX_BYTES: u64 = 100 * 1024 * 1024;
/// The default number of old logs.
const KEEP: u32 = 5;

/// The maximum size of a log, and how many old ones are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rotation {
    max_bytes: u64,
    keep: u32,
}

impl From<&Runtime> for Rotation {
    fn from(runtime: &Runtime) -> Self {
        Self {
            max_bytes: runtime.log_max_bytes.unwrap_or(MAX_BYTES),
            keep: runtime.log_keep.unwrap_or(KEEP).min(MAX_LOG_KEEP),
        }
    }
}

impl Rotation {
    pub(crate) fn is_due(self, size: u64) -> bool {
        size > self.max_bytes
    }

    /// Moves the log's content to NAME.1, and each older one to the next number. With the rights of the process's user, and
    /// relative to the folder that was opened first: the user may replace the folder meanwhile.
    pub(crate) fn rotate(self, path: &Path, rights: &OsRights) -> io::Result<()> {
        rights.with(|| self.rotate_in_place(path))
    }

    fn rotate_in_place(self, path: &Path) -> io::Result<()> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::other("it is not a file"));
        };
        let (folder, name) = (regular::open_folder(folder)?, Path::new(name));
        let mut log = regular::open_in(&folder, name, OFlags::RDWR, 0)?;
        // It was rotated already, for another process with the same log.
        if !self.is_due(log.metadata()?.len()) {
            return Ok(());
        }
        if self.keep > 0 {
            let part = with_suffix(name, "part");
            remove(&folder, &part)?;
            let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            let mut copy = regular::open_in(&folder, &part, new, 0o644)?;
            io::copy(&mut log, &mut copy)?;
            for number in (1..self.keep).rev() {
                let (from, to) = (numbered(name, number), numbered(name, number + 1));
                match renameat(&folder, from, &folder, to) {
                    Err(error) if error != Errno::NOENT => return Err(error.into()),
                    Ok(()) | Err(_) => {}
                }
            }
            renameat(&folder, &part, &folder, numbered(name, 1))?;
            // Output since the first copy.
            io::copy(&mut log, &mut copy)?;
        }
        log.set_len(0)?;
        for number in self.keep + 1..=MAX_LOG_KEEP {
            if !remove(&folder, &numbered(name, number))? {
                break;
            }
        }
        Ok(())
    }
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    with_suffix(path, &number.to_string())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

/// False when there is nothing to remove.
fn remove(folder: &OwnedFd, name: &Path) -> io::Result<bool> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    use super::*;

    #[test]
    fn old_logs_are_renumbered_and_the_oldest_is_removed() {
        for (keep, left) in [(0, vec![]), (1, vec!["5"]), (3, vec!["5", "4", "3"])] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("p.log");
            let mut writer = OpenOptions::new()
                .append(true)
                .create(true)
                .open(&path)
                .unwrap();
            let rotation = Rotation { max_bytes: 0, keep };
            for round in 1..=5 {
                writer.write_all(round.to_string().as_bytes()).unwrap();
                rotation.rotate(&path, &OsRights::Agent).unwrap();
            }
            writer.write_all(b"now").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "now");
            for (number, text) in (1..).zip(&left) {
                assert_eq!(&fs::read_to_string(numbered(&path, number)).unwrap(), text);
            }
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), left.len() + 1);
        }
    }

    #[test]
    fn fewer_are_kept_when_the_spec_says_so_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.log");
        fs::write(&path, "new").unwrap();
        (1..=4).for_each(|n| fs::write(numbered(&path, n), "old").unwrap());
        let rotation = Rotation {
            max_bytes: 1,
            keep: 2,
        };
        rotation.rotate(&path, &OsRights::Agent).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(rotation.rotate(&link, &OsRights::Agent).is_err());
    }
}
