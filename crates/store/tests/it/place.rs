//! Where a test keeps its store: a place of its own that vanishes with it.

use store::Store;
use tempfile::TempDir;

pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn url(&self) -> String {
        format!("sqlite:{}", self.file().display())
    }

    pub fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("new/folder/muster.db")
    }

    /// Every call is one more replica on the same data.
    pub async fn open(&self) -> Store {
        Store::open(&self.url()).await.unwrap()
    }
}
