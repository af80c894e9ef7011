//! The rows of a page, as JSON that is written once.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// Rows of `T`, each already JSON, so that the server can limit a page by its size without writing its rows twice.
#[derive(Debug, Clone)]
pub struct Rows<T> {
    written: Vec<Box<RawValue>>,
    row: PhantomData<fn() -> T>,
}

impl<T> Rows<T> {
    fn new(written: Vec<Box<RawValue>>) -> Self {
        Self {
            written,
            row: PhantomData,
        }
    }

    pub fn len(&self) -> usize {
        self.written.len()
    }

    pub fn is_empty(&self) -> bool {
        self.written.is_empty()
    }
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl<T: Serialize> Rows<T> {
    /// As many rows as fit into `max_bytes`, and at least one.
    pub fn within(max_bytes: usize, rows: impl IntoIterator<Item = T>) -> Self {
        let mut written = Vec::new();
        let mut n_bytes = 0;
        for row in rows {
            let row = to_raw_value(&row).expect("rows have only string keys");
            n_bytes += row.get().len();
            if n_bytes > max_bytes && !written.is_empty() {
                break;
            }
            written.push(row);
        }
        Self::new(written)
    }
}

impl<T> Rows<T> {
    /// Only these members of each row.
    #[must_use]
    pub fn only(self, members: &[String]) -> Self {
        let written = self.written.iter().map(|row| {
            let row: BTreeMap<&str, &RawValue> =
                serde_json::from_str(row.get()).expect("a row is an object");
            let kept = row
                .iter()
                .filter(|(name, _)| members.iter().any(|m| m == *name));
            let kept: BTreeMap<_, _> = kept.collect();
            to_raw_value(&kept).expect("members have string keys")
        });
        Self::new(written.collect())
    }
}

impl<T: DeserializeOwned> Rows<T> {
    pub fn read(&self) -> serde_json::Result<Vec<T>> {
        let rows = self.written.iter();
        rows.map(|row| serde_json::from_str(row.get())).collect()
    }
}

impl<T> Serialize for Rows<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.written.serialize(serializer)
    }
}

impl<'de, T> Deserialize<'de> for Rows<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_before_the_row_that_does_not_fit() {
        let rows = ["aaaa", "bbbb", "cccc"];
        let fit = |max| Rows::within(max, rows.map(str::to_owned)).read().unwrap();
        assert_eq!(fit(18), rows);
        assert_eq!(fit(17), ["aaaa", "bbbb"]);
        assert_eq!(fit(1), ["aaaa"], "a page holds at least one row");
    }

    #[test]
    fn rows_may_have_only_some_members() {
        #[derive(Serialize)]
        struct Row {
            b: u8,
            a: &'static str,
            c: Vec<u8>,
        }
        let row = Row {
            b: 1,
            a: "x\"",
            c: vec![2],
        };
        let rows = Rows::within(100, [row]).only(&["c".to_owned(), "a".to_owned()]);
        let text = serde_json::to_string(&rows).unwrap();
        assert_eq!(text, r#"[{"a":"x\"","c":[2]}]"#);
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let rows = Rows::within(100, [1, 2, 3]);
        let text = serde_json::to_string(&rows).unwrap();
        assert_eq!(text, "[1,2,3]");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let read: Rows<i32> = serde_json::from_value(value).unwrap();
        assert_eq!(read.read().unwrap(), [1, 2, 3]);
    }
}
