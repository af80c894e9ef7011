//! Tasks, each with its counts: targets, ended targets, successful targets.

pub(crate) mod outcome;
pub(crate) mod target;

use std::collections::HashMap;

use model::change::TaskRow;
use model::{Namespace, Op, TaskId, UnixMillis};

use super::fields::Fields;
use super::log::{LogEntry, LoggedTable};
use super::rows::{int, ordered, upsert};
use super::{Connection, Row, Statement};
use crate::query::SUMMARISED_TARGETS;
use crate::{StoreError, StoredTask, TaskPage, TaskSummary};

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
            "INSERT INTO tasks (id, created_at, app, user_name, retries) ",
            " ON CONFLICT (id) DO UPDATE SET created_at = excluded.created_at, app = excluded.app, \
             user_name = excluded.user_name, retries = excluded.retries",
        ],
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            tuple
                .push_bind(int(row.id.number()))
                .push_bind(row.created_at.0)
                .push_bind(row.app.as_str())
                .push_bind(row.user.as_str())
                .push_bind(row.retries.map(|id| int(id.number())));
        },
    )
    .await
}

/// The open tasks: those with a target that has not ended.
pub(crate) async fn read_open(conn: &mut Connection) -> Result<Vec<TaskRow>, StoreError> {
    let rows = Statement::new(
        "SELECT id, created_at, app, user_name, retries FROM tasks WHERE n_ended < n_targets ORDER BY id",
    )
    .fetch_all(conn)
    .await?;
    rows.iter().map(|row| decode(&fields(row))).collect()
}

pub(crate) async fn one(
    conn: &mut Connection,
    id: TaskId,
) -> Result<Option<StoredTask>, StoreError> {
    let row =
        Statement::new("SELECT id, created_at, app, user_name, retries FROM tasks WHERE id = $1")
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

/// Newest first.
pub(crate) async fn page(
    conn: &mut Connection,
    page: &TaskPage,
) -> Result<Vec<TaskSummary>, StoreError> {
    let mut query = Statement::new(format!(
        "SELECT id, created_at, app, user_name, retries, n_targets, n_ended, n_ok, coalesce(first.op, -1), \
         coalesce(first.process, ''), \
         (SELECT count(DISTINCT process) FROM (SELECT process FROM targets WHERE task = tasks.id \
         ORDER BY ordinal LIMIT {SUMMARISED_TARGETS}) AS head), \
         (SELECT count(DISTINCT op) FROM (SELECT op FROM targets WHERE task = tasks.id \
         ORDER BY ordinal LIMIT {SUMMARISED_TARGETS}) AS head) \
         FROM tasks LEFT JOIN targets AS first ON first.task = tasks.id AND first.ordinal = 0 WHERE id < "
    ));
    query.push_bind(page.before.map_or(i64::MAX, |id| int(id.number())));
    filter(&mut query, page);
    query
        .push(" ORDER BY id DESC LIMIT ")
        .push_bind(i64::from(page.limit));
    let is_cached = *page
        == TaskPage {
            limit: page.limit,
            before: page.before,
            ..TaskPage::default()
        };
    let query = match is_cached {
        true => query,
        false => query.uncached(),
    };
    let rows = query.fetch_all(conn).await?;
    rows.iter()
        .map(|row| {
            let fields = fields(row);
            Ok(TaskSummary {
                task: decode(&fields)?,
                n_targets: fields.number(5)?,
                n_ended: fields.number(6)?,
                n_ok: fields.number(7)?,
                op: match fields.get::<i64>(11)? {
                    1 => Op::from_number(fields.get(8)?),
                    _ => None,
                },
                process: fields.text(9)?,
                n_processes: fields.number(10)?,
            })
        })
        .collect()
}

fn filter(query: &mut Statement, page: &TaskPage) {
    if let Some(namespaces) = &page.namespaces {
        query.push(" AND id IN (SELECT task FROM task_operations WHERE namespace IN (");
        bind_all(query, namespaces);
        query.push("))");
    }
    if let Some(process) = &page.process {
        query
            .push(" AND id IN (SELECT task FROM task_operations WHERE namespace = ")
            .push_bind(process.namespace.as_str())
            .push(" AND name = ")
            .push_bind(process.name.as_str())
            .push(")");
    }
    if let Some(op) = page.op {
        query
            .push(" AND EXISTS (SELECT 1 FROM task_operations AS o WHERE o.task = tasks.id AND o.op = ")
            .push_bind(i64::from(op.number()))
            .push(")");
    }
    if let Some(app) = &page.app {
        query.push(" AND app = ").push_bind(app.as_str());
    }
    if let Some(user) = &page.user {
        query.push(" AND user_name = ").push_bind(user.as_str());
    }
    match page.has_ended {
        None => {}
        Some(true) => {
            query.push(" AND n_ended >= n_targets");
        }
        Some(false) => {
            query.push(" AND n_ended < n_targets");
        }
    }
    if let Some(since) = page.since {
        query.push(" AND created_at >= ").push_bind(since.0);
    }
    if let Some(until) = page.until {
        query.push(" AND created_at < ").push_bind(until.0);
    }
    if let Some(reader) = &page.visible_to {
        query
            .push(" AND ((app = ")
            .push_bind(reader.app.as_str())
            .push(" AND user_name = ")
            .push_bind(reader.user.as_str())
            .push(")");
        if !reader.namespaces.is_empty() {
            query.push(
                " OR NOT EXISTS (SELECT 1 FROM task_operations AS o WHERE o.task = tasks.id AND o.namespace NOT IN (",
            );
            bind_all(query, &reader.namespaces);
            query.push("))");
        }
        query.push(")");
    }
}

fn bind_all(query: &mut Statement, namespaces: &[Namespace]) {
    let mut list = query.list();
    for namespace in namespaces {
        list.push_bind(namespace.as_str());
    }
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
        retries: fields
            .added::<i64>(4)?
            .map(|number| TaskId::from_number(number.cast_unsigned())),
    })
}
