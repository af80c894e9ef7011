//! Many rows in few statements.
//!
//! Multi-row VALUES come in a handful of sizes only, so that each statement is prepared once and then found in the
//! connection's cache.

use std::cmp::Ordering;

use model::change::Revision;

use super::{Connection, Row, Statement, Tuple, Wanted};
use crate::StoreError;

/// Rows per statement. SQLite takes 32,766 parameters and PostgreSQL 65,535: 1024 rows of up to 31 columns.
/// Most commits are of a few rows, and each statement is a way to the server and back.
const CHUNKS: [usize; 9] = [1024, 256, 64, 16, 8, 4, 3, 2, 1];

/// Cuts rows into the pieces that statements are made for.
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

/// In the order of their keys, and of equal keys only the last: PostgreSQL takes no key twice in one statement, and every
/// B-tree likes order.
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

/// `head` VALUES (…), (…) `tail`, as often as it takes.
pub(crate) async fn insert<T>(
    conn: &mut Connection,
    head: &str,
    tail: &str,
    rows: &[T],
    mut bind: impl FnMut(&mut Tuple<'_>, &T),
) -> Result<(), StoreError> {
    for chunk in chunks(conn, rows) {
        let mut statement = values(head, chunk, &mut bind);
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

/// `update`, gone = 1, revision = … WHERE `key` IN (…), as often as it takes.
pub(crate) async fn bury<T>(
    conn: &mut Connection,
    update: &str,
    key: &'static str,
    revision: Revision,
    keys: &[T],
    bind: impl Fn(&mut Tuple<'_>, &T),
) -> Result<(), StoreError> {
    for chunk in chunks(conn, keys) {
        let mut statement = Statement::new(update.to_owned());
        statement.push(", gone = 1, revision = ");
        statement.push_bind(int(revision.0));
        statement
            .push(" WHERE gone = 0 AND ")
            .push(key)
            .push(" IN (");
        let mut list = statement.list();
        chunk.iter().for_each(|key| bind(&mut list, key));
        statement.push(")");
        statement.execute(conn).await?;
    }
    Ok(())
}

/// Runs `select` with the condition that picks what is wanted, in the order of the key, and of revisions before it.
pub(crate) async fn fetch(
    conn: &mut Connection,
    select: &'static str,
    live: &'static str,
    key: &'static str,
    wanted: Wanted,
) -> Result<Vec<Row>, StoreError> {
    let mut statement = Statement::new(select);
    match wanted {
        Wanted::Live => statement.push(live).push(" ORDER BY "),
        Wanted::Since(since) => statement
            .push(" WHERE revision > ")
            .push_bind(int(since.0))
            .push(" ORDER BY revision, "),
    };
    statement.push(key);
    statement.fetch_all(conn).await
}

/// SQL has no unsigned numbers; the bits survive the round trip.
pub(crate) fn int(number: u64) -> i64 {
    number.cast_signed()
}
