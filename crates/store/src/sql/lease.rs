//! Leases: one replica at a time holds each.

use std::time::Duration;

use super::rows::int;
use super::{Connection, Statement};
use crate::StoreError;

/// Takes a lease that no other replica holds, or renews it.
pub(crate) async fn take(
    conn: &mut Connection,
    name: &str,
    holder: u64,
    lasting: Duration,
) -> Result<bool, StoreError> {
    let now = conn.now();
    let taken = Statement::new(format!(
        "INSERT INTO leases (name, holder, until) VALUES ($1, $2, {now} + $3) ON CONFLICT (name) DO UPDATE \
         SET holder = excluded.holder, until = excluded.until WHERE leases.holder = excluded.holder OR leases.until <= {now}",
    ))
    .bind(name)
    .bind(int(holder))
    .bind(millis(lasting))
    .execute(conn)
    .await?;
    Ok(taken > 0)
}

pub(crate) async fn release(
    conn: &mut Connection,
    name: &str,
    holder: u64,
) -> Result<(), StoreError> {
    Statement::new("DELETE FROM leases WHERE name = $1 AND holder = $2")
        .bind(name)
        .bind(int(holder))
        .execute(conn)
        .await?;
    Ok(())
}

/// At most a century, so that adding it to the current time cannot overflow.
pub(super) fn millis(duration: Duration) -> i64 {
    const CENTURY: i64 = 100 * 366 * 24 * 3600 * 1000;
    i64::try_from(duration.as_millis()).map_or(CENTURY, |millis| millis.min(CENTURY))
}
