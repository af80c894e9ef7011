//! Definitions: a spec and its labels as JSON, once for all the processes that share them.

use std::sync::Arc;

use model::change::{Changes, DefinitionId, DefinitionRow, NameId, Revision};

use super::fields::Fields;
use super::rows::{bury, fetch, insert, int, ordered};
use super::{Connection, Wanted};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    rows: &[DefinitionRow],
) -> Result<(), StoreError> {
    insert(
        conn,
        "INSERT INTO definitions (id, name, spec, labels, revision, gone) ",
        " ON CONFLICT (id) DO UPDATE SET name = excluded.name, spec = excluded.spec, labels = excluded.labels, \
         revision = excluded.revision, gone = 0",
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            let labels = serde_json::to_string(&*row.labels).expect("labels have only string keys");
            tuple
                .push_bind(i64::from(row.id.0))
                .push_bind(i64::from(row.name.0))
                .push_bind(row.spec.to_json())
                .push_bind(labels)
                .push_bind(int(revision.0))
                .push("0");
        },
    )
    .await
}

pub(crate) async fn gone(
    conn: &mut Connection,
    revision: Revision,
    ids: &[DefinitionId],
) -> Result<(), StoreError> {
    let update = "UPDATE definitions SET spec = '', labels = ''";
    bury(conn, update, "id", revision, ids, |list, id| {
        list.push_bind(i64::from(id.0));
    })
    .await
}

pub(crate) async fn read(
    conn: &mut Connection,
    wanted: Wanted,
    changes: &mut Changes,
) -> Result<(), StoreError> {
    let select = "SELECT id, gone, name, spec, labels FROM definitions";
    for row in &fetch(conn, select, " WHERE gone = 0", "id", wanted).await? {
        let fields = Fields::new("definitions", 1, row);
        let id = DefinitionId(fields.number(0)?);
        if fields.flag(1)? {
            changes.definitions_gone.push(id);
            continue;
        }
        changes.definitions.push(DefinitionRow {
            id,
            name: NameId(fields.number(2)?),
            spec: Arc::new(fields.json(3)?),
            labels: Arc::new(fields.json(4)?),
        });
    }
    Ok(())
}
