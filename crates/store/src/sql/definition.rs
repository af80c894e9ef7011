//! Definitions: a spec and its labels as JSON, stored once for all processes that share them.

use std::sync::Arc;

use model::change::{DefinitionId, DefinitionRow, NameId};

use super::fields::Fields;
use super::log::{LogEntry, LoggedTable};
use super::rows::{delete, ordered, upsert};
use super::{Connection, Statement};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[DefinitionRow],
) -> Result<(), StoreError> {
    upsert(
        conn,
        log,
        LoggedTable::Definitions,
        [
            "INSERT INTO definitions (id, name, spec, labels) ",
            " ON CONFLICT (id) DO UPDATE SET name = excluded.name, spec = excluded.spec, labels = excluded.labels",
        ],
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            let labels = serde_json::to_string(&*row.labels).expect("labels have only string keys");
            tuple
                .push_bind(i64::from(row.id.0))
                .push_bind(i64::from(row.name.0))
                .push_bind(row.spec.to_json())
                .push_bind(labels);
        },
    )
    .await
}

pub(crate) async fn gone(
    conn: &mut Connection,
    log: &mut LogEntry,
    ids: &[DefinitionId],
) -> Result<(), StoreError> {
    delete(
        conn,
        log,
        LoggedTable::Definitions,
        "id",
        ids,
        |list, id| {
            list.push_bind(i64::from(id.0));
        },
    )
    .await
}

pub(crate) async fn read(conn: &mut Connection) -> Result<Vec<DefinitionRow>, StoreError> {
    let rows = Statement::new("SELECT id, name, spec, labels FROM definitions ORDER BY id")
        .fetch_all(conn)
        .await?;
    rows.iter()
        .map(|row| decode(&Fields::new("definitions", 1, row)))
        .collect()
}

pub(crate) fn decode(fields: &Fields<'_, '_>) -> Result<DefinitionRow, StoreError> {
    Ok(DefinitionRow {
        id: DefinitionId(fields.number(0)?),
        name: NameId(fields.number(1)?),
        spec: Arc::new(fields.json(2)?),
        labels: Arc::new(fields.json(3)?),
    })
}
