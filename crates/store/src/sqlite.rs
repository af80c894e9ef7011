//! SQLite: one file, one writer, a few readers.
//!
//! WAL with synchronous = FULL: a commit is on the disk when it returns, and readers never wait for the writer.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::ConnectOptions;
use sqlx::error::DatabaseError;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use crate::StoreError;
use crate::migrate::migrate;
use crate::sql::Connection;
use crate::transaction::Transaction;

pub(crate) const MIGRATIONS: [&str; 9] = [
    include_str!("../migrations/sqlite/0001_first.sql"),
    include_str!("../migrations/sqlite/0002_supplier.sql"),
    include_str!("../migrations/sqlite/0003_commit_log.sql"),
    include_str!("../migrations/sqlite/0004_timeline.sql"),
    include_str!("../migrations/sqlite/0005_task_operations.sql"),
    include_str!("../migrations/sqlite/0006_logins.sql"),
    include_str!("../migrations/sqlite/0007_removed_hosts.sql"),
    include_str!("../migrations/sqlite/0008_host_labels.sql"),
    include_str!("../migrations/sqlite/0009_versions.sql"),
];
/// Connections that only read.
const READERS: u32 = 4;
/// How long a call waits for a connection, or for another process that locks the file.
const PATIENCE: Duration = Duration::from_secs(15);
/// Between two attempts to open a file that another process locks.
const BUSY_PAUSE: Duration = Duration::from_millis(5);
/// Prepared statements that a connection caches: every table in every chunk size.
const STATEMENTS: usize = 512;
const PAGE_BYTES: u32 = 8192;
/// The page cache of the connection that writes; negative: KiB. A usual commit touches less, and the system caches the file, too.
const WRITER_CACHE: &str = "-4096";
/// For a commit of very many rows, so that it writes each page once.
pub(crate) const WIDE_CACHE: &str = "PRAGMA cache_size = -65536";
pub(crate) const USUAL_CACHE: &str = "PRAGMA cache_size = -4096";
/// The same of those that read, mostly all of a table in sequence.
const READER_CACHE: &str = "-2048";
/// Pages in the WAL at which a commit copies them into the file.
const CHECKPOINT_PAGES: &str = "2000";
/// Size to which the WAL file is cut afterwards.
const WAL_BYTES: &str = "67108864";

#[derive(Debug)]
pub(crate) struct Sqlite {
    writer: SqlitePool,
    readers: SqlitePool,
}

impl Sqlite {
    /// `path` is what follows `sqlite:`, with or without the two slashes of a URL.
    pub(crate) async fn open(path: &str) -> Result<Self, StoreError> {
        let path = Path::new(path.strip_prefix("//").unwrap_or(path));
        create(path).map_err(StoreError::unavailable)?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(false)
            .busy_timeout(PATIENCE)
            .page_size(PAGE_BYTES)
            .pragma("cache_size", WRITER_CACHE)
            .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
            .pragma("journal_size_limit", WAL_BYTES)
            .statement_cache_capacity(STATEMENTS)
            .disable_statement_logging();
        let writer = pool(1, options.clone().thread_name(|_| "store-writer".into())).await?;
        let mut tx = begin(&writer, BEGIN_WRITE).await?;
        let versions =
            "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY) STRICT";
        migrate(&mut tx, versions, &MIGRATIONS).await?;
        tx.commit().await?;
        let readers = pool(
            READERS,
            options
                .pragma("query_only", "on")
                .pragma("cache_size", READER_CACHE)
                .thread_name(|n| format!("store-reader-{n}")),
        )
        .await?;
        Ok(Self { writer, readers })
    }

    pub(crate) async fn reader(&self) -> Result<Connection, StoreError> {
        Ok(self.readers.acquire().await?.into())
    }

    pub(crate) async fn begin_read(&self) -> Result<Transaction, StoreError> {
        begin(&self.readers, "BEGIN").await
    }

    /// Holds the write lock from its start, so that no commit comes between its reads and its writes.
    pub(crate) async fn begin_write(&self) -> Result<Transaction, StoreError> {
        begin(&self.writer, BEGIN_WRITE).await
    }

    pub(crate) async fn close(&self) {
        self.readers.close().await;
        // Last, so that it copies the WAL into the file.
        self.writer.close().await;
    }
}

const BEGIN_WRITE: &str = "BEGIN IMMEDIATE";

async fn begin(pool: &SqlitePool, statement: &'static str) -> Result<Transaction, StoreError> {
    Transaction::begin(pool.acquire().await?.into(), statement, PATIENCE).await
}

async fn pool(size: u32, options: SqliteConnectOptions) -> Result<SqlitePool, StoreError> {
    let until = Instant::now() + PATIENCE;
    loop {
        let opened = SqlitePoolOptions::new()
            .max_connections(size)
            .acquire_timeout(PATIENCE)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            .connect_with(options.clone())
            .await;
        match opened {
            // Switching a new file to WAL fails at once while another process does so: SQLite does not wait there.
            Err(error) if is_busy(&error) && Instant::now() < until => {
                tokio::time::sleep(BUSY_PAUSE).await;
            }
            opened => return Ok(opened?),
        }
    }
}

/// Whether another process locks the file.
fn is_busy(error: &sqlx::Error) -> bool {
    const BUSY: i32 = 5;
    let code = error.as_database_error().and_then(DatabaseError::code);
    // The lowest byte is the code; the others say more.
    code.and_then(|code| code.parse::<i32>().ok())
        .is_some_and(|code| code & 0xFF == BUSY)
}

/// Only the owner may read the file, because it holds hashes of secrets. SQLite gives the WAL the same mode.
fn create(path: &Path) -> io::Result<()> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)
        .map(drop)
}
