//! The one-row counter that puts all commits in order.

use model::change::Revision;

use super::Connection;
use super::rows::int;
use crate::StoreError;

/// Where the store stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) head: Revision,
    /// Tombstones up to here may be missing.
    pub(crate) purged_through: Revision,
}

pub(crate) async fn read(conn: &mut Connection) -> Result<Position, StoreError> {
    let (head, purged): (i64, i64) =
        sqlx::query_as("SELECT head, purged_through FROM revision WHERE one = 1")
            .fetch_one(conn)
            .await?;
    Ok(Position {
        head: Revision(head.cast_unsigned()),
        purged_through: Revision(purged.cast_unsigned()),
    })
}

/// Takes the next revision, if the head is still where the change was planned.
pub(crate) async fn advance(
    conn: &mut Connection,
    planned_at: Revision,
) -> Result<Revision, StoreError> {
    let advanced = sqlx::query("UPDATE revision SET head = head + 1 WHERE one = 1 AND head = $1")
        .bind(int(planned_at.0))
        .execute(&mut *conn)
        .await?;
    match advanced.rows_affected() {
        0 => Err(StoreError::Moved {
            head: read(conn).await?.head,
        }),
        _ => Ok(planned_at.next()),
    }
}
