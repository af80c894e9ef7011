//! Backups: the last few versions of a file, beside it, named after the time of their replacement.
//!
//! A backup is a hard link to the replaced file: it takes no space and keeps owner, mode and times. If the file system has
//! no hard links, it is a copy.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use chrono::{DateTime, TimeDelta, Utc};
use rustix::fs::{AtFlags, linkat, statat, unlinkat};
use rustix::io::Errno;

use super::ConfigFileError;
use super::account::Account;
use super::current_file::CurrentFile;
use super::folders::Folders;
use super::resolved_path::ResolvedPath;
use super::temp_file::{TempFile, names};

const MARK: &str = ".muster-backup.";
/// By how many milliseconds a name may be moved if it exists already.
const MAX_LATER: usize = 1000;

/// Makes a backup of the current file; returns its name.
pub(super) fn make(
    target: &ResolvedPath,
    folders: &Folders,
    current: &CurrentFile,
) -> Result<OsString, ConfigFileError> {
    let mut at = Utc::now();
    for _ in 0..MAX_LATER {
        let name = name(target, at);
        at += TimeDelta::milliseconds(1);
        let linked = linkat(
            &folders.last,
            &target.name,
            &folders.last,
            &name,
            AtFlags::empty(),
        );
        match linked {
            Ok(()) => return Ok(name),
            Err(Errno::EXIST) => {}
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
                if statat(&folders.last, &name, AtFlags::SYMLINK_NOFOLLOW).is_err() {
                    copy(target, folders, current, &name)?;
                    return Ok(name);
                }
            }
            Err(error) => return Err(target.failed("make a backup", &error.into())),
        }
    }
    Err(target.failed("make a backup", &Errno::EXIST.into()))
}

fn copy(
    target: &ResolvedPath,
    folders: &Folders,
    current: &CurrentFile,
    name: &OsStr,
) -> Result<(), ConfigFileError> {
    let account = Account {
        uid: current.found.uid(),
        gid: current.found.gid(),
    };
    let copy = TempFile::create(target, folders)?;
    copy.copy(&current.file, account, current.mode())?;
    copy.rename_to(name)
}

/// Removes a backup of a file that was not replaced.
pub(super) fn remove(folders: &Folders, name: &OsStr) {
    let _ = unlinkat(&folders.last, name, AtFlags::empty());
}

/// Removes the oldest backups beyond this number.
pub(super) fn prune(target: &ResolvedPath, folders: &Folders, keep: u32) {
    let beginning = beginning(target);
    let is_time = |name: &OsString| {
        let time = &name.as_bytes()[beginning.len()..];
        let is_ours = |byte: &u8| byte.is_ascii_digit() || b"TZ.".contains(byte);
        !time.is_empty() && time.iter().all(is_ours)
    };
    let mut backups = names(&folders.last, &beginning);
    backups.retain(is_time);
    // Names sort by time.
    backups.sort();
    let surplus = backups.len().saturating_sub(keep as usize);
    for name in &backups[..surplus] {
        if let Err(error) = unlinkat(&folders.last, name, AtFlags::empty()) {
            tracing::warn!(?name, %error, "cannot remove an old backup");
        }
    }
}

fn name(target: &ResolvedPath, at: DateTime<Utc>) -> OsString {
    let mut name = beginning(target);
    name.push(at.format("%Y%m%dT%H%M%S%.3fZ").to_string());
    name
}

fn beginning(target: &ResolvedPath) -> OsString {
    let mut beginning = target.name.clone();
    beginning.push(MARK);
    beginning
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn without_hard_links_a_backup_is_a_copy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("app.conf");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let target = ResolvedPath::find(path.to_str().unwrap()).unwrap();
        let current = CurrentFile::open(&target).unwrap().unwrap();
        let account = Account {
            uid: current.found.uid(),
            gid: current.found.gid(),
        };
        let folders = Folders::make(&target, account).unwrap();
        copy(&target, &folders, &current, OsStr::new("copy")).unwrap();
        let copied = dir.path().join("copy");
        assert_eq!(fs::read_to_string(&copied).unwrap(), "old");
        let found = fs::metadata(&copied).unwrap();
        assert_eq!(found.permissions().mode() & 0o7777, 0o640);
        assert_ne!(found.ino(), current.found.ino());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
