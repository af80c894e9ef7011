//! (namespace, name) pairs. Once given, a name stays.

use model::FullName;
use model::change::{NameId, NameRow, Revision};

use super::fields::Fields;
use super::rows::{fetch, insert, int, ordered};
use super::{Connection, Wanted};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    rows: &[NameRow],
) -> Result<(), StoreError> {
    insert(
        conn,
        "INSERT INTO names (id, namespace, name, revision) ",
        " ON CONFLICT (id) DO UPDATE SET namespace = excluded.namespace, name = excluded.name, \
         revision = excluded.revision",
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            tuple
                .push_bind(i64::from(row.id.0))
                .push_bind(row.name.namespace.as_str())
                .push_bind(row.name.name.as_str())
                .push_bind(int(revision.0));
        },
    )
    .await
}

pub(crate) async fn read(
    conn: &mut Connection,
    wanted: Wanted,
) -> Result<Vec<NameRow>, StoreError> {
    let select = "SELECT id, namespace, name FROM names";
    let rows = fetch(conn, select, "", "id", wanted).await?;
    rows.iter()
        .map(|row| {
            let fields = Fields::new("names", 1, row);
            Ok(NameRow {
                id: NameId(fields.number(0)?),
                name: FullName::parse_registered(fields.get(1)?, fields.get(2)?)
                    .map_err(|e| fields.corrupt(e))?,
            })
        })
        .collect()
}
