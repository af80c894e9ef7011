//! PostgreSQL and NATS for several replicas.

use engines::{Nats, Postgres, PostgresOptions};

#[derive(Debug)]
pub(super) struct Engines {
    postgres: Postgres,
    nats: Nats,
}

impl Engines {
    pub(super) fn start() -> anyhow::Result<Self> {
        let options = PostgresOptions {
            // Figures without fsync would be wrong.
            fsync: true,
            ..PostgresOptions::default()
        };
        Ok(Self {
            postgres: Postgres::start_with(options)?,
            nats: Nats::start()?,
        })
    }

    /// Size of the database in bytes.
    pub(super) fn store_bytes(&self) -> anyhow::Result<u64> {
        let size = "SELECT pg_database_size(current_database())";
        Ok(self.postgres.execute(size)?.trim().parse()?)
    }

    /// The server's arguments to use them.
    pub(super) fn arguments(&self) -> Vec<String> {
        ["--store", &self.postgres.url(), "--bus", &self.nats.url()]
            .map(str::to_owned)
            .to_vec()
    }
}
