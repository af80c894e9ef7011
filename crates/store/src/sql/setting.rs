//! Settings: a few values that are written once, such as the CA's key.

use super::{Connection, Statement};
use crate::StoreError;

pub(crate) async fn read(conn: &mut Connection, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
    Statement::new("SELECT body FROM settings WHERE id = $1")
        .bind(key)
        .fetch_value(conn)
        .await
}

pub(crate) async fn put_if_absent(
    conn: &mut Connection,
    key: &str,
    value: &[u8],
) -> Result<(), StoreError> {
    Statement::new("INSERT INTO settings (id, body) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING")
        .bind(key)
        .bind(value)
        .execute(conn)
        .await?;
    Ok(())
}
