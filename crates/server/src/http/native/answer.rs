//! Writes answers of the native API.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Writes an answer straight into its bytes, so that it may borrow from the fleet.
pub(crate) fn json<T: Serialize>(status: StatusCode, answer: &T) -> Response {
    let mut bytes = Vec::with_capacity(1024);
    serde_json::to_writer(&mut bytes, answer).expect("answers have only string keys");
    (status, [(header::CONTENT_TYPE, "application/json")], bytes).into_response()
}

pub(crate) fn ok<T: Serialize>(answer: &T) -> Response {
    json(StatusCode::OK, answer)
}
