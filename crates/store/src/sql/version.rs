//! Versions of processes: written in the commit that asked for them, numbered here, never changed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use model::UnixMillis;
use model::change::{NameId, NameRow};
use model::digest::definition_hash;
use model::job::JobId;
use model::version::{KEPT_VERSIONS, VersionOrigin, VersionRow, VersionSource};

use super::fields::Fields;
use super::rows::{chunks, insert};
use super::{Connection, Row, Statement};
use crate::{StoreError, StoredVersion};

/// The newest version of a process.
#[derive(Debug, Clone)]
struct Newest {
    number: u32,
    spec: String,
    labels: String,
}

/// Writes versions, except those whose definition is that of the newest one. `names` are the names that the same commit
/// creates: they have no version yet, so nothing has to be read for them.
pub(crate) async fn write(
    conn: &mut Connection,
    rows: &[VersionRow],
    names: &[NameRow],
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let new_names: HashSet<NameId> = names.iter().map(|row| row.id).collect();
    let mut newest: HashMap<NameId, Option<Newest>> = HashMap::new();
    let mut numbered = Vec::with_capacity(rows.len());
    for row in rows {
        let before = match newest.get(&row.name) {
            Some(known) => known.clone(),
            None if new_names.contains(&row.name) => None,
            None => read_newest(conn, row.name).await?,
        };
        let spec = row.spec.to_json();
        let labels = serde_json::to_string(&*row.labels).expect("labels have only string keys");
        let is_newest = |before: &Newest| (&before.spec, &before.labels) == (&spec, &labels);
        if before.as_ref().is_some_and(is_newest) {
            newest.insert(row.name, before);
            continue;
        }
        let next = Newest {
            number: before.map_or(1, |before| before.number + 1),
            spec,
            labels,
        };
        newest.insert(row.name, Some(next.clone()));
        numbered.push((row, next));
    }
    insert(
        conn,
        "INSERT INTO versions (name, number, at, source, app, user_name, job, restores, spec, labels) ",
        "",
        &numbered,
        |tuple, (row, next)| {
            let origin = &row.origin;
            tuple
                .push_bind(i64::from(row.name.0))
                .push_bind(i64::from(next.number))
                .push_bind(row.at.0)
                .push_bind(origin.source.as_str())
                .push_bind(origin.app.as_str())
                .push_bind(origin.user.as_str())
                .push_bind(origin.job.map(|job| i64::from(job.0)))
                .push_bind(origin.restores.map(i64::from))
                .push_bind(next.spec.as_str())
                .push_bind(next.labels.as_str());
        },
    )
    .await?;
    for (row, next) in numbered {
        if let Some(last) = next.number.checked_sub(KEPT_VERSIONS).filter(|n| *n > 0) {
            Statement::new("DELETE FROM versions WHERE name = $1 AND number <= $2")
                .bind(i64::from(row.name.0))
                .bind(i64::from(last))
                .execute(conn)
                .await?;
        }
    }
    Ok(())
}

async fn read_newest(conn: &mut Connection, name: NameId) -> Result<Option<Newest>, StoreError> {
    let row = Statement::new(
        "SELECT name, number, spec, labels FROM versions WHERE name = $1 ORDER BY number DESC LIMIT 1",
    )
    .bind(i64::from(name.0))
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let fields = Fields::new("versions", 2, &row);
    Ok(Some(Newest {
        number: fields.number(1)?,
        spec: fields.text(2)?,
        labels: fields.text(3)?,
    }))
}

/// Newest first.
pub(crate) async fn read(
    conn: &mut Connection,
    name: NameId,
) -> Result<Vec<StoredVersion>, StoreError> {
    let rows = Statement::new(
        "SELECT name, number, at, source, app, user_name, job, restores, spec, labels FROM versions \
         WHERE name = $1 ORDER BY number DESC",
    )
    .bind(i64::from(name.0))
    .fetch_all(conn)
    .await?;
    rows.iter().map(stored).collect()
}

/// The numbers of the versions of a process, newest first, each with the hash of its definition.
pub(crate) async fn hashes(
    conn: &mut Connection,
    name: NameId,
) -> Result<Vec<(u32, u64)>, StoreError> {
    let numbers = hashes_of(conn, &[name]).await?;
    Ok(numbers
        .into_iter()
        .map(|(_, number, hash)| (number, hash))
        .collect())
}

/// The same of several processes.
pub(crate) async fn hashes_of(
    conn: &mut Connection,
    names: &[NameId],
) -> Result<Vec<(NameId, u32, u64)>, StoreError> {
    let mut found = Vec::new();
    for chunk in chunks(conn, names) {
        let mut query =
            Statement::new("SELECT name, number, spec, labels FROM versions WHERE name IN (");
        let mut list = query.list();
        chunk.iter().for_each(|name| {
            list.push_bind(i64::from(name.0));
        });
        query.push(") ORDER BY name, number DESC");
        for row in &query.fetch_all(conn).await? {
            let fields = Fields::new("versions", 2, row);
            let hash = definition_hash(fields.get(2)?, fields.get(3)?);
            found.push((NameId(fields.number(0)?), fields.number(1)?, hash));
        }
    }
    Ok(found)
}

fn stored(row: &Row) -> Result<StoredVersion, StoreError> {
    let fields = Fields::new("versions", 2, row);
    let small = |column| {
        let number: Option<i64> = fields.get(column)?;
        let number = number.map(u32::try_from).transpose();
        number.map_err(|error| fields.corrupt(error))
    };
    let source: String = fields.text(3)?;
    Ok(StoredVersion {
        number: fields.number(1)?,
        hash: definition_hash(fields.get(8)?, fields.get(9)?),
        row: VersionRow {
            name: NameId(fields.number(0)?),
            spec: Arc::new(fields.json(8)?),
            labels: Arc::new(fields.json(9)?),
            at: UnixMillis(fields.get(2)?),
            origin: VersionOrigin {
                // A source of a newer version is shown as what it is most like.
                source: VersionSource::parse(&source).unwrap_or(VersionSource::Update),
                app: fields.text(4)?,
                user: fields.text(5)?,
                job: small(6)?.map(JobId),
                restores: small(7)?,
            },
        },
    })
}
