//! A statement before it is sent: its text and its values, the same for both databases.
//!
//! Generated texts have `?` for each value. SQLite takes that as it is (it would search a list of all names for each name such
//! as `$1234`); for PostgreSQL the numbers are put in when the statement is sent. Hand-written texts have `$1`, which both
//! understand.
//!
//! Rows of values are `VALUES (?, ?), (?, ?)` for SQLite. PostgreSQL gets an array for each column, so that the text is the same
//! for any number of rows: one prepared statement for each table, and a parameter for each column instead of each value.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use sqlx::postgres::PgArguments;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, AssertSqlSafe};

use super::connection::{Column, Connection, Row};
use crate::StoreError;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Int(Option<i64>),
    Text(Option<String>),
    /// A text that many rows share.
    Shared(Option<Arc<str>>),
    Bytes(Option<Vec<u8>>),
}

#[derive(Debug)]
pub(crate) struct Statement {
    text: Cow<'static, str>,
    values: Vec<Value>,
    rows: Option<RowValues>,
    /// Some of its rows have more than values.
    has_expressions: bool,
    is_cached: bool,
}

/// Rows in a statement: where their text is, and their values.
#[derive(Debug)]
struct RowValues {
    text: Range<usize>,
    values: Range<usize>,
    n_columns: usize,
}

/// A list of values in a statement, separated by commas.
pub(crate) struct Tuple<'s> {
    statement: &'s mut Statement,
    is_first: bool,
}

impl Value {
    /// The value as PostgreSQL stores it.
    pub(crate) fn without_nul(self) -> Self {
        match self {
            Self::Text(Some(text)) if text.contains('\0') => {
                Self::Text(Some(without_nul(&text).into_owned()))
            }
            Self::Shared(Some(text)) if text.contains('\0') => {
                Self::Shared(Some(without_nul(&text).into()))
            }
            value @ (Self::Int(_) | Self::Text(_) | Self::Shared(_) | Self::Bytes(_)) => value,
        }
    }

    pub(super) fn has_nul(&self) -> bool {
        match self {
            Self::Text(Some(text)) => text.contains('\0'),
            Self::Shared(Some(text)) => text.contains('\0'),
            Self::Text(None) | Self::Shared(None) | Self::Int(_) | Self::Bytes(_) => false,
        }
    }
}

