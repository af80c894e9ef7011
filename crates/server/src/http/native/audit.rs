//! The audit trail: who changed what, when, from where.

use axum::extract::State;
use axum::response::Response;
use model::UnixMillis;
use serde::Serialize;
use store::AuditPage;
use utoipa::ToSchema;

use super::ApiError;
use super::answer::ok;
use super::caller::Asking;
use super::read::Params;
use super::responses::Refusals;
use crate::http::HttpState;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditList {
    audit: Vec<AuditRow>,
    /// `before` of the next page; null at the end.
    next: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditRow {
    id: u64,
    #[schema(value_type = i64)]
    at: UnixMillis,
    app: String,
    user: String,
    from: String,
    request_id: String,
    /// `register`, `operate`, `app.create`, …
    action: String,
    object: String,
    detail: String,
}

/// Lists the audit trail, the newest first.
#[utoipa::path(get, path = "/api/v1/audit", operation_id = "list_audit", tag = "access", params(
    ("limit" = Option<u64>, Query, description = "1 to 1000, 100 if not given"),
    ("before" = Option<u64>, Query, description = "Only lines older than this one"),
    ("app" = Option<String>, Query, description = "Only what this app did"),
    ("user" = Option<String>, Query, description = "Only what this user did"),
    ("action" = Option<String>, Query, description = "Only this action"),
), responses((status = 200, description = "Lines of the trail", body = AuditList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    params: Params,
) -> Result<Response, ApiError> {
    let limit = params.limit()?;
    let owned = |name: &str| params.text(name).map(str::to_owned);
    let page = AuditPage {
        limit: limit as u32,
        before: params.number("before", 0..=i64::MAX as u64)?,
        app: owned("app"),
        user: owned("user"),
        action: owned("action"),
    };
    let lines = http.control.audit(&caller, page).await?;
    let next = (lines.len() == limit)
        .then(|| lines.last().map(|(id, _)| *id))
        .flatten();
    let rows = lines.into_iter().map(|(id, line)| AuditRow {
        id,
        at: line.at,
        app: line.app,
        user: line.user,
        from: line.from,
        request_id: line.request_id,
        action: line.action,
        object: line.object,
        detail: line.detail,
    });
    Ok(ok(&AuditList {
        audit: rows.collect(),
        next,
    }))
}
