//! A transaction that closes its connection unless it ended without an error.
//!
//! After some errors (full disk, I/O) SQLite has rolled back by itself; after a dropped future the transaction is still open.
//! sqlx's own transactions can leave such a connection in the pool, where every later transaction would fail. A new connection
//! costs a millisecond.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::StoreError;
use crate::sql::{CacheSize, Connection};

pub(crate) struct Transaction {
    conn: Connection,
    patience: Duration,
    has_wide_cache: bool,
}

impl Transaction {
    pub(crate) async fn begin(
        mut conn: Connection,
        statement: &'static str,
        patience: Duration,
    ) -> Result<Self, StoreError> {
        conn.set_reusable(false);
        conn.run(statement, patience).await?;
        Ok(Self {
            conn,
            patience,
            has_wide_cache: false,
        })
    }

    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.end("COMMIT").await
    }

    pub(crate) async fn roll_back(self) -> Result<(), StoreError> {
        self.end("ROLLBACK").await
    }

    /// For very many rows: keeps more pages in memory until it ends.
    pub(crate) async fn widen_cache(&mut self) -> Result<(), StoreError> {
        self.has_wide_cache = true;
        self.conn.set_cache(CacheSize::Wide).await
    }

    async fn end(mut self, statement: &'static str) -> Result<(), StoreError> {
        self.conn.run(statement, self.patience).await?;
        if self.has_wide_cache && self.conn.set_cache(CacheSize::Usual).await.is_err() {
            // It has ended all the same. The connection is closed.
            return Ok(());
        }
        self.conn.set_reusable(true);
        Ok(())
    }
}

impl Deref for Transaction {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.conn
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.conn
    }
}
