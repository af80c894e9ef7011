//! What was in a file before: kept beside it under the time of its end, the last few of them.
//!
//! A backup is the very file that was there, under a second name: it needs no room, and has owner, mode and times as
//! ever. Only where a file cannot have two names it is a copy.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use chrono::{DateTime, TimeDelta, Utc};
use rustix::fs::{AtFlags, linkat, statat, unlinkat};
use rustix::io::Errno;

use super::ConfigFileError;
use super::account::Account;
use super::current::Current;
use super::folders::Folders;
use super::fresh::{Fresh, names};
use super::place::Place;

const MARK: &str = ".muster-backup.";
/// How many milliseconds later a name may be, when others have it already.
const MAX_LATER: usize = 1000;

/// Keeps what is there; answers with the name that it has now.
pub(super) fn make(
    place: &Place,
    folders: &Folders,
    current: &Current,
) -> Result<OsString, ConfigFileError> {
    let mut at = Utc::now();
    for _ in 0..MAX_LATER {
        let name = name(place, at);
        at += TimeDelta::milliseconds(1);
        let linked = linkat(
            &folders.last,
            &place.name,
            &folders.last,
            &name,
            AtFlags::empty(),
        );
        match linked {
            Ok(()) => return Ok(name),
            Err(Errno::EXIST) => {}
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
                if statat(&folders.last, &name, AtFlags::SYMLINK_NOFOLLOW).is_err() {
                    copy(place, folders, current, &name)?;
                    return Ok(name);
                }
            }
            Err(error) => return Err(place.failed("make a backup", &error.into())),
        }
    }
    Err(place.failed("make a backup", &Errno::EXIST.into()))
}

fn copy(
    place: &Place,
    folders: &Folders,
    current: &Current,
    name: &OsStr,
) -> Result<(), ConfigFileError> {
    let account = Account {
        uid: current.found.uid(),
        gid: current.found.gid(),
    };
    let copy = Fresh::create(place, folders)?;
    copy.copy(&current.file, account, current.mode())?;
    copy.put_as(name)
}

/// The file was not replaced after all.
pub(super) fn remove(folders: &Folders, name: &OsStr) {
    let _gone_already = unlinkat(&folders.last, name, AtFlags::empty());
}

/// Removes the oldest beyond so many.
pub(super) fn prune(place: &Place, folders: &Folders, keep: u32) {
    let beginning = beginning(place);
    let is_time = |name: &OsString| {
        let time = &name.as_bytes()[beginning.len()..];
        let is_ours = |byte: &u8| byte.is_ascii_digit() || b"TZ.".contains(byte);
        !time.is_empty() && time.iter().all(is_ours)
    };
    let mut backups = names(&folders.last, &beginning);
    backups.retain(is_time);
    // By name is by time.
    backups.sort();
    let surplus = backups.len().saturating_sub(keep as usize);
    for name in &backups[..surplus] {
        if let Err(error) = unlinkat(&folders.last, name, AtFlags::empty()) {
            tracing::warn!(?name, %error, "cannot remove an old backup");
        }
    }
}

fn name(place: &Place, at: DateTime<Utc>) -> OsString {
    let mut name = beginning(place);
    name.push(at.format("%Y%m%dT%H%M%S%.3fZ").to_string());
    name
}

fn beginning(place: &Place) -> OsString {
    let mut beginning = place.name.clone();
    beginning.push(MARK);
    beginning
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn where_a_file_cannot_have_two_names_its_backup_is_a_copy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("app.conf");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let place = Place::find(path.to_str().unwrap()).unwrap();
        let current = Current::open(&place).unwrap().unwrap();
        let account = Account {
            uid: current.found.uid(),
            gid: current.found.gid(),
        };
        let folders = Folders::make(&place, account).unwrap();
        copy(&place, &folders, &current, OsStr::new("copy")).unwrap();
        let copied = dir.path().join("copy");
        assert_eq!(fs::read_to_string(&copied).unwrap(), "old");
        let found = fs::metadata(&copied).unwrap();
        assert_eq!(found.permissions().mode() & 0o7777, 0o640);
        assert_ne!(found.ino(), current.found.ino());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
