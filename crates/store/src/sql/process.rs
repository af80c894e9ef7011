//! Processes: the big table, numbers only.

use model::change::{Changes, DefinitionId, HostId, NameId, ProcessId, ProcessRow, Revision};
use model::{Flag, UnixMillis};

use super::fields::Fields;
use super::rows::{bury, fetch, insert, int, ordered};
use super::{Connection, Wanted};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    rows: &[ProcessRow],
) -> Result<(), StoreError> {
    insert(
        conn,
        "INSERT INTO processes (id, host, name, definition, flag, managed, registered_at, incarnation, revision, gone) ",
        " ON CONFLICT (id) DO UPDATE SET host = excluded.host, name = excluded.name, definition = excluded.definition, \
         flag = excluded.flag, managed = excluded.managed, registered_at = excluded.registered_at, \
         incarnation = excluded.incarnation, revision = excluded.revision, gone = 0",
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            tuple
                .push_bind(i64::from(row.id.0))
                .push_bind(i64::from(row.host.0))
                .push_bind(i64::from(row.name.0))
                .push_bind(i64::from(row.definition.0))
                .push_bind(i64::from(u8::from(row.flag)))
                .push_bind(i64::from(row.managed))
                .push_bind(row.registered_at.0)
                .push_bind(int(row.incarnation.0))
                .push_bind(int(revision.0))
                .push("0");
        },
    )
    .await
}

pub(crate) async fn gone(
    conn: &mut Connection,
    revision: Revision,
    ids: &[ProcessId],
) -> Result<(), StoreError> {
    let update = "UPDATE processes SET flag = 0";
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
    let select = "SELECT id, gone, host, name, definition, flag, managed, registered_at, incarnation FROM processes";
    for row in &fetch(conn, select, " WHERE gone = 0", wanted).await? {
        let fields = Fields {
            table: "processes",
            n_keys: 1,
            row,
        };
        let id = ProcessId(fields.number(0)?);
        if fields.flag(1)? {
            changes.processes_gone.push(id);
            continue;
        }
        changes.processes.push(ProcessRow {
            id,
            host: HostId(fields.number(2)?),
            name: NameId(fields.number(3)?),
            definition: DefinitionId(fields.number(4)?),
            flag: Flag::try_from(fields.number::<u8>(5)?).map_err(|e| fields.corrupt(e))?,
            managed: fields.flag(6)?,
            registered_at: UnixMillis(fields.get(7)?),
            incarnation: Revision(fields.unsigned(8)?),
        });
    }
    Ok(())
}
