//! A database for one test, which is removed with it.

use std::path::PathBuf;

use engines::Postgres;
use store::Store;
use tempfile::TempDir;

pub struct TestDatabase {
    url: String,
    resource: Resource,
}

enum Resource {
    Folder(TempDir),
    Server(Postgres),
}

impl TestDatabase {
    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        Self {
            url: format!("sqlite:{}", file.display()),
            resource: Resource::Folder(folder),
        }
    }

    pub fn postgres() -> Self {
        Self::on(Postgres::start().unwrap())
    }

    pub fn on(server: Postgres) -> Self {
        Self {
            url: server.url(),
            resource: Resource::Server(server),
        }
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// The file of SQLite.
    pub fn file(&self) -> PathBuf {
        match &self.resource {
            Resource::Folder(folder) => folder.path().join(FILE),
            Resource::Server(_) => panic!("PostgreSQL has no file"),
        }
    }

    pub fn server(&mut self) -> &mut Postgres {
        match &mut self.resource {
            Resource::Folder(_) => panic!("SQLite has no server"),
            Resource::Server(server) => server,
        }
    }

    /// Every call opens another replica on the same data.
    pub async fn open(&self) -> Store {
        Store::open(&self.url()).await.unwrap()
    }
}

const FILE: &str = "new/folder/muster.db";
