//! Deletes old rows, in batches.

use model::UnixMillis;

use super::rows::int;
use super::{Connection, Statement};
use crate::StoreError;

/// About as many rows as one transaction deletes: writers wait no longer than that takes.
const MAX_TARGETS: i64 = 20_000;
const MAX_TASKS: i64 = 1_000;
const MAX_EVENTS: i64 = 2_000;
const MAX_JOBS: i64 = 1_000;
const MAX_JOB_TASKS: i64 = 5_000;
const MAX_CONTENTS: i64 = 500;

/// Deletes the logins that expired before a moment.
pub(crate) async fn logins(conn: &mut Connection, before: UnixMillis) -> Result<(), StoreError> {
    Statement::new("DELETE FROM logins WHERE expires_at <> 0 AND expires_at < $1")
        .bind(before.0)
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes some events, the oldest first; answers whether there may be more.
pub(crate) async fn events(conn: &mut Connection, before: UnixMillis) -> Result<bool, StoreError> {
    let deleted = Statement::new(
        "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE at < $1 ORDER BY at, id LIMIT $2)",
    )
    .bind(before.0)
    .bind(MAX_EVENTS)
    .execute(conn)
    .await?;
    Ok(deleted > 0)
}

/// Deletes some rows of the timeline, the oldest first; answers whether there may be more.
pub(crate) async fn timeline(
    conn: &mut Connection,
    before: UnixMillis,
) -> Result<bool, StoreError> {
    let deleted = Statement::new(
        "DELETE FROM timeline WHERE id IN (SELECT id FROM timeline WHERE at < $1 ORDER BY at, id LIMIT $2)",
    )
    .bind(before.0)
    .bind(MAX_EVENTS)
    .execute(conn)
    .await?;
    Ok(deleted > 0)
}

/// Deletes some ended tasks with all that belongs to them; answers whether there may be more.
pub(crate) async fn tasks(conn: &mut Connection, before: UnixMillis) -> Result<bool, StoreError> {
    let old = Statement::new(
        "SELECT id, n_targets FROM tasks WHERE created_at < $1 AND n_ended >= n_targets LIMIT $2",
    )
    .bind(before.0)
    .bind(MAX_TASKS)
    .fetch_all(conn)
    .await?;
    let mut n_targets = 0;
    let mut some = Vec::<i64>::new();
    for row in &old {
        if n_targets >= MAX_TARGETS {
            break;
        }
        some.push(row.get(0)?);
        n_targets += row.get::<i64>(1)?;
    }
    if some.is_empty() {
        return Ok(false);
    }
    for delete in [
        "DELETE FROM outcomes WHERE task IN (",
        "DELETE FROM targets WHERE task IN (",
        "DELETE FROM task_operations WHERE task IN (",
        "DELETE FROM tasks WHERE id IN (",
    ] {
        let mut query = Statement::new(delete);
        let mut list = query.list();
        some.iter().for_each(|id| {
            list.push_bind(*id);
        });
        query.push(")");
        query.uncached().execute(conn).await?;
    }
    Ok(true)
}

/// Deletes some tasks of old jobs, and the jobs without tasks; answers whether there may be more.
///
/// A job is marked before its tasks are deleted, so that no reader sees a job without some of its tasks.
pub(crate) async fn jobs(conn: &mut Connection, before: UnixMillis) -> Result<bool, StoreError> {
    let marked = Statement::new(
        "UPDATE jobs SET gone = 1 WHERE id IN (SELECT id FROM jobs WHERE is_over = 1 AND gone = 0 AND created_at < $1 \
         LIMIT $2)",
    )
    .bind(before.0)
    .bind(MAX_JOBS)
    .execute(conn)
    .await?;
    let tasks = Statement::new(
        "DELETE FROM job_tasks WHERE (job, ordinal) IN (SELECT job, ordinal FROM job_tasks WHERE job IN \
         (SELECT id FROM jobs WHERE gone = 1) LIMIT $1)",
    )
    .bind(MAX_JOB_TASKS)
    .execute(conn)
    .await?;
    if int(tasks) < MAX_JOB_TASKS {
        Statement::new("DELETE FROM jobs WHERE gone = 1")
            .execute(conn)
            .await?;
    }
    Ok(marked > 0 || tasks > 0)
}

/// Deletes those of the next contents after `after` that no file refers to; answers where to continue, None at the end.
pub(crate) async fn contents(
    conn: &mut Connection,
    after: &[u8],
) -> Result<Option<Vec<u8>>, StoreError> {
    let through: Option<Vec<u8>> = Statement::new(
        "SELECT id FROM (SELECT id FROM contents WHERE id > $1 ORDER BY id LIMIT $2) AS part ORDER BY id DESC LIMIT 1",
    )
    .bind(after)
    .bind(MAX_CONTENTS)
    .fetch_value(conn)
    .await?;
    let Some(through) = through else {
        return Ok(None);
    };
    Statement::new(
        "DELETE FROM contents WHERE id > $1 AND id <= $2 \
         AND NOT EXISTS (SELECT 1 FROM config_files WHERE generated_content = contents.id) \
         AND NOT EXISTS (SELECT 1 FROM config_files WHERE released_content = contents.id)",
    )
    .bind(after)
    .bind(through.as_slice())
    .execute(conn)
    .await?;
    Ok(Some(through))
}
