//! Where a test keeps its store: a place of its own that vanishes with it.

use std::path::PathBuf;

use engines::Postgres;
use store::Store;
use tempfile::TempDir;

pub struct Place {
    url: String,
    kept_by: KeptBy,
}

enum KeptBy {
    Folder(TempDir),
    Server(Postgres),
}

impl Place {
    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        Self {
            url: format!("sqlite:{}", file.display()),
            kept_by: KeptBy::Folder(folder),
        }
    }

    pub fn postgres() -> Self {
        Self::on(Postgres::start().unwrap())
    }

    pub fn on(server: Postgres) -> Self {
        Self {
            url: server.url(),
            kept_by: KeptBy::Server(server),
        }
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Of SQLite.
    pub fn file(&self) -> PathBuf {
        match &self.kept_by {
            KeptBy::Folder(folder) => folder.path().join(FILE),
            KeptBy::Server(_) => panic!("PostgreSQL has no file"),
        }
    }

    pub fn server(&mut self) -> &mut Postgres {
        match &mut self.kept_by {
            KeptBy::Folder(_) => panic!("SQLite has no server"),
            KeptBy::Server(server) => server,
        }
    }

    /// Every call is one more replica on the same data.
    pub async fn open(&self) -> Store {
        Store::open(&self.url()).await.unwrap()
    }
}

const FILE: &str = "new/folder/muster.db";
