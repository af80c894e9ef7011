//! Leases: a piece of work that one replica at a time does for all.

use super::Connection;
use super::rows::int;
use crate::StoreError;

/// Takes it if nobody else holds it now, or makes it last longer.
pub(crate) async fn take(
    conn: &mut Connection,
    name: &str,
    holder: u64,
    now: i64,
    until: i64,
) -> Result<bool, StoreError> {
    let taken = sqlx::query(
        "INSERT INTO leases (name, holder, until) VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE \
         SET holder = excluded.holder, until = excluded.until WHERE leases.holder = excluded.holder OR leases.until <= $4",
    )
    .bind(name)
    .bind(int(holder))
    .bind(until)
    .bind(now)
    .execute(conn)
    .await?;
    Ok(taken.rows_affected() > 0)
}

pub(crate) async fn release(
    conn: &mut Connection,
    name: &str,
    holder: u64,
) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM leases WHERE name = $1 AND holder = $2")
        .bind(name)
        .bind(int(holder))
        .execute(conn)
        .await?;
    Ok(())
}
