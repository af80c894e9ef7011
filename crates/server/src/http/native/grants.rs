//! Roles of apps and users: giving them, and taking them back.

use api::{GrantBody, GrantList, GrantRow};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::{RevokedGrants, Subject};
use model::access::grant::GrantReach;
use model::access::{Grant, Role};
use model::selector::LabelSelector;
use model::topology::BusinessId;
use model::{Invalid, Namespace};

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::request::{JsonBody, PathParams};
use super::response::{json, ok};
use crate::http::HttpState;

fn row(grant: &Grant) -> GrantRow {
    let (namespaces, businesses, labels) = grant.named();
    GrantRow {
        role: grant.role.as_str().into(),
        everything: grant.reach == GrantReach::Everything,
        namespaces: texts(namespaces.to_vec()),
        businesses: businesses.iter().map(|id| id.0).collect(),
        label: labels.map(ToString::to_string),
    }
}

pub(super) fn texts(namespaces: Vec<Namespace>) -> Vec<String> {
    namespaces.into_iter().map(String::from).collect()
}

pub(super) fn rows(grants: &[Grant]) -> Vec<GrantRow> {
    grants.iter().map(row).collect()
}

fn read_grant(body: GrantBody) -> Result<Grant, Invalid> {
    let role = body.role.ok_or_else(|| Invalid::required("role"))?;
    let grant = Grant::new(
        Role::parse(role.trim())?,
        parse_namespaces(body.namespaces.unwrap_or_default())?,
        parse_businesses(body.businesses.unwrap_or_default())?,
    )?;
    match body.label.as_deref() {
        Some(label) => grant.with_labels(LabelSelector::parse(label)?),
        None => Ok(grant),
    }
}

fn read_revoked(body: GrantBody) -> Result<RevokedGrants, Invalid> {
    Ok(RevokedGrants {
        role: body.role.map(|role| Role::parse(role.trim())).transpose()?,
        namespaces: parse_namespaces(body.namespaces.unwrap_or_default())?,
        businesses: parse_businesses(body.businesses.unwrap_or_default())?,
        labels: (body.label.as_deref())
            .map(LabelSelector::parse)
            .transpose()?,
    })
}

/// Several, as they stand in the body that makes an app or a user.
pub(super) fn read_all(bodies: Vec<GrantBody>) -> Result<Vec<Grant>, Invalid> {
    let numbered = bodies.into_iter().enumerate();
    numbered
        .map(|(index, body)| {
            read_grant(body).map_err(|invalid| invalid.within(&format!("grants[{index}]")))
        })
        .collect()
}

pub(super) fn parse_namespaces(names: Vec<String>) -> Result<Vec<Namespace>, Invalid> {
    let numbered = names.iter().enumerate();
    numbered
        .map(|(index, name)| {
            Namespace::parse(name)
                .map_err(|error| Invalid::new(format!("namespaces[{index}]"), error.rule))
        })
        .collect()
}

fn parse_businesses(ids: Vec<i64>) -> Result<Vec<BusinessId>, Invalid> {
    let numbered = ids.into_iter().enumerate();
    numbered
        .map(|(index, id)| {
            BusinessId::parse(id)
                .map_err(|error| Invalid::new(format!("businesses[{index}]"), error.rule))
        })
        .collect()
}

async fn give(
    http: HttpState,
    Authenticated(caller): Authenticated,
    subject: Subject,
    body: GrantBody,
) -> Result<Response, ApiError> {
    let grants = http
        .control
        .access()
        .grant(&caller, subject, read_grant(body)?)
        .await?;
    let list = GrantList {
        grants: rows(&grants),
    };
    Ok(json(StatusCode::CREATED, &list))
}

async fn take(
    http: HttpState,
    Authenticated(caller): Authenticated,
    subject: Subject,
    body: GrantBody,
) -> Result<Response, ApiError> {
    let revoked = read_revoked(body)?;
    let control = &http.control;
    let grants = control
        .access()
        .revoke_grants(&caller, subject, revoked)
        .await?;
    Ok(ok(&GrantList {
        grants: rows(&grants),
    }))
}

/// Gives an app a role. It counts from its next request on.
#[utoipa::path(post, path = "/api/v1/apps/{code}/grants", operation_id = "grant_to_app", tag = "access",
    params(("code" = String, Path)), request_body = GrantBody,
    responses((status = 201, description = "All that it has now", body = GrantList), Refusals))]
pub(crate) async fn give_to_app(
    State(http): State<HttpState>,
    caller: Authenticated,
    PathParams(code): PathParams<String>,
    JsonBody(body): JsonBody<GrantBody>,
) -> Result<Response, ApiError> {
    give(http, caller, Subject::App(code), body).await
}

/// Takes roles of an app back: those named, or these places of them, or all.
#[utoipa::path(delete, path = "/api/v1/apps/{code}/grants", operation_id = "revoke_from_app", tag = "access",
    params(("code" = String, Path)), request_body = GrantBody,
    responses((status = 200, description = "All that it has left", body = GrantList),
        (status = 409, description = "An admin cannot give up the role: another admin can take it", body = api::ErrorBody), Refusals))]
pub(crate) async fn take_from_app(
    State(http): State<HttpState>,
    caller: Authenticated,
    PathParams(code): PathParams<String>,
    JsonBody(body): JsonBody<GrantBody>,
) -> Result<Response, ApiError> {
    take(http, caller, Subject::App(code), body).await
}

/// Gives a user a role. It counts from their next request on.
#[utoipa::path(post, path = "/api/v1/users/{name}/grants", operation_id = "grant_to_user", tag = "access",
    params(("name" = String, Path)), request_body = GrantBody,
    responses((status = 201, description = "All that they have now", body = GrantList), Refusals))]
pub(crate) async fn give_to_user(
    State(http): State<HttpState>,
    caller: Authenticated,
    PathParams(name): PathParams<String>,
    JsonBody(body): JsonBody<GrantBody>,
) -> Result<Response, ApiError> {
    give(http, caller, Subject::User(name), body).await
}

/// Takes roles of a user back: those named, or these places of them, or all.
#[utoipa::path(delete, path = "/api/v1/users/{name}/grants", operation_id = "revoke_from_user", tag = "access",
    params(("name" = String, Path)), request_body = GrantBody,
    responses((status = 200, description = "All that they have left", body = GrantList),
        (status = 409, description = "An admin cannot give up the role: another admin can take it", body = api::ErrorBody), Refusals))]
pub(crate) async fn take_from_user(
    State(http): State<HttpState>,
    caller: Authenticated,
    PathParams(name): PathParams<String>,
    JsonBody(body): JsonBody<GrantBody>,
) -> Result<Response, ApiError> {
    take(http, caller, Subject::User(name), body).await
}
