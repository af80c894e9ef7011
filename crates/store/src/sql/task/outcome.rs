//! Outcomes, in a table of their own, so that writing one does not rewrite its target.
//!
//! The counts of a task change by the difference that a write makes: an outcome that replaces another is not counted twice, and
//! no write reads the whole task.

use std::collections::{BTreeMap, HashSet};

use model::change::OutcomeRow;
use model::{OpId, TaskId};

use crate::StoreError;
use crate::sql::fields::Fields;
use crate::sql::log::{LogEntry, LoggedTable};
use crate::sql::rows::{int, ordered, row_chunks, upsert, values};
use crate::sql::{Connection, Statement, Tuple};

pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[OutcomeRow],
) -> Result<(), StoreError> {
    let mut rows = ordered(rows, |a, b| a.op_id.cmp(&b.op_id));
    let mut counts = counts_before(conn, &rows).await?;
    if counts.values().map(|count| count.targets).sum::<i64>() != rows.len() as i64 {
        let existing = existing_targets(conn, &rows).await?;
        rows.retain(|row| existing.contains(&row.op_id));
    }
    for row in &rows {
        if let Some(count) = counts.get_mut(&int(row.op_id.task.number())) {
            count.ok += i64::from(row.outcome.code.is_as_asked());
        }
    }
    upsert(
        conn,
        log,
        LoggedTable::Outcomes,
        [
            "INSERT INTO outcomes (task, ordinal, body, code) ",
            " ON CONFLICT (task, ordinal) DO UPDATE SET body = excluded.body, code = excluded.code",
        ],
        &rows,
        |tuple, row| {
            let body = serde_json::to_string(&row.outcome).expect("outcomes have only string keys");
            bind_key(tuple, row);
            tuple
                .push_bind(body)
                .push_bind(i64::from(row.outcome.code.0));
        },
    )
    .await?;
    add(conn, &Vec::from_iter(counts)).await
}

/// How a write changes the counts of one task.
#[derive(Debug, Default)]
struct CountChange {
    /// Rows whose target exists.
    targets: i64,
    /// Of these, how many had an outcome before, and one as asked (`Code::is_as_asked`).
    had: i64,
    had_ok: i64,
    /// How many are as asked now.
    ok: i64,
}

async fn counts_before(
    conn: &mut Connection,
    rows: &[&OutcomeRow],
) -> Result<BTreeMap<i64, CountChange>, StoreError> {
    let mut counts = BTreeMap::<i64, CountChange>::new();
    for chunk in row_chunks(conn, rows) {
        let mut query = values(
            "SELECT t.task, count(*), count(o.code), count(CASE WHEN o.code IN (0, 828, 829) THEN 1 END) FROM (",
            chunk,
            |tuple, row| bind_key(tuple, row),
        );
        query.push(
            ") AS v CROSS JOIN targets AS t LEFT JOIN outcomes AS o ON o.task = t.task AND o.ordinal = t.ordinal \
             WHERE t.task = v.column1 AND t.ordinal = v.column2 GROUP BY t.task",
        );
        for row in &query.fetch_all(conn).await? {
            let count = counts.entry(row.get(0)?).or_default();
            count.targets += row.get::<i64>(1)?;
            count.had += row.get::<i64>(2)?;
            count.had_ok += row.get::<i64>(3)?;
        }
    }
    Ok(counts)
}

/// For the rare write that names targets which do not exist any more.
async fn existing_targets(
    conn: &mut Connection,
    rows: &[&OutcomeRow],
) -> Result<HashSet<OpId>, StoreError> {
    let mut existing = HashSet::new();
    for chunk in row_chunks(conn, rows) {
        let mut query = values("SELECT t.task, t.ordinal FROM (", chunk, |tuple, row| {
            bind_key(tuple, row)
        });
        query.push(
            ") AS v CROSS JOIN targets AS t WHERE t.task = v.column1 AND t.ordinal = v.column2",
        );
        for row in &query.fetch_all(conn).await? {
            existing.insert(op_id(&Fields::new("targets", 2, row))?);
        }
    }
    Ok(existing)
}

async fn add(conn: &mut Connection, counts: &[(i64, CountChange)]) -> Result<(), StoreError> {
    for chunk in row_chunks(conn, counts) {
        let mut query = values(
            "UPDATE tasks SET n_ended = n_ended + v.column2, n_ok = n_ok + v.column3 FROM (",
            chunk,
            |tuple, (task, count)| {
                tuple
                    .push_bind(*task)
                    .push_bind(count.targets - count.had)
                    .push_bind(count.ok - count.had_ok);
            },
        );
        query.push(") AS v WHERE tasks.id = v.column1");
        query.execute(conn).await?;
    }
    Ok(())
}

fn bind_key(tuple: &mut Tuple<'_>, row: &OutcomeRow) {
    tuple
        .push_bind(int(row.op_id.task.number()))
        .push_bind(i64::from(row.op_id.ordinal));
}

const SELECT: &str = "SELECT task, ordinal, body FROM outcomes";

/// The outcomes of open tasks.
pub(crate) async fn read_open(conn: &mut Connection) -> Result<Vec<OutcomeRow>, StoreError> {
    let mut query = Statement::new(SELECT);
    query.push(
        " WHERE task IN (SELECT id FROM tasks WHERE n_ended < n_targets) ORDER BY task, ordinal",
    );
    fetch(conn, query).await
}

pub(crate) async fn of_task(
    conn: &mut Connection,
    id: TaskId,
) -> Result<Vec<OutcomeRow>, StoreError> {
    let mut query = Statement::new(SELECT);
    query.push(" WHERE task = ").push_bind(int(id.number()));
    query.push(" ORDER BY ordinal");
    fetch(conn, query).await
}

async fn fetch(conn: &mut Connection, query: Statement) -> Result<Vec<OutcomeRow>, StoreError> {
    let rows = query.fetch_all(conn).await?;
    rows.iter()
        .map(|row| decode(&Fields::new("outcomes", 2, row)))
        .collect()
}

pub(crate) fn decode(fields: &Fields<'_, '_>) -> Result<OutcomeRow, StoreError> {
    Ok(OutcomeRow {
        op_id: op_id(fields)?,
        outcome: fields.json(2)?,
    })
}

fn op_id(fields: &Fields<'_, '_>) -> Result<OpId, StoreError> {
    Ok(OpId {
        task: TaskId::from_number(fields.unsigned(0)?),
        ordinal: fields.number(1)?,
    })
}
