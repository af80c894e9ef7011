//! Missing folders of a path: created for the file, and removed again if writing it fails.

use std::cell::Cell;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::fs::fchown;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, fchmod, fstat, fsync, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use super::ConfigFileError;
use super::account::Account;
use super::resolved_path::ResolvedPath;
use crate::os::rights::OsRights;

const MODE: Mode = Mode::from_raw_mode(0o755);

#[derive(Debug)]
pub(super) struct Folders {
    /// The folder of the file, open for reading.
    pub(super) last: OwnedFd,
    /// Created folders, each with its parent; the outermost first.
    made: Vec<(OwnedFd, OsString)>,
    is_kept: Cell<bool>,
}

impl Folders {
    pub(super) fn make(target: &ResolvedPath, account: Account) -> Result<Self, ConfigFileError> {
        let mut folders = Self {
            last: open(&target.folder, ".").map_err(|error| {
                let at = deepest(target);
                ConfigFileError::failed(&target.path, format!("open {}", at.display()), error)
            })?,
            made: Vec::new(),
            is_kept: Cell::new(false),
        };
        let mut at = deepest(target).to_owned();
        for name in &target.missing {
            at.push(name);
            folders.descend(name, account).map_err(|error| {
                let doing = format!("make the folder {}", at.display());
                ConfigFileError::failed(&target.path, doing, error)
            })?;
        }
        Ok(folders)
    }

    /// Creates and enters one folder, with the rights of its parent's owner: that user may rename entries of the parent, so
    /// that a chown by root could hit another folder of root.
    fn descend(&mut self, name: &OsString, account: Account) -> Result<(), std::io::Error> {
        let around = fstat(&self.last)?;
        let rights = OsRights::of_ids(around.st_uid, around.st_gid);
        let made = match rights.with(|| Ok(mkdirat(&self.last, name, MODE)?)) {
            Ok(()) => true,
            // Another process created it meanwhile.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        let next = match open(&self.last, name) {
            Ok(next) => next,
            Err(error) => {
                if made {
                    let _ = unlinkat(&self.last, name, AtFlags::REMOVEDIR);
                }
                return Err(error.into());
            }
        };
        let outer = std::mem::replace(&mut self.last, next);
        if made {
            self.made.push((outer, name.clone()));
            // A folder that was swapped in meanwhile keeps its owner.
            let maker = rights.uid();
            if fstat(&self.last)?.st_uid == maker {
                fchown(&self.last, Some(account.uid), Some(account.gid))?;
                // Independent of the umask.
                fchmod(&self.last, MODE)?;
            }
        }
        Ok(())
    }

    /// Keeps the created folders: the file is written.
    pub(super) fn keep(&self) {
        self.is_kept.set(true);
    }

    /// Syncs the folders, so that the names survive a power loss.
    pub(super) fn sync(&self, target: &ResolvedPath) -> Result<(), ConfigFileError> {
        let outer = self.made.iter().map(|(outer, _)| outer);
        for folder in outer.chain([&self.last]) {
            match fsync(folder) {
                // Some file systems cannot sync a folder, and need not.
                Ok(()) | Err(Errno::INVAL) => {}
                Err(error) => {
                    let doing = "make sure that the file, which is written, survives a power cut";
                    return Err(ConfigFileError::failed(&target.path, doing, error));
                }
            }
        }
        Ok(())
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        if !self.is_kept.get() {
            for (outer, name) in self.made.iter().rev() {
                // Fails if the folder is in use meanwhile: then it stays.
                let _ = unlinkat(outer, name, AtFlags::REMOVEDIR);
            }
        }
    }
}

fn deepest(target: &ResolvedPath) -> &Path {
    let n_below = target.missing.len() + 1;
    let mut above = target.real.ancestors().skip(n_below);
    above.next().unwrap_or(Path::new("/"))
}

fn reading() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn open(folder: &OwnedFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    openat(folder, name, reading(), Mode::empty())
}
