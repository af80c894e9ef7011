//! The new content of a file, in a temporary file beside the one that it will replace.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, openat, renameat, unlinkat};

use super::ConfigFileError;
use super::account::Account;
use super::folders::Folders;
use super::resolved_path::ResolvedPath;
use crate::os::md5;

const MARK: &str = ".muster-new.";

/// Removed on drop, unless it was renamed.
#[derive(Debug)]
pub(super) struct TempFile<'a> {
    target: &'a ResolvedPath,
    folder: &'a OwnedFd,
    name: OsString,
    file: File,
    is_renamed: Cell<bool>,
}

impl<'a> TempFile<'a> {
    /// Creates it with mode 0600: only the agent may read it until it has its owner.
    pub(super) fn create(
        target: &'a ResolvedPath,
        folders: &'a Folders,
    ) -> Result<Self, ConfigFileError> {
        let random = RandomState::new().build_hasher().finish();
        let mut name = beginning(&target.name);
        name.push(format!("{random:016x}"));
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&folders.last, &name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|error| target.failed("make a file beside it", &error.into()))?;
        // Marks it as in use for `sweep`; without file locks, the worst case is that it has to be written again.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        Ok(Self {
            target,
            folder: &folders.last,
            name,
            file: file.into(),
            is_renamed: Cell::new(false),
        })
    }

    /// Writes content, owner and mode, syncs them, and reads the content back.
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
        let found = md5::of_bytes(&written);
        match found == md5 {
            true => Ok(()),
            false => Err(ConfigFileError::ReadBack {
                path: self.target.path.display().to_string(),
                found,
                wanted: md5.to_owned(),
            }),
        }
    }

    /// Makes it a copy of another file, with the owner if this agent may set it.
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

    /// Sets the mode after the owner, because chown clears bits of it.
    fn finish(&self, mode: u32) -> Result<(), ConfigFileError> {
        self.file
            .set_permissions(Permissions::from_mode(mode))
            .map_err(|e| self.failed("set its mode", &e))?;
        self.file
            .sync_all()
            .map_err(|e| self.failed("write it", &e))
    }

    /// Renames it over the target.
    pub(super) fn replace_target(&self) -> Result<(), ConfigFileError> {
        self.rename_to(&self.target.name)
    }

    pub(super) fn rename_to(&self, name: &OsStr) -> Result<(), ConfigFileError> {
        renameat(self.folder, &self.name, self.folder, name)
            .map_err(|error| self.failed("put it in its target", &error.into()))?;
        self.is_renamed.set(true);
        Ok(())
    }

    fn failed(&self, doing: &str, error: &io::Error) -> ConfigFileError {
        self.target.failed(doing, error)
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if !self.is_renamed.get() {
            let _ = unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Removes temporary files of a killed writer. Those of another agent that is writing are locked and stay.
pub(super) fn sweep(target: &ResolvedPath) {
    let beginning = beginning(&target.name);
    for name in names(&target.folder, &beginning) {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let is_left = openat(&target.folder, &name, flags, Mode::empty())
            .and_then(|file| flock(file, FlockOperation::NonBlockingLockExclusive));
        if is_left.is_ok()
            && let Err(error) = unlinkat(&target.folder, &name, AtFlags::empty())
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

/// The names in a folder with this prefix; none if it may not be read.
pub(super) fn names(folder: &OwnedFd, beginning: &OsStr) -> Vec<OsString> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let entries = openat(folder, ".", flags, Mode::empty()).and_then(Dir::new);
    let names = entries.into_iter().flatten().flatten();
    names
        .map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned())
        .filter(|name| name.as_bytes().starts_with(beginning.as_bytes()))
        .collect()
}
