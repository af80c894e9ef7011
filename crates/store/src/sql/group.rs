//! Process groups: one row per namespace on a host. A row without groups is gone.

use model::Namespace;
use model::change::{GroupRow, HostId};

use super::fields::Fields;
use super::log::{LogEntry, LoggedTable};
use super::rows::{delete_empty, ordered, upsert};
use super::{Connection, Statement, Tuple};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[GroupRow],
) -> Result<(), StoreError> {
    let rows = ordered(rows, |a, b| {
        (a.host, &a.namespace).cmp(&(b.host, &b.namespace))
    });
    let (empty, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.groups.is_empty());
    let table = LoggedTable::ProcessGroups;
    let bind = |tuple: &mut Tuple<'_>, row: &&GroupRow| {
        let body = serde_json::to_string(&row.groups).expect("groups have only string keys");
        bind_key(tuple, row);
        tuple.push_bind(body);
    };
    delete_empty(conn, log, table, "host, namespace", &empty, bind, bind_key).await?;
    let statement = [
        "INSERT INTO process_groups (host, namespace, body) ",
        " ON CONFLICT (host, namespace) DO UPDATE SET body = excluded.body",
    ];
    upsert(conn, log, table, statement, &rows, bind).await
}

fn bind_key(tuple: &mut Tuple<'_>, row: &&GroupRow) {
    tuple
        .push_bind(i64::from(row.host.0))
        .push_bind(row.namespace.as_str());
}

pub(crate) async fn read(conn: &mut Connection) -> Result<Vec<GroupRow>, StoreError> {
    let rows =
        Statement::new("SELECT host, namespace, body FROM process_groups ORDER BY host, namespace")
            .fetch_all(conn)
            .await?;
    rows.iter()
        .map(|row| decode(&Fields::new("process_groups", 2, row)))
        .collect()
}

pub(crate) fn decode(fields: &Fields<'_, '_>) -> Result<GroupRow, StoreError> {
    Ok(GroupRow {
        host: HostId(fields.number(0)?),
        namespace: fields.parse(1, Namespace::parse_registered)?,
        groups: fields.json(2)?,
    })
}
