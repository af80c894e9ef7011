//! Apps, users and join tokens as JSON under their id; logins under the hash of their token.

use model::UnixMillis;
use model::access::{App, JoinToken, Login, User};
use model::change::Changes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fields::Fields;
use super::log::{LogEntry, LoggedTable};
use super::rows::{delete, ordered, upsert};
use super::{Connection, Statement};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    log: &mut LogEntry,
    changes: &Changes,
) -> Result<(), StoreError> {
    write_documents(conn, log, &changes.apps, &changes.apps_gone).await?;
    write_documents(conn, log, &changes.users, &changes.users_gone).await?;
    write_documents(conn, log, &changes.join_tokens, &changes.join_tokens_gone).await?;
    write_logins(conn, log, &changes.logins, &changes.logins_gone).await
}

pub(crate) async fn read(conn: &mut Connection, changes: &mut Changes) -> Result<(), StoreError> {
    changes.apps = read_documents(conn).await?;
    changes.users = read_documents(conn).await?;
    changes.join_tokens = read_documents(conn).await?;
    changes.logins = read_logins(conn).await?;
    Ok(())
}

/// A row stored as JSON under its id.
trait Document: Serialize + DeserializeOwned {
    const TABLE: LoggedTable;
    fn id(&self) -> &str;
}

impl Document for App {
    const TABLE: LoggedTable = LoggedTable::Apps;
    fn id(&self) -> &str {
        &self.code
    }
}

impl Document for User {
    const TABLE: LoggedTable = LoggedTable::Users;
    fn id(&self) -> &str {
        &self.name
    }
}

impl Document for JoinToken {
    const TABLE: LoggedTable = LoggedTable::JoinTokens;
    fn id(&self) -> &str {
        &self.id
    }
}

async fn write_documents<T: Document>(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[T],
    gone: &[String],
) -> Result<(), StoreError> {
    delete(conn, log, T::TABLE, "id", gone, |list, id| {
        list.push_bind(id.as_str());
    })
    .await?;
    upsert(
        conn,
        log,
        T::TABLE,
        [
            &format!("INSERT INTO {} (id, body) ", T::TABLE.name()),
            " ON CONFLICT (id) DO UPDATE SET body = excluded.body",
        ],
        &ordered(rows, |a, b| a.id().cmp(b.id())),
        |tuple, row| {
            let body = serde_json::to_string(row).expect("access rows have only string keys");
            tuple.push_bind(row.id()).push_bind(body);
        },
    )
    .await
}

async fn read_documents<T: Document>(conn: &mut Connection) -> Result<Vec<T>, StoreError> {
    let table = T::TABLE.name();
    let rows = Statement::new(format!("SELECT id, body FROM {table} ORDER BY id"))
        .fetch_all(conn)
        .await?;
    rows.iter()
        .map(|row| Fields::new(table, 1, row).json(1))
        .collect()
}

async fn write_logins(
    conn: &mut Connection,
    log: &mut LogEntry,
    rows: &[Login],
    gone: &[[u8; 32]],
) -> Result<(), StoreError> {
    let table = LoggedTable::Logins;
    delete(conn, log, table, "token_sha256", gone, |list, token| {
        list.push_bind(token.to_vec());
    })
    .await?;
    upsert(
        conn,
        log,
        table,
        [
            "INSERT INTO logins (token_sha256, user_name, expires_at, begun_from, user_agent) ",
            " ON CONFLICT (token_sha256) DO UPDATE SET user_name = excluded.user_name, expires_at = excluded.expires_at, \
             begun_from = excluded.begun_from, user_agent = excluded.user_agent",
        ],
        &ordered(rows, |a, b| a.token_sha256.cmp(&b.token_sha256)),
        |tuple, row| {
            tuple
                .push_bind(row.token_sha256.to_vec())
                .push_bind(row.user.as_str())
                .push_bind(row.expires_at.0)
                .push_bind(row.from.as_str())
                .push_bind(row.user_agent.as_str());
        },
    )
    .await
}

async fn read_logins(conn: &mut Connection) -> Result<Vec<Login>, StoreError> {
    let rows = Statement::new(
        "SELECT token_sha256, user_name, expires_at, begun_from, user_agent FROM logins ORDER BY token_sha256",
    )
    .fetch_all(conn)
    .await?;
    rows.iter()
        .map(|row| decode_login(&Fields::new("logins", 1, row)))
        .collect()
}

pub(crate) fn decode_login(fields: &Fields<'_, '_>) -> Result<Login, StoreError> {
    Ok(Login {
        token_sha256: decode_token(fields)?,
        user: fields.text(1)?,
        expires_at: UnixMillis(fields.get(2)?),
        from: fields.added(3)?.unwrap_or_default(),
        user_agent: fields.added(4)?.unwrap_or_default(),
    })
}

pub(crate) fn decode_token(fields: &Fields<'_, '_>) -> Result<[u8; 32], StoreError> {
    let token: &[u8] = fields.get(0)?;
    token.try_into().map_err(|e| fields.corrupt(e))
}
