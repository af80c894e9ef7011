//! Processes of the view: a big table, numbers only.

use model::change::Revision;
use model::topology::{BkProcessId, ProgramId, ServiceId, ViewProcessRow};

use super::super::packed::{Packed, Record, small};
use super::super::rows::{bury, insert, int, ordered};
use super::super::{Connection, Wanted};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    rows: &[ViewProcessRow],
) -> Result<(), StoreError> {
    insert(
        conn,
        "INSERT INTO view_processes (id, service, program, process_template, ordinal, vanished, revision, gone) ",
        " ON CONFLICT (id) DO UPDATE SET service = excluded.service, program = excluded.program, \
         process_template = excluded.process_template, ordinal = excluded.ordinal, vanished = excluded.vanished, \
         revision = excluded.revision, gone = 0",
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            tuple
                .push_bind(i64::from(row.id.0))
                .push_bind(i64::from(row.service.0))
                .push_bind(i64::from(row.program.0))
                .push_bind(i64::from(row.process_template))
                .push_bind(i64::from(row.ordinal))
                .push_bind(i64::from(row.vanished))
                .push_bind(int(revision.0))
                .push("0");
        },
    )
    .await
}

pub(crate) async fn gone(
    conn: &mut Connection,
    revision: Revision,
    ids: &[BkProcessId],
) -> Result<(), StoreError> {
    let update = "UPDATE view_processes SET vanished = 0";
    bury(conn, update, "id", revision, ids, |list, id| {
        list.push_bind(i64::from(id.0));
    })
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
    gone: "gone",
    piece: 16_384,
};

/// Live ones and tombstones.
pub(crate) async fn read(
    conn: &mut Connection,
    wanted: Wanted,
) -> Result<(Vec<ViewProcessRow>, Vec<BkProcessId>), StoreError> {
    let (mut live, mut gone) = (Vec::new(), Vec::new());
    let take = |row: Record<'_, 6, 0>| {
        let [id, service, program, process_template, ordinal, vanished] = row.numbers;
        let id = BkProcessId(small(id)?);
        match row.gone {
            true => gone.push(id),
            false => live.push(ViewProcessRow {
                id,
                service: ServiceId(small(service)?),
                program: ProgramId(small(program)?),
                process_template: small(process_template)?,
                ordinal: small(ordinal)?,
                vanished: vanished != 0,
            }),
        }
        Ok(())
    };
    PACKED.read(conn, wanted, take).await?;
    Ok((live, gone))
}
