//! The one-row counter that orders all commits.
//!
//! A commit locks its row from taking the next revision until its end: so commits end in the order of their revisions, and no
//! revision is missing.

use model::change::Revision;

use super::rows::int;
use super::{Connection, Statement};
use crate::StoreError;

/// Which commits the store has, and which of them are still in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) head: Revision,
    /// Log entries up to here may be missing.
    pub(crate) purged_through: Revision,
}

pub(crate) async fn read(conn: &mut Connection) -> Result<Position, StoreError> {
    let row = Statement::new("SELECT head, purged_through FROM revision WHERE one = 1")
        .fetch_one(conn)
        .await?;
    Ok(Position {
        head: Revision(row.get::<i64>(0)?.cast_unsigned()),
        purged_through: Revision(row.get::<i64>(1)?.cast_unsigned()),
    })
}

/// Takes the next revision, if the head is still the one that the change was planned against.
pub(crate) async fn advance(
    conn: &mut Connection,
    planned_at: Revision,
) -> Result<Revision, StoreError> {
    let advanced =
        Statement::new("UPDATE revision SET head = head + 1 WHERE one = 1 AND head = $1")
            .bind(int(planned_at.0))
            .execute(conn)
            .await?;
    match advanced {
        0 => Err(StoreError::Moved {
            head: read(conn).await?.head,
        }),
        _ => Ok(planned_at.next()),
    }
}

/// Records that log entries up to `through` are being purged.
pub(crate) async fn set_purged(conn: &mut Connection, through: Revision) -> Result<(), StoreError> {
    Statement::new("UPDATE revision SET purged_through = $1 WHERE one = 1 AND purged_through < $1")
        .bind(int(through.0))
        .execute(conn)
        .await?;
    Ok(())
}
