//! The file that is about to be replaced.

use std::fs::{File, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use rustix::fs::{Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use super::ConfigFileError;
use super::account::Account;
use super::resolved_path::ResolvedPath;
use crate::os::md5;

/// The md5 of a longer file is not computed.
const MAX_DIGESTED: u64 = 64 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct CurrentFile {
    pub(super) file: File,
    pub(super) found: Metadata,
    pub(super) md5: Option<String>,
}

impl CurrentFile {
    pub(super) fn open(target: &ResolvedPath) -> Result<Option<Self>, ConfigFileError> {
        let Some(file) = open(target)? else {
            return Ok(None);
        };
        let failed = |error| target.failed("read what is there", &error);
        let found = file.metadata().map_err(failed)?;
        let md5 = match found.len() > MAX_DIGESTED {
            true => None,
            false => Some(md5::of_reader(&file).map_err(failed)?),
        };
        Ok(Some(Self { file, found, md5 }))
    }

    pub(super) fn has(&self, account: Account, mode: u32) -> bool {
        let owner = (self.found.uid(), self.found.gid());
        owner == (account.uid, account.gid) && self.mode() == mode
    }

    pub(super) fn mode(&self) -> u32 {
        self.found.permissions().mode() & 0o7777
    }
}

/// Opens the regular file, if there is one.
pub(super) fn open(target: &ResolvedPath) -> Result<Option<File>, ConfigFileError> {
    if !target.missing.is_empty() {
        return Ok(None);
    }
    // NONBLOCK: opening a pipe must not block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(&target.folder, &target.name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(target.failed("read what is there", &error.into())),
    };
    let found = file.metadata();
    let found = found.map_err(|error| target.failed("read what is there", &error))?;
    if !found.is_file() {
        return Err(ConfigFileError::rule(&target.path, "is no file"));
    }
    check_names(target, &found)?;
    Ok(Some(file))
}

/// Refuses a file with several hard links in a folder of another user: that user may have linked it there to have it read.
fn check_names(target: &ResolvedPath, found: &Metadata) -> Result<(), ConfigFileError> {
    let folder = fstat(&target.folder);
    let folder = folder.map_err(|error| target.failed("look at its folder", &error.into()))?;
    let is_theirs = [0, rustix::process::geteuid().as_raw(), found.uid()].contains(&folder.st_uid);
    match found.nlink() > 1 && !is_theirs {
        true => {
            let rule = "has another name elsewhere, and does not belong to who owns its folder";
            Err(ConfigFileError::rule(&target.path, rule))
        }
        false => Ok(()),
    }
}
