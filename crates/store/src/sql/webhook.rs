//! Webhooks as JSON under their id, each with the id of the last event that it has delivered or skipped.

use model::webhook::Webhook;

use super::fields::Fields;
use super::log::{LogEntry, LoggedTable};
use super::rows::{delete, int, ordered, upsert};
use super::{Connection, Statement};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[Webhook],
    gone: &[String],
) -> Result<(), StoreError> {
    let table = LoggedTable::Webhooks;
    delete(conn, log, table, "id", gone, |list, id| {
        list.push_bind(id.as_str());
    })
    .await?;
    // A new webhook begins after the last event; a changed one keeps its position.
    upsert(
        conn,
        log,
        table,
        [
            "INSERT INTO webhooks (id, body, delivered) ",
            " ON CONFLICT (id) DO UPDATE SET body = excluded.body",
        ],
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            let body = serde_json::to_string(row).expect("webhooks have only string keys");
            tuple
                .push_bind(row.id.as_str())
                .push_bind(body)
                .push("(SELECT coalesce(max(id), 0) FROM events)");
        },
    )
    .await
}

pub(crate) async fn read(conn: &mut Connection) -> Result<Vec<Webhook>, StoreError> {
    let rows = Statement::new("SELECT id, body FROM webhooks ORDER BY id")
        .fetch_all(conn)
        .await?;
    rows.iter()
        .map(|row| Fields::new("webhooks", 1, row).json(1))
        .collect()
}

pub(crate) async fn delivered(
    conn: &mut Connection,
    webhook: &str,
) -> Result<Option<u64>, StoreError> {
    let found: Option<i64> = Statement::new("SELECT delivered FROM webhooks WHERE id = $1")
        .bind(webhook)
        .fetch_value(conn)
        .await?;
    Ok(found.map(i64::cast_unsigned))
}

pub(crate) async fn save_delivered(
    conn: &mut Connection,
    webhook: &str,
    through: u64,
) -> Result<(), StoreError> {
    Statement::new("UPDATE webhooks SET delivered = $2 WHERE id = $1 AND delivered < $2")
        .bind(webhook)
        .bind(int(through))
        .execute(conn)
        .await?;
    Ok(())
}
