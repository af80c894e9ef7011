//! Finds anything by words, for a search box.

use api::{FoundBusiness, FoundHost, FoundTemplate, SearchResult};
use axum::extract::State;
use axum::response::Response;
use model::Invalid;

use super::ApiError;
use super::caller::Authenticated;
use super::filter::words;
use super::refusals::Refusals;
use super::request::QueryParams;
use super::response::ok;
use crate::http::HttpState;

/// How many of each kind are found if the caller does not say, and at most.
const DEFAULT_FOUND: u64 = 10;
const MAX_FOUND: u64 = 100;

/// Finds processes, namespaces, hosts, businesses and config templates by words.
#[utoipa::path(get, path = "/api/v1/search", operation_id = "search", tag = "processes", params(
    ("q" = String, Query, description = "Words, separated by blanks, that must all be part of a name or an address. Upper and lower \
        case are the same"),
    ("limit" = Option<u64>, Query, description = "How many of each kind, 1 to 100, 10 if not given"),
), responses((status = 200, description = "The first of each kind", body = SearchResult), Refusals))]
pub(crate) async fn search(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let words = words(&params, "q")?;
    if words.is_empty() {
        return Err(Invalid::required("q").into());
    }
    let limit = params.number("limit", 1..=MAX_FOUND)?;
    let limit = limit.unwrap_or(DEFAULT_FOUND) as usize;
    let registry = http.control.registry();
    let read = || {
        registry.search(&caller, &words, limit, |found| {
            let namespaces = found.namespaces.into_iter();
            let hosts = found.hosts.into_iter().map(|view| FoundHost {
                host: view.host.into(),
                hostname: view.info.map(|info| info.hostname.as_str().into()),
            });
            let businesses = found.businesses.into_iter().map(|row| FoundBusiness {
                id: row.id.0,
                name: row.name.as_str().into(),
            });
            let templates = found.templates.into_iter().map(|row| FoundTemplate {
                business: row.business.0,
                id: row.id.0,
                name: row.template_name.as_str().into(),
            });
            ok(&SearchResult {
                processes: found.names,
                namespaces: namespaces
                    .map(|namespace| namespace.as_str().into())
                    .collect(),
                hosts: hosts.collect(),
                businesses: businesses.collect(),
                templates: templates.collect(),
            })
        })
    };
    Ok(http.long_reads.run(registry.search_cost(), read).await)
}
