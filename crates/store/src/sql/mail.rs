//! Mail messages between replicas.

use std::time::Duration;

use super::fields::Fields;
use super::lease::millis;
use super::rows::{insert, int};
use super::{Connection, Statement};
use crate::{MailMessage, StoreError};

/// Gives each message the next id. The row lock of `mailbox` makes later senders wait until these messages are visible.
pub(crate) async fn send(
    conn: &mut Connection,
    from: u64,
    bodies: &[Vec<u8>],
) -> Result<(), StoreError> {
    let n_messages = bodies.len() as i64;
    let row = Statement::new("UPDATE mailbox SET last = last + $1 WHERE one = 1 RETURNING last")
        .bind(n_messages)
        .fetch_one(conn)
        .await?;
    let ids = row.get::<i64>(0)? - n_messages + 1..;
    let now = conn.now();
    insert(
        conn,
        "INSERT INTO mail (id, sender, sent_at, body) ",
        "",
        &Vec::from_iter(ids.zip(bodies)),
        |tuple, (id, body)| {
            tuple
                .push_bind(*id)
                .push_bind(int(from))
                .push(now)
                .push_bind(body.as_slice());
        },
    )
    .await
}

pub(crate) async fn after(
    conn: &mut Connection,
    id: u64,
    not_from: u64,
    limit: u32,
) -> Result<Vec<MailMessage>, StoreError> {
    let rows = Statement::new(
        "SELECT id, sender, body FROM mail WHERE id > $1 AND sender <> $2 ORDER BY id LIMIT $3",
    )
    .bind(int(id))
    .bind(int(not_from))
    .bind(i64::from(limit))
    .fetch_all(conn)
    .await?;
    rows.iter()
        .map(|row| {
            let fields = Fields::new("mail", 1, row);
            Ok((fields.unsigned(0)?, fields.unsigned(1)?, fields.get(2)?))
        })
        .collect()
}

pub(crate) async fn last(conn: &mut Connection) -> Result<u64, StoreError> {
    let row = Statement::new("SELECT last FROM mailbox WHERE one = 1")
        .fetch_one(conn)
        .await?;
    Ok(row.get::<i64>(0)?.cast_unsigned())
}

pub(crate) async fn purge(conn: &mut Connection, older_than: Duration) -> Result<(), StoreError> {
    let now = conn.now();
    Statement::new(format!("DELETE FROM mail WHERE sent_at < {now} - $1"))
        .bind(millis(older_than))
        .execute(conn)
        .await?;
    Ok(())
}
