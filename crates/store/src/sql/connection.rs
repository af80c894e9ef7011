//! A connection to either database, and the rows that come from it.

use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Postgres, Row as _, Sqlite, Type};

use super::log::LoggedValue;
use super::statement::Statement;
use crate::postgres::{Watchdog, in_time};
use crate::{Cause, StoreError, sqlite};

/// A connection of a pool.
///
/// A statement that was abandoned, because its caller was cancelled or the server did not answer, may still be answered later:
/// such a connection is closed instead of returned to the pool.
pub(crate) struct Connection {
    /// None once it is returned or closed.
    inner: Option<Inner>,
    is_reusable: bool,
}

/// How many pages of the file SQLite keeps in memory for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheSize {
    Usual,
    /// For a commit of very many rows.
    Wide,
}

enum Inner {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>, Watchdog),
}

impl From<PoolConnection<Sqlite>> for Connection {
    fn from(conn: PoolConnection<Sqlite>) -> Self {
        Self {
            inner: Some(Inner::Sqlite(conn)),
            is_reusable: true,
        }
    }
}

/// Sends a statement with one of sqlx's methods, such as `fetch_all`.
macro_rules! send {
    ($conn:expr, $statement:expr, $method:ident) => {{
        let is_cached = $statement.is_cached();
        match $conn.inner.as_mut().expect("it is not returned") {
            Inner::Sqlite(conn) => {
                let (text, arguments) = $statement.for_sqlite()?;
                let query = sqlx::query_with(text, arguments).persistent(is_cached);
                Answer::Sqlite(query.$method(&mut **conn).await?)
            }
            Inner::Postgres(conn, watchdog) => {
                let (text, arguments) = $statement.for_postgres()?;
                let query = sqlx::query_with(text, arguments).persistent(is_cached);
                let was_reusable = std::mem::replace(&mut $conn.is_reusable, false);
                let answer = watchdog.watch(query.$method(&mut **conn)).await;
                $conn.is_reusable = was_reusable && answer.is_ok();
                Answer::Postgres(answer?)
            }
        }
    }};
}

enum Answer<S, P> {
    Sqlite(S),
    Postgres(P),
}

impl Connection {
    pub(crate) fn postgres(conn: PoolConnection<Postgres>, watchdog: Watchdog) -> Self {
        Self {
            inner: Some(Inner::Postgres(conn, watchdog)),
            is_reusable: true,
        }
    }

