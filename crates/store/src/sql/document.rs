//! Rows stored as JSON under a number, in tables with the same columns.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Connection;
use super::log::{LogEntry, LoggedTable};
use super::packed::{Packed, Record, small};
use super::rows::{delete, ordered, upsert};
use crate::{Cause, StoreError};

pub(crate) trait Document: Sized {
    type Id: Copy;
    type Body: Serialize + DeserializeOwned;
    const TABLE: LoggedTable;
    /// Rows that are read in one text: the longest take a few megabytes.
    const BATCH: usize = 128;

    fn id(&self) -> Self::Id;
    fn number(id: Self::Id) -> u32;
    fn id_of(number: u32) -> Self::Id;
    fn body(&self) -> &Self::Body;
    fn new(id: Self::Id, body: Self::Body) -> Self;
}

/// A row that is its own body.
macro_rules! document {
    ($row:ty, $id:ident, $table:ident $(, batch = $batch:literal)?) => {
        impl $crate::sql::document::Document for $row {
            type Id = $id;
            type Body = Self;
            const TABLE: LoggedTable = LoggedTable::$table;
            $(const BATCH: usize = $batch;)?

            fn id(&self) -> $id {
                self.id
            }
            fn number(id: $id) -> u32 {
                id.0
            }
            fn id_of(number: u32) -> $id {
                $id(number)
            }
            fn body(&self) -> &Self {
                self
            }
            fn new(_: $id, body: Self) -> Self {
                body
            }
        }
    };
}
pub(crate) use document;

pub(crate) async fn write<D: Document>(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[D],
) -> Result<(), StoreError> {
    let number = |row: &D| D::number(row.id());
    upsert(
        conn,
        log,
        D::TABLE,
        [
            &format!("INSERT INTO {} (id, body) ", D::TABLE.name()),
            " ON CONFLICT (id) DO UPDATE SET body = excluded.body",
        ],
        &ordered(rows, |a, b| number(a).cmp(&number(b))),
        |tuple, row| {
            let body = serde_json::to_string(row.body()).expect("documents have only string keys");
            tuple.push_bind(i64::from(number(row))).push_bind(body);
        },
    )
    .await
}

pub(crate) async fn gone<D: Document>(
    conn: &mut Connection,
    log: &mut LogEntry,
    ids: &[D::Id],
) -> Result<(), StoreError> {
    delete(conn, log, D::TABLE, "id", ids, |list, id| {
        list.push_bind(i64::from(D::number(*id)));
    })
    .await
}

pub(crate) async fn read<D: Document>(conn: &mut Connection) -> Result<Vec<D>, StoreError> {
    let packed = Packed {
        table: D::TABLE.name(),
        n_keys: 1,
        numbers: ["id"],
        texts: ["body"],
        batch: D::BATCH,
    };
    packed.read(conn, decode).await
}

pub(crate) fn decode<D: Document>(record: Record<'_, 1, 1>) -> Result<D, Cause> {
    let id = D::id_of(small(record.numbers[0])?);
    Ok(D::new(id, serde_json::from_str(record.texts[0])?))
}
