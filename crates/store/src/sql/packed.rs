//! Reading many rows at once: each piece of a table comes as one text, because a million of sqlx's own rows would take
//! seconds.
//!
//! A row is its numbers, then the length of each of its texts, then the texts themselves: so a text may hold anything.
//! A piece begins after the last row of the one before, so that ids may have gaps of any size.

use super::rows::int;
use super::{Connection, Statement, Wanted};
use crate::{Cause, StoreError};

/// How a table is packed. It has a column `revision` as well.
pub(crate) struct Packed<const N: usize, const T: usize> {
    pub(crate) table: &'static str,
    /// So many of the numbers, the first ones, are the key. None of these is ever negative.
    pub(crate) n_keys: usize,
    pub(crate) numbers: [&'static str; N],
    pub(crate) texts: [&'static str; T],
    /// The column that marks a tombstone, or 0 where there are none.
    pub(crate) gone: &'static str,
    /// Rows at a time. Neither database makes a text of more than 10⁹ bytes.
    pub(crate) piece: usize,
}

/// One row.
pub(crate) struct Record<'a, const N: usize, const T: usize> {
    pub(crate) gone: bool,
    pub(crate) numbers: [i64; N],
    pub(crate) texts: [&'a str; T],
}

/// The row that the next piece begins after.
struct Last<const N: usize> {
    revision: i64,
    numbers: [i64; N],
}

#[derive(Clone, Copy)]
enum Head {
    None,
    RevisionAndGone,
}

/// Which rows a piece is taken from.
#[derive(Clone, Copy)]
enum Pick {
    /// By key.
    Live,
    /// Those whose key begins with this number, by the rest of it.
    Of(i64),
    /// Changed after this revision, by revision and key.
    After(i64),
    /// Changed by this one, by key. SQLite finds no position by revision and key together.
    By(i64),
}

impl Pick {
    /// What a row begins with: where it is known, it need not be told of each.
    fn head(self) -> Head {
        match self {
            Self::Live | Self::Of(_) => Head::None,
            Self::After(_) | Self::By(_) => Head::RevisionAndGone,
        }
    }

    /// What comes next, if a piece was full or not.
    fn next(self, was_full: bool, last_revision: i64) -> Option<Self> {
        match (self, was_full) {
            (Self::Live | Self::Of(_) | Self::By(_), true) => Some(self),
            (Self::After(_), true) => Some(Self::By(last_revision)),
            (Self::By(revision), false) => Some(Self::After(revision)),
            (Self::Live | Self::Of(_) | Self::After(_), false) => None,
        }
    }
}

impl<const N: usize, const T: usize> Packed<N, T> {
    pub(crate) async fn read(
        &self,
        conn: &mut Connection,
        wanted: Wanted,
        take: impl FnMut(Record<'_, N, T>) -> Result<(), Cause>,
    ) -> Result<(), StoreError> {
        let pick = match wanted {
            Wanted::Live => Pick::Live,
            Wanted::Since(since) => Pick::After(int(since.0)),
        };
        self.pieces(conn, pick, take).await
    }

    /// The rows whose key begins with this number.
    pub(crate) async fn read_of(
        &self,
        conn: &mut Connection,
        first: i64,
        take: impl FnMut(Record<'_, N, T>) -> Result<(), Cause>,
    ) -> Result<(), StoreError> {
        self.pieces(conn, Pick::Of(first), take).await
    }

    async fn pieces(
        &self,
        conn: &mut Connection,
        first: Pick,
        mut take: impl FnMut(Record<'_, N, T>) -> Result<(), Cause>,
    ) -> Result<(), StoreError> {
        let mut next = Some(first);
        let mut last = Last {
            revision: -1,
            numbers: [-1; N],
        };
        while let Some(pick) = next {
            let row = self.piece(pick, &last).fetch_one(conn).await?;
            let text: Option<&str> = row.get(0)?;
            let text = text.unwrap_or_default();
            let n_rows = self.unpack(text, pick.head(), &mut last, &mut take)?;
            next = pick.next(n_rows == self.piece, last.revision);
        }
        Ok(())
    }

    /// The query for the piece after the last row.
    fn piece(&self, pick: Pick, last: &Last<N>) -> Statement {
        let mut query = Statement::new(self.select(pick.head()));
        let key = match pick {
            Pick::Live => {
                query.push(self.gone).push(" = 0");
                0..self.n_keys
            }
            Pick::Of(first) => {
                query.push(self.numbers[0]).push(" = ").push_bind(first);
                1..self.n_keys
            }
            Pick::After(revision) => {
                query.push("revision > ").push_bind(revision);
                query.push(" ORDER BY revision, ");
                0..self.n_keys
            }
            Pick::By(revision) => {
                query.push("revision = ").push_bind(revision);
                0..self.n_keys
            }
        };
        let columns = self.numbers[key.clone()].join(", ");
        if !matches!(pick, Pick::After(_)) {
            query.push(" AND (").push(&columns).push(") > (");
            let mut position = query.list();
            last.numbers[key].iter().for_each(|number| {
                position.push_bind(*number);
            });
            query.push(") ORDER BY ");
        }
        query.push(&columns);
        query.push(" LIMIT ").push_bind(self.piece as i64);
        query.push(") AS piece");
        query
    }

    /// Everything up to the conditions.
    fn select(&self, head: Head) -> String {
        let mut words = match head {
            Head::None => Vec::new(),
            Head::RevisionAndGone => vec!["revision".to_owned(), self.gone.to_owned()],
        };
        words.extend(self.numbers.map(str::to_owned));
        words.extend(self.texts.map(|text| format!("octet_length({text})")));
        let texts: String = self.texts.map(|text| format!(" || {text}")).concat();
        format!(
            "SELECT string_agg(packed, '') FROM (SELECT concat_ws(' ', {}) || ' '{texts} AS packed FROM {} WHERE ",
            words.join(", "),
            self.table
        )
    }

    /// Hands over each row, leaves the last one's numbers in `last`, and answers how many there were.
    fn unpack(
        &self,
        mut packed: &str,
        head: Head,
        last: &mut Last<N>,
        take: &mut impl FnMut(Record<'_, N, T>) -> Result<(), Cause>,
    ) -> Result<usize, StoreError> {
        let mut n_rows = 0;
        while !packed.is_empty() {
            let (revision, record) = cut(&mut packed, head)
                .ok_or_else(|| self.corrupt("after ", last, "it is cut short".into()))?;
            *last = Last {
                revision,
                numbers: record.numbers,
            };
            take(record).map_err(|source| self.corrupt("", last, source))?;
            n_rows += 1;
        }
        Ok(n_rows)
    }

    fn corrupt(&self, which: &str, row: &Last<N>, source: Cause) -> StoreError {
        let key = row.numbers[..self.n_keys].iter().map(i64::to_string);
        StoreError::Corrupt {
            table: self.table,
            id: format!("{which}{}", Vec::from_iter(key).join(", ")),
            source,
        }
    }
}

/// Takes one row off the front, with its revision if that is told.
fn cut<'a, const N: usize, const T: usize>(
    packed: &mut &'a str,
    head: Head,
) -> Option<(i64, Record<'a, N, T>)> {
    let (revision, gone) = match head {
        Head::None => (0, false),
        Head::RevisionAndGone => (number(packed)?, number(packed)? != 0),
    };
    let mut numbers = [0; N];
    for place in &mut numbers {
        *place = number(packed)?;
    }
    let mut lengths = [0; T];
    for length in &mut lengths {
        *length = usize::try_from(number(packed)?).ok()?;
    }
    let mut texts = [""; T];
    for (text, length) in texts.iter_mut().zip(lengths) {
        (*text, *packed) = packed.split_at_checked(length)?;
    }
    let record = Record {
        gone,
        numbers,
        texts,
    };
    Some((revision, record))
}

/// Takes a number and the space after it off the front.
fn number(packed: &mut &str) -> Option<i64> {
    // Numbers are short: a plain walk is faster than the search that `split_once` prepares.
    let end = packed.bytes().position(|byte| byte == b' ')?;
    let word = packed[..end].parse().ok()?;
    *packed = &packed[end + 1..];
    Some(word)
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
        gone: "gone",
        piece: 9,
    };

    const NONE: Last<2> = Last {
        revision: 0,
        numbers: [0; 2],
    };

    #[test]
    fn texts_may_hold_anything_and_be_empty() {
        let mut found = Vec::new();
        let mut last = NONE;
        let n_rows = NAMES.unpack(
            "7 0 1 -2 4 0 1 2 8 1 2 3 3 2 空''",
            Head::RevisionAndGone,
            &mut last,
            &mut |row: Record<'_, 2, 2>| {
                found.push((row.gone, row.numbers, row.texts.map(str::to_owned)));
                Ok(())
            },
        );
        assert_eq!(n_rows.unwrap(), 2);
        assert_eq!((last.revision, last.numbers), (8, [2, 3]));
        let first = (false, [1, -2], ["1 2 ".to_owned(), String::new()]);
        let second = (true, [2, 3], ["空".to_owned(), "''".to_owned()]);
        assert_eq!(found, [first, second]);
    }

    #[test]
    fn a_row_that_is_cut_short_or_not_understood_is_named() {
        let mut take = |row: Record<'_, 2, 2>| match row.texts[1] {
            "" => Err("it has no body".into()),
            _ => Ok(()),
        };
        for (packed, expected) in [
            ("4 9 0 1 x5 9 0 4 ", "after 4"),
            ("4 9 1 1 空", "after 0"),
            ("4 9 0 1 x5 9 1 0 x", "5"),
        ] {
            let refused = NAMES
                .unpack(packed, Head::None, &mut { NONE }, &mut take)
                .unwrap_err();
            assert!(
                matches!(&refused, StoreError::Corrupt { id, .. } if id == expected),
                "{refused:?}"
            );
        }
    }
}
