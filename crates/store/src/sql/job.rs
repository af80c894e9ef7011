//! Jobs as JSON, with the columns that lists are filtered by, and the number of their tasks in each status.

pub(crate) mod task;

use std::collections::HashSet;

use model::change::{Changes, Revision};
use model::job::{JobId, JobRow};

use super::fields::Fields;
use super::rows::{chunks, fetch, insert, int, ordered};
use super::{Connection, Statement, Wanted};
use crate::{JobCounts, JobPage, JobSummary, StoreError, StoredJob};

/// A job that `purge` is about to delete stays as it is.
pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    rows: &[JobRow],
) -> Result<(), StoreError> {
    let reopened = reopened(conn, rows).await?;
    task::touch(conn, revision, &reopened).await?;
    insert(
        conn,
        "INSERT INTO jobs (id, business, action, user_name, created_at, status, is_over, body, revision, gone) ",
        " ON CONFLICT (id) DO UPDATE SET business = excluded.business, action = excluded.action, \
         user_name = excluded.user_name, created_at = excluded.created_at, status = excluded.status, \
         is_over = excluded.is_over, body = excluded.body, revision = excluded.revision WHERE jobs.gone = 0",
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            let body = serde_json::to_string(row).expect("jobs have only string keys");
            tuple
                .push_bind(i64::from(row.id.0))
                .push_bind(i64::from(row.business.0))
                .push_bind(row.action.as_str())
                .push_bind(row.user.as_str())
                .push_bind(row.created_at.0)
                .push_bind(row.status.as_str())
                .push_bind(i64::from(row.status.is_over()))
                .push_bind(body)
                .push_bind(int(revision.0))
                .push("0");
        },
    )
    .await?;
    match rows.iter().map(|row| row.id.0).max() {
        Some(last) => remember_last(conn, last).await,
        None => Ok(()),
    }
}

/// Those that were over and now go on. Whoever follows has forgotten their tasks.
async fn reopened(conn: &mut Connection, rows: &[JobRow]) -> Result<Vec<i64>, StoreError> {
    let open = rows.iter().filter(|row| !row.status.is_over());
    let open: Vec<i64> = open.map(|row| i64::from(row.id.0)).collect();
    there(
        conn,
        "SELECT id FROM jobs WHERE is_over = 1 AND gone = 0 AND id IN (",
        &open,
    )
    .await
}

/// Those of these ids that a query finds.
async fn there(
    conn: &mut Connection,
    select: &'static str,
    ids: &[i64],
) -> Result<Vec<i64>, StoreError> {
    let mut found = Vec::new();
    for chunk in chunks(conn, ids) {
        let mut query = Statement::new(select);
        let mut list = query.list();
        chunk.iter().for_each(|id| {
            list.push_bind(*id);
        });
        query.push(")");
        for row in &query.fetch_all(conn).await? {
            found.push(row.get(0)?);
        }
    }
    Ok(found)
}

async fn remember_last(conn: &mut Connection, last: u32) -> Result<(), StoreError> {
    Statement::new("UPDATE revision SET last_job = $1 WHERE one = 1 AND last_job < $1")
        .bind(i64::from(last))
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

/// Live jobs are those that are not over, with all their tasks.
pub(crate) async fn read(
    conn: &mut Connection,
    wanted: Wanted,
    changes: &mut Changes,
) -> Result<(), StoreError> {
    let select = "SELECT id, body FROM jobs";
    for row in &fetch(conn, select, " WHERE is_over = 0", "id", wanted).await? {
        changes.jobs.push(Fields::new("jobs", 1, row).json(1)?);
    }
    match wanted {
        Wanted::Live => {
            for job in &changes.jobs {
                changes
                    .job_tasks
                    .append(&mut task::of_job(conn, job.id).await?);
            }
        }
        Wanted::Since(_) => changes.job_tasks = task::read(conn, wanted).await?,
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

/// Which of these jobs there are.
async fn known(conn: &mut Connection, ids: &[i64]) -> Result<HashSet<i64>, StoreError> {
    let found = there(conn, "SELECT id FROM jobs WHERE gone = 0 AND id IN (", ids).await?;
    Ok(found.into_iter().collect())
}
