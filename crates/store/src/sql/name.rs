//! (namespace, name) pairs. A name is never deleted.

use model::FullName;
use model::change::{NameId, NameRow};

use super::fields::Fields;
use super::log::{LogEntry, LoggedTable};
use super::rows::{ordered, upsert};
use super::{Connection, Statement};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[NameRow],
) -> Result<(), StoreError> {
    upsert(
        conn,
        log,
        LoggedTable::Names,
        [
            "INSERT INTO names (id, namespace, name) ",
            " ON CONFLICT (id) DO UPDATE SET namespace = excluded.namespace, name = excluded.name",
        ],
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            tuple
                .push_bind(i64::from(row.id.0))
                .push_bind(row.name.namespace.as_str())
                .push_bind(row.name.name.as_str());
        },
    )
    .await
}

pub(crate) async fn read(conn: &mut Connection) -> Result<Vec<NameRow>, StoreError> {
    let rows = Statement::new("SELECT id, namespace, name FROM names ORDER BY id")
        .fetch_all(conn)
        .await?;
    rows.iter()
        .map(|row| decode(&Fields::new("names", 1, row)))
        .collect()
}

pub(crate) fn decode(fields: &Fields<'_, '_>) -> Result<NameRow, StoreError> {
    let name = FullName::parse_registered(fields.get(1)?, fields.get(2)?);
    Ok(NameRow {
        id: NameId(fields.number(0)?),
        name: name.map_err(|e| fields.corrupt(e))?,
    })
}
