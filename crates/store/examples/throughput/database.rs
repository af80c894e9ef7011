//! The database that is measured.

use anyhow::Context as _;
use engines::{Postgres, PostgresOptions};
use tempfile::TempDir;

pub(crate) enum MeasuredDatabase {
    Sqlite(TempDir),
    Postgres(Postgres),
}

impl MeasuredDatabase {
    /// `postgres`, or a folder for a file of SQLite.
    pub(crate) fn new(argument: Option<&str>) -> anyhow::Result<Self> {
        Ok(match argument {
            Some("postgres") => Self::Postgres(Postgres::start_with(PostgresOptions {
                fsync: true,
                settings: vec![
                    ("shared_buffers".into(), "1GB".into()),
                    ("max_wal_size".into(), "4GB".into()),
                ],
            })?),
            Some(folder) => Self::Sqlite(tempfile::tempdir_in(folder)?),
            None => Self::Sqlite(tempfile::tempdir()?),
        })
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Sqlite(folder) => {
                format!("sqlite:{}", folder.path().join("muster.db").display())
            }
            Self::Postgres(server) => server.url(),
        }
    }

    /// Its size on disk.
    pub(crate) fn n_bytes(&self) -> anyhow::Result<u64> {
        Ok(match self {
            Self::Sqlite(folder) => {
                let file = folder.path().join("muster.db");
                file.metadata().context("the file is gone")?.len()
            }
            Self::Postgres(server) => {
                let size = server.execute("SELECT pg_database_size(current_database())")?;
                size.trim().parse()?
            }
        })
    }
}