impl Statement {
    pub(crate) fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            text: text.into(),
            values: Vec::new(),
            rows: None,
            has_expressions: false,
            is_cached: true,
        }
    }

    /// The next value of a text that says `$1`, `$2`, …
    pub(crate) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    pub(crate) fn push(&mut self, text: &str) -> &mut Self {
        self.text.to_mut().push_str(text);
        self
    }

    /// A value at this position of the text.
    pub(crate) fn push_bind(&mut self, value: impl Into<Value>) -> &mut Self {
        self.text.to_mut().push('?');
        self.values.push(value.into());
        self
    }

    pub(crate) fn list(&mut self) -> Tuple<'_> {
        Tuple {
            statement: self,
            is_first: true,
        }
    }

    /// VALUES (…), (…). Once in a statement.
    pub(crate) fn push_values<T>(
        &mut self,
        rows: &[T],
        mut bind: impl FnMut(&mut Tuple<'_>, &T),
    ) -> &mut Self {
        let (text, values) = (self.text.len(), self.values.len());
        for (n, row) in rows.iter().enumerate() {
            self.push(if n == 0 { "VALUES (" } else { ", (" });
            bind(&mut self.list(), row);
            self.push(")");
        }
        self.rows = Some(RowValues {
            text: text..self.text.len(),
            values: values..self.values.len(),
            n_columns: (self.values.len() - values) / rows.len().max(1),
        });
        self
    }

    /// Not to be cached by the connection, because its list may have any length.
    pub(crate) fn uncached(mut self) -> Self {
        self.is_cached = false;
        self
    }

    /// Answers how many rows it changed.
    pub(crate) async fn execute(self, conn: &mut Connection) -> Result<u64, StoreError> {
        conn.execute(self).await
    }

    pub(crate) async fn fetch_all(self, conn: &mut Connection) -> Result<Vec<Row>, StoreError> {
        conn.fetch_all(self).await
    }

    pub(crate) async fn fetch_optional(
        self,
        conn: &mut Connection,
    ) -> Result<Option<Row>, StoreError> {
        conn.fetch_optional(self).await
    }

    /// The one row of a query that always has one.
    pub(crate) async fn fetch_one(self, conn: &mut Connection) -> Result<Row, StoreError> {
        let row = conn.fetch_optional(self).await?;
        row.ok_or_else(|| StoreError::unavailable("a row that always exists is missing"))
    }

    /// The first column of the row, if there is one.
    pub(crate) async fn fetch_value<T>(self, conn: &mut Connection) -> Result<Option<T>, StoreError>
    where
        T: for<'r> Column<'r>,
    {
        let row = self.fetch_optional(conn).await?;
        Ok(row.map(|row| row.get(0)).transpose()?)
    }

    pub(super) fn is_cached(&self) -> bool {
        self.is_cached
    }

    pub(super) fn values(&self) -> &[Value] {
        &self.values
    }

    pub(super) fn for_sqlite(
        self,
    ) -> Result<(AssertSqlSafe<Cow<'static, str>>, SqliteArguments), StoreError> {
        let mut arguments = SqliteArguments::default();
        arguments.reserve(self.values.len(), 0);
        for value in self.values {
            match value {
                Value::Int(value) => arguments.add(value),
                Value::Text(value) => arguments.add(value),
                Value::Shared(value) => arguments.add(value),
                Value::Bytes(value) => arguments.add(value),
            }
            .map_err(StoreError::unavailable)?;
        }
        Ok((AssertSqlSafe(self.text), arguments))
    }

    pub(super) fn for_postgres(
        self,
    ) -> Result<(AssertSqlSafe<Cow<'static, str>>, PgArguments), StoreError> {
        let mut arguments = PgArguments::default();
        let as_arrays = |rows: &RowValues| rows.n_columns > 0 && !self.has_expressions;
        let Some(rows) = self.rows.filter(as_arrays) else {
            add_each(&mut arguments, self.values)?;
            return Ok((AssertSqlSafe(numbered(self.text)), arguments));
        };
        let mut before = self.values;
        let mut of_rows = before.split_off(rows.values.start);
        let after = of_rows.split_off(rows.values.len());
        let text = with_arrays(&self.text, &rows, &of_rows);
        add_each(&mut arguments, before)?;
        add_arrays(&mut arguments, rows.n_columns, of_rows)?;
        add_each(&mut arguments, after)?;
        Ok((AssertSqlSafe(numbered(text.into())), arguments))
    }
}

impl Tuple<'_> {
    /// An expression, which a row in an array cannot have.
    pub(crate) fn push(&mut self, text: &str) -> &mut Self {
        self.comma();
        self.statement.push(text);
        self.statement.has_expressions = true;
        self
    }

    pub(crate) fn push_bind(&mut self, value: impl Into<Value>) -> &mut Self {
        self.comma();
        self.statement.push_bind(value);
        self
    }

    fn comma(&mut self) {
        if !self.is_first {
            self.statement.push(", ");
        }
        self.is_first = false;
    }
}

fn add_each(arguments: &mut PgArguments, values: Vec<Value>) -> Result<(), StoreError> {
    arguments.reserve(values.len(), values.len() * 8);
    for value in values {
        match value {
            Value::Int(value) => arguments.add(value),
            Value::Text(value) => arguments.add(value.as_deref().map(without_nul)),
            Value::Shared(value) => arguments.add(value.as_deref().map(without_nul)),
            Value::Bytes(value) => arguments.add(value),
        }
        .map_err(StoreError::unavailable)?;
    }
    Ok(())
}

/// Adds an array for each column.
fn add_arrays(
    arguments: &mut PgArguments,
    n_columns: usize,
    values: Vec<Value>,
) -> Result<(), StoreError> {
    for column in 0..n_columns {
        let values = values.iter().skip(column).step_by(n_columns);
        match ColumnType::of(values.clone().next()) {
            ColumnType::Int => {
                let numbers = values.map(|value| match value {
                    Value::Int(number) => *number,
                    Value::Text(_) | Value::Shared(_) | Value::Bytes(_) => None,
                });
                arguments.add(Vec::from_iter(numbers))
            }
            ColumnType::Text => {
                let texts = values.map(|value| match value {
                    Value::Text(text) => text.as_deref().map(without_nul),
                    Value::Shared(text) => text.as_deref().map(without_nul),
                    Value::Int(_) | Value::Bytes(_) => None,
                });
                arguments.add(Vec::from_iter(texts))
            }
            ColumnType::Bytes => {
                let bytes = values.map(|value| match value {
                    Value::Bytes(bytes) => bytes.as_deref(),
                    Value::Int(_) | Value::Text(_) | Value::Shared(_) => None,
                });
                arguments.add(Vec::from_iter(bytes))
            }
        }
        .map_err(StoreError::unavailable)?;
    }
    Ok(())
}

