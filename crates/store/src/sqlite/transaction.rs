//! A transaction whose connection is thrown away unless it ended well.
//!
//! After some errors (a full disk, I/O) SQLite has rolled back by itself, after a dropped future nothing has: sqlx's own
//! transactions can leave such a connection in the pool, where it would refuse every later transaction. A new connection
//! costs a millisecond.

use std::ops::{Deref, DerefMut};

use sqlx::Sqlite;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnection, SqlitePool};

use crate::StoreError;

/// None once it has ended.
pub(crate) struct Transaction(Option<PoolConnection<Sqlite>>);

impl Transaction {
    /// Holds the write lock from the start: nothing can come between a look and the write after it.
    pub(crate) async fn begin_write(pool: &SqlitePool) -> Result<Self, StoreError> {
        Self::begin(pool, "BEGIN IMMEDIATE").await
    }

    /// All reads in it see one state.
    pub(crate) async fn begin_read(pool: &SqlitePool) -> Result<Self, StoreError> {
        Self::begin(pool, "BEGIN").await
    }

    async fn begin(pool: &SqlitePool, statement: &'static str) -> Result<Self, StoreError> {
        let mut tx = Self(Some(pool.acquire().await?));
        sqlx::query(statement).execute(&mut *tx).await?;
        Ok(tx)
    }

    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.end("COMMIT").await
    }

    pub(crate) async fn roll_back(self) -> Result<(), StoreError> {
        self.end("ROLLBACK").await
    }

    async fn end(mut self, statement: &'static str) -> Result<(), StoreError> {
        sqlx::query(statement).execute(&mut *self).await?;
        // Back to the pool.
        drop(self.0.take());
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(conn) = self.0.take() {
            drop(conn.detach());
        }
    }
}

impl Deref for Transaction {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        self.0.as_ref().expect("it has not ended")
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        self.0.as_mut().expect("it has not ended")
    }
}
