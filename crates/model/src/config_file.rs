//! Configuration files on hosts: the desired file, the result of writing it, and the file that the agent read.

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// The largest file that is written: it is sent in one frame.
pub const MAX_BYTES: usize = 3 * 1024 * 1024;
/// How many backups of a file the agent keeps by default.
pub const DEFAULT_BACKUPS: u32 = 5;
/// The most backups that may be requested.
pub const MAX_BACKUPS: u32 = 100;
const MAX_MODE: u32 = 0o7777;

/// A file as it should be on a host. Its content is sent separately.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesiredFile {
    /// Absolute, without `..`.
    pub path: String,
    /// Users and groups by name or number.
    pub owner: String,
    pub group: String,
    /// The permission bits.
    pub mode: u32,
    /// Of the content, as 32 hexadecimal digits.
    pub md5: String,
    /// How many backups to keep; 0 for none.
    #[serde(default)]
    pub keep_backups: u32,
}

impl DesiredFile {
    /// Checks everything that does not depend on the host.
    pub fn check(&self) -> Result<(), Invalid> {
        for (field, text) in [
            ("path", &self.path),
            ("owner", &self.owner),
            ("group", &self.group),
        ] {
            if text.is_empty() {
                return Err(Invalid::required(field));
            }
        }
        ensure!(
            self.mode <= MAX_MODE,
            "mode",
            "must be permission bits like 0644"
        );
        let n_backups = self.keep_backups;
        ensure!(
            n_backups <= MAX_BACKUPS,
            "keep_backups",
            "must be at most {MAX_BACKUPS}"
        );
        Ok(())
    }
}

/// The result of writing a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenFile {
    /// The real path, with symbolic links resolved.
    pub path: String,
    /// Read back from the host.
    pub md5: String,
    /// The file was already as desired and was not touched.
    pub unchanged: bool,
    /// Of the previous content; none if there was none, or if it was too large to read.
    #[serde(default)]
    pub previous_md5: Option<String>,
    /// The path of its backup.
    #[serde(default)]
    pub backup_path: Option<String>,
}

/// The file at a path of a host. Sent as the first line of an answer; the content follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileLookup {
    Nothing,
    File(FileMetadata),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMetadata {
    pub size: u64,
    pub md5: String,
    /// By name, or by number if no name exists.
    pub owner: String,
    pub group: String,
    /// The permission bits.
    pub mode: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> DesiredFile {
        DesiredFile {
            path: "/etc/app.conf".into(),
            owner: "app".into(),
            group: "app".into(),
            mode: 0o640,
            md5: "d41d8cd98f00b204e9800998ecf8427e".into(),
            keep_backups: DEFAULT_BACKUPS,
        }
    }

    #[test]
    fn an_invalid_file_is_refused_with_its_field() {
        let refused = |change: fn(&mut DesiredFile)| {
            let mut file = file();
            change(&mut file);
            file.check().map_err(|invalid| invalid.field)
        };
        assert_eq!(refused(|_| {}), Ok(()));
        assert_eq!(refused(|w| w.path.clear()), Err("path".into()));
        assert_eq!(refused(|w| w.owner.clear()), Err("owner".into()));
        assert_eq!(refused(|w| w.group.clear()), Err("group".into()));
        assert_eq!(refused(|w| w.mode = 0o10000), Err("mode".into()));
        assert_eq!(
            refused(|w| w.keep_backups = 101),
            Err("keep_backups".into())
        );
    }

    #[test]
    fn a_lookup_is_one_line_of_json() {
        let head = FileMetadata {
            size: 3,
            md5: "900150983cd24fb0d6963f7d28e17f72".into(),
            owner: "a\nb".into(),
            group: "root".into(),
            mode: 0o644,
        };
        for found in [FileLookup::Nothing, FileLookup::File(head)] {
            let line = serde_json::to_string(&found).unwrap();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(serde_json::from_str::<FileLookup>(&line).unwrap(), found);
        }
    }
}
