//! Where a measured store is.

use anyhow::Context as _;
use engines::{Postgres, PostgresOptions};
use tempfile::TempDir;

pub(crate) enum Place {
    Folder(TempDir),
    Server(Postgres),
}

impl Place {
    /// `postgres`, or a folder for a file of SQLite.
    pub(crate) fn new(word: Option<&str>) -> anyhow::Result<Self> {
        Ok(match word {
            Some("postgres") => Self::Server(Postgres::start_with(PostgresOptions {
                fsync: true,
                settings: vec![
                    ("shared_buffers".into(), "1GB".into()),
                    ("max_wal_size".into(), "4GB".into()),
                ],
            })?),
            Some(folder) => Self::Folder(tempfile::tempdir_in(folder)?),
            None => Self::Folder(tempfile::tempdir()?),
        })
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Folder(folder) => {
                format!("sqlite:{}", folder.path().join("muster.db").display())
            }
            Self::Server(server) => server.url(),
        }
    }

    /// What it takes on the disk.
    pub(crate) fn n_bytes(&self) -> anyhow::Result<u64> {
        Ok(match self {
            Self::Folder(folder) => {
                let file = folder.path().join("muster.db");
                file.metadata().context("the file is gone")?.len()
            }
            Self::Server(server) => {
                let size = server.execute("SELECT pg_database_size(current_database())")?;
                size.trim().parse()?
            }
        })
    }
}
