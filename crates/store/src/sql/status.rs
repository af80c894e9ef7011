//! Snapshots of soft state, one blob per shard.

use super::fields::Fields;
use super::{Connection, Statement};
use crate::StoreError;

pub(crate) async fn save(conn: &mut Connection, shard: u32, body: &[u8]) -> Result<(), StoreError> {
    let query = match body {
        [] => Statement::new("DELETE FROM status WHERE shard = $1").bind(i64::from(shard)),
        _ => Statement::new(
            "INSERT INTO status (shard, body) VALUES ($1, $2) ON CONFLICT (shard) DO UPDATE SET body = excluded.body",
        )
        .bind(i64::from(shard))
        .bind(body),
    };
    query.execute(conn).await?;
    Ok(())
}

pub(crate) async fn read(conn: &mut Connection) -> Result<Vec<(u32, Vec<u8>)>, StoreError> {
    let rows = Statement::new("SELECT shard, body FROM status ORDER BY shard")
        .fetch_all(conn)
        .await?;
    rows.iter()
        .map(|row| {
            let fields = Fields::new("status", 1, row);
            Ok((fields.number(0)?, fields.get(1)?))
        })
        .collect()
}
