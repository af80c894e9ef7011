//! Who may call: apps, users and join tokens as JSON under their id; logins under the hash of their token.

use model::UnixMillis;
use model::access::{App, JoinToken, Login, User};
use model::change::{Changes, Revision};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fields::Fields;
use super::rows::{bury, fetch, insert, int, ordered};
use super::{Connection, Wanted};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    changes: &Changes,
) -> Result<(), StoreError> {
    write_documents(conn, revision, &changes.apps, &changes.apps_gone).await?;
    write_documents(conn, revision, &changes.users, &changes.users_gone).await?;
    write_documents(
        conn,
        revision,
        &changes.join_tokens,
        &changes.join_tokens_gone,
    )
    .await?;
    write_logins(conn, revision, &changes.logins, &changes.logins_gone).await
}

pub(crate) async fn read(
    conn: &mut Connection,
    wanted: Wanted,
    changes: &mut Changes,
) -> Result<(), StoreError> {
    (changes.apps, changes.apps_gone) = read_documents(conn, wanted).await?;
    (changes.users, changes.users_gone) = read_documents(conn, wanted).await?;
    (changes.join_tokens, changes.join_tokens_gone) = read_documents(conn, wanted).await?;
    (changes.logins, changes.logins_gone) = read_logins(conn, wanted).await?;
    Ok(())
}

/// A thing that is kept whole, as JSON, under its id.
trait Document: Serialize + DeserializeOwned {
    const TABLE: &'static str;
    const SELECT: &'static str;
    fn id(&self) -> &str;
}

impl Document for App {
    const TABLE: &'static str = "apps";
    const SELECT: &'static str = "SELECT id, gone, body FROM apps";
    fn id(&self) -> &str {
        &self.code
    }
}

impl Document for User {
    const TABLE: &'static str = "users";
    const SELECT: &'static str = "SELECT id, gone, body FROM users";
    fn id(&self) -> &str {
        &self.name
    }
}

impl Document for JoinToken {
    const TABLE: &'static str = "join_tokens";
    const SELECT: &'static str = "SELECT id, gone, body FROM join_tokens";
    fn id(&self) -> &str {
        &self.id
    }
}

async fn write_documents<T: Document>(
    conn: &mut Connection,
    revision: Revision,
    rows: &[T],
    gone: &[String],
) -> Result<(), StoreError> {
    // A tombstone keeps no secret.
    let update = format!("UPDATE {} SET body = ''", T::TABLE);
    bury(conn, &update, "id", revision, gone, |list, id| {
        list.push_bind(id.as_str());
    })
    .await?;
    insert(
        conn,
        &format!("INSERT INTO {} (id, body, revision, gone) ", T::TABLE),
        " ON CONFLICT (id) DO UPDATE SET body = excluded.body, revision = excluded.revision, gone = 0",
        &ordered(rows, |a, b| a.id().cmp(b.id())),
        |tuple, row| {
            let body = serde_json::to_string(row).expect("access rows have only string keys");
            tuple
                .push_bind(row.id())
                .push_bind(body)
                .push_bind(int(revision.0))
                .push("0");
        },
    )
    .await
}

async fn read_documents<T: Document>(
    conn: &mut Connection,
    wanted: Wanted,
) -> Result<(Vec<T>, Vec<String>), StoreError> {
    let (mut live, mut gone) = (Vec::new(), Vec::new());
    for row in &fetch(conn, T::SELECT, " WHERE gone = 0", "id", wanted).await? {
        let fields = Fields::new(T::TABLE, 1, row);
        match fields.flag(1)? {
            true => gone.push(fields.text(0)?),
            false => live.push(fields.json(2)?),
        }
    }
    Ok((live, gone))
}

async fn write_logins(
    conn: &mut Connection,
    revision: Revision,
    rows: &[Login],
    gone: &[[u8; 32]],
) -> Result<(), StoreError> {
    let update = "UPDATE logins SET user_name = ''";
    bury(
        conn,
        update,
        "token_sha256",
        revision,
        gone,
        |list, token| {
            list.push_bind(token.to_vec());
        },
    )
    .await?;
    insert(
        conn,
        "INSERT INTO logins (token_sha256, user_name, expires_at, revision, gone) ",
        " ON CONFLICT (token_sha256) DO UPDATE SET user_name = excluded.user_name, expires_at = excluded.expires_at, \
         revision = excluded.revision, gone = 0",
        &ordered(rows, |a, b| a.token_sha256.cmp(&b.token_sha256)),
        |tuple, row| {
            tuple
                .push_bind(row.token_sha256.to_vec())
                .push_bind(row.user.as_str())
                .push_bind(row.expires_at.0)
                .push_bind(int(revision.0))
                .push("0");
        },
    )
    .await
}

async fn read_logins(
    conn: &mut Connection,
    wanted: Wanted,
) -> Result<(Vec<Login>, Vec<[u8; 32]>), StoreError> {
    let select = "SELECT token_sha256, gone, user_name, expires_at FROM logins";
    let (mut live, mut gone) = (Vec::new(), Vec::new());
    for row in &fetch(conn, select, " WHERE gone = 0", "token_sha256", wanted).await? {
        let fields = Fields::new("logins", 1, row);
        let token: &[u8] = fields.get(0)?;
        let token_sha256 = <[u8; 32]>::try_from(token).map_err(|e| fields.corrupt(e))?;
        match fields.flag(1)? {
            true => gone.push(token_sha256),
            false => live.push(Login {
                token_sha256,
                user: fields.text(2)?,
                expires_at: UnixMillis(fields.get(3)?),
            }),
        }
    }
    Ok((live, gone))
}
