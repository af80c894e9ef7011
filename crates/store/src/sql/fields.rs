//! Reading a row's columns, so that whatever cannot be read names its table and row.

use serde::de::DeserializeOwned;

use super::Row;
use super::connection::Column;
use crate::{Cause, StoreError};

/// One row of a table whose first columns are its key.
pub(crate) struct Fields<'r> {
    table: &'static str,
    n_keys: usize,
    row: &'r Row,
}

impl<'r> Fields<'r> {
    pub(crate) fn new(table: &'static str, n_keys: usize, row: &'r Row) -> Self {
        Self { table, n_keys, row }
    }

    pub(crate) fn get<T: Column<'r>>(&self, column: usize) -> Result<T, StoreError> {
        self.row.get(column).map_err(|e| self.corrupt(e))
    }

    pub(crate) fn number<T: TryFrom<i64>>(&self, column: usize) -> Result<T, StoreError>
    where
        T::Error: Into<Cause>,
    {
        T::try_from(self.get(column)?).map_err(|e| self.corrupt(e))
    }

    /// The bits of a number that SQL could only keep signed.
    pub(crate) fn unsigned(&self, column: usize) -> Result<u64, StoreError> {
        Ok(self.get::<i64>(column)?.cast_unsigned())
    }

    pub(crate) fn text(&self, column: usize) -> Result<String, StoreError> {
        self.get(column)
    }

    pub(crate) fn flag(&self, column: usize) -> Result<bool, StoreError> {
        Ok(self.get::<i64>(column)? != 0)
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
            let number = self.row.get::<i64>(column).map(|n| n.to_string());
            let text = || self.row.get::<String>(column);
            number.or_else(|_| text()).unwrap_or_else(|_| "?".into())
        };
        StoreError::Corrupt {
            table: self.table,
            id: (0..self.n_keys).map(key).collect::<Vec<_>>().join(", "),
            source: source.into(),
        }
    }
}
