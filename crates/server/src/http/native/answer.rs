//! Writes answers of the native API.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// The most bytes of rows in one page of a list. A page ends before the row that would go beyond them, and the next page
/// begins there. A row alone is always given.
pub(crate) const MAX_PAGE_BYTES: usize = 8 * 1024 * 1024;

/// As many of the rows as one page may hold.
pub(crate) fn fit<T: Serialize>(rows: impl IntoIterator<Item = T>) -> Vec<T> {
    fit_within(rows, MAX_PAGE_BYTES)
}

fn fit_within<T: Serialize>(rows: impl IntoIterator<Item = T>, max: usize) -> Vec<T> {
    let mut written = Written(0);
    let mut page = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut written, &row).expect("answers have only string keys");
        if written.0 > max && !page.is_empty() {
            break;
        }
        page.push(row);
    }
    page
}

/// Counts bytes instead of keeping them.
struct Written(usize);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes an answer straight into its bytes, so that it may borrow from the fleet.
pub(crate) fn json<T: Serialize>(status: StatusCode, answer: &T) -> Response {
    let mut bytes = Vec::with_capacity(1024);
    serde_json::to_writer(&mut bytes, answer).expect("answers have only string keys");
    (status, [(header::CONTENT_TYPE, "application/json")], bytes).into_response()
}

pub(crate) fn ok<T: Serialize>(answer: &T) -> Response {
    json(StatusCode::OK, answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_before_the_row_that_does_not_fit() {
        let rows = ["aaaa", "bbbb", "cccc"];
        assert_eq!(fit_within(rows, 18), rows);
        assert_eq!(fit_within(rows, 17), ["aaaa", "bbbb"]);
        assert_eq!(fit_within(rows, 1), ["aaaa"], "one is always given");
    }
}
