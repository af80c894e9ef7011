//! The one-row counter that orders all commits.
//!
//! A commit locks its row from taking the next revision until its end: so commits end in the order of their revisions, and no
//! revision is missing.

use model::change::Revision;

use super::rows::int;
use super::{Connection, Row, Statement};
use crate::StoreError;

/// Which commits the store has, and which of them are still in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) head: Revision,
    /// Log entries up to here may be missing.
    pub(crate) purged_through: Revision,
}

impl Position {
    /// Whether the log lacks what a follower at this revision needs, or the store never had that revision.
    pub(crate) fn lacks(self, since: Revision) -> bool {
        since < self.purged_through && since != self.head || since > self.head
    }
}

pub(crate) async fn read(conn: &mut Connection) -> Result<Position, StoreError> {
    let row = Statement::new("SELECT head, purged_through FROM revision WHERE one = 1")
        .fetch_one(conn)
        .await?;
    position(&row)
}

/// Of a row that begins with the head and the end of what is purged.
pub(crate) fn position(row: &Row) -> Result<Position, StoreError> {
    Ok(Position {
        head: Revision(row.get::<i64>(0)?.cast_unsigned()),
        purged_through: Revision(row.get::<i64>(1)?.cast_unsigned()),
    })
}

/// Takes the next revision; waits for the commit that is taking one.
pub(crate) async fn advance(conn: &mut Connection) -> Result<Position, StoreError> {
    let rows = Statement::new(
        "UPDATE revision SET head = head + 1 WHERE one = 1 RETURNING head, purged_through",
    )
    .fetch_all(conn)
    .await?;
    let row = rows.first();
    position(row.ok_or_else(|| StoreError::unavailable("the store has no revision"))?)
}

/// Records that log entries up to `through` are being purged.
pub(crate) async fn set_purged(conn: &mut Connection, through: Revision) -> Result<(), StoreError> {
    Statement::new("UPDATE revision SET purged_through = $1 WHERE one = 1 AND purged_through < $1")
        .bind(int(through.0))
        .execute(conn)
        .await?;
    Ok(())
}
