//! Reads large tables: each batch of rows comes as one text, because a million of sqlx's own rows would take seconds.
//!
//! A row is its numbers, then the length of each of its texts, then the texts themselves: so a text may hold anything.
//! A batch begins after the last row of the one before, so that ids may have gaps of any size.

use super::{Connection, Statement};
use crate::{Cause, StoreError};

/// How a table is packed.
pub(crate) struct Packed<const N: usize, const T: usize> {
    pub(crate) table: &'static str,
    /// So many of the numbers, the first ones, are the key. None of these is ever negative.
    pub(crate) n_keys: usize,
    pub(crate) numbers: [&'static str; N],
    pub(crate) texts: [&'static str; T],
    /// Rows at a time. Neither database makes a text of more than 10⁹ bytes.
    pub(crate) batch: usize,
}

/// One row.
pub(crate) struct Record<'a, const N: usize, const T: usize> {
    pub(crate) numbers: [i64; N],
    pub(crate) texts: [&'a str; T],
}

impl<const N: usize, const T: usize> Packed<N, T> {
    /// All rows, in the order of the key.
    pub(crate) async fn read<R>(
        &self,
        conn: &mut Connection,
        decode: impl Fn(Record<'_, N, T>) -> Result<R, Cause>,
    ) -> Result<Vec<R>, StoreError> {
        self.batches(conn, None, decode).await
    }

    /// The rows whose key begins with this number, in the order of the rest of the key.
    pub(crate) async fn read_of<R>(
        &self,
        conn: &mut Connection,
        first: i64,
        decode: impl Fn(Record<'_, N, T>) -> Result<R, Cause>,
    ) -> Result<Vec<R>, StoreError> {
        self.batches(conn, Some(first), decode).await
    }

    async fn batches<R>(
        &self,
        conn: &mut Connection,
        first: Option<i64>,
        decode: impl Fn(Record<'_, N, T>) -> Result<R, Cause>,
    ) -> Result<Vec<R>, StoreError> {
        let mut rows = Vec::new();
        let mut last = [-1; N];
        loop {
            let row = self.select(first, &last).fetch_one(conn).await?;
            let text: Option<&str> = row.get(0)?;
            let n_before = rows.len();
            self.unpack(text.unwrap_or_default(), &mut last, |record| {
                rows.push(decode(record)?);
                Ok(())
            })?;
            if rows.len() - n_before < self.batch {
                return Ok(rows);
            }
        }
    }

    /// The query for the batch after the row with these numbers.
    fn select(&self, first: Option<i64>, last: &[i64; N]) -> Statement {
        let mut columns = Vec::from(self.numbers.map(str::to_owned));
        columns.extend(self.texts.map(|text| format!("octet_length({text})")));
        let texts: String = self.texts.map(|text| format!(" || {text}")).concat();
        let mut query = Statement::new(format!(
            "SELECT string_agg(packed, '') FROM (SELECT concat_ws(' ', {}) || ' '{texts} AS packed FROM {} WHERE ",
            columns.join(", "),
            self.table
        ));
        let mut key = 0..self.n_keys;
        if let Some(first) = first {
            query.push(self.numbers[0]).push(" = ").push_bind(first);
            query.push(" AND ");
            key.start = 1;
        }
        let columns = self.numbers[key.clone()].join(", ");
        query.push("(").push(&columns).push(") > (");
        let mut position = query.list();
        last[key].iter().for_each(|number| {
            position.push_bind(*number);
        });
        query.push(") ORDER BY ").push(&columns);
        query.push(" LIMIT ").push_bind(self.batch as i64);
        query.push(") AS batch");
        query
    }

    /// Calls `take` with each row, and leaves the last one's numbers in `last`.
    fn unpack(
        &self,
        mut packed: &str,
        last: &mut [i64; N],
        mut take: impl FnMut(Record<'_, N, T>) -> Result<(), Cause>,
    ) -> Result<(), StoreError> {
        while !packed.is_empty() {
            let record = cut(&mut packed)
                .ok_or_else(|| self.corrupt("after ", last, "it is cut short".into()))?;
            *last = record.numbers;
            take(record).map_err(|source| self.corrupt("", last, source))?;
        }
        Ok(())
    }

    fn corrupt(&self, which: &str, numbers: &[i64; N], source: Cause) -> StoreError {
        let key = numbers[..self.n_keys].iter().map(i64::to_string);
        StoreError::Corrupt {
            table: self.table,
            id: format!("{which}{}", Vec::from_iter(key).join(", ")),
            source,
        }
    }
}

/// Takes one row off the front.
fn cut<'a, const N: usize, const T: usize>(packed: &mut &'a str) -> Option<Record<'a, N, T>> {
    let mut record = Record {
        numbers: [0; N],
        texts: [""; T],
    };
    for slot in &mut record.numbers {
        *slot = number(packed)?;
    }
    let mut lengths = [0; T];
    for length in &mut lengths {
        *length = usize::try_from(number(packed)?).ok()?;
    }
    for (text, length) in record.texts.iter_mut().zip(lengths) {
        (*text, *packed) = packed.split_at_checked(length)?;
    }
    Some(record)
}

/// Takes a number and the space after it off the front.
fn number(packed: &mut &str) -> Option<i64> {
    // Numbers are short: a plain loop is faster than the search that `split_once` prepares.
    let end = packed.bytes().position(|byte| byte == b' ')?;
    let number = packed[..end].parse().ok()?;
    *packed = &packed[end + 1..];
    Some(number)
}

/// A number of a row that is an id, or anything else that is small and not negative.
pub(crate) fn small(number: i64) -> Result<u32, Cause> {
    u32::try_from(number).map_err(|_| format!("{number} is not from 0 to {}", u32::MAX).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Packed<2, 2> = Packed {
        table: "names",
        n_keys: 1,
        numbers: ["id", "host"],
        texts: ["name", "body"],
        batch: 9,
    };

    #[test]
    fn texts_may_hold_anything_and_be_empty() {
        let mut found = Vec::new();
        let mut last = [0; 2];
        let take = |row: Record<'_, 2, 2>| {
            found.push((row.numbers, row.texts.map(str::to_owned)));
            Ok(())
        };
        NAMES
            .unpack("1 -2 4 0 1 2 2 3 3 2 空''", &mut last, take)
            .unwrap();
        assert_eq!(last, [2, 3]);
        let first = ([1, -2], ["1 2 ".to_owned(), String::new()]);
        let second = ([2, 3], ["空".to_owned(), "''".to_owned()]);
        assert_eq!(found, [first, second]);
    }

    #[test]
    fn a_row_that_is_cut_short_or_not_understood_is_named() {
        let take = |row: Record<'_, 2, 2>| match row.texts[1] {
            "" => Err("it has no body".into()),
            _ => Ok(()),
        };
        for (packed, expected) in [
            ("4 9 0 1 x5 9 0 4 ", "after 4"),
            ("4 9 1 1 空", "after 0"),
            ("4 9 0 1 x5 9 1 0 x", "5"),
        ] {
            let refused = NAMES.unpack(packed, &mut [0; 2], take).unwrap_err();
            assert!(
                matches!(&refused, StoreError::Corrupt { id, .. } if id == expected),
                "{refused:?}"
            );
        }
    }
}
