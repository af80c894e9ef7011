//! Processes: the big table, numbers only.

use model::change::{Changes, DefinitionId, HostId, NameId, ProcessId, ProcessRow, Revision};
use model::topology::BkProcessId;
use model::{Flag, UnixMillis};

use super::packed::{Packed, Record, small};
use super::rows::{bury, insert, int, ordered};
use super::{Connection, Wanted};
use crate::{Cause, StoreError};

pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    rows: &[ProcessRow],
) -> Result<(), StoreError> {
    insert(
        conn,
        "INSERT INTO processes (id, host, name, definition, flag, managed, registered_at, incarnation, owner, revision, gone) ",
        " ON CONFLICT (id) DO UPDATE SET host = excluded.host, name = excluded.name, definition = excluded.definition, \
         flag = excluded.flag, managed = excluded.managed, registered_at = excluded.registered_at, \
         incarnation = excluded.incarnation, owner = excluded.owner, revision = excluded.revision, gone = 0",
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
                .push_bind(row.owner.map_or(NO_OWNER, |owner| i64::from(owner.0)))
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

/// In place of NULL, which would leave a hole in a packed row.
const NO_OWNER: i64 = -1;

const PACKED: Packed<9, 0> = Packed {
    table: "processes",
    n_keys: 1,
    numbers: [
        "id",
        "host",
        "name",
        "definition",
        "flag",
        "managed",
        "registered_at",
        "incarnation",
        "owner",
    ],
    texts: [],
    gone: "gone",
    piece: 16_384,
};

pub(crate) async fn read(
    conn: &mut Connection,
    wanted: Wanted,
    changes: &mut Changes,
) -> Result<(), StoreError> {
    let take = |row: Record<'_, 9, 0>| {
        let id = ProcessId(small(row.numbers[0])?);
        match row.gone {
            true => changes.processes_gone.push(id),
            false => changes.processes.push(decode(id, row.numbers)?),
        }
        Ok(())
    };
    PACKED.read(conn, wanted, take).await
}

fn decode(id: ProcessId, numbers: [i64; 9]) -> Result<ProcessRow, Cause> {
    let [
        _,
        host,
        name,
        definition,
        flag,
        managed,
        registered_at,
        incarnation,
        owner,
    ] = numbers;
    let flag = u8::try_from(flag).map_err(|_| format!("{flag} is no flag"))?;
    Ok(ProcessRow {
        id,
        host: HostId(small(host)?),
        name: NameId(small(name)?),
        definition: DefinitionId(small(definition)?),
        flag: Flag::try_from(flag)?,
        managed: managed != 0,
        registered_at: UnixMillis(registered_at),
        incarnation: Revision(incarnation.cast_unsigned()),
        owner: match owner {
            NO_OWNER => None,
            owner => Some(BkProcessId(small(owner)?)),
        },
    })
}
