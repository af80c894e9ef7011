//! Writes responses of the native API.

use api::Rows;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// The most bytes of rows in one page of a list. A page ends before the row that would exceed it, and the next page begins
/// there. A page holds at least one row.
pub(crate) const MAX_PAGE_BYTES: usize = 8 * 1024 * 1024;

/// As many of the rows as one page may hold.
pub(crate) fn fit<T: Serialize>(rows: impl IntoIterator<Item = T>) -> Rows<T> {
    Rows::within(MAX_PAGE_BYTES, rows)
}

/// Serialises a response into bytes, so that it may borrow from the fleet.
pub(crate) fn json<T: Serialize>(status: StatusCode, answer: &T) -> Response {
    let mut bytes = Vec::with_capacity(1024);
    serde_json::to_writer(&mut bytes, answer).expect("answers have only string keys");
    (status, [(header::CONTENT_TYPE, "application/json")], bytes).into_response()
}

pub(crate) fn ok<T: Serialize>(answer: &T) -> Response {
    json(StatusCode::OK, answer)
}
