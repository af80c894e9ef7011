//! The caller's own account: its password and its logins. Each needs a login, and no role.

use api::{LoginList, LoginView, PasswordBody};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use model::Invalid;

use super::ApiError;
use super::caller::Identified;
use super::refusals::Refusals;
use super::request::{JsonBody, PathParams};
use super::response::ok;
use crate::http::HttpState;

/// Changes the caller's password. All other logins of the user end.
#[utoipa::path(post, path = "/api/v1/me/password", operation_id = "change_password", tag = "access",
    request_body = PasswordBody, responses((status = 204, description = "Changed"), Refusals))]
pub(crate) async fn change_password(
    State(http): State<HttpState>,
    Identified(caller, credentials): Identified,
    JsonBody(body): JsonBody<PasswordBody>,
) -> Result<Response, ApiError> {
    let new = body.new.ok_or_else(|| Invalid::required("new"))?;
    http.control
        .access()
        .change_own_password(&caller, &credentials, body.old.as_deref(), &new)
        .await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Lists the caller's logins, the newest first.
#[utoipa::path(get, path = "/api/v1/me/logins", operation_id = "list_logins", tag = "access",
    responses((status = 200, description = "Logins that have not ended", body = LoginList), Refusals))]
pub(crate) async fn logins(
    State(http): State<HttpState>,
    Identified(_caller, credentials): Identified,
) -> Result<Response, ApiError> {
    let logins = http.control.access().own_logins(&credentials)?;
    let logins = logins.into_iter().map(|login| LoginView {
        id: login.id,
        created_at: login.created_at,
        expires_at: login.expires_at,
        from: login.from,
        user_agent: login.user_agent,
        current: login.is_current,
    });
    Ok(ok(&LoginList {
        logins: logins.collect(),
    }))
}

/// Ends one of the caller's logins, which may be the one that the request is made with.
#[utoipa::path(delete, path = "/api/v1/me/logins/{id}", operation_id = "end_login", tag = "access",
    params(("id" = String, Path)), responses((status = 204, description = "Ended"), Refusals))]
pub(crate) async fn end_login(
    State(http): State<HttpState>,
    Identified(caller, credentials): Identified,
    PathParams(id): PathParams<String>,
) -> Result<Response, ApiError> {
    http.control
        .access()
        .end_own_login(&caller, &credentials, &id)
        .await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
