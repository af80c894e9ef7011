//! Copies one store to another: from SQLite to PostgreSQL when one server becomes several, or back.
//!
//! One consistent read of the source, one transaction on the target. Before the commit, the target is read as a whole and
//! compared with the rows of the source; so it holds everything, or nothing.

mod catalogue;
mod digest;

use std::path::Path;
use std::pin::Pin;

use crate::database::Database;
use crate::sql::{Connection, Row, Statement, Value, rows};
use crate::{StoreError, error::without_secrets};
use catalogue::{ColumnType, CopyTable};
pub(crate) use catalogue::{NUMBERED, last_number, set_last_number};
use digest::Digest;

/// About how many bytes are read at once.
const BATCH_BYTES: usize = 4 << 20;
/// Rows of the first batch, when their size is not known.
const FIRST_BATCH: usize = 16;
const MAX_BATCH: usize = 4096;

/// The progress of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyProgress<'a> {
    pub step: CopyStep,
    pub table: &'a str,
    pub n_rows: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyStep {
    Copying,
    /// Reading the target back.
    Checking,
}

/// A table that was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedTable {
    pub table: String,
    pub n_rows: u64,
    /// The digest of all its rows, in hexadecimal: equal on both sides.
    pub sha256: String,
}

#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("there is no store at {url:?}")]
    NoSource { url: String },
    #[error("the target is not empty: its table {table} has rows")]
    NotEmpty { table: String },
    #[error("source and target do not have the same tables: {what}")]
    OtherSchema { what: String },
    #[error("table {table} is not the same on both sides after the copy")]
    Differs { table: String },
    #[error("the source cannot be read")]
    Source(#[source] StoreError),
    #[error("the target cannot be written")]
    Target(#[source] StoreError),
}

/// Copies everything except leases and mail between replicas into an empty store. Later writes to the source are not copied, so
/// stop its servers first. After an error the target is unchanged.
pub fn copy<'a>(
    from: &'a str,
    to: &'a str,
    tell: &'a mut (dyn FnMut(CopyProgress<'_>) + Send),
) -> Pin<Box<dyn Future<Output = Result<Vec<CopiedTable>, CopyError>> + Send + 'a>> {
    Box::pin(async move {
        if !exists(from) {
            return Err(CopyError::NoSource {
                url: without_secrets(from),
            });
        }
        let source = Database::open(from).await.map_err(CopyError::Source)?;
        let target = Database::open(to).await.map_err(CopyError::Target)?;
        let copied = copy_between(&source, &target, tell).await;
        source.close().await;
        target.close().await;
        copied
    })
}

/// Opening a SQLite store would create it.
fn exists(url: &str) -> bool {
    match url.strip_prefix("sqlite:") {
        Some(path) => Path::new(path.strip_prefix("//").unwrap_or(path)).exists(),
        None => true,
    }
}

