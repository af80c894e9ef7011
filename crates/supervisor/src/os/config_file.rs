//! Configuration files that the server wants on this host: written whole or not at all, and read back.
//!
//! ```text
//!   look where it goes ──► .NAME.muster-new.RANDOM ──► backup of what is there ──► rename over it ──► older backups go
//!   (links, owner, rights)   content, owner, mode,       NAME.muster-backup.TIME
//!                            on disk, read back
//! ```
//!
//! Until the rename nothing has changed, and whatever fails before it is taken away again. A path is walked folder by
//! folder and everything is done relative to the folder found (`place`), so that nobody can move it meanwhile. Blocks:
//! call it beside whatever must not wait.

mod account;
mod allowed_paths;
mod backup;
mod current;
mod error;
mod folders;
mod fresh;
mod place;
mod turn;

pub use allowed_paths::AllowedPaths;
pub use error::ConfigFileError;

use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use md5::{Digest, Md5};
use model::config_file::{DesiredFile, FileMetadata, MAX_BYTES, WrittenFile};

use account::Account;
use current::Current;
use folders::Folders;
use fresh::Fresh;
use place::Place;
use turn::Turns;

/// Writes and reads files for a server, where this host allows it.
#[derive(Debug)]
pub struct ConfigFiles {
    allowed: AllowedPaths,
    turns: Turns,
}

impl ConfigFiles {
    pub fn new(allowed: AllowedPaths) -> Self {
        Self {
            allowed,
            turns: Turns::default(),
        }
    }

    /// Makes the file as wanted. Of two that write one file at a time, the second waits.
    pub fn write(
        &self,
        wanted: &DesiredFile,
        content: &[u8],
    ) -> Result<WrittenFile, ConfigFileError> {
        self.allowed.check_any()?;
        wanted
            .check()
            .map_err(|invalid| ConfigFileError::Wanted(invalid.to_string()))?;
        check_content(wanted, content)?;
        let account = Account::find(&wanted.owner, &wanted.group)?;
        let place = Place::find(&wanted.path)?;
        self.allowed.check(&place.real)?;
        place.check_name()?;
        place.check_guide_may_write()?;
        let _turn = self.turns.take(&place.real);
        let current = Current::open(&place)?;
        let mut written = WrittenFile {
            path: place.real.display().to_string(),
            md5: wanted.md5.to_ascii_lowercase(),
            unchanged: false,
            previous_md5: current.as_ref().and_then(|current| current.md5.clone()),
            backup_path: None,
        };
        if place.missing.is_empty() {
            fresh::sweep(&place);
        }
        let same_content = written.previous_md5.as_ref() == Some(&written.md5);
        if let Some(current) = &current
            && same_content
            && current.has(account, wanted.mode)
        {
            written.unchanged = true;
            return Ok(written);
        }

        let folders = Folders::make(&place, account)?;
        let fresh = Fresh::create(&place, &folders)?;
        fresh.fill(content, account, wanted.mode, &written.md5)?;
        let backup = match &current {
            Some(current) if !same_content && wanted.keep_backups > 0 => {
                Some(backup::make(&place, &folders, current)?)
            }
            Some(_) | None => None,
        };
        if let Err(error) = fresh.put() {
            if let Some(name) = &backup {
                backup::remove(&folders, name);
            }
            return Err(error);
        }
        folders.keep();
        folders.sync(&place)?;
        if let Some(name) = backup {
            backup::prune(&place, &folders, wanted.keep_backups);
            let path = place.real.with_file_name(name);
            written.backup_path = Some(path.display().to_string());
        }
        Ok(written)
    }

    /// The file and what is in it; none when there is no such file.
    pub fn read(
        &self,
        path: &str,
        max_bytes: u64,
    ) -> Result<Option<(FileMetadata, Vec<u8>)>, ConfigFileError> {
        self.allowed.check_any()?;
        let place = Place::find(path)?;
        self.allowed.check(&place.real)?;
        let Some(mut file) = current::open(&place)? else {
            return Ok(None);
        };
        let failed = |error| place.failed("read it", &error);
        let found = file.metadata().map_err(failed)?;
        place.check_guide_may_read(found.uid())?;
        let mut content = Vec::new();
        (&mut file)
            .take(max_bytes.saturating_add(1))
            .read_to_end(&mut content)
            .map_err(failed)?;
        if content.len() as u64 > max_bytes {
            return Err(ConfigFileError::TooLong {
                path: path.to_owned(),
                size: found.len().max(content.len() as u64),
                most: max_bytes,
            });
        }
        let head = FileMetadata {
            size: content.len() as u64,
            md5: md5_of(&content),
            owner: super::user::name_of(found.uid()),
            group: account::group_name(found.gid()),
            mode: found.permissions().mode() & 0o7777,
        };
        Ok(Some((head, content)))
    }
}

fn check_content(wanted: &DesiredFile, content: &[u8]) -> Result<(), ConfigFileError> {
    if content.len() > MAX_BYTES {
        return Err(ConfigFileError::TooLong {
            path: wanted.path.clone(),
            size: content.len() as u64,
            most: MAX_BYTES as u64,
        });
    }
    let found = md5_of(content);
    if !found.eq_ignore_ascii_case(&wanted.md5) {
        return Err(ConfigFileError::Damaged {
            path: wanted.path.clone(),
            found,
            wanted: wanted.md5.clone(),
        });
    }
    Ok(())
}

fn md5_of(content: &[u8]) -> String {
    hex(Md5::digest(content).as_slice())
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A path that says where it leads without anybody looking.
fn check_path(path: &str) -> Result<&Path, ConfigFileError> {
    const MAX_PATH: usize = 4095;
    let refuse = |rule: &str| ConfigFileError::Path {
        path: path.chars().take(300).collect(),
        rule: rule.to_owned(),
    };
    if !path.starts_with('/') {
        return Err(refuse("must be absolute"));
    }
    if path.len() > MAX_PATH {
        return Err(refuse("must have at most 4095 bytes"));
    }
    if path.contains('\0') {
        return Err(refuse("must not contain a zero byte"));
    }
    if path.split('/').any(|part| part == "..") {
        return Err(refuse("must not contain `..`"));
    }
    if path.ends_with('/') || path.ends_with("/.") {
        return Err(refuse("must end with the name of a file"));
    }
    Ok(Path::new(path))
}
