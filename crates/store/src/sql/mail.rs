//! Letters between replicas.

use super::Connection;
use super::fields::Fields;
use super::rows::{insert, int};
use crate::{Letter, StoreError};

/// Gives each letter the next id. Whoever comes after waits until these are there.
pub(crate) async fn send(
    conn: &mut Connection,
    from: u64,
    now: i64,
    bodies: &[Vec<u8>],
) -> Result<(), StoreError> {
    let last: i64 =
        sqlx::query_scalar("UPDATE mailbox SET last = last + $1 WHERE one = 1 RETURNING last")
            .bind(bodies.len() as i64)
            .fetch_one(&mut *conn)
            .await?;
    let ids = last - bodies.len() as i64 + 1..;
    insert(
        conn,
        "INSERT INTO mail (id, sender, sent_at, body) ",
        "",
        &Vec::from_iter(ids.zip(bodies)),
        |tuple, (id, body)| {
            tuple
                .push_bind(*id)
                .push_bind(int(from))
                .push_bind(now)
                .push_bind((*body).clone());
        },
    )
    .await
}

pub(crate) async fn after(
    conn: &mut Connection,
    id: u64,
    not_from: u64,
    limit: u32,
) -> Result<Vec<Letter>, StoreError> {
    let rows = sqlx::query(
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
    let last: i64 = sqlx::query_scalar("SELECT last FROM mailbox WHERE one = 1")
        .fetch_one(conn)
        .await?;
    Ok(last.cast_unsigned())
}

pub(crate) async fn purge(conn: &mut Connection, before: i64) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM mail WHERE sent_at < $1")
        .bind(before)
        .execute(conn)
        .await?;
    Ok(())
}
