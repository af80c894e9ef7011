//! The file that is there before one is written.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use md5::{Digest, Md5};
use rustix::fs::{Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use super::account::Account;
use super::place::Place;
use super::{ConfigFileError, hex};

/// Of a longer file there is no md5.
const MAX_DIGESTED: u64 = 64 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Current {
    pub(super) file: File,
    pub(super) found: Metadata,
    pub(super) md5: Option<String>,
}

impl Current {
    pub(super) fn open(place: &Place) -> Result<Option<Self>, ConfigFileError> {
        let Some(file) = open(place)? else {
            return Ok(None);
        };
        let failed = |error| place.failed("read what is there", &error);
        let found = file.metadata().map_err(failed)?;
        let md5 = match found.len() > MAX_DIGESTED {
            true => None,
            false => Some(digest(&file).map_err(failed)?),
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

/// Opens a file that is there, and nothing that is no file.
pub(super) fn open(place: &Place) -> Result<Option<File>, ConfigFileError> {
    if !place.missing.is_empty() {
        return Ok(None);
    }
    // A pipe in its place must not stop us.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(&place.folder, &place.name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(place.failed("read what is there", &error.into())),
    };
    let found = file.metadata();
    let found = found.map_err(|error| place.failed("read what is there", &error))?;
    if !found.is_file() {
        return Err(ConfigFileError::rule(&place.path, "is no file"));
    }
    check_names(place, &found)?;
    Ok(Some(file))
}

/// A file with a second name elsewhere, in a folder of somebody whom it does not belong to, may be a hard link that they
/// made to have it shown.
fn check_names(place: &Place, found: &Metadata) -> Result<(), ConfigFileError> {
    let folder = fstat(&place.folder);
    let folder = folder.map_err(|error| place.failed("look at its folder", &error.into()))?;
    let is_theirs = [0, rustix::process::geteuid().as_raw(), found.uid()].contains(&folder.st_uid);
    match found.nlink() > 1 && !is_theirs {
        true => {
            let rule = "has another name elsewhere, and does not belong to who owns its folder";
            Err(ConfigFileError::rule(&place.path, rule))
        }
        false => Ok(()),
    }
}

fn digest(mut file: &File) -> io::Result<String> {
    let mut md5 = Md5::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(md5.finalize().as_slice())),
            count => md5.update(&buffer[..count]),
        }
    }
}
