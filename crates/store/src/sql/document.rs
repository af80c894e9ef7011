//! Things that are kept whole, as JSON under a number, in tables that all look alike.

use model::change::Revision;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::packed::{Packed, Record, small};
use super::rows::{bury, insert, int, ordered};
use super::{Connection, Wanted};
use crate::StoreError;

/// Some of them in one text: the longest are of a few megabytes.
const PIECE: usize = 128;

pub(crate) trait Document: Sized {
    type Id: Copy;
    type Body: Serialize + DeserializeOwned;
    const TABLE: &'static str;

    fn id(&self) -> Self::Id;
    fn number(id: Self::Id) -> u32;
    fn id_of(number: u32) -> Self::Id;
    fn body(&self) -> &Self::Body;
    fn new(id: Self::Id, body: Self::Body) -> Self;
}

/// A row that is its own body.
macro_rules! document {
    ($row:ty, $id:ident, $table:literal) => {
        impl $crate::sql::document::Document for $row {
            type Id = $id;
            type Body = Self;
            const TABLE: &'static str = $table;

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
    revision: Revision,
    rows: &[D],
) -> Result<(), StoreError> {
    let number = |row: &D| D::number(row.id());
    insert(
        conn,
        &format!("INSERT INTO {} (id, body, revision, gone) ", D::TABLE),
        " ON CONFLICT (id) DO UPDATE SET body = excluded.body, revision = excluded.revision, gone = 0",
        &ordered(rows, |a, b| number(a).cmp(&number(b))),
        |tuple, row| {
            let body = serde_json::to_string(row.body()).expect("documents have only string keys");
            tuple
                .push_bind(i64::from(number(row)))
                .push_bind(body)
                .push_bind(int(revision.0))
                .push("0");
        },
    )
    .await
}

pub(crate) async fn gone<D: Document>(
    conn: &mut Connection,
    revision: Revision,
    ids: &[D::Id],
) -> Result<(), StoreError> {
    let update = format!("UPDATE {} SET body = ''", D::TABLE);
    bury(conn, &update, "id", revision, ids, |list, id| {
        list.push_bind(i64::from(D::number(*id)));
    })
    .await
}

/// Live ones and tombstones.
pub(crate) async fn read<D: Document>(
    conn: &mut Connection,
    wanted: Wanted,
) -> Result<(Vec<D>, Vec<D::Id>), StoreError> {
    let packed = Packed {
        table: D::TABLE,
        n_keys: 1,
        numbers: ["id"],
        texts: ["body"],
        gone: "gone",
        piece: PIECE,
    };
    let (mut live, mut gone) = (Vec::new(), Vec::new());
    let take = |row: Record<'_, 1, 1>| {
        let id = D::id_of(small(row.numbers[0])?);
        match row.gone {
            true => gone.push(id),
            false => live.push(D::new(id, serde_json::from_str(row.texts[0])?)),
        }
        Ok(())
    };
    packed.read(conn, wanted, take).await?;
    Ok((live, gone))
}
