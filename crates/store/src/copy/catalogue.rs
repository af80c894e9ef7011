//! The tables of a database, from its system catalogue.

use std::cmp::Ordering;

use super::CopyError;
use crate::StoreError;
use crate::database::Database;
use crate::sql::{Connection, Statement};

/// Not copied: state of one database or of running replicas.
const NOT_COPIED: [&str; 4] = ["schema_version", "leases", "mailbox", "mail"];
/// The tables whose ids the database generates and never reuses.
pub(crate) const NUMBERED: [&str; 3] = ["events", "audit", "timeline"];
/// It always has one row; in a new store that row says that nothing was ever committed.
const COUNTER: &str = "revision";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CopyTable {
    pub(super) name: String,
    pub(super) columns: Vec<TableColumn>,
    /// Indexes into `columns`.
    key: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TableColumn {
    name: String,
    pub(super) column_type: ColumnType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ColumnType {
    Int,
    Text,
    Bytes,
}

impl CopyTable {
    pub(super) fn columns(&self) -> String {
        let names = self.columns.iter().map(|column| &*column.name);
        Vec::from_iter(names).join(", ")
    }

    pub(super) fn key(&self) -> String {
        let names = self.key.iter().map(|n| &*self.columns[*n].name);
        Vec::from_iter(names).join(", ")
    }

    pub(super) fn key_of<T: Clone>(&self, row: &[T]) -> Vec<T> {
        self.key.iter().map(|n| row[*n].clone()).collect()
    }
}

/// Table, column, type, and the position in the key or 0; in the order of tables and columns.
const SQLITE: &str = "SELECT t.name, c.name, c.type, c.pk FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c \
     WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid";

const POSTGRES: &str = "SELECT t.relname::text, a.attname::text, format_type(a.atttypid, NULL), \
     coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0)::bigint \
     FROM pg_class AS t JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped \
     JOIN pg_index AS i ON i.indrelid = t.oid AND i.indisprimary \
     WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::regnamespace \
     ORDER BY t.relname::text COLLATE \"C\", a.attnum";

pub(super) async fn tables(
    database: &Database,
    conn: &mut Connection,
) -> Result<Vec<CopyTable>, StoreError> {
    let select = match database {
        Database::Sqlite(_) => SQLITE,
        Database::Postgres(_) => POSTGRES,
    };
    let mut tables = Vec::<CopyTable>::new();
    let mut keys = Vec::<(usize, i64, usize)>::new();
    for row in &Statement::new(select).fetch_all(conn).await? {
        let (table, column, type_name): (&str, &str, &str) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        if NOT_COPIED.contains(&table) {
            continue;
        }
        if tables.last().is_none_or(|last| last.name != table) {
            tables.push(CopyTable {
                name: table.to_owned(),
                columns: Vec::new(),
                key: Vec::new(),
            });
        }
        let n_table = tables.len() - 1;
        let columns = &mut tables[n_table].columns;
        match row.get::<i64>(3)? {
            0 => {}
            position => keys.push((n_table, position, columns.len())),
        }
        columns.push(TableColumn {
            name: column.to_owned(),
            column_type: column_type(type_name)?,
        });
    }
    keys.sort_unstable();
    for (table, _, column) in keys {
        tables[table].key.push(column);
    }
    Ok(tables)
}

fn column_type(type_name: &str) -> Result<ColumnType, StoreError> {
    match type_name {
        "INTEGER" | "bigint" => Ok(ColumnType::Int),
        "TEXT" | "text" => Ok(ColumnType::Text),
        "BLOB" | "bytea" => Ok(ColumnType::Bytes),
        other => Err(StoreError::unavailable(format!(
            "a column is of type {other}, which no version of this program makes"
        ))),
    }
}

/// Refuses sides that differ in tables, columns or keys: they belong to different versions of this program.
pub(super) fn compare(source: &[CopyTable], target: &[CopyTable]) -> Result<(), CopyError> {
    let mut pairs = source.iter().zip(target);
    let other = |what: String| Err(CopyError::OtherSchema { what });
    if let Some((one, another)) = pairs.find(|(one, another)| one != another) {
        return match one.name.cmp(&another.name) {
            Ordering::Equal => other(format!("the columns of {} differ", one.name)),
            Ordering::Less => other(format!("the target has no {}", one.name)),
            Ordering::Greater => other(format!("the source has no {}", another.name)),
        };
    }
    match source.len() == target.len() {
        true => Ok(()),
        false => other("one of them has more".into()),
    }
}

pub(super) async fn is_empty(table: &CopyTable, conn: &mut Connection) -> Result<bool, StoreError> {
    let fresh = match &*table.name {
        COUNTER => " WHERE head <> 0 OR purged_through <> 0 OR last_job <> 0",
        _ => "",
    };
    let any = Statement::new(format!("SELECT 1 FROM {}{fresh} LIMIT 1", table.name));
    Ok(any.fetch_optional(conn).await?.is_none())
}

/// The largest id that the database ever generated for a table.
pub(crate) async fn last_number(
    database: &Database,
    conn: &mut Connection,
    table: &str,
) -> Result<i64, StoreError> {
    let select = match database {
        Database::Sqlite(_) => "SELECT seq FROM sqlite_sequence WHERE name = $1",
        Database::Postgres(_) => {
            "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence($1, 'id')::regclass), 0)"
        }
    };
    let last = Statement::new(select).bind(table).fetch_value(conn).await?;
    Ok(last.unwrap_or(0))
}

pub(crate) async fn set_last_number(
    database: &Database,
    conn: &mut Connection,
    table: &str,
    last: i64,
) -> Result<(), StoreError> {
    if last == 0 {
        return Ok(());
    }
    match database {
        Database::Sqlite(_) => {
            let forget = Statement::new("DELETE FROM sqlite_sequence WHERE name = $1");
            forget.bind(table).execute(conn).await?;
            Statement::new("INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)")
                .bind(table)
                .bind(last)
                .execute(conn)
                .await?;
        }
        Database::Postgres(_) => {
            Statement::new("SELECT setval(pg_get_serial_sequence($1, 'id'), $2)")
                .bind(table)
                .bind(last)
                .execute(conn)
                .await?;
        }
    }
    Ok(())
}