async fn copy_between(
    source: &Database,
    target: &Database,
    tell: &mut (dyn FnMut(CopyProgress<'_>) + Send),
) -> Result<Vec<CopiedTable>, CopyError> {
    let mut from = source.begin_read().await.map_err(CopyError::Source)?;
    let mut to = target.begin_exclusive().await.map_err(CopyError::Target)?;
    let tables = catalogue::tables(source, &mut from).await;
    let tables = tables.map_err(CopyError::Source)?;
    let target_tables = catalogue::tables(target, &mut to).await;
    catalogue::compare(&tables, &target_tables.map_err(CopyError::Target)?)?;
    for table in &tables {
        let is_empty = catalogue::is_empty(table, &mut to).await;
        if !is_empty.map_err(CopyError::Target)? {
            return Err(CopyError::NotEmpty {
                table: table.name.clone(),
            });
        }
    }

    let mut copied = Vec::new();
    for table in &tables {
        let (n_rows, sha256) = copy_table(table, &mut from, &mut to, tell).await?;
        copied.push(CopiedTable {
            table: table.name.clone(),
            n_rows,
            sha256,
        });
    }
    for name in catalogue::NUMBERED {
        let last = catalogue::last_number(source, &mut from, name).await;
        let last = last.map_err(CopyError::Source)?;
        let set = catalogue::set_last_number(target, &mut to, name, last).await;
        set.map_err(CopyError::Target)?;
    }
    from.commit().await.map_err(CopyError::Source)?;

    for (table, copied) in tables.iter().zip(&copied) {
        let (n_rows, sha256) = check_table(table, &mut to, tell).await?;
        if (n_rows, &sha256) != (copied.n_rows, &copied.sha256) {
            return Err(CopyError::Differs {
                table: table.name.clone(),
            });
        }
    }
    to.commit().await.map_err(CopyError::Target)?;
    Ok(copied)
}

async fn copy_table(
    table: &CopyTable,
    from: &mut Connection,
    to: &mut Connection,
    tell: &mut (dyn FnMut(CopyProgress<'_>) + Send),
) -> Result<(u64, String), CopyError> {
    let clear = Statement::new(format!("DELETE FROM {}", table.name));
    clear.execute(to).await.map_err(CopyError::Target)?;
    let head = format!("INSERT INTO {} ({}) ", table.name, table.columns());
    let mut reader = TableReader::new(table);
    while let Some(batch) = reader.next(from).await.map_err(CopyError::Source)? {
        let written = rows::insert(to, &head, "", &batch, |tuple, row| {
            row.iter().for_each(|value| {
                tuple.push_bind(value.clone());
            });
        });
        written.await.map_err(CopyError::Target)?;
        tell(reader.progress(CopyStep::Copying));
    }
    Ok((reader.n_rows, reader.digest.finish()))
}

async fn check_table(
    table: &CopyTable,
    to: &mut Connection,
    tell: &mut (dyn FnMut(CopyProgress<'_>) + Send),
) -> Result<(u64, String), CopyError> {
    let mut reader = TableReader::new(table);
    while reader.next(to).await.map_err(CopyError::Target)?.is_some() {
        tell(reader.progress(CopyStep::Checking));
    }
    Ok((reader.n_rows, reader.digest.finish()))
}

/// Reads a table in the order of its key, a batch at a time.
struct TableReader<'t> {
    table: &'t CopyTable,
    /// The key of the last row.
    position: Option<Vec<Value>>,
    batch: usize,
    n_rows: u64,
    digest: Digest,
}

impl<'t> TableReader<'t> {
    fn new(table: &'t CopyTable) -> Self {
        Self {
            table,
            position: None,
            batch: FIRST_BATCH,
            n_rows: 0,
            digest: Digest::default(),
        }
    }

    /// None at the end.
    async fn next(&mut self, conn: &mut Connection) -> Result<Option<Vec<Vec<Value>>>, StoreError> {
        let found = self.select().fetch_all(conn).await?;
        let rows: Result<Vec<_>, _> = found.iter().map(|row| self.values(row)).collect();
        let rows = rows?;
        let Some(last) = rows.last() else {
            return Ok(None);
        };
        self.position = Some(self.table.key_of(last));
        self.n_rows += rows.len() as u64;
        let n_bytes: usize = rows.iter().map(|row| self.digest.add(row)).sum();
        self.batch = (BATCH_BYTES * rows.len() / n_bytes.max(1)).clamp(1, MAX_BATCH);
        Ok(Some(rows))
    }

    fn select(&self) -> Statement {
        let CopyTable { name, .. } = self.table;
        let (columns, key) = (self.table.columns(), self.table.key());
        let mut select = Statement::new(format!("SELECT {columns} FROM {name}"));
        if let Some(position) = &self.position {
            select.push(&format!(" WHERE ({key}) > ("));
            let mut list = select.list();
            position.iter().for_each(|value| {
                list.push_bind(value.clone());
            });
            select.push(")");
        }
        select.push(&format!(" ORDER BY {key} LIMIT {}", self.batch));
        select.uncached()
    }

    fn values(&self, row: &Row) -> Result<Vec<Value>, StoreError> {
        let columns = self.table.columns.iter().enumerate();
        columns
            .map(|(n, column)| {
                Ok(match column.column_type {
                    ColumnType::Int => Value::Int(row.get(n)?),
                    // As PostgreSQL stores it, in both directions.
                    ColumnType::Text => Value::Text(row.get(n)?).without_nul(),
                    ColumnType::Bytes => Value::Bytes(row.get(n)?),
                })
            })
            .collect()
    }

    fn progress(&self, step: CopyStep) -> CopyProgress<'t> {
        CopyProgress {
            step,
            table: &self.table.name,
            n_rows: self.n_rows,
        }
    }
}
