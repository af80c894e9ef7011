//! The one-row counter that puts all commits in order.
//!
//! Its row is locked from the moment a commit takes the next revision until it ends: so they end in the order of their
//! revisions, and none is missing.

use model::change::Revision;

use super::rows::int;
use super::{Connection, Statement};
use crate::StoreError;

/// So many marks are kept, at least: more commits than happen while somebody asks for the fate of one.
const MARKS: u64 = 10_000;
/// How many commits pass between two times that old marks are forgotten.
const FORGET_EACH: u64 = 500;

/// Where the store stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) head: Revision,
    /// Tombstones up to here may be missing.
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

/// Takes the next revision, if the head is still where the change was planned.
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

/// Leaves the mark of whoever wrote a revision.
pub(crate) async fn mark(
    conn: &mut Connection,
    revision: Revision,
    mark: i64,
) -> Result<(), StoreError> {
    Statement::new("INSERT INTO commits (revision, mark) VALUES ($1, $2)")
        .bind(int(revision.0))
        .bind(mark)
        .execute(conn)
        .await?;
    if revision.0.is_multiple_of(FORGET_EACH) {
        Statement::new("DELETE FROM commits WHERE revision < $1")
            .bind(int(revision.0.saturating_sub(MARKS)))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// The mark of whoever wrote it, if it was written and is not long past.
pub(crate) async fn marked(
    conn: &mut Connection,
    revision: Revision,
) -> Result<Option<i64>, StoreError> {
    Statement::new("SELECT mark FROM commits WHERE revision = $1")
        .bind(int(revision.0))
        .fetch_value(conn)
        .await
}
