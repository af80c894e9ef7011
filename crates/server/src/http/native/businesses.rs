//! Businesses: which there are, and reading one anew.

use axum::extract::State;
use axum::response::Response;
use model::UnixMillis;
use model::topology::{BusinessId, Origin, SourceFault};
use serde::Serialize;
use utoipa::ToSchema;

use super::ApiError;
use super::answer::ok;
use super::caller::Asking;
use super::read::Segments;
use super::responses::Refusals;
use crate::http::HttpState;
use crate::http::openapi::DifferenceSchema;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BusinessList {
    businesses: Vec<BusinessView>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BusinessView {
    #[schema(value_type = u32)]
    id: BusinessId,
    name: String,
    /// `given` by a file or this API, or read from a `cmdb`.
    #[schema(value_type = String)]
    origin: Origin,
    /// When it was last compared with its source.
    #[schema(value_type = i64)]
    refreshed_at: UnixMillis,
    sets: usize,
    modules: usize,
    processes: u64,
    /// Rows that were left out then, and why.
    #[schema(value_type = Vec<Object>)]
    troubles: Vec<SourceFault>,
}

/// Lists the businesses that the caller may see.
#[utoipa::path(get, path = "/api/v1/businesses", operation_id = "list_businesses", tag = "view",
    responses((status = 200, description = "Businesses", body = BusinessList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Asking(caller): Asking,
) -> Result<Response, ApiError> {
    let businesses = http.control.topology().businesses(&caller).into_iter();
    let businesses = businesses.map(|business| BusinessView {
        sets: business.n_sets,
        modules: business.n_modules,
        processes: business.n_processes,
        id: business.row.id,
        name: business.row.name,
        origin: business.row.origin,
        refreshed_at: business.row.refreshed_at,
        troubles: business.row.troubles,
    });
    Ok(ok(&BusinessList {
        businesses: businesses.collect(),
    }))
}

/// Reads a business anew from its CMDB; one that was given is as it was given.
#[utoipa::path(post, path = "/api/v1/businesses/{id}/refresh", operation_id = "refresh_business", tag = "view",
    params(("id" = u32, Path)),
    responses((status = 200, description = "What changed", body = DifferenceSchema), Refusals))]
pub(crate) async fn refresh(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(id): Segments<u32>,
) -> Result<Response, ApiError> {
    let business = BusinessId(id);
    let difference = http.control.topology().refresh(&caller, business).await?;
    Ok(ok(&difference))
}