/// The types of columns. Every row has the same.
#[derive(Debug, Clone, Copy)]
enum ColumnType {
    Int,
    Text,
    Bytes,
}

impl ColumnType {
    fn of(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Int(_)) | None => Self::Int,
            Some(Value::Text(_) | Value::Shared(_)) => Self::Text,
            Some(Value::Bytes(_)) => Self::Bytes,
        }
    }

    fn array(self) -> &'static str {
        match self {
            Self::Int => "?::BIGINT[]",
            Self::Text => "?::TEXT[]",
            Self::Bytes => "?::BYTEA[]",
        }
    }
}

/// The text with arrays in place of its rows.
fn with_arrays(text: &str, rows: &RowValues, values: &[Value]) -> String {
    let columns = values.iter().take(rows.n_columns);
    let arrays = columns.map(|value| ColumnType::of(Some(value)).array());
    let names = (1..=rows.n_columns).map(|n| format!("column{n}"));
    let (before, after) = (&text[..rows.text.start], &text[rows.text.end..]);
    format!(
        "{before}SELECT * FROM UNNEST({}) AS u ({}){after}",
        Vec::from_iter(arrays).join(", "),
        Vec::from_iter(names).join(", ")
    )
}

/// `?, ?` as `$1, $2`. No statement has a question mark of another meaning.
fn numbered(text: Cow<'static, str>) -> Cow<'static, str> {
    if !text.contains('?') {
        return text;
    }
    let mut numbered = String::with_capacity(text.len() * 2);
    for (n, part) in text.split('?').enumerate() {
        if n > 0 {
            write!(numbered, "${n}").expect("writing to a String cannot fail");
        }
        numbered.push_str(part);
    }
    numbered.into()
}

/// PostgreSQL refuses a text with a NUL. Only free text of a caller can contain one; names cannot.
fn without_nul(text: &str) -> Cow<'_, str> {
    match text.contains('\0') {
        true => text.replace('\0', "\u{fffd}").into(),
        false => text.into(),
    }
}

/// Conversions into [`Value`], each also from an `Option`.
macro_rules! values {
    ($($from:ty => $kind:ident($into:expr),)+) => {
        $(
            impl From<$from> for Value {
                fn from(value: $from) -> Self {
                    Self::$kind(Some($into(value)))
                }
            }

            impl From<Option<$from>> for Value {
                fn from(value: Option<$from>) -> Self {
                    Self::$kind(value.map($into))
                }
            }
        )+
    };
}

values! {
    i64 => Int(std::convert::identity),
    String => Text(std::convert::identity),
    &str => Text(str::to_owned),
    Arc<str> => Shared(std::convert::identity),
    Vec<u8> => Bytes(std::convert::identity),
    &[u8] => Bytes(<[u8]>::to_vec),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_numbered_in_the_order_in_which_they_are_bound() {
        let mut statement = Statement::new("SELECT a FROM t WHERE a > ");
        statement.push_bind(1).push(" AND (b, c) IN (");
        statement.push_values(&[2, 3], |tuple, n| {
            tuple.push_bind(*n).push_bind("x");
        });
        statement.push(") AND d < ").push_bind(4);
        assert_eq!(
            statement.text,
            "SELECT a FROM t WHERE a > ? AND (b, c) IN (VALUES (?, ?), (?, ?)) AND d < ?"
        );
        let x = || Value::Text(Some("x".into()));
        let n = |n| Value::Int(Some(n));
        assert_eq!(statement.values, [n(1), n(2), x(), n(3), x(), n(4)]);
        let (text, arguments) = statement.for_postgres().unwrap();
        assert_eq!(
            text.0,
            "SELECT a FROM t WHERE a > $1 AND (b, c) IN (SELECT * FROM UNNEST($2::BIGINT[], $3::TEXT[]) \
             AS u (column1, column2)) AND d < $4"
        );
        assert_eq!(arguments.len(), 4);
    }
}
