//! Folders on the way to a file: made where they are missing, and gone again when the file does not come to be.

use std::cell::Cell;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::fs::fchown;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, fchmod, fstat, fsync, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use super::ConfigFileError;
use super::account::Account;
use super::place::Place;
use crate::os::rights::Rights;

const MODE: Mode = Mode::from_raw_mode(0o755);

#[derive(Debug)]
pub(super) struct Folders {
    /// The folder of the file, open for reading.
    pub(super) last: OwnedFd,
    /// Those that were made, each with the one that it is in; the outermost first.
    made: Vec<(OwnedFd, OsString)>,
    is_kept: Cell<bool>,
}

impl Folders {
    pub(super) fn make(place: &Place, account: Account) -> Result<Self, ConfigFileError> {
        let mut folders = Self {
            last: open(&place.folder, ".").map_err(|error| {
                let at = deepest(place);
                ConfigFileError::failed(&place.path, format!("open {}", at.display()), error)
            })?,
            made: Vec::new(),
            is_kept: Cell::new(false),
        };
        let mut at = deepest(place).to_owned();
        for name in &place.missing {
            at.push(name);
            folders.descend(name, account).map_err(|error| {
                let doing = format!("make the folder {}", at.display());
                ConfigFileError::failed(&place.path, doing, error)
            })?;
        }
        Ok(folders)
    }

    /// Makes and enters one folder. With the rights of who owns the folder around it: they may rename what is in there,
    /// so that a folder which root made there, and then gave away, could be another one of root's by then.
    fn descend(&mut self, name: &OsString, account: Account) -> Result<(), std::io::Error> {
        let around = fstat(&self.last)?;
        let rights = Rights::of_ids(around.st_uid, around.st_gid);
        let made = match rights.with(|| Ok(mkdirat(&self.last, name, MODE)?)) {
            Ok(()) => true,
            // Somebody else wanted it, too.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        let next = match open(&self.last, name) {
            Ok(next) => next,
            Err(error) => {
                if made {
                    let _gone_already = unlinkat(&self.last, name, AtFlags::REMOVEDIR);
                }
                return Err(error.into());
            }
        };
        let outer = std::mem::replace(&mut self.last, next);
        if made {
            self.made.push((outer, name.clone()));
            // Whoever put another in its place keeps that.
            let maker = rights.uid();
            if fstat(&self.last)?.st_uid == maker {
                fchown(&self.last, Some(account.uid), Some(account.gid))?;
                // The umask may have taken some of it.
                fchmod(&self.last, MODE)?;
            }
        }
        Ok(())
    }

    /// The file is there: they stay.
    pub(super) fn keep(&self) {
        self.is_kept.set(true);
    }

    /// Returns when the disk knows the names, too.
    pub(super) fn sync(&self, place: &Place) -> Result<(), ConfigFileError> {
        let outer = self.made.iter().map(|(outer, _)| outer);
        for folder in outer.chain([&self.last]) {
            match fsync(folder) {
                // Some file systems cannot, and need not.
                Ok(()) | Err(Errno::INVAL) => {}
                Err(error) => {
                    let doing = "make sure that the file, which is written, survives a power cut";
                    return Err(ConfigFileError::failed(&place.path, doing, error));
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
                // Whoever has put something into it meanwhile keeps it.
                let _in_use = unlinkat(outer, name, AtFlags::REMOVEDIR);
            }
        }
    }
}

fn deepest(place: &Place) -> &Path {
    let n_below = place.missing.len() + 1;
    let mut above = place.real.ancestors().skip(n_below);
    above.next().unwrap_or(Path::new("/"))
}

fn reading() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn open(folder: &OwnedFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    openat(folder, name, reading(), Mode::empty())
}
