//! Brings the schema up to date, inside the caller's transaction.
//!
//! A migration that was ever released is never edited: a change of schema is a new file at the end of the list.

use sqlx::SqliteConnection;

use crate::StoreError;

const MIGRATIONS: [&str; 1] = [include_str!("../../migrations/sqlite/0001_first.sql")];

pub(crate) async fn migrate(conn: &mut SqliteConnection) -> Result<(), StoreError> {
    sqlx::raw_sql("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY) STRICT")
        .execute(&mut *conn)
        .await?;
    let found: i64 = sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM schema_version")
        .fetch_one(&mut *conn)
        .await?;
    let known = MIGRATIONS.len() as i64;
    if found > known {
        return Err(StoreError::TooNew { found, known });
    }
    for (version, migration) in (1..).zip(MIGRATIONS) {
        if version > found {
            sqlx::raw_sql(migration).execute(&mut *conn).await?;
            sqlx::query("INSERT INTO schema_version (version) VALUES ($1)")
                .bind(version)
                .execute(&mut *conn)
                .await?;
        }
    }
    Ok(())
}
