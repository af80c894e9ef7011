//! Writes and deletes many rows in few statements.
//!
//! Lists and multi-row VALUES come in a handful of sizes only, so that each statement is prepared once and then found in the
//! connection's cache. PostgreSQL takes rows as arrays, which need no sizes.

use std::cmp::Ordering;

use super::log::{LogEntry, LoggedTable, RowKind};
use super::{Connection, Statement, Tuple};
use crate::StoreError;

/// Rows per statement. SQLite takes 32,766 parameters and PostgreSQL 65,535: 1024 rows of up to 31 columns.
/// Most commits have a few rows, and each statement is a round trip to the server.
const CHUNKS: [usize; 9] = [1024, 256, 64, 16, 8, 4, 3, 2, 1];

/// Cuts rows into chunks of the sizes that statements are prepared for.
pub(crate) fn chunks<'r, T>(
    conn: &Connection,
    mut rows: &'r [T],
) -> impl Iterator<Item = &'r [T]> + use<'r, T> {
    let most = conn.most_rows();
    std::iter::from_fn(move || {
        let fits = |size: &usize| *size <= rows.len().min(most);
        let size = CHUNKS.into_iter().find(fits)?;
        let (chunk, rest) = rows.split_at(size);
        rows = rest;
        Some(chunk)
    })
}

/// The same for rows in [`values`], which PostgreSQL takes as arrays of any length.
pub(crate) fn row_chunks<'r, T>(
    conn: &Connection,
    mut rows: &'r [T],
) -> impl Iterator<Item = &'r [T]> + use<'r, T> {
    let most = conn.most_in_arrays();
    let mut of_sizes = chunks(conn, rows);
    std::iter::from_fn(move || {
        let Some(most) = most else {
            return of_sizes.next();
        };
        let (chunk, rest) = rows.split_at(rows.len().min(most));
        rows = rest;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// The rows sorted by key, of equal keys only the last: PostgreSQL refuses a key twice in one statement, and B-trees are
/// fastest in order.
pub(crate) fn ordered<T>(rows: &[T], compare: impl Fn(&T, &T) -> Ordering) -> Vec<&T> {
    let mut rows: Vec<&T> = rows.iter().collect();
    rows.sort_by(|a, b| compare(a, b));
    rows.dedup_by(|later, earlier| {
        let same = compare(later, earlier) == Ordering::Equal;
        if same {
            *earlier = *later;
        }
        same
    });
    rows
}

/// `head` VALUES (…), (…) `tail`, in as many statements as it takes.
pub(crate) async fn insert<T>(
    conn: &mut Connection,
    head: &str,
    tail: &str,
    rows: &[T],
    mut bind: impl FnMut(&mut Tuple<'_>, &T),
) -> Result<(), StoreError> {
    for chunk in row_chunks(conn, rows) {
        let mut statement = values(head, chunk, &mut bind);
        statement.push(tail);
        statement.execute(conn).await?;
    }
    Ok(())
}

/// Like [`insert`], and logs the bound values. The first of them are the key.
pub(crate) async fn upsert<T>(
    conn: &mut Connection,
    log: &mut LogEntry,
    table: LoggedTable,
    [head, tail]: [&str; 2],
    rows: &[T],
    mut bind: impl FnMut(&mut Tuple<'_>, &T),
) -> Result<(), StoreError> {
    for chunk in row_chunks(conn, rows) {
        let mut statement = values(head, chunk, &mut bind);
        log.add(table, RowKind::Live, chunk.len(), statement.values());
        statement.push(tail);
        statement.execute(conn).await?;
    }
    Ok(())
}

/// `head` VALUES (…), (…) with everything bound, open for more.
pub(crate) fn values<T>(
    head: &str,
    chunk: &[T],
    bind: impl FnMut(&mut Tuple<'_>, &T),
) -> Statement {
    let mut statement = Statement::new(head.to_owned());
    statement.push_values(chunk, bind);
    statement
}

/// Deletes the rows with these keys, and logs the keys.
pub(crate) async fn delete<T>(
    conn: &mut Connection,
    log: &mut LogEntry,
    table: LoggedTable,
    key: &'static str,
    keys: &[T],
    bind: impl Fn(&mut Tuple<'_>, &T),
) -> Result<(), StoreError> {
    for chunk in chunks(conn, keys) {
        let mut statement =
            Statement::new(format!("DELETE FROM {} WHERE {key} IN (", table.name()));
        let mut list = statement.list();
        chunk.iter().for_each(|key| bind(&mut list, key));
        log.add(table, RowKind::Gone, chunk.len(), statement.values());
        statement.push(")");
        statement.execute(conn).await?;
    }
    Ok(())
}

/// Deletes rows that say themselves that they are gone: they are logged like rows that are written.
pub(crate) async fn delete_empty<T>(
    conn: &mut Connection,
    log: &mut LogEntry,
    table: LoggedTable,
    key: &'static str,
    rows: &[T],
    bind_row: impl Fn(&mut Tuple<'_>, &T),
    bind_key: impl Fn(&mut Tuple<'_>, &T),
) -> Result<(), StoreError> {
    for chunk in row_chunks(conn, rows) {
        let logged = values("", chunk, &bind_row);
        log.add(table, RowKind::Live, chunk.len(), logged.values());
        let delete = format!("DELETE FROM {} WHERE ({key}) IN (", table.name());
        let mut statement = values(&delete, chunk, &bind_key);
        statement.push(")");
        statement.execute(conn).await?;
    }
    Ok(())
}

/// SQL has no unsigned numbers; the bits survive the round trip.
pub(crate) fn int(number: u64) -> i64 {
    number.cast_signed()
}
