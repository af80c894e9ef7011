//! Contents of config files, stored once for all files with the same content. Never changed, read one by one.

use std::sync::Arc;

use model::config_template::{ContentId, ContentRow};

use crate::StoreError;
use crate::sql::fields::Fields;
use crate::sql::rows::{insert, ordered};
use crate::sql::{Connection, Statement};

/// About how many bytes one batch of statements holds in memory.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

pub(crate) async fn write(conn: &mut Connection, rows: &[ContentRow]) -> Result<(), StoreError> {
    let rows = ordered(rows, |a, b| a.id.cmp(&b.id));
    let mut n_bytes = 0;
    let batches = rows.chunk_by(|one, _| {
        n_bytes += one.body.len();
        let has_room = n_bytes < BATCH_BYTES;
        if !has_room {
            n_bytes = 0;
        }
        has_room
    });
    for batch in batches {
        insert(
            conn,
            "INSERT INTO contents (id, body) ",
            " ON CONFLICT (id) DO NOTHING",
            batch,
            |tuple, row| {
                tuple
                    .push_bind(row.id.0.to_vec())
                    .push_bind(row.body.as_bytes());
            },
        )
        .await?;
    }
    Ok(())
}

pub(crate) async fn one(
    conn: &mut Connection,
    id: ContentId,
) -> Result<Option<Arc<str>>, StoreError> {
    let row = Statement::new("SELECT id, body FROM contents WHERE id = $1")
        .bind(&id.0[..])
        .fetch_optional(conn)
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let fields = Fields::new("contents", 1, &row);
    let body = std::str::from_utf8(fields.get(1)?).map_err(|e| fields.corrupt(e))?;
    Ok(Some(body.into()))
}