    pub(super) async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        Ok(match send!(self, statement, execute) {
            Answer::Sqlite(done) => done.rows_affected(),
            Answer::Postgres(done) => done.rows_affected(),
        })
    }

    pub(super) async fn fetch_all(&mut self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        Ok(match send!(self, statement, fetch_all) {
            Answer::Sqlite(rows) => rows.into_iter().map(Row::Sqlite).collect(),
            Answer::Postgres(rows) => rows.into_iter().map(Row::Postgres).collect(),
        })
    }

    pub(super) async fn fetch_optional(
        &mut self,
        statement: Statement,
    ) -> Result<Option<Row>, StoreError> {
        Ok(match send!(self, statement, fetch_optional) {
            Answer::Sqlite(row) => row.map(Row::Sqlite),
            Answer::Postgres(row) => row.map(Row::Postgres),
        })
    }

    /// Runs several statements, or one that cannot be prepared. On PostgreSQL it fails after `patience`.
    pub(crate) async fn run(
        &mut self,
        text: &'static str,
        patience: Duration,
    ) -> Result<(), StoreError> {
        match self.inner.as_mut().expect("it is not returned") {
            Inner::Sqlite(conn) => {
                sqlx::raw_sql(text).execute(&mut **conn).await?;
            }
            Inner::Postgres(conn, _) => {
                let was_reusable = std::mem::replace(&mut self.is_reusable, false);
                in_time(patience, sqlx::raw_sql(text).execute(&mut **conn)).await?;
                self.is_reusable = was_reusable;
            }
        }
        Ok(())
    }

    /// Lets SQLite keep more pages in memory, or no more than usual: the others are freed at once.
    pub(crate) async fn set_cache(&mut self, size: CacheSize) -> Result<(), StoreError> {
        if let Some(Inner::Sqlite(conn)) = &mut self.inner {
            let pragma = match size {
                CacheSize::Usual => sqlite::USUAL_CACHE,
                CacheSize::Wide => sqlite::WIDE_CACHE,
            };
            sqlx::raw_sql(pragma).execute(&mut **conn).await?;
        }
        Ok(())
    }

    /// Whether a drop returns it to the pool: not in the middle of a transaction.
    pub(crate) fn set_reusable(&mut self, is_reusable: bool) {
        self.is_reusable = is_reusable;
    }

    /// How many rows a statement should have at most. A cached statement of a thousand rows takes megabytes in PostgreSQL, for
    /// each table and connection.
    pub(super) fn most_rows(&self) -> usize {
        match self.inner.as_ref().expect("it is not returned") {
            Inner::Sqlite(_) => usize::MAX,
            Inner::Postgres(..) => 256,
        }
    }

    /// How many rows go into one statement as arrays; None where they are no arrays.
    pub(super) fn most_in_arrays(&self) -> Option<usize> {
        match self.inner.as_ref().expect("it is not returned") {
            Inner::Sqlite(_) => None,
            Inner::Postgres(..) => Some(4096),
        }
    }

    /// Whether the database cannot store a NUL in a text.
    pub(super) fn replaces_nul(&self) -> bool {
        matches!(self.inner, Some(Inner::Postgres(..)))
    }

    /// The clock of the database in milliseconds, as an SQL expression.
    pub(crate) fn now(&self) -> &'static str {
        match self.inner.as_ref().expect("it is not returned") {
            Inner::Sqlite(_) => "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
            Inner::Postgres(..) => "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.is_reusable {
            return;
        }
        match self.inner.take() {
            Some(Inner::Sqlite(conn)) => drop(conn.detach()),
            Some(Inner::Postgres(conn, _)) => drop(conn.detach()),
            None => {}
        }
    }
}

pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    pub(crate) fn get<'r, T: Column<'r>>(&'r self, column: usize) -> Result<T, sqlx::Error> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
    }
}

/// A type that a column of either database, or a value of the commit log, can be read as.
pub(crate) trait Column<'r>:
    Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>
{
    fn from_logged(value: LoggedValue<'r>) -> Result<Self, Cause>;
}

impl<'r> Column<'r> for i64 {
    fn from_logged(value: LoggedValue<'r>) -> Result<Self, Cause> {
        match value {
            LoggedValue::Int(number) => Ok(number),
            LoggedValue::Null | LoggedValue::Bytes(_) => Err("a value is no number".into()),
        }
    }
}

impl<'r> Column<'r> for &'r [u8] {
    fn from_logged(value: LoggedValue<'r>) -> Result<Self, Cause> {
        match value {
            LoggedValue::Bytes(bytes) => Ok(bytes),
            LoggedValue::Null | LoggedValue::Int(_) => {
                Err("a value is neither text nor bytes".into())
            }
        }
    }
}

impl<'r> Column<'r> for Vec<u8> {
    fn from_logged(value: LoggedValue<'r>) -> Result<Self, Cause> {
        <&[u8]>::from_logged(value).map(<[u8]>::to_vec)
    }
}

impl<'r> Column<'r> for &'r str {
    fn from_logged(value: LoggedValue<'r>) -> Result<Self, Cause> {
        Ok(str::from_utf8(<&[u8]>::from_logged(value)?)?)
    }
}

impl<'r> Column<'r> for String {
    fn from_logged(value: LoggedValue<'r>) -> Result<Self, Cause> {
        <&str>::from_logged(value).map(str::to_owned)
    }
}

impl<'r, T: Column<'r>> Column<'r> for Option<T>
where
    Self: Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>,
{
    fn from_logged(value: LoggedValue<'r>) -> Result<Self, Cause> {
        match value {
            LoggedValue::Null => Ok(None),
            value => T::from_logged(value).map(Some),
        }
    }
}
