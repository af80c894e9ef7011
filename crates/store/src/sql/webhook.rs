//! Webhooks as JSON under their id, each with the last event that it need not be told again.

use model::change::Revision;
use model::webhook::Webhook;

use super::fields::Fields;
use super::rows::{bury, fetch, insert, int, ordered};
use super::{Connection, Statement, Wanted};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    rows: &[Webhook],
    gone: &[String],
) -> Result<(), StoreError> {
    // A tombstone keeps no secret.
    let update = "UPDATE webhooks SET body = ''";
    bury(conn, update, "id", revision, gone, |list, id| {
        list.push_bind(id.as_str());
    })
    .await?;
    // A new one begins after the last event there is; one that is changed goes on where it was.
    insert(
        conn,
        "INSERT INTO webhooks (id, body, delivered, revision, gone) ",
        " ON CONFLICT (id) DO UPDATE SET body = excluded.body, revision = excluded.revision, gone = 0, \
         delivered = CASE webhooks.gone WHEN 1 THEN excluded.delivered ELSE webhooks.delivered END",
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            let body = serde_json::to_string(row).expect("webhooks have only string keys");
            tuple
                .push_bind(row.id.as_str())
                .push_bind(body)
                .push("(SELECT coalesce(max(id), 0) FROM events)")
                .push_bind(int(revision.0))
                .push("0");
        },
    )
    .await
}

pub(crate) async fn read(
    conn: &mut Connection,
    wanted: Wanted,
) -> Result<(Vec<Webhook>, Vec<String>), StoreError> {
    let select = "SELECT id, gone, body FROM webhooks";
    let (mut live, mut gone) = (Vec::new(), Vec::new());
    for row in &fetch(conn, select, " WHERE gone = 0", "id", wanted).await? {
        let fields = Fields::new("webhooks", 1, row);
        match fields.flag(1)? {
            true => gone.push(fields.text(0)?),
            false => live.push(fields.json(2)?),
        }
    }
    Ok((live, gone))
}

pub(crate) async fn delivered(
    conn: &mut Connection,
    webhook: &str,
) -> Result<Option<u64>, StoreError> {
    let found: Option<i64> =
        Statement::new("SELECT delivered FROM webhooks WHERE id = $1 AND gone = 0")
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
    Statement::new(
        "UPDATE webhooks SET delivered = $2 WHERE id = $1 AND gone = 0 AND delivered < $2",
    )
    .bind(webhook)
    .bind(int(through))
    .execute(conn)
    .await?;
    Ok(())
}
