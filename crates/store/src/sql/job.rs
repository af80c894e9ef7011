//! Jobs as JSON, with the columns that lists filter by, and the number of their tasks in each status.

pub(crate) mod task;

use std::collections::HashMap;

use model::change::Changes;
use model::job::{JobId, JobRow};

use super::fields::Fields;
use super::log::{LogEntry, LoggedTable};
use super::rows::{chunks, ordered, upsert};
use super::{Connection, Statement};
use crate::{JobCounts, JobPage, JobSummary, StoreError, StoredJob};

/// In the column of the business, for jobs over registered processes.
const NO_BUSINESS: i64 = -1;

/// Writes jobs, except those that `purge` is about to delete. Answers which finished jobs are open again.
pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[JobRow],
) -> Result<Vec<JobId>, StoreError> {
    let ids = Vec::from_iter(rows.iter().map(|row| row.id));
    let stored = stored(conn, &ids).await?;
    let is_purged = |id: &JobId| stored.get(id).is_some_and(|job| job.is_purged);
    let was_over = |id: &JobId| stored.get(id).is_some_and(|job| job.is_over);
    let mut rows = ordered(rows, |a, b| a.id.cmp(&b.id));
    rows.retain(|row| !is_purged(&row.id));
    upsert(
        conn,
        log,
        LoggedTable::Jobs,
        [
            "INSERT INTO jobs (id, body, business, action, user_name, created_at, status, is_over, gone) ",
            " ON CONFLICT (id) DO UPDATE SET body = excluded.body, business = excluded.business, \
             action = excluded.action, user_name = excluded.user_name, created_at = excluded.created_at, \
             status = excluded.status, is_over = excluded.is_over",
        ],
        &rows,
        |tuple, row| {
            let body = serde_json::to_string(row).expect("jobs have only string keys");
            tuple
                .push_bind(i64::from(row.id.0))
                .push_bind(body)
                .push_bind(row.area.business().map_or(NO_BUSINESS, |id| i64::from(id.0)))
                .push_bind(row.action.as_str())
                .push_bind(row.user.as_str())
                .push_bind(row.created_at.0)
                .push_bind(row.status.as_str())
                .push_bind(i64::from(row.status.is_over()))
                .push_bind(0);
        },
    )
    .await?;
    if let Some(last) = rows.last() {
        remember_last(conn, last.id).await?;
    }
    let reopened = rows
        .iter()
        .filter(|row| !row.status.is_over() && was_over(&row.id));
    Ok(reopened.map(|row| row.id).collect())
}

struct StoredStatus {
    is_over: bool,
    is_purged: bool,
}

/// The jobs of these ids that exist.
async fn stored(
    conn: &mut Connection,
    ids: &[JobId],
) -> Result<HashMap<JobId, StoredStatus>, StoreError> {
    let mut found = HashMap::new();
    for chunk in chunks(conn, ids) {
        let mut query = Statement::new("SELECT id, is_over, gone FROM jobs WHERE id IN (");
        let mut list = query.list();
        chunk.iter().for_each(|id| {
            list.push_bind(i64::from(id.0));
        });
        query.push(")");
        for row in &query.fetch_all(conn).await? {
            let fields = Fields::new("jobs", 1, row);
            let status = StoredStatus {
                is_over: fields.get::<i64>(1)? != 0,
                is_purged: fields.get::<i64>(2)? != 0,
            };
            found.insert(JobId(fields.number(0)?), status);
        }
    }
    Ok(found)
}

async fn remember_last(conn: &mut Connection, last: JobId) -> Result<(), StoreError> {
    Statement::new("UPDATE revision SET last_job = $1 WHERE one = 1 AND last_job < $1")
        .bind(i64::from(last.0))
        .execute(conn)
        .await?;
    Ok(())
}

pub(crate) async fn last_id(conn: &mut Connection) -> Result<JobId, StoreError> {
    let row = Statement::new("SELECT one, last_job FROM revision WHERE one = 1")
        .fetch_one(conn)
        .await?;
    Ok(JobId(Fields::new("revision", 1, &row).number(1)?))
}

/// The unfinished jobs, with all their tasks.
pub(crate) async fn read_open(
    conn: &mut Connection,
    changes: &mut Changes,
) -> Result<(), StoreError> {
    let rows = Statement::new("SELECT id, body FROM jobs WHERE is_over = 0 ORDER BY id")
        .fetch_all(conn)
        .await?;
    for row in &rows {
        let job: JobRow = Fields::new("jobs", 1, row).json(1)?;
        changes
            .job_tasks
            .append(&mut task::of_job(conn, job.id).await?);
        changes.jobs.push(job);
    }
    Ok(())
}

pub(crate) async fn one(conn: &mut Connection, id: JobId) -> Result<Option<StoredJob>, StoreError> {
    let row = Statement::new("SELECT id, body FROM jobs WHERE id = $1 AND gone = 0")
        .bind(i64::from(id.0))
        .fetch_optional(conn)
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    Ok(Some(StoredJob {
        job: Fields::new("jobs", 1, &row).json(1)?,
        tasks: task::of_job(conn, id).await?,
    }))
}

pub(crate) async fn page(
    conn: &mut Connection,
    page: &JobPage,
) -> Result<Vec<JobSummary>, StoreError> {
    let mut query = Statement::new(
        "SELECT id, body, n_pending, n_running, n_succeeded, n_failed, n_ignored FROM jobs WHERE gone = 0 AND id < ",
    );
    query.push_bind(page.before.map_or(i64::MAX, |id| i64::from(id.0)));
    if let Some(business) = page.business {
        query
            .push(" AND business = ")
            .push_bind(i64::from(business.0));
    }
    if let Some(action) = page.action {
        query.push(" AND action = ").push_bind(action.as_str());
    }
    if let Some(status) = page.status {
        query.push(" AND status = ").push_bind(status.as_str());
    }
    if let Some(user) = &page.user {
        query.push(" AND user_name = ").push_bind(user.as_str());
    }
    if let Some(since) = page.since {
        query.push(" AND created_at >= ").push_bind(since.0);
    }
    if let Some(until) = page.until {
        query.push(" AND created_at < ").push_bind(until.0);
    }
    query
        .push(" ORDER BY id DESC LIMIT ")
        .push_bind(i64::from(page.limit));
    let rows = query.fetch_all(conn).await?;
    rows.iter()
        .map(|row| {
            let fields = Fields::new("jobs", 1, row);
            Ok(JobSummary {
                job: fields.json(1)?,
                counts: JobCounts {
                    pending: fields.number(2)?,
                    running: fields.number(3)?,
                    succeeded: fields.number(4)?,
                    failed: fields.number(5)?,
                    ignored: fields.number(6)?,
                },
            })
        })
        .collect()
}
