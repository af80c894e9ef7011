//! Service instances: a large table, numbers and a name.

use model::topology::{BkHostId, ModuleId, ServiceId, ServiceRow};

use crate::sql::Connection;
use crate::sql::log::{LogEntry, LoggedTable};
use crate::sql::packed::{Packed, Record, small};
use crate::sql::rows::{delete, ordered, upsert};
use crate::{Cause, StoreError};

pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[ServiceRow],
) -> Result<(), StoreError> {
    upsert(
        conn,
        log,
        LoggedTable::Services,
        [
            "INSERT INTO services (id, module, machine, name) ",
            " ON CONFLICT (id) DO UPDATE SET module = excluded.module, machine = excluded.machine, name = excluded.name",
        ],
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            tuple
                .push_bind(i64::from(row.id.0))
                .push_bind(i64::from(row.module.0))
                .push_bind(i64::from(row.machine.0))
                .push_bind(row.name.clone());
        },
    )
    .await
}

pub(crate) async fn gone(
    conn: &mut Connection,
    log: &mut LogEntry,
    ids: &[ServiceId],
) -> Result<(), StoreError> {
    delete(conn, log, LoggedTable::Services, "id", ids, |list, id| {
        list.push_bind(i64::from(id.0));
    })
    .await
}

const PACKED: Packed<3, 1> = Packed {
    table: "services",
    n_keys: 1,
    numbers: ["id", "module", "machine"],
    texts: ["name"],
    batch: 8192,
};

pub(crate) async fn read(conn: &mut Connection) -> Result<Vec<ServiceRow>, StoreError> {
    PACKED.read(conn, decode).await
}

pub(crate) fn decode(record: Record<'_, 3, 1>) -> Result<ServiceRow, Cause> {
    let [id, module, machine] = record.numbers;
    Ok(ServiceRow {
        id: ServiceId(small(id)?),
        module: ModuleId(small(module)?),
        machine: BkHostId(small(machine)?),
        name: record.texts[0].into(),
    })
}
