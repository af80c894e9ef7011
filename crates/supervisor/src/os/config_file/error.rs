//! Why a file was not written or read. Each message names the file; after an error the file is unchanged.

use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigFileError {
    #[error(
        "this agent neither writes nor reads configuration files: its setting `release` is off"
    )]
    Off,
    #[error(
        "this agent writes and reads configuration files only below {allowed} (its setting `release_paths`), and {path} is not there"
    )]
    Elsewhere { path: String, allowed: String },
    #[error("path {path}: {rule}")]
    Path { path: String, rule: String },
    #[error("{0}")]
    Wanted(String),
    /// The owner or the group.
    #[error("{0}")]
    Account(String),
    #[error(
        "{path}: the content that arrived has the md5 {found}, not {wanted}; nothing was written"
    )]
    Damaged {
        path: String,
        found: String,
        wanted: String,
    },
    #[error(
        "{path}: what was written reads back with the md5 {found}, not {wanted}; the file was left as it was"
    )]
    ReadBack {
        path: String,
        found: String,
        wanted: String,
    },
    #[error("{path}: has {size} bytes, and at most {most} are taken")]
    TooLong { path: String, size: u64, most: u64 },
    #[error(
        "{path}: {link} is a link that user {user} made, and leads to what is not theirs: let root make the link, or name the target itself"
    )]
    Link {
        path: String,
        link: String,
        user: String,
    },
    #[error("{path}: cannot {doing}: {why}")]
    Failed {
        path: String,
        doing: String,
        why: String,
    },
}

impl ConfigFileError {
    pub(super) fn failed(
        path: &Path,
        doing: impl Into<String>,
        error: impl Into<std::io::Error>,
    ) -> Self {
        Self::Failed {
            path: path.display().to_string(),
            doing: doing.into(),
            why: super::super::plain(&error.into()),
        }
    }

    pub(super) fn rule(path: &Path, rule: impl Into<String>) -> Self {
        Self::Path {
            path: path.display().to_string(),
            rule: rule.into(),
        }
    }
}
