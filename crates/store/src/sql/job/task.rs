//! Tasks of jobs as JSON, clustered by job.
//!
//! The counts of a job change by the difference that a write makes, so that no write reads the whole job.

use std::collections::{BTreeMap, BTreeSet};

use model::job::{JobId, JobStatus, JobTaskRow};

use super::stored;
use crate::sql::log::{LogEntry, LoggedTable, RowKind};
use crate::sql::packed::{Packed, Record};
use crate::sql::rows::{insert, ordered, row_chunks, upsert, values};
use crate::sql::{Connection, Tuple};
use crate::{Cause, StoreError};

/// Writes tasks, except those whose job does not exist. Logs all tasks of reopened jobs: followers have dropped them.
pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[JobTaskRow],
    reopened: &[JobId],
) -> Result<(), StoreError> {
    let mut rows = ordered(rows, |a, b| (a.job, a.ordinal).cmp(&(b.job, b.ordinal)));
    let jobs = BTreeSet::from_iter(rows.iter().map(|row| row.job));
    let jobs = stored(conn, &Vec::from_iter(jobs)).await?;
    rows.retain(|row| jobs.get(&row.job).is_some_and(|job| !job.is_purged));

    let mut counts = counts_before(conn, &rows).await?;
    for row in &rows {
        let count = counts.entry(i64::from(row.job.0)).or_default();
        count[column(row.status)] += 1;
    }
    // A reopened job is logged below, as a whole.
    let (of_reopened, of_others): (Vec<_>, Vec<_>) = rows
        .into_iter()
        .partition(|row| reopened.contains(&row.job));
    insert(conn, INSERT[0], INSERT[1], &of_reopened, bind).await?;
    upsert(conn, log, LoggedTable::JobTasks, INSERT, &of_others, bind).await?;
    for job in reopened {
        let tasks = of_job(conn, *job).await?;
        let tasks = Vec::from_iter(&tasks);
        for chunk in row_chunks(conn, &tasks) {
            let logged = values("", chunk, bind);
            log.add(
                LoggedTable::JobTasks,
                RowKind::Live,
                chunk.len(),
                logged.values(),
            );
        }
    }
    add(conn, &Vec::from_iter(counts)).await
}

const INSERT: [&str; 2] = [
    "INSERT INTO job_tasks (job, ordinal, body, process, status) ",
    " ON CONFLICT (job, ordinal) DO UPDATE SET body = excluded.body, process = excluded.process, status = excluded.status",
];

/// In the column of the process, for tasks about registered processes.
const NO_PROCESS: i64 = -1;

fn bind(tuple: &mut Tuple<'_>, row: &&JobTaskRow) {
    let body = serde_json::to_string(row).expect("tasks have only string keys");
    bind_key(tuple, row);
    tuple
        .push_bind(body)
        .push_bind(
            row.target
                .process()
                .map_or(NO_PROCESS, |id| i64::from(id.0)),
        )
        .push_bind(row.status.as_str());
}

/// How many tasks of a job a write adds to each status.
type Count = [i64; STATUSES.len()];

const STATUSES: [JobStatus; 5] = [
    JobStatus::Pending,
    JobStatus::Running,
    JobStatus::Succeeded,
    JobStatus::Failed,
    JobStatus::Ignored,
];

/// Its index in [`STATUSES`].
fn column(status: JobStatus) -> usize {
    match status {
        JobStatus::Pending => 0,
        JobStatus::Running => 1,
        JobStatus::Succeeded => 2,
        JobStatus::Failed => 3,
        JobStatus::Ignored => 4,
    }
}

/// The counts without the statuses that these tasks had before.
async fn counts_before(
    conn: &mut Connection,
    rows: &[&JobTaskRow],
) -> Result<BTreeMap<i64, Count>, StoreError> {
    let mut counts = BTreeMap::<i64, Count>::new();
    for chunk in row_chunks(conn, rows) {
        let mut query = values(
            "SELECT t.job, t.status, count(*) FROM (",
            chunk,
            |tuple, row| bind_key(tuple, row),
        );
        query.push(
            ") AS v CROSS JOIN job_tasks AS t WHERE t.job = v.column1 AND t.ordinal = v.column2 GROUP BY t.job, t.status",
        );
        for row in &query.fetch_all(conn).await? {
            let (job, text): (i64, &str) = (row.get(0)?, row.get(1)?);
            let status = STATUSES.into_iter().find(|status| status.as_str() == text);
            let status = status.ok_or_else(|| StoreError::Corrupt {
                table: "job_tasks",
                id: job.to_string(),
                source: format!("{text:?} is no status").into(),
            })?;
            counts.entry(job).or_default()[column(status)] -= row.get::<i64>(2)?;
        }
    }
    Ok(counts)
}

async fn add(conn: &mut Connection, counts: &[(i64, Count)]) -> Result<(), StoreError> {
    for chunk in row_chunks(conn, counts) {
        let mut query = values(
            "UPDATE jobs SET n_pending = n_pending + v.column2, n_running = n_running + v.column3, \
             n_succeeded = n_succeeded + v.column4, n_failed = n_failed + v.column5, n_ignored = n_ignored + v.column6 \
             FROM (",
            chunk,
            |tuple, (job, count)| {
                tuple.push_bind(*job);
                count.iter().for_each(|n| {
                    tuple.push_bind(*n);
                });
            },
        );
        query.push(") AS v WHERE jobs.id = v.column1");
        query.execute(conn).await?;
    }
    Ok(())
}

fn bind_key(tuple: &mut Tuple<'_>, row: &JobTaskRow) {
    tuple
        .push_bind(i64::from(row.job.0))
        .push_bind(i64::from(row.ordinal));
}

const PACKED: Packed<2, 1> = Packed {
    table: "job_tasks",
    n_keys: 2,
    numbers: ["job", "ordinal"],
    texts: ["body"],
    batch: 128,
};

/// In the order of their ordinals.
pub(crate) async fn of_job(
    conn: &mut Connection,
    job: JobId,
) -> Result<Vec<JobTaskRow>, StoreError> {
    PACKED.read_of(conn, i64::from(job.0), decode).await
}

pub(crate) fn decode(record: Record<'_, 2, 1>) -> Result<JobTaskRow, Cause> {
    Ok(serde_json::from_str(record.texts[0])?)
}
