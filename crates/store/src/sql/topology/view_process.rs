//! Processes of the view: a large table, numbers only.

use model::topology::{BkProcessId, ProgramId, ServiceId, ViewProcessRow};

use crate::sql::Connection;
use crate::sql::log::{LogEntry, LoggedTable};
use crate::sql::packed::{Packed, Record, small};
use crate::sql::rows::{delete, ordered, upsert};
use crate::{Cause, StoreError};

pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[ViewProcessRow],
) -> Result<(), StoreError> {
    upsert(
        conn,
        log,
        LoggedTable::ViewProcesses,
        [
            "INSERT INTO view_processes (id, service, program, process_template, ordinal, vanished) ",
            " ON CONFLICT (id) DO UPDATE SET service = excluded.service, program = excluded.program, \
             process_template = excluded.process_template, ordinal = excluded.ordinal, vanished = excluded.vanished",
        ],
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            tuple
                .push_bind(i64::from(row.id.0))
                .push_bind(i64::from(row.service.0))
                .push_bind(i64::from(row.program.0))
                .push_bind(i64::from(row.process_template))
                .push_bind(i64::from(row.ordinal))
                .push_bind(i64::from(row.vanished));
        },
    )
    .await
}

pub(crate) async fn gone(
    conn: &mut Connection,
    log: &mut LogEntry,
    ids: &[BkProcessId],
) -> Result<(), StoreError> {
    delete(
        conn,
        log,
        LoggedTable::ViewProcesses,
        "id",
        ids,
        |list, id| {
            list.push_bind(i64::from(id.0));
        },
    )
    .await
}

const PACKED: Packed<6, 0> = Packed {
    table: "view_processes",
    n_keys: 1,
    numbers: [
        "id",
        "service",
        "program",
        "process_template",
        "ordinal",
        "vanished",
    ],
    texts: [],
    batch: 16_384,
};

pub(crate) async fn read(conn: &mut Connection) -> Result<Vec<ViewProcessRow>, StoreError> {
    PACKED.read(conn, decode).await
}

pub(crate) fn decode(record: Record<'_, 6, 0>) -> Result<ViewProcessRow, Cause> {
    let [id, service, program, process_template, ordinal, vanished] = record.numbers;
    Ok(ViewProcessRow {
        id: BkProcessId(small(id)?),
        service: ServiceId(small(service)?),
        program: ProgramId(small(program)?),
        process_template: small(process_template)?,
        ordinal: small(ordinal)?,
        vanished: vanished != 0,
    })
}
