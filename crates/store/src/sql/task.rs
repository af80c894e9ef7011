//! Tasks, each with its counts: targets, ended targets, successful targets.

pub(crate) mod outcome;
pub(crate) mod target;

use std::collections::HashMap;

use model::change::TaskRow;
use model::{Op, TaskId, UnixMillis};

use super::fields::Fields;
use super::log::{LogEntry, LoggedTable};
use super::rows::{int, ordered, upsert};
use super::{Connection, Row, Statement};
use crate::query::SUMMARISED_TARGETS;
use crate::{StoreError, StoredTask, TaskSummary};

pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[TaskRow],
) -> Result<(), StoreError> {
    upsert(
        conn,
        log,
        LoggedTable::Tasks,
        [
            "INSERT INTO tasks (id, created_at, app, user_name) ",
            " ON CONFLICT (id) DO UPDATE SET created_at = excluded.created_at, app = excluded.app, \
             user_name = excluded.user_name",
        ],
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            tuple
                .push_bind(int(row.id.number()))
                .push_bind(row.created_at.0)
                .push_bind(row.app.as_str())
                .push_bind(row.user.as_str());
        },
    )
    .await
}

/// The open tasks: those with a target that has not ended.
pub(crate) async fn read_open(conn: &mut Connection) -> Result<Vec<TaskRow>, StoreError> {
    let rows = Statement::new(
        "SELECT id, created_at, app, user_name FROM tasks WHERE n_ended < n_targets ORDER BY id",
    )
    .fetch_all(conn)
    .await?;
    rows.iter().map(|row| decode(&fields(row))).collect()
}

pub(crate) async fn one(
    conn: &mut Connection,
    id: TaskId,
) -> Result<Option<StoredTask>, StoreError> {
    let row = Statement::new("SELECT id, created_at, app, user_name FROM tasks WHERE id = $1")
        .bind(int(id.number()))
        .fetch_optional(conn)
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let targets = target::of_task(conn, id).await?;
    let mut outcomes: HashMap<_, _> = outcome::of_task(conn, id)
        .await?
        .into_iter()
        .map(|row| (row.op_id, row.outcome))
        .collect();
    Ok(Some(StoredTask {
        task: decode(&fields(&row))?,
        targets: targets
            .into_iter()
            .map(|target| {
                let outcome = outcomes.remove(&target.op_id);
                (target, outcome)
            })
            .collect(),
    }))
}

pub(crate) async fn list(
    conn: &mut Connection,
    limit: u32,
    before: Option<TaskId>,
) -> Result<Vec<TaskSummary>, StoreError> {
    let rows = Statement::new(
        "SELECT id, created_at, app, user_name, n_targets, n_ended, n_ok, coalesce(first.op, -1), \
         coalesce(first.process, ''), \
         (SELECT count(DISTINCT process) FROM (SELECT process FROM targets WHERE task = tasks.id \
         ORDER BY ordinal LIMIT $3) AS head), \
         (SELECT count(DISTINCT op) FROM (SELECT op FROM targets WHERE task = tasks.id \
         ORDER BY ordinal LIMIT $3) AS head) \
         FROM tasks LEFT JOIN targets AS first ON first.task = tasks.id AND first.ordinal = 0 \
         WHERE id < $1 ORDER BY id DESC LIMIT $2",
    )
    .bind(before.map_or(i64::MAX, |id| int(id.number())))
    .bind(i64::from(limit))
    .bind(i64::from(SUMMARISED_TARGETS))
    .fetch_all(conn)
    .await?;
    rows.iter()
        .map(|row| {
            let fields = fields(row);
            Ok(TaskSummary {
                task: decode(&fields)?,
                n_targets: fields.number(4)?,
                n_ended: fields.number(5)?,
                n_ok: fields.number(6)?,
                op: match fields.get::<i64>(10)? {
                    1 => Op::from_number(fields.get(7)?),
                    _ => None,
                },
                process: fields.text(8)?,
                n_processes: fields.number(9)?,
            })
        })
        .collect()
}

fn fields(row: &Row) -> Fields<'_, '_> {
    Fields::new("tasks", 1, row)
}

pub(crate) fn decode(fields: &Fields<'_, '_>) -> Result<TaskRow, StoreError> {
    Ok(TaskRow {
        id: TaskId::from_number(fields.unsigned(0)?),
        created_at: UnixMillis(fields.get(1)?),
        app: fields.text(2)?,
        user: fields.text(3)?,
    })
}
