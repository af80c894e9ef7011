//! Brings the schema up to date, inside the caller's transaction.
//!
//! A released migration is never edited: a change of the schema is a new file at the end of the list.

use std::time::Duration;

use crate::StoreError;
use crate::sql::{Connection, Statement};

/// Longer than any migration takes.
const PATIENCE: Duration = Duration::from_secs(600);

/// `versions` creates the table of the migrations that were applied.
pub(crate) async fn migrate(
    conn: &mut Connection,
    versions: &'static str,
    migrations: &[&'static str],
) -> Result<(), StoreError> {
    conn.run(versions, PATIENCE).await?;
    let found = Statement::new("SELECT coalesce(max(version), 0) FROM schema_version")
        .fetch_one(conn)
        .await?
        .get(0)?;
    let known = migrations.len() as i64;
    if found > known {
        return Err(StoreError::TooNew { found, known });
    }
    for (version, migration) in (1..).zip(migrations) {
        if version > found {
            conn.run(migration, PATIENCE).await?;
            Statement::new("INSERT INTO schema_version (version) VALUES ($1)")
                .bind(version)
                .execute(conn)
                .await?;
        }
    }
    Ok(())
}
