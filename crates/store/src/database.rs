//! SQLite or PostgreSQL: the only type that knows which databases there are.
//!
//! A call borrows a connection from here: for one statement, for several that must see one state, or to write.

use model::change::{Changes, Revision};

use crate::StoreError;
use crate::error::without_secrets;
use crate::postgres::Postgres;
use crate::sql::{self, Connection, Statement};
use crate::sqlite::Sqlite;
use crate::transaction::Transaction;

#[derive(Debug)]
pub(crate) enum Database {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Database {
    /// The scheme of the URL chooses.
    pub(crate) async fn open(url: &str) -> Result<Self, StoreError> {
        match url.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() && path != ":memory:" => {
                Ok(Self::Sqlite(Sqlite::open(path).await?))
            }
            Some(("postgres" | "postgresql", _)) => Ok(Self::Postgres(Postgres::open(url).await?)),
            _ => Err(StoreError::Unsupported {
                url: without_secrets(url),
            }),
        }
    }

    /// Whether other processes may write to it.
    pub(crate) fn is_shared(&self) -> bool {
        match self {
            Self::Sqlite(_) => false,
            Self::Postgres(_) => true,
        }
    }

    /// For one statement that reads.
    pub(crate) async fn reader(&self) -> Result<Connection, StoreError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.reader().await,
            Self::Postgres(postgres) => postgres.reader().await,
        }
    }

    pub(crate) async fn head(&self) -> Result<Revision, StoreError> {
        match self {
            Self::Sqlite(sqlite) => {
                let mut conn = sqlite.reader().await?;
                Ok(sql::revision::read(&mut conn).await?.head)
            }
            Self::Postgres(postgres) => postgres.head().await,
        }
    }

    pub(crate) async fn changes_since(
        &self,
        since: Revision,
    ) -> Result<(Revision, Changes), StoreError> {
        match self {
            Self::Sqlite(sqlite) => {
                let mut conn = sqlite.reader().await?;
                sql::log::changes_since(&mut conn, since).await
            }
            Self::Postgres(postgres) => postgres.changes_since(since).await,
        }
    }

    /// All its statements see one state.
    pub(crate) async fn begin_read(&self) -> Result<Transaction, StoreError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.begin_read().await,
            Self::Postgres(postgres) => postgres.begin_read().await,
        }
    }

    /// On SQLite it holds the write lock from its start.
    pub(crate) async fn begin_write(&self) -> Result<Transaction, StoreError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.begin_write().await,
            Self::Postgres(postgres) => postgres.begin_write().await,
        }
    }

    /// Blocks commits until its end: for deletions that depend on rows read before.
    pub(crate) async fn begin_exclusive(&self) -> Result<Transaction, StoreError> {
        let mut tx = self.begin_write().await?;
        if self.is_shared() {
            Statement::new("SELECT one FROM revision WHERE one = 1 FOR UPDATE")
                .fetch_one(&mut tx)
                .await?;
        }
        Ok(tx)
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(sqlite) => sqlite.close().await,
            Self::Postgres(postgres) => postgres.close().await,
        }
    }
}
