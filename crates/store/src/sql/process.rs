//! Processes: the big table, numbers only.

use model::change::{Changes, DefinitionId, HostId, NameId, ProcessId, ProcessRow, Revision};
use model::topology::BkProcessId;
use model::{Flag, UnixMillis};
use sqlx::QueryBuilder;

use super::rows::{bury, insert, int, ordered};
use super::{Connection, Db, Wanted};
use crate::StoreError;

pub(crate) async fn write(
    conn: &mut Connection,
    revision: Revision,
    rows: &[ProcessRow],
) -> Result<(), StoreError> {
    insert(
        conn,
        "INSERT INTO processes (id, host, name, definition, flag, managed, registered_at, incarnation, owner, revision, gone) ",
        " ON CONFLICT (id) DO UPDATE SET host = excluded.host, name = excluded.name, definition = excluded.definition, \
         flag = excluded.flag, managed = excluded.managed, registered_at = excluded.registered_at, \
         incarnation = excluded.incarnation, owner = excluded.owner, revision = excluded.revision, gone = 0",
        &ordered(rows, |a, b| a.id.cmp(&b.id)),
        |tuple, row| {
            tuple
                .push_bind(i64::from(row.id.0))
                .push_bind(i64::from(row.host.0))
                .push_bind(i64::from(row.name.0))
                .push_bind(i64::from(row.definition.0))
                .push_bind(i64::from(u8::from(row.flag)))
                .push_bind(i64::from(row.managed))
                .push_bind(row.registered_at.0)
                .push_bind(int(row.incarnation.0))
                .push_bind(row.owner.map_or(NO_OWNER, |owner| i64::from(owner.0)))
                .push_bind(int(revision.0))
                .push("0");
        },
    )
    .await
}

pub(crate) async fn gone(
    conn: &mut Connection,
    revision: Revision,
    ids: &[ProcessId],
) -> Result<(), StoreError> {
    let update = "UPDATE processes SET flag = 0";
    bury(conn, update, "id", revision, ids, |list, id| {
        list.push_bind(i64::from(id.0));
    })
    .await
}

/// Ids that one statement covers when the whole table is read.
const RANGE: i64 = 16_384;

/// Many rows come as one text of numbers: a million of sqlx's own rows would take seconds.
pub(crate) async fn read(
    conn: &mut Connection,
    wanted: Wanted,
    changes: &mut Changes,
) -> Result<(), StoreError> {
    let last = match wanted {
        Wanted::Since(since) => {
            let mut query = QueryBuilder::new(SELECT);
            query.push(" WHERE revision > ").push_bind(int(since.0));
            return unpack(&packed(conn, query).await?, changes);
        }
        Wanted::Live => {
            sqlx::query_scalar("SELECT coalesce(max(id), -1) FROM processes")
                .fetch_one(&mut *conn)
                .await?
        }
    };
    for first in (0..=last).step_by(RANGE as usize) {
        let mut query = QueryBuilder::new(SELECT);
        query.push(" WHERE gone = 0 AND id >= ").push_bind(first);
        query.push(" AND id < ").push_bind(first + RANGE);
        unpack(&packed(conn, query).await?, changes)?;
    }
    Ok(())
}

const SELECT: &str = "SELECT string_agg(concat_ws(' ', id, host, name, definition, flag, managed, registered_at, \
                      incarnation, owner, gone), ' ') FROM processes";
const N_COLUMNS: usize = 10;
/// In place of NULL, which would leave a hole in a packed row.
const NO_OWNER: i64 = -1;

async fn packed(conn: &mut Connection, mut query: QueryBuilder<Db>) -> Result<String, StoreError> {
    let packed: Option<String> = query.build_query_scalar().fetch_one(conn).await?;
    Ok(packed.unwrap_or_default())
}

fn unpack(packed: &str, changes: &mut Changes) -> Result<(), StoreError> {
    let mut words = packed.split_ascii_whitespace().peekable();
    while let Some(id) = words.peek().copied() {
        let corrupt = |e: String| StoreError::Corrupt {
            table: "processes",
            id: id.to_owned(),
            source: e.into(),
        };
        let mut numbers = [0; N_COLUMNS];
        for number in &mut numbers {
            *number = words
                .next()
                .and_then(|word| word.parse().ok())
                .ok_or_else(|| corrupt("a number is missing".into()))?;
        }
        match decode(numbers).map_err(corrupt)? {
            Found::Live(process) => changes.processes.push(process),
            Found::Gone(id) => changes.processes_gone.push(id),
        }
    }
    Ok(())
}

enum Found {
    Live(ProcessRow),
    Gone(ProcessId),
}

fn decode(numbers: [i64; N_COLUMNS]) -> Result<Found, String> {
    let [
        id,
        host,
        name,
        definition,
        flag,
        managed,
        registered_at,
        incarnation,
        owner,
        gone,
    ] = numbers;
    let small = |n: i64| u32::try_from(n).map_err(|_| format!("{n} is no id"));
    let id = ProcessId(small(id)?);
    if gone != 0 {
        return Ok(Found::Gone(id));
    }
    let flag = u8::try_from(flag).map_err(|_| format!("{flag} is no flag"))?;
    Ok(Found::Live(ProcessRow {
        id,
        host: HostId(small(host)?),
        name: NameId(small(name)?),
        definition: DefinitionId(small(definition)?),
        flag: Flag::try_from(flag)?,
        managed: managed != 0,
        registered_at: UnixMillis(registered_at),
        incarnation: Revision(incarnation.cast_unsigned()),
        owner: match owner {
            NO_OWNER => None,
            owner => Some(BkProcessId(small(owner)?)),
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_row_that_is_cut_short_is_named() {
        let mut changes = Changes::default();
        let refused = unpack("4 1 1 1 1 1 1 1 -1 0 5 1 1", &mut changes).unwrap_err();
        assert_eq!(changes.processes.len(), 1);
        assert!(matches!(refused, StoreError::Corrupt { id, .. } if id == "5"));
    }
}
