//! Apps: the programs that may call.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use model::access::{AccessArea, App, Caller, Grant, Permission, Role};
use model::{Invalid, Namespace, UnixMillis, lenient};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ApiError;
use super::answer::{json, ok};
use super::caller::Asking;
use super::grants::{self, GrantBody, GrantRow, parse_namespaces};
use super::read::{Read, Segments};
use super::responses::Refusals;
use crate::http::HttpState;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AppList {
    apps: Vec<AppRow>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AppRow {
    code: String,
    /// What it may do.
    grants: Vec<GrantRow>,
    /// Namespaces that it may see; null for all.
    #[schema(value_type = Option<Vec<String>>)]
    namespaces: Option<Vec<Namespace>>,
    /// May name its user instead of a login.
    trusted: bool,
    /// Requests per second; 0 for no limit.
    rate_limit: u32,
    /// May manage apps, users, tokens, webhooks and hosts.
    admin: bool,
    #[schema(value_type = i64)]
    created_at: UnixMillis,
}

impl From<App> for AppRow {
    fn from(app: App) -> Self {
        let grants = app.grants();
        let itself = Caller::system().with_grants(&grants);
        Self {
            admin: itself.may(Permission::Manage, AccessArea::Everything),
            namespaces: itself.visible_namespaces(),
            grants: grants::rows(&grants),
            code: app.code,
            trusted: app.trusted,
            rate_limit: app.rate_limit,
            created_at: app.created_at,
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct AppBody {
    #[schema(required)]
    code: Option<String>,
    /// Made by the server if not given.
    secret: Option<String>,
    /// What it may do. If not given, it is an operator of `namespaces`, or of everything; and an admin if it is also
    /// trusted.
    grants: Option<Vec<GrantBody>>,
    /// Namespaces that it operates; not together with `grants`.
    namespaces: Option<Vec<String>>,
    /// May name its user with `bk_username` instead of a login.
    trusted: Option<bool>,
    /// Requests per second; 0 for no limit.
    #[serde(default, deserialize_with = "lenient::int")]
    rate_limit: Option<i64>,
}

/// Shown this once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedApp {
    code: String,
    secret: String,
}

/// Lists apps.
#[utoipa::path(get, path = "/api/v1/apps", operation_id = "list_apps", tag = "access",
    responses((status = 200, description = "All apps", body = AppList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Asking(caller): Asking,
) -> Result<Response, ApiError> {
    let apps = http.control.access().apps(&caller)?;
    Ok(ok(&AppList {
        apps: apps.into_iter().map(AppRow::from).collect(),
    }))
}

/// Creates an app and shows its secret this once.
#[utoipa::path(post, path = "/api/v1/apps", operation_id = "create_app", tag = "access", request_body = AppBody, responses(
    (status = 201, description = "Created", body = CreatedApp),
    (status = 409, description = "It exists", body = super::error::ErrorBody), Refusals))]
pub(crate) async fn create(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Read(body): Read<AppBody>,
) -> Result<Response, ApiError> {
    let code = body
        .code
        .ok_or_else(|| Invalid::required("code"))?
        .trim()
        .to_owned();
    let trusted = body.trusted.unwrap_or(false);
    let grants = read_grants(body.grants, body.namespaces, trusted)?;
    let rate_limit = u32::try_from(body.rate_limit.unwrap_or(0))
        .map_err(|_| Invalid::new("rate_limit", "must be 0 (no limit) or more"))?;
    let secret = http
        .control
        .access()
        .create_app(
            &caller,
            &code,
            body.secret.filter(|secret| !secret.is_empty()),
            grants,
            trusted,
            rate_limit,
        )
        .await?;
    Ok(json(StatusCode::CREATED, &CreatedApp { code, secret }))
}

fn read_grants(
    grants: Option<Vec<GrantBody>>,
    namespaces: Option<Vec<String>>,
    trusted: bool,
) -> Result<Vec<Grant>, Invalid> {
    match (grants, namespaces) {
        (Some(_), Some(_)) => Err(Invalid::new(
            "namespaces",
            "must not be given together with grants",
        )),
        (Some(grants), None) => grants::read_all(grants),
        (None, Some(names)) if names.is_empty() => Err(Invalid::new(
            "namespaces",
            "must name at least one, or be left out for all",
        )),
        (None, Some(names)) => {
            let grant = Grant::new(Role::Operator, parse_namespaces(names)?, Vec::new())?;
            Ok(vec![grant])
        }
        (None, None) if trusted => Ok(vec![Grant::everywhere(Role::Admin)]),
        (None, None) => Ok(vec![Grant::everywhere(Role::Operator)]),
    }
}

/// Deletes an app: it can no longer call.
#[utoipa::path(delete, path = "/api/v1/apps/{code}", operation_id = "delete_app", tag = "access", params(("code" = String, Path)),
    responses((status = 204, description = "Deleted"),
        (status = 409, description = "An app cannot delete itself", body = super::error::ErrorBody), Refusals))]
pub(crate) async fn delete(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(code): Segments<String>,
) -> Result<StatusCode, ApiError> {
    http.control.access().delete_app(&caller, &code).await?;
    Ok(StatusCode::NO_CONTENT)
}
