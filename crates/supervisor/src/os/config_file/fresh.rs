//! A file that is being written, under a name that nobody reads, beside the one that it will replace.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, openat, renameat, unlinkat};

use super::account::Account;
use super::folders::Folders;
use super::place::Place;
use super::{ConfigFileError, md5_of};

const MARK: &str = ".muster-new.";

/// Gone when dropped, unless it was put in its place.
#[derive(Debug)]
pub(super) struct Fresh<'a> {
    place: &'a Place,
    folder: &'a OwnedFd,
    name: OsString,
    file: File,
    is_put: Cell<bool>,
}

impl<'a> Fresh<'a> {
    /// Nobody but the agent may read it until it has its content and its owner.
    pub(super) fn create(place: &'a Place, folders: &'a Folders) -> Result<Self, ConfigFileError> {
        let random = RandomState::new().build_hasher().finish();
        let mut name = beginning(&place.name);
        name.push(format!("{random:016x}"));
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&folders.last, &name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|error| place.failed("make a file beside it", &error.into()))?;
        // Says that somebody is at it; where files cannot be locked, the worst is that it has to be written again.
        let _unlocked = flock(&file, FlockOperation::NonBlockingLockExclusive);
        Ok(Self {
            place,
            folder: &folders.last,
            name,
            file: file.into(),
            is_put: Cell::new(false),
        })
    }

    /// Gives it everything that the file shall have, and returns when that is on disk.
    pub(super) fn fill(
        &self,
        content: &[u8],
        account: Account,
        mode: u32,
        md5: &str,
    ) -> Result<(), ConfigFileError> {
        let mut file = &self.file;
        file.write_all(content)
            .map_err(|e| self.failed("write it", &e))?;
        self.give(account)
            .map_err(|e| self.failed("set its owner and group", &e))?;
        self.finish(mode)?;
        let failed = |e| self.failed("read it back", &e);
        file.rewind().map_err(failed)?;
        let mut written = Vec::with_capacity(content.len());
        file.read_to_end(&mut written).map_err(failed)?;
        let found = md5_of(&written);
        match found == md5 {
            true => Ok(()),
            false => Err(ConfigFileError::ReadBack {
                path: self.place.path.display().to_string(),
                found,
                wanted: md5.to_owned(),
            }),
        }
    }

    /// Makes it a copy of another file, as far as this agent may give it away.
    pub(super) fn copy(
        &self,
        mut from: &File,
        account: Account,
        mode: u32,
    ) -> Result<(), ConfigFileError> {
        let failed = |e| self.failed("make a backup", &e);
        from.rewind().map_err(failed)?;
        io::copy(&mut from, &mut &self.file).map_err(failed)?;
        match self.give(account) {
            Err(error) if super::super::user::is_root() => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
        self.finish(mode)
    }

    fn give(&self, account: Account) -> io::Result<()> {
        let found = self.file.metadata()?;
        match (found.uid(), found.gid()) == (account.uid, account.gid) {
            true => Ok(()),
            false => fchown(&self.file, Some(account.uid), Some(account.gid)),
        }
    }

    /// The mode comes after the owner: a change of owner takes bits of it away.
    fn finish(&self, mode: u32) -> Result<(), ConfigFileError> {
        self.file
            .set_permissions(Permissions::from_mode(mode))
            .map_err(|e| self.failed("set its mode", &e))?;
        self.file
            .sync_all()
            .map_err(|e| self.failed("write it", &e))
    }

    /// Takes the place of the file.
    pub(super) fn put(&self) -> Result<(), ConfigFileError> {
        self.put_as(&self.place.name)
    }

    pub(super) fn put_as(&self, name: &OsStr) -> Result<(), ConfigFileError> {
        renameat(self.folder, &self.name, self.folder, name)
            .map_err(|error| self.failed("put it in its place", &error.into()))?;
        self.is_put.set(true);
        Ok(())
    }

    fn failed(&self, doing: &str, error: &io::Error) -> ConfigFileError {
        self.place.failed(doing, error)
    }
}

impl Drop for Fresh<'_> {
    fn drop(&mut self) {
        if !self.is_put.get() {
            let _gone_already = unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Removes what a writer of this file left that was killed. Nobody else writes it now, but maybe another agent.
pub(super) fn sweep(place: &Place) {
    let beginning = beginning(&place.name);
    for name in names(&place.folder, &beginning) {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let is_left = openat(&place.folder, &name, flags, Mode::empty())
            .and_then(|file| flock(file, FlockOperation::NonBlockingLockExclusive));
        if is_left.is_ok()
            && let Err(error) = unlinkat(&place.folder, &name, AtFlags::empty())
        {
            tracing::warn!(?name, %error, "cannot remove what was left of a file half written");
        }
    }
}

fn beginning(name: &OsStr) -> OsString {
    let mut beginning = OsString::from(".");
    beginning.push(name);
    beginning.push(MARK);
    beginning
}

/// The names in a folder that begin like this; none where it may not be read.
pub(super) fn names(folder: &OwnedFd, beginning: &OsStr) -> Vec<OsString> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let entries = openat(folder, ".", flags, Mode::empty()).and_then(Dir::new);
    let names = entries.into_iter().flatten().flatten();
    names
        .map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned())
        .filter(|name| name.as_bytes().starts_with(beginning.as_bytes()))
        .collect()
}
