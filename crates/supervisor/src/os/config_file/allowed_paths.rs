//! Where this host lets the server write. The host's operator decides; the server cannot change it.

use std::fs;
use std::path::{Path, PathBuf};

use super::ConfigFileError;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AllowedPaths {
    Nowhere,
    #[default]
    Anywhere,
    /// Below these folders.
    Below(Vec<PathBuf>),
}

impl AllowedPaths {
    /// Whether anything may be written at all.
    pub(super) fn check_any(&self) -> Result<(), ConfigFileError> {
        match self {
            Self::Nowhere => Err(ConfigFileError::Off),
            Self::Anywhere | Self::Below(_) => Ok(()),
        }
    }

    /// `real` contains no links, so no link leads out of an allowed folder.
    pub(super) fn check(&self, real: &Path) -> Result<(), ConfigFileError> {
        let is_below = |folder: &PathBuf| {
            let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
            real.starts_with(folder)
        };
        match self {
            Self::Nowhere => Err(ConfigFileError::Off),
            Self::Anywhere => Ok(()),
            Self::Below(folders) if folders.iter().any(is_below) => Ok(()),
            Self::Below(folders) => {
                let allowed: Vec<String> =
                    folders.iter().map(|f| f.display().to_string()).collect();
                Err(ConfigFileError::Elsewhere {
                    path: real.display().to_string(),
                    allowed: allowed.join(", "),
                })
            }
        }
    }
}
