//! Reads a row's columns; an error names the table and the row.

use serde::de::DeserializeOwned;

use super::Row;
use super::connection::Column;
use super::log::{LoggedTable, LoggedValue};
use super::packed::Record;
use crate::{Cause, StoreError};

/// One row, from its table or from the commit log.
pub(crate) struct Fields<'v, 'r> {
    table: &'static str,
    /// How many of the first columns are the key.
    n_keys: usize,
    source: Source<'v, 'r>,
}

#[derive(Clone, Copy)]
enum Source<'v, 'r> {
    Table(&'r Row),
    Log(&'v [LoggedValue<'r>]),
}

impl<'v, 'r> Fields<'v, 'r> {
    pub(crate) fn new(table: &'static str, n_keys: usize, row: &'r Row) -> Self {
        Self {
            table,
            n_keys,
            source: Source::Table(row),
        }
    }

    pub(crate) fn logged(table: LoggedTable, values: &'v [LoggedValue<'r>]) -> Self {
        Self {
            table: table.name(),
            n_keys: table.n_keys(),
            source: Source::Log(values),
        }
    }

    pub(crate) fn get<T: Column<'r>>(&self, column: usize) -> Result<T, StoreError> {
        self.try_get(column).map_err(|e| self.corrupt(e))
    }

    /// The value of a column that may be NULL. Rows that were logged before the column existed do not have it.
    pub(crate) fn added<T>(&self, column: usize) -> Result<Option<T>, StoreError>
    where
        Option<T>: Column<'r>,
    {
        match self.source {
            Source::Log(values) if values.len() <= column => Ok(None),
            Source::Log(_) | Source::Table(_) => self.get(column),
        }
    }

    fn try_get<T: Column<'r>>(&self, column: usize) -> Result<T, Cause> {
        match self.source {
            Source::Table(row) => Ok(row.get(column)?),
            Source::Log(values) => {
                T::from_logged(*values.get(column).ok_or("a column is missing")?)
            }
        }
    }

    /// Decodes a logged row of a table that is read packed: its numbers come first, then its texts.
    pub(crate) fn packed<const N: usize, const T: usize, R>(
        &self,
        decode: impl FnOnce(Record<'r, N, T>) -> Result<R, Cause>,
    ) -> Result<R, StoreError> {
        let mut record = Record {
            numbers: [0; N],
            texts: [""; T],
        };
        for (column, number) in record.numbers.iter_mut().enumerate() {
            *number = self.get(column)?;
        }
        for (column, text) in (N..).zip(&mut record.texts) {
            *text = self.get(column)?;
        }
        decode(record).map_err(|e| self.corrupt(e))
    }

    pub(crate) fn number<T: TryFrom<i64>>(&self, column: usize) -> Result<T, StoreError>
    where
        T::Error: Into<Cause>,
    {
        T::try_from(self.get(column)?).map_err(|e| self.corrupt(e))
    }

    /// An unsigned number that SQL stores signed.
    pub(crate) fn unsigned(&self, column: usize) -> Result<u64, StoreError> {
        Ok(self.get::<i64>(column)?.cast_unsigned())
    }

    pub(crate) fn text(&self, column: usize) -> Result<String, StoreError> {
        self.get(column)
    }

    pub(crate) fn json<T: DeserializeOwned>(&self, column: usize) -> Result<T, StoreError> {
        serde_json::from_str(self.get(column)?).map_err(|e| self.corrupt(e))
    }

    pub(crate) fn parse<T, E: Into<Cause>>(
        &self,
        column: usize,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        parse(self.get(column)?).map_err(|e| self.corrupt(e))
    }

    pub(crate) fn corrupt(&self, source: impl Into<Cause>) -> StoreError {
        let key = |column| {
            let number = self.try_get::<i64>(column).map(|n| n.to_string());
            let text = || self.try_get::<String>(column);
            number.or_else(|_| text()).unwrap_or_else(|_| "?".into())
        };
        StoreError::Corrupt {
            table: self.table,
            id: (0..self.n_keys).map(key).collect::<Vec<_>>().join(", "),
            source: source.into(),
        }
    }
}
