//! Users: the people who may log in.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use model::access::{Grant, Role};
use model::{Invalid, UnixMillis};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ApiError;
use super::answer::{json, ok};
use super::caller::Asking;
use super::grants::{self, GrantBody, GrantRow};
use super::read::{Read, Segments};
use super::responses::Refusals;
use crate::http::HttpState;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UserList {
    users: Vec<UserRow>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UserRow {
    name: String,
    /// What they may do.
    grants: Vec<GrantRow>,
    #[schema(value_type = i64)]
    created_at: UnixMillis,
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct UserBody {
    #[schema(required)]
    name: Option<String>,
    #[schema(required)]
    password: Option<String>,
    /// What they may do; a viewer of everything if not given.
    grants: Option<Vec<GrantBody>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedUser {
    name: String,
}

/// Lists users.
#[utoipa::path(get, path = "/api/v1/users", operation_id = "list_users", tag = "access",
    responses((status = 200, description = "All users", body = UserList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Asking(caller): Asking,
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
    (status = 409, description = "It exists", body = super::error::ErrorBody), Refusals))]
pub(crate) async fn create(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Read(body): Read<UserBody>,
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
    Asking(caller): Asking,
    Segments(name): Segments<String>,
) -> Result<StatusCode, ApiError> {
    http.control.access().delete_user(&caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
