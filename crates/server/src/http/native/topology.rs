//! The topology of a business as a document: shown, put in place, removed.

use api::schemas::{BusinessSchema, DifferenceSchema};
use api::{ChangeCounts, ChangeView, Difference};
use axum::extract::State;
use axum::response::Response;
use control::{Apply, ChangeLine};
use model::Invalid;
use model::topology::document::BusinessDocument;
use model::topology::{BusinessId, Origin};

use super::ApiError;
use super::businesses::left_out;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::request::{JsonBody, PathParams, QueryParams};
use super::response::ok;
use crate::http::HttpState;

/// Shows a business as the document that would make it.
#[utoipa::path(get, path = "/api/v1/businesses/{id}/topology", operation_id = "show_topology", tag = "view",
    params(("id" = u32, Path)),
    responses((status = 200, description = "The document", body = BusinessSchema), Refusals))]
pub(crate) async fn show(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
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
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
    params: QueryParams,
    JsonBody(document): JsonBody<BusinessDocument>,
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
    Ok(ok(&to_api(difference)))
}

/// Removes a business from the view. What still runs of it goes on, and is no longer shown there.
#[utoipa::path(delete, path = "/api/v1/businesses/{id}/topology", operation_id = "remove_topology", tag = "view",
    params(("id" = u32, Path)),
    responses((status = 200, description = "What was removed", body = DifferenceSchema), Refusals))]
pub(crate) async fn remove(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
) -> Result<Response, ApiError> {
    let difference = http
        .control
        .topology()
        .remove(&caller, BusinessId(id))
        .await?;
    Ok(ok(&to_api(difference)))
}

pub(super) fn to_api(difference: control::Difference) -> Difference {
    let counts = |changes: control::ChangeCounts| ChangeCounts {
        new: changes.new,
        changed: changes.changed,
        gone: changes.gone,
    };
    Difference {
        sets: counts(difference.sets),
        modules: counts(difference.modules),
        hosts: counts(difference.hosts),
        services: counts(difference.services),
        processes: counts(difference.processes),
        instances: counts(difference.instances),
        vanished: difference.vanished,
        lines: difference.lines.iter().map(ToString::to_string).collect(),
        changes: difference.lines.iter().map(change).collect(),
        more_lines: difference.more_lines,
        troubles: left_out(difference.troubles),
    }
}

fn change(line: &ChangeLine) -> ChangeView {
    let reason = line.change.reason();
    ChangeView {
        mark: line.mark.to_string(),
        code: reason.code,
        params: reason.params,
    }
}
