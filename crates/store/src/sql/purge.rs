//! Forgetting what is old.

use model::UnixMillis;
use model::change::Revision;
use sqlx::{AssertSqlSafe, QueryBuilder};

use super::rows::int;
use super::{Connection, Db};
use crate::StoreError;

/// What one transaction deletes, about: writers wait no longer than that takes.
const MAX_PROCESSES: i64 = 20_000;
const MAX_TARGETS: i64 = 20_000;
const MAX_TASKS: i64 = 1_000;
const MAX_EVENTS: i64 = 2_000;

/// Says in the counter how far tombstones go, and deletes all but the many ones; old logins as well.
pub(crate) async fn small(
    conn: &mut Connection,
    before: UnixMillis,
    through: Revision,
) -> Result<(), StoreError> {
    let tables = [
        "definitions",
        "process_groups",
        "apps",
        "users",
        "join_tokens",
        "logins",
        "webhooks",
    ];
    sqlx::query("UPDATE revision SET purged_through = $1 WHERE one = 1 AND purged_through < $1")
        .bind(int(through.0))
        .execute(&mut *conn)
        .await?;
    for table in tables {
        let delete = format!("DELETE FROM {table} WHERE gone = 1 AND revision <= $1");
        sqlx::query(AssertSqlSafe(delete))
            .bind(int(through.0))
            .execute(&mut *conn)
            .await?;
    }
    sqlx::query("DELETE FROM logins WHERE expires_at <> 0 AND expires_at < $1")
        .bind(before.0)
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes some events, the oldest first; answers whether there may be more.
pub(crate) async fn events(conn: &mut Connection, before: UnixMillis) -> Result<bool, StoreError> {
    let deleted = sqlx::query(
        "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE at < $1 ORDER BY at, id LIMIT $2)",
    )
    .bind(before.0)
    .bind(MAX_EVENTS)
    .execute(conn)
    .await?;
    Ok(deleted.rows_affected() > 0)
}

/// Deletes some tombstones of processes; answers whether there may be more.
pub(crate) async fn processes(
    conn: &mut Connection,
    through: Revision,
) -> Result<bool, StoreError> {
    let deleted = sqlx::query(
        "DELETE FROM processes WHERE id IN (SELECT id FROM processes WHERE gone = 1 AND revision <= $1 LIMIT $2)",
    )
    .bind(int(through.0))
    .bind(MAX_PROCESSES)
    .execute(conn)
    .await?;
    Ok(deleted.rows_affected() > 0)
}

/// Deletes some ended tasks with all that belongs to them; answers whether there may be more.
pub(crate) async fn tasks(conn: &mut Connection, before: UnixMillis) -> Result<bool, StoreError> {
    let old: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT id, n_targets FROM tasks WHERE created_at < $1 AND n_ended >= n_targets LIMIT $2",
    )
    .bind(before.0)
    .bind(MAX_TASKS)
    .fetch_all(&mut *conn)
    .await?;
    let mut n_targets = 0;
    let some = old
        .iter()
        .take_while(|(_, n)| {
            let room = n_targets < MAX_TARGETS;
            n_targets += n;
            room
        })
        .map(|(id, _)| *id)
        .collect::<Vec<_>>();
    if some.is_empty() {
        return Ok(false);
    }
    for delete in [
        "DELETE FROM outcomes WHERE task IN (",
        "DELETE FROM targets WHERE task IN (",
        "DELETE FROM tasks WHERE id IN (",
    ] {
        let mut query = QueryBuilder::<Db>::new(delete);
        let mut list = query.separated(", ");
        some.iter().for_each(|id| {
            list.push_bind(*id);
        });
        let query = query.push(")").build().persistent(false);
        query.execute(&mut *conn).await?;
    }
    Ok(true)
}
