//! Process groups: one row per namespace on a host. An empty list is a tombstone.

use model::Namespace;
use model::change::{GroupRow, HostId, Revision};

use super::fields::Fields;
use super::rows::{fetch, insert, int, ordered};
use super::{Connection, Wanted};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    rows: &[GroupRow],
) -> Result<(), StoreError> {
    let key = |row: &GroupRow| (row.host, row.namespace.clone());
    insert(
        conn,
        "INSERT INTO process_groups (host, namespace, body, revision, gone) ",
        " ON CONFLICT (host, namespace) DO UPDATE SET body = excluded.body, revision = excluded.revision, \
         gone = excluded.gone",
        &ordered(rows, |a, b| key(a).cmp(&key(b))),
        |tuple, row| {
            let body = serde_json::to_string(&row.groups).expect("groups have only string keys");
            tuple
                .push_bind(i64::from(row.host.0))
                .push_bind(row.namespace.as_str())
                .push_bind(body)
                .push_bind(int(revision.0))
                .push_bind(i64::from(row.groups.is_empty()));
        },
    )
    .await
}

pub(crate) async fn read(
    conn: &mut Connection,
    wanted: Wanted,
) -> Result<Vec<GroupRow>, StoreError> {
    let select = "SELECT host, namespace, body FROM process_groups";
    let rows = fetch(conn, select, " WHERE gone = 0", "host, namespace", wanted).await?;
    rows.iter()
        .map(|row| {
            let fields = Fields::new("process_groups", 2, row);
            Ok(GroupRow {
                host: HostId(fields.number(0)?),
                namespace: fields.parse(1, Namespace::parse_registered)?,
                groups: fields.json(2)?,
            })
        })
        .collect()
}
