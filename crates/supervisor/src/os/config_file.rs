//! Configuration files for the server: written atomically, and read back.
//!
//! ```text
//!   resolve the path ────► .NAME.muster-new.RANDOM ──► backup of the current ──► rename ──► remove older backups
//!   (links, owner, rights)   content, owner, mode,       NAME.muster-backup.TIME
//!                            fsync, read back
//! ```
//!
//! Nothing changes until the rename; a failure before it removes the temporary file. A path is resolved folder by folder
//! and everything is done relative to the resolved folder (`resolved_path`), so that no user can redirect it meanwhile.
//! Blocks: call it on a blocking thread.

mod account;
mod allowed_paths;
mod backup;
mod current_file;
mod error;
mod folders;
mod path_lock;
mod resolved_path;
mod temp_file;

pub use allowed_paths::AllowedPaths;
pub use error::ConfigFileError;

use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use model::config_file::{DesiredFile, FileMetadata, MAX_BYTES, WrittenFile};

use super::md5;
use account::Account;
use current_file::CurrentFile;
use folders::Folders;
use path_lock::PathLocks;
use resolved_path::ResolvedPath;
use temp_file::TempFile;

/// Writes and reads files for the server, in the paths that this host allows.
#[derive(Debug)]
pub struct ConfigFiles {
    allowed: AllowedPaths,
    locks: PathLocks,
}

impl ConfigFiles {
    pub fn new(allowed: AllowedPaths) -> Self {
        Self {
            allowed,
            locks: PathLocks::default(),
        }
    }

    /// Writes the file. Of two concurrent writers of one file, the second waits.
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
        let target = ResolvedPath::find(&wanted.path)?;
        self.allowed.check(&target.real)?;
        target.check_name()?;
        target.check_link_owner_may_write()?;
        let _lock = self.locks.take(&target.real);
        let current = CurrentFile::open(&target)?;
        let mut written = WrittenFile {
            path: target.real.display().to_string(),
            md5: wanted.md5.to_ascii_lowercase(),
            unchanged: false,
            previous_md5: current.as_ref().and_then(|current| current.md5.clone()),
            backup_path: None,
        };
        if target.missing.is_empty() {
            temp_file::sweep(&target);
        }
        let same_content = written.previous_md5.as_ref() == Some(&written.md5);
        if let Some(current) = &current
            && same_content
            && current.has(account, wanted.mode)
        {
            written.unchanged = true;
            return Ok(written);
        }

        let folders = Folders::make(&target, account)?;
        let new_file = TempFile::create(&target, &folders)?;
        new_file.fill(content, account, wanted.mode, &written.md5)?;
        let backup = match &current {
            Some(current) if !same_content && wanted.keep_backups > 0 => {
                Some(backup::make(&target, &folders, current)?)
            }
            Some(_) | None => None,
        };
        if let Err(error) = new_file.replace_target() {
            if let Some(name) = &backup {
                backup::remove(&folders, name);
            }
            return Err(error);
        }
        folders.keep();
        folders.sync(&target)?;
        if let Some(name) = backup {
            backup::prune(&target, &folders, wanted.keep_backups);
            let path = target.real.with_file_name(name);
            written.backup_path = Some(path.display().to_string());
        }
        Ok(written)
    }

    /// The file with its content; `None` when there is no such file.
    pub fn read(
        &self,
        path: &str,
        max_bytes: u64,
    ) -> Result<Option<(FileMetadata, Vec<u8>)>, ConfigFileError> {
        self.allowed.check_any()?;
        let target = ResolvedPath::find(path)?;
        self.allowed.check(&target.real)?;
        let Some(mut file) = current_file::open(&target)? else {
            return Ok(None);
        };
        let failed = |error| target.failed("read it", &error);
        let found = file.metadata().map_err(failed)?;
        target.check_link_owner_may_read(found.uid())?;
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
            md5: md5::of_bytes(&content),
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
    let found = md5::of_bytes(content);
    if !found.eq_ignore_ascii_case(&wanted.md5) {
        return Err(ConfigFileError::Damaged {
            path: wanted.path.clone(),
            found,
            wanted: wanted.md5.clone(),
        });
    }
    Ok(())
}

/// Checks that a path is absolute and free of `..`.
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
