//! Configuration files on hosts: what a server wants written, what an agent wrote, and what it found.

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// The longest file that is written: it travels in one frame.
pub const MAX_BYTES: usize = 3 * 1024 * 1024;
/// How many older contents of a file stay beside it, unless somebody wants another number.
pub const DEFAULT_BACKUPS: u32 = 5;
/// The most that may be wanted.
pub const MAX_BACKUPS: u32 = 100;
const MAX_MODE: u32 = 0o7777;

/// A file as it should be on a host. Its content goes beside it, as the final bytes.
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
    /// How many older contents stay beside the file; with 0 there is no backup.
    #[serde(default)]
    pub keep_backups: u32,
}

impl DesiredFile {
    /// What can be wrong without looking at any host.
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
        if self.mode > MAX_MODE {
            let rule = "must be permission bits like 0644";
            return Err(Invalid::new("mode", rule));
        }
        if self.keep_backups > MAX_BACKUPS {
            let rule = format!("must be at most {MAX_BACKUPS}");
            return Err(Invalid::new("keep_backups", rule));
        }
        Ok(())
    }
}

/// What became of a file that was to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenFile {
    /// Where the file really is, which is elsewhere when its path leads through links.
    pub path: String,
    /// Read back from the host.
    pub md5: String,
    /// Everything was as wanted already; nothing was touched.
    pub unchanged: bool,
    /// Of what was there before; none when nothing was, or something too long to read.
    #[serde(default)]
    pub previous_md5: Option<String>,
    /// Where that is now.
    #[serde(default)]
    pub backup_path: Option<String>,
}

/// What is at a path of a host. It is the first line of an answer; the content follows it.
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
    /// By name, or by number where nobody has it.
    pub owner: String,
    pub group: String,
    /// The permission bits.
    pub mode: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> DesiredFile {
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
    fn what_no_host_could_write_is_refused_with_its_field() {
        let refused = |change: fn(&mut DesiredFile)| {
            let mut wanted = wanted();
            change(&mut wanted);
            wanted.check().map_err(|invalid| invalid.field)
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
    fn what_was_found_is_one_line() {
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
