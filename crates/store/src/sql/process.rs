//! Processes: the largest table, numbers only.

use model::change::{DefinitionId, HostId, NameId, ProcessId, ProcessRow, Revision};
use model::topology::BkProcessId;
use model::{Flag, UnixMillis};

use super::Connection;
use super::log::{LogEntry, LoggedTable};
use super::packed::{Packed, Record, small};
use super::rows::{delete, int, ordered, upsert};
use crate::{Cause, StoreError};

pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[ProcessRow],
) -> Result<(), StoreError> {
    upsert(
        conn,
        log,
        LoggedTable::Processes,
        [
            "INSERT INTO processes (id, host, name, definition, flag, managed, registered_at, incarnation, owner) ",
            " ON CONFLICT (id) DO UPDATE SET host = excluded.host, name = excluded.name, \
             definition = excluded.definition, flag = excluded.flag, managed = excluded.managed, \
             registered_at = excluded.registered_at, incarnation = excluded.incarnation, owner = excluded.owner",
        ],
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
                .push_bind(row.owner.map_or(NO_OWNER, |owner| i64::from(owner.0)));
        },
    )
    .await
}

pub(crate) async fn gone(
    conn: &mut Connection,
    log: &mut LogEntry,
    ids: &[ProcessId],
) -> Result<(), StoreError> {
    delete(conn, log, LoggedTable::Processes, "id", ids, |list, id| {
        list.push_bind(i64::from(id.0));
    })
    .await
}

/// Instead of NULL, which a packed row cannot hold.
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
    batch: 16_384,
};

pub(crate) async fn read(conn: &mut Connection) -> Result<Vec<ProcessRow>, StoreError> {
    PACKED.read(conn, decode).await
}

pub(crate) fn decode(record: Record<'_, 9, 0>) -> Result<ProcessRow, Cause> {
    let [
        id,
        host,
        name,
        definition,
        flag,
        managed,
        registered_at,
        incarnation,
        owner,
    ] = record.numbers;
    let flag = u8::try_from(flag).map_err(|_| format!("{flag} is no flag"))?;
    Ok(ProcessRow {
        id: ProcessId(small(id)?),
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
