//! Service instances: a big table, numbers and a name.

use model::change::Revision;
use model::topology::{BkHostId, ModuleId, ServiceId, ServiceRow};

use super::super::packed::{Packed, Record, small};
use super::super::rows::{bury, insert, int, ordered};
use super::super::{Connection, Wanted};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    rows: &[ServiceRow],
) -> Result<(), StoreError> {
    insert(
        conn,
        "INSERT INTO services (id, module, machine, name, revision, gone) ",
        " ON CONFLICT (id) DO UPDATE SET module = excluded.module, machine = excluded.machine, name = excluded.name, \
         revision = excluded.revision, gone = 0",
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            tuple
                .push_bind(i64::from(row.id.0))
                .push_bind(i64::from(row.module.0))
                .push_bind(i64::from(row.machine.0))
                .push_bind(row.name.clone())
                .push_bind(int(revision.0))
                .push("0");
        },
    )
    .await
}

pub(crate) async fn gone(
    conn: &mut Connection,
    revision: Revision,
    ids: &[ServiceId],
) -> Result<(), StoreError> {
    let update = "UPDATE services SET name = ''";
    bury(conn, update, "id", revision, ids, |list, id| {
        list.push_bind(i64::from(id.0));
    })
    .await
}

const PACKED: Packed<3, 1> = Packed {
    table: "services",
    n_keys: 1,
    numbers: ["id", "module", "machine"],
    texts: ["name"],
    gone: "gone",
    piece: 8192,
};

/// Live ones and tombstones.
pub(crate) async fn read(
    conn: &mut Connection,
    wanted: Wanted,
) -> Result<(Vec<ServiceRow>, Vec<ServiceId>), StoreError> {
    let (mut live, mut gone) = (Vec::new(), Vec::new());
    let take = |row: Record<'_, 3, 1>| {
        let [id, module, machine] = row.numbers;
        let id = ServiceId(small(id)?);
        match row.gone {
            true => gone.push(id),
            false => live.push(ServiceRow {
                id,
                module: ModuleId(small(module)?),
                machine: BkHostId(small(machine)?),
                name: row.texts[0].into(),
            }),
        }
        Ok(())
    };
    PACKED.read(conn, wanted, take).await?;
    Ok((live, gone))
}
