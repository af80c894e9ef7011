//! A consistent copy of a SQLite file while a server writes to it, and a check of such a copy.
//!
//! Neither migrates: the server that runs on the file may be of another version.

use std::path::Path;
use std::time::Duration;

use model::change::Revision;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::StoreError;

/// How long to wait for a process that locks the file.
const PATIENCE: Duration = Duration::from_secs(15);

/// A copy, as it says itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotInfo {
    pub revision: Revision,
    pub schema_version: i64,
}

/// The newest schema that this program can open.
pub fn newest_schema() -> i64 {
    crate::sqlite::MIGRATIONS.len() as i64
}

/// About how many bytes a copy of the file will have.
pub async fn size_of(file: &Path) -> Result<u64, StoreError> {
    let mut conn = connect(file).await?;
    let pages = number(&mut conn, "PRAGMA page_count").await?;
    let page = number(&mut conn, "PRAGMA page_size").await?;
    conn.close().await?;
    Ok((pages * page).cast_unsigned())
}

/// Copies the last committed state of `file` into `copy`, which must be empty or absent. Servers go on reading and writing.
pub async fn snapshot(file: &Path, copy: &Path) -> Result<SnapshotInfo, StoreError> {
    let mut conn = connect(file).await?;
    let copied = sqlx::query("VACUUM INTO $1")
        .bind(copy.display().to_string())
        .execute(&mut conn)
        .await;
    conn.close().await?;
    copied?;
    info(copy).await
}

/// Checks that a copy is undamaged and a store of ours.
pub async fn check_snapshot(copy: &Path) -> Result<SnapshotInfo, StoreError> {
    let mut conn = connect(copy).await?;
    let found: Result<String, _> = sqlx::query_scalar("PRAGMA quick_check(1)")
        .fetch_one(&mut conn)
        .await;
    conn.close().await?;
    match found?.as_str() {
        "ok" => info(copy).await,
        damage => Err(StoreError::unavailable(format!(
            "the database in it is damaged: {damage}"
        ))),
    }
}

async fn info(copy: &Path) -> Result<SnapshotInfo, StoreError> {
    let mut conn = connect(copy).await?;
    let head = number(&mut conn, "SELECT head FROM revision WHERE one = 1").await;
    let schema_version = number(&mut conn, "SELECT max(version) FROM schema_version").await;
    conn.close().await?;
    Ok(SnapshotInfo {
        revision: Revision(head?.cast_unsigned()),
        schema_version: schema_version?,
    })
}

async fn connect(file: &Path) -> Result<SqliteConnection, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(false)
        .busy_timeout(PATIENCE)
        .disable_statement_logging();
    Ok(options.connect().await?)
}

async fn number(conn: &mut SqliteConnection, select: &'static str) -> Result<i64, StoreError> {
    Ok(sqlx::query_scalar(select).fetch_one(conn).await?)
}
