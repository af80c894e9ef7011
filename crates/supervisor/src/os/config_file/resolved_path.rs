//! Resolves a path folder by folder, and checks each symbolic link before it follows it.
//!
//! Links of root are followed wherever they lead. A link of another user is followed only to where that user could do the
//! same: writing into an own folder, reading an own file. Otherwise the owner of a folder on the path could have
//! `/etc/shadow` replaced, or read.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::{ConfigFileError, check_path};
use crate::os::user;

/// The kernel's own limit of links.
const MAX_LINKS: usize = 40;
/// Leaves room for the suffixes of backups and temporary files.
const MAX_NAME: usize = 255 - 36;

/// A path without links, to a file that may not exist yet.
#[derive(Debug)]
pub(super) struct ResolvedPath {
    /// As requested.
    pub(super) path: PathBuf,
    /// The deepest existing folder.
    pub(super) folder: OwnedFd,
    /// Missing folders below it, the outermost first.
    pub(super) missing: Vec<OsString>,
    pub(super) name: OsString,
    /// The whole path without links.
    pub(super) real: PathBuf,
    link_owner: Option<LinkOwner>,
}

/// The owner of followed links, if that is neither root nor the agent.
#[derive(Debug)]
struct LinkOwner {
    uid: u32,
    link: PathBuf,
}

struct Walk<'a> {
    path: &'a Path,
    folder: OwnedFd,
    real: PathBuf,
    ahead: VecDeque<OsString>,
    n_links: usize,
    link_owner: Option<LinkOwner>,
}

impl ResolvedPath {
    pub(super) fn find(path: &str) -> Result<Self, ConfigFileError> {
        let path = check_path(path)?;
        let mut walk = Walk {
            path,
            folder: root(path)?,
            real: PathBuf::from("/"),
            ahead: parts(path.as_os_str()),
            n_links: 0,
            link_owner: None,
        };
        loop {
            let part = walk.ahead.pop_front().ok_or_else(|| is_folder(path))?;
            let is_last = walk.ahead.is_empty();
            if part == ".." {
                walk.enter(&part)
                    .map_err(|error| walk.failed(&part, error))?;
                walk.real.pop();
                continue;
            }
            match walk.stat(&part)? {
                Some(found) if is_link(&found) => walk.follow(&part, found.st_uid)?,
                Some(found) if is_last => return walk.arrived(part, Some(&found)),
                Some(_) => {
                    walk.enter(&part)
                        .map_err(|error| walk.failed(&part, error))?;
                    walk.real.push(&part);
                }
                None if is_last => return walk.arrived(part, None),
                None => return walk.missing_from(part),
            }
        }
    }

    pub(super) fn failed(&self, doing: &str, error: &io::Error) -> ConfigFileError {
        ConfigFileError::Failed {
            path: self.path.display().to_string(),
            doing: doing.to_owned(),
            why: crate::os::plain(error),
        }
    }

    pub(super) fn check_name(&self) -> Result<(), ConfigFileError> {
        match self.name.len() > MAX_NAME {
            true => {
                let rule = format!("its last part may have at most {MAX_NAME} bytes");
                Err(ConfigFileError::rule(&self.path, rule))
            }
            false => Ok(()),
        }
    }

    /// Only the owner of a folder may create and replace files in it.
    pub(super) fn check_link_owner_may_write(&self) -> Result<(), ConfigFileError> {
        let Some(link_owner) = &self.link_owner else {
            return Ok(());
        };
        let folder = fstat(&self.folder).map_err(|e| self.failed("look at it", &e.into()))?;
        self.check_link_owner(link_owner, folder.st_uid)
    }

    /// Only the owner of a file may have it read through an own link.
    pub(super) fn check_link_owner_may_read(&self, owner: u32) -> Result<(), ConfigFileError> {
        match &self.link_owner {
            Some(link_owner) => self.check_link_owner(link_owner, owner),
            None => Ok(()),
        }
    }

    fn check_link_owner(&self, link_owner: &LinkOwner, owner: u32) -> Result<(), ConfigFileError> {
        match link_owner.uid == owner {
            true => Ok(()),
            false => Err(link_refused(&self.path, link_owner)),
        }
    }
}

