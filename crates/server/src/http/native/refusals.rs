//! The refusals that any request may get, for the OpenAPI document.

use api::ErrorBody;
use utoipa::IntoResponses;

#[derive(IntoResponses)]
#[allow(dead_code, reason = "read by the OpenAPI document only")]
pub(crate) enum Refusals {
    /// The request breaks a rule; `field` says where.
    #[response(status = 400)]
    Invalid(#[to_schema] ErrorBody),
    /// The credentials are missing or wrong.
    #[response(status = 401)]
    Unauthenticated(#[to_schema] ErrorBody),
    /// The caller may not do this, or a page of another origin asks with a cookie.
    #[response(status = 403)]
    Forbidden(#[to_schema] ErrorBody),
    /// What was named does not exist.
    #[response(status = 404)]
    NotFound(#[to_schema] ErrorBody),
    /// The path does not take this method.
    #[response(status = 405)]
    WrongMethod(#[to_schema] ErrorBody),
    /// The body is too large.
    #[response(status = 413)]
    TooLarge(#[to_schema] ErrorBody),
    /// The body is not `application/json`.
    #[response(status = 415)]
    NotJson(#[to_schema] ErrorBody),
    /// The app asks faster than it may; `Retry-After` says when to try again.
    #[response(status = 429)]
    TooFast(#[to_schema] ErrorBody),
    /// The server failed; its log says why.
    #[response(status = 500)]
    Internal(#[to_schema] ErrorBody),
    /// Trying again later may help; nothing was changed.
    #[response(status = 503)]
    Unavailable(#[to_schema] ErrorBody),
}
