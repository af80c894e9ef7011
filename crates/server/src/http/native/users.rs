//! Users: the people who may log in.

use api::{CreatedUser, UserBody, UserList, UserRow};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use model::Invalid;
use model::access::{Grant, Role};

use super::ApiError;
use super::caller::Authenticated;
use super::grants;
use super::refusals::Refusals;
use super::request::{JsonBody, PathParams};
use super::response::{json, ok};
use crate::http::HttpState;

/// Lists users.
#[utoipa::path(get, path = "/api/v1/users", operation_id = "list_users", tag = "access",
    responses((status = 200, description = "All users", body = UserList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
) -> Result<Response, ApiError> {
    let users = http.control.access().users(&caller)?;
    let users = users.into_iter().map(|user| UserRow {
        grants: grants::rows(&user.grants()),
        name: user.name,
        created_at: user.created_at,
    });
    Ok(ok(&UserList {
        users: users.collect(),
    }))
}

/// Creates a user.
#[utoipa::path(post, path = "/api/v1/users", operation_id = "create_user", tag = "access", request_body = UserBody, responses(
    (status = 201, description = "Created", body = CreatedUser),
    (status = 409, description = "It exists", body = api::ErrorBody), Refusals))]
pub(crate) async fn create(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    JsonBody(body): JsonBody<UserBody>,
) -> Result<Response, ApiError> {
    let name = body.name.ok_or_else(|| Invalid::required("name"))?;
    let password = body.password.ok_or_else(|| Invalid::required("password"))?;
    let grants = match body.grants {
        Some(grants) => grants::read_all(grants)?,
        None => vec![Grant::everywhere(Role::Viewer)],
    };
    let control = &http.control;
    control
        .access()
        .create_user(&caller, &name, &password, grants)
        .await?;
    let name = name.trim().to_owned();
    Ok(json(StatusCode::CREATED, &CreatedUser { name }))
}

/// Deletes a user; its logins end.
#[utoipa::path(delete, path = "/api/v1/users/{name}", operation_id = "delete_user", tag = "access", params(("name" = String, Path)),
    responses((status = 204, description = "Deleted"), Refusals))]
pub(crate) async fn delete(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(name): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    http.control.access().delete_user(&caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