impl Walk<'_> {
    fn stat(&self, part: &OsStr) -> Result<Option<Stat>, ConfigFileError> {
        match statat(&self.folder, part, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(self.failed(part, error)),
        }
    }

    fn enter(&mut self, part: &OsStr) -> Result<(), Errno> {
        self.folder = openat(&self.folder, part, folder_flags(), Mode::empty())?;
        Ok(())
    }

    fn follow(&mut self, part: &OsStr, uid: u32) -> Result<(), ConfigFileError> {
        self.n_links += 1;
        if self.n_links > MAX_LINKS {
            return Err(ConfigFileError::rule(
                self.path,
                "leads through too many links",
            ));
        }
        let link = self.real.join(part);
        if uid != 0 && uid != rustix::process::geteuid().as_raw() {
            match &self.link_owner {
                Some(link_owner) if link_owner.uid != uid => {
                    return Err(link_refused(self.path, link_owner));
                }
                Some(_) => {}
                None => self.link_owner = Some(LinkOwner { uid, link }),
            }
        }
        let target = readlinkat(&self.folder, part, Vec::new())
            .map_err(|error| self.failed(part, error))?
            .into_bytes();
        let target = OsString::from_vec(target);
        if target.as_bytes().starts_with(b"/") {
            self.folder = root(self.path)?;
            self.real = PathBuf::from("/");
        }
        let mut ahead = parts(&target);
        ahead.append(&mut self.ahead);
        self.ahead = ahead;
        Ok(())
    }

    fn arrived(
        self,
        name: OsString,
        found: Option<&Stat>,
    ) -> Result<ResolvedPath, ConfigFileError> {
        match found.map(|found| FileType::from_raw_mode(found.st_mode)) {
            None | Some(FileType::RegularFile) => Ok(self.target(name, Vec::new())),
            Some(FileType::Directory) => Err(is_folder(self.path)),
            Some(_) => Err(ConfigFileError::rule(
                self.path,
                "is a device, a pipe or a socket, and no file",
            )),
        }
    }

    /// Everything from `part` on is missing.
    fn missing_from(mut self, part: OsString) -> Result<ResolvedPath, ConfigFileError> {
        let mut missing: Vec<OsString> = vec![part];
        missing.extend(std::mem::take(&mut self.ahead));
        if missing.iter().any(|part| part == "..") {
            let rule = "leads through a folder that is not there";
            return Err(ConfigFileError::rule(self.path, rule));
        }
        let name = missing.pop().unwrap_or_default();
        Ok(self.target(name, missing))
    }

    fn target(self, name: OsString, missing: Vec<OsString>) -> ResolvedPath {
        let mut real = self.real;
        real.extend(&missing);
        real.push(&name);
        ResolvedPath {
            path: self.path.to_owned(),
            folder: self.folder,
            missing,
            name,
            real,
            link_owner: self.link_owner,
        }
    }

    fn failed(&self, part: &OsStr, error: Errno) -> ConfigFileError {
        let at = self.real.join(part);
        match error {
            Errno::NOTDIR | Errno::LOOP => {
                let rule = format!("{} is not a folder", at.display());
                ConfigFileError::rule(self.path, rule)
            }
            error => ConfigFileError::failed(self.path, format!("look at {}", at.display()), error),
        }
    }
}

fn root(path: &Path) -> Result<OwnedFd, ConfigFileError> {
    openat(CWD, "/", folder_flags(), Mode::empty())
        .map_err(|error| ConfigFileError::failed(path, "open /", error))
}

fn folder_flags() -> OFlags {
    OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn parts(path: &OsStr) -> VecDeque<OsString> {
    let parts = path.as_bytes().split(|byte| *byte == b'/');
    parts
        .filter(|part| !part.is_empty() && *part != b".")
        .map(|part| OsStr::from_bytes(part).to_owned())
        .collect()
}

fn is_link(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Symlink
}

fn is_folder(path: &Path) -> ConfigFileError {
    ConfigFileError::rule(path, "is a folder, and no file")
}

fn link_refused(path: &Path, link_owner: &LinkOwner) -> ConfigFileError {
    ConfigFileError::Link {
        path: path.display().to_string(),
        link: link_owner.link.display().to_string(),
        user: user::name_of(link_owner.uid),
    }
}
