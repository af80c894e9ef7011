//! Versions of a config template: the draft is written, the active one generated from.

use std::sync::Arc;

use api::{DraftBody, VersionList, VersionShown};
use axum::extract::State;
use axum::response::Response;
use model::Invalid;
use model::access::Caller;
use model::config_template::{TemplateId, VersionId, VersionRow, VersionState};
use model::topology::BusinessId;

use super::super::ApiError;
use super::super::caller::Authenticated;
use super::super::refusals::Refusals;
use super::super::request::{JsonBody, PathParams};
use super::super::response::ok;
use crate::http::HttpState;

fn shown(version: &VersionRow, content: Option<Arc<str>>) -> VersionShown {
    VersionShown {
        id: version.id.0,
        template: version.template.0,
        description: version.description.clone(),
        state: match version.state {
            VersionState::Draft => "draft".into(),
            VersionState::Active => "active".into(),
            VersionState::Past => "past".into(),
        },
        updated_at: version.updated_at,
        updated_by: version.updated_by.clone(),
        content,
    }
}

/// Lists the versions of a config template, the newest first.
#[utoipa::path(get, path = "/api/v1/businesses/{id}/templates/{template}/versions", operation_id = "list_versions",
    tag = "templates", params(("id" = u32, Path), ("template" = u32, Path)),
    responses((status = 200, description = "Versions", body = VersionList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams((id, template)): PathParams<(u32, u32)>,
) -> Result<Response, ApiError> {
    let (business, template) = (BusinessId(id), TemplateId(template));
    let control = &http.control;
    let versions = control.templates().versions(&caller, business, template)?;
    let versions = versions.iter().map(|version| shown(version, None));
    Ok(ok(&VersionList {
        versions: versions.collect(),
    }))
}

/// Shows a version with its text.
#[utoipa::path(get, path = "/api/v1/businesses/{id}/templates/{template}/versions/{version}",
    operation_id = "show_version", tag = "templates",
    params(("id" = u32, Path), ("template" = u32, Path), ("version" = u32, Path)),
    responses((status = 200, description = "The version", body = VersionShown), Refusals))]
pub(crate) async fn show(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(place): PathParams<(u32, u32, u32)>,
) -> Result<Response, ApiError> {
    let version = find(&http, &caller, place)?;
    Ok(ok(&shown(&version, Some(version.content.clone()))))
}

/// Writes the draft of a config template, which is made if there is none. A text that is no template is refused with its line.
#[utoipa::path(put, path = "/api/v1/businesses/{id}/templates/{template}/draft", operation_id = "save_draft",
    tag = "templates", params(("id" = u32, Path), ("template" = u32, Path)), request_body = DraftBody,
    responses((status = 200, description = "The draft", body = VersionShown), Refusals))]
pub(crate) async fn save_draft(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams((id, template)): PathParams<(u32, u32)>,
    JsonBody(body): JsonBody<DraftBody>,
) -> Result<Response, ApiError> {
    let content = body.content.ok_or_else(|| Invalid::required("content"))?;
    let (business, of) = (BusinessId(id), TemplateId(template));
    let control = &http.control;
    let version = control
        .templates()
        .save_draft(&caller, business, of, body.description, content)
        .await?;
    let version = find(&http, &caller, (id, template, version.0))?;
    Ok(ok(&shown(&version, None)))
}

/// Makes a version the one that is generated from; the one before becomes past. It is rendered for every instance that the
/// template is bound to, and refused where that fails.
#[utoipa::path(post, path = "/api/v1/businesses/{id}/templates/{template}/versions/{version}/activate",
    operation_id = "activate_version", tag = "templates",
    params(("id" = u32, Path), ("template" = u32, Path), ("version" = u32, Path)),
    responses((status = 200, description = "The version", body = VersionShown), Refusals))]
pub(crate) async fn activate(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(place): PathParams<(u32, u32, u32)>,
) -> Result<Response, ApiError> {
    let version = find(&http, &caller, place)?.id;
    let control = &http.control;
    control
        .templates()
        .activate_version(&caller, BusinessId(place.0), version)
        .await?;
    let version = find(&http, &caller, place)?;
    Ok(ok(&shown(&version, None)))
}

/// Copies a version into the draft of its config template.
#[utoipa::path(post, path = "/api/v1/businesses/{id}/templates/{template}/versions/{version}/clone",
    operation_id = "clone_version", tag = "templates",
    params(("id" = u32, Path), ("template" = u32, Path), ("version" = u32, Path)),
    responses((status = 200, description = "The draft", body = VersionShown), Refusals))]
pub(crate) async fn clone(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(place): PathParams<(u32, u32, u32)>,
) -> Result<Response, ApiError> {
    let version = find(&http, &caller, place)?.id;
    let control = &http.control;
    let draft = control
        .templates()
        .clone_version(&caller, BusinessId(place.0), version)
        .await?;
    let draft = find(&http, &caller, (place.0, place.1, draft.0))?;
    Ok(ok(&shown(&draft, None)))
}

/// A version by business, template and its own id.
fn find(
    http: &HttpState,
    caller: &Caller,
    (business, template, version): (u32, u32, u32),
) -> Result<Arc<VersionRow>, ApiError> {
    let all =
        http.control
            .templates()
            .versions(caller, BusinessId(business), TemplateId(template))?;
    let mut all = all.into_iter();
    all.find(|row| row.id == VersionId(version))
        .ok_or_else(|| ApiError::not_found(format!("template {template} has no version {version}")))
}
