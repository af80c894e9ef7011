//! Apps: the programs that may call.

use api::{AppBody, AppList, AppRow, CreatedApp, GrantBody};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use model::Invalid;
use model::access::{AccessArea, App, Caller, Grant, Permission, Role};

use super::ApiError;
use super::caller::Authenticated;
use super::grants::{self, parse_namespaces, texts};
use super::refusals::Refusals;
use super::request::{JsonBody, PathParams};
use super::response::{json, ok};
use crate::http::HttpState;

fn row(app: App) -> AppRow {
    let grants = app.grants();
    let itself = Caller::system().with_grants(&grants);
    AppRow {
        admin: itself.may(Permission::Manage, AccessArea::Everything),
        namespaces: itself.visible_namespaces().map(texts),
        grants: grants::rows(&grants),
        code: app.code,
        trusted: app.trusted,
        rate_limit: app.rate_limit,
        created_at: app.created_at,
    }
}

/// Lists apps.
#[utoipa::path(get, path = "/api/v1/apps", operation_id = "list_apps", tag = "access",
    responses((status = 200, description = "All apps", body = AppList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
) -> Result<Response, ApiError> {
    let apps = http.control.access().apps(&caller)?;
    Ok(ok(&AppList {
        apps: apps.into_iter().map(row).collect(),
    }))
}

/// Creates an app and shows its secret this once.
#[utoipa::path(post, path = "/api/v1/apps", operation_id = "create_app", tag = "access", request_body = AppBody, responses(
    (status = 201, description = "Created", body = CreatedApp),
    (status = 409, description = "It exists", body = api::ErrorBody), Refusals))]
pub(crate) async fn create(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    JsonBody(body): JsonBody<AppBody>,
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
        (status = 409, description = "An app cannot delete itself", body = api::ErrorBody), Refusals))]
pub(crate) async fn delete(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(code): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    http.control.access().delete_app(&caller, &code).await?;
    Ok(StatusCode::NO_CONTENT)
}
