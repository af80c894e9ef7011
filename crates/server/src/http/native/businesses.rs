//! Businesses: which there are, and reading one anew.

use api::schemas::DifferenceSchema;
use api::{BusinessList, BusinessTree, BusinessView, LeftOutRow, TreeModule, TreeSet};
use axum::extract::State;
use axum::response::Response;
use fleet::view::SetCounts;
use model::topology::{BusinessId, Origin, SourceFault};

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::request::{PathParams, QueryParams};
use super::response::ok;
use super::selection::parse_env;
use super::topology::to_api;
use crate::http::HttpState;

/// Lists the businesses that the caller may see.
#[utoipa::path(get, path = "/api/v1/businesses", operation_id = "list_businesses", tag = "view",
    responses((status = 200, description = "Businesses", body = BusinessList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
) -> Result<Response, ApiError> {
    let businesses = http.control.topology().businesses(&caller).into_iter();
    let businesses = businesses.map(|business| BusinessView {
        sets: business.n_sets,
        modules: business.n_modules,
        processes: business.n_processes,
        id: business.row.id.0,
        name: business.row.name,
        origin: match business.row.origin {
            Origin::Imported => "given".into(),
            Origin::Cmdb => "cmdb".into(),
        },
        refreshed_at: business.row.refreshed_at,
        troubles: left_out(business.row.troubles),
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
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
) -> Result<Response, ApiError> {
    let business = BusinessId(id);
    let difference = http.control.topology().refresh(&caller, business).await?;
    Ok(ok(&to_api(difference)))
}

/// Lists the sets and modules of a business, with how many processes each has and how many of them run.
#[utoipa::path(get, path = "/api/v1/businesses/{id}/tree", operation_id = "show_tree", tag = "view",
    params(
        ("id" = u32, Path),
        ("env" = Option<String>, Query, description = "test, experience or formal; all if not given"),
    ),
    responses((status = 200, description = "Sets and modules", body = BusinessTree), Refusals))]
pub(crate) async fn tree(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<u32>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let env = parse_env(params.text("env").unwrap_or_default())?;
    let topology = http.control.topology();
    let answer = topology.tree(&caller, BusinessId(id), env, |sets| {
        ok(&BusinessTree {
            sets: sets.iter().map(tree_set).collect(),
        })
    })?;
    Ok(answer)
}

fn tree_set<'a>(set: &SetCounts<'a>) -> TreeSet<'a> {
    let modules = set.modules.iter();
    TreeSet {
        id: set.row.id.0,
        name: (&*set.row.name).into(),
        env: set.row.env.as_str().into(),
        count: set.count,
        running: set.running,
        modules: modules
            .map(|(module, count, running)| TreeModule {
                id: module.id.0,
                name: (&*module.name).into(),
                count: *count,
                running: *running,
            })
            .collect(),
    }
}

pub(super) fn left_out(troubles: Vec<SourceFault>) -> Vec<LeftOutRow> {
    let rows = troubles.into_iter();
    rows.map(|trouble| {
        let cause = trouble.cause.unwrap_or_default();
        LeftOutRow {
            row: trouble.row.0,
            reason: trouble.reason,
            code: cause.code,
            params: cause.params,
        }
    })
    .collect()
}
