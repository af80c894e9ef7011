//! The topology of a business as a document: shown, put in place, removed.

use axum::extract::State;
use axum::response::Response;
use control::Apply;
use model::Invalid;
use model::topology::document::BusinessDocument;
use model::topology::{BusinessId, Origin};

use super::ApiError;
use super::answer::ok;
use super::caller::Asking;
use super::read::{Params, Read, Segments};
use super::responses::Refusals;
use crate::http::HttpState;
use crate::http::openapi::{BusinessSchema, DifferenceSchema};

/// Shows a business as the document that would make it.
#[utoipa::path(get, path = "/api/v1/businesses/{id}/topology", operation_id = "show_topology", tag = "view",
    params(("id" = u32, Path)),
    responses((status = 200, description = "The document", body = BusinessSchema), Refusals))]
pub(crate) async fn show(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(id): Segments<u32>,
) -> Result<Response, ApiError> {
    let facts = http.control.topology().export(&caller, BusinessId(id))?;
    Ok(ok(&BusinessDocument::of(&facts)))
}

/// Makes a business what the document says; the same again changes nothing. Wrong rows are named and left out.
#[utoipa::path(put, path = "/api/v1/businesses/{id}/topology", operation_id = "import_topology", tag = "view",
    params(
        ("id" = u32, Path),
        ("dry_run" = Option<bool>, Query, description = "Only tells what would change"),
    ),
    request_body = BusinessSchema,
    responses((status = 200, description = "What changed, or would change", body = DifferenceSchema), Refusals))]
pub(crate) async fn import(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(id): Segments<u32>,
    params: Params,
    Read(document): Read<BusinessDocument>,
) -> Result<Response, ApiError> {
    let apply = match params.flag("dry_run")?.unwrap_or(false) {
        true => Apply::DryRun,
        false => Apply::Really,
    };
    if document.bk_biz_id != id {
        let rule = format!("must be {id}, as in the path, not {}", document.bk_biz_id);
        return Err(Invalid::new("bk_biz_id", rule).into());
    }
    let facts = document.to_facts()?;
    drop(document);
    let control = &http.control;
    let difference = control
        .topology()
        .import(&caller, facts, Origin::Imported, apply)
        .await?;
    Ok(ok(&difference))
}

/// Removes a business from the view. What still runs of it goes on, and is no longer shown there.
#[utoipa::path(delete, path = "/api/v1/businesses/{id}/topology", operation_id = "remove_topology", tag = "view",
    params(("id" = u32, Path)),
    responses((status = 200, description = "What was removed", body = DifferenceSchema), Refusals))]
pub(crate) async fn remove(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(id): Segments<u32>,
) -> Result<Response, ApiError> {
    let difference = http
        .control
        .topology()
        .remove(&caller, BusinessId(id))
        .await?;
    Ok(ok(&difference))
}
