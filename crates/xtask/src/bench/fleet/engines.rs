//! What several replicas share: PostgreSQL and NATS, real ones, for the length of the bench.

use engines::{Nats, Postgres, PostgresOptions};

#[derive(Debug)]
pub(super) struct Engines {
    postgres: Postgres,
    nats: Nats,
}

impl Engines {
    pub(super) fn start() -> anyhow::Result<Self> {
        let options = PostgresOptions {
            // A figure that does not wait for the disk would be no figure.
            fsync: true,
            ..PostgresOptions::default()
        };
        Ok(Self {
            postgres: Postgres::start_with(options)?,
            nats: Nats::start()?,
        })
    }

    /// What the database takes of the disk, in bytes.
    pub(super) fn store_bytes(&self) -> anyhow::Result<u64> {
        let size = "SELECT pg_database_size(current_database())";
        Ok(self.postgres.execute(size)?.trim().parse()?)
    }

    /// What a server is told to use them.
    pub(super) fn arguments(&self) -> Vec<String> {
        ["--store", &self.postgres.url(), "--bus", &self.nats.url()]
            .map(str::to_owned)
            .to_vec()
    }
}
