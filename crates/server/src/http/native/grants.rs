//! Roles of apps and users: giving them, and taking them back.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::{RevokedGrants, Subject};
use model::access::grant::GrantReach;
use model::access::{Grant, Role};
use model::topology::BusinessId;
use model::{Invalid, Namespace};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ApiError;
use super::answer::{json, ok};
use super::caller::Asking;
use super::read::{Read, Segments};
use super::responses::Refusals;
use crate::http::HttpState;

/// A role, and where it counts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GrantRow {
    /// `viewer`, `operator` or `admin`.
    role: &'static str,
    /// Whether it counts everywhere; then nothing is named.
    everything: bool,
    #[schema(value_type = Vec<String>)]
    namespaces: Vec<Namespace>,
    #[schema(value_type = Vec<u32>)]
    businesses: Vec<BusinessId>,
}

impl From<&Grant> for GrantRow {
    fn from(grant: &Grant) -> Self {
        let (namespaces, businesses) = match &grant.reach {
            GrantReach::Everything => Default::default(),
            GrantReach::Within {
                namespaces,
                businesses,
            } => (namespaces.clone(), businesses.clone()),
        };
        Self {
            role: grant.role.as_str(),
            everything: grant.reach == GrantReach::Everything,
            namespaces,
            businesses,
        }
    }
}

pub(super) fn rows(grants: &[Grant]) -> Vec<GrantRow> {
    grants.iter().map(GrantRow::from).collect()
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GrantList {
    grants: Vec<GrantRow>,
}

/// Names neither namespaces nor businesses: everything.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantBody {
    /// `viewer`, `operator` or `admin`; an admin is one of everything.
    #[schema(required)]
    role: Option<String>,
    namespaces: Option<Vec<String>>,
    businesses: Option<Vec<i64>>,
}

impl GrantBody {
    pub(super) fn read(self) -> Result<Grant, Invalid> {
        let role = self.role.ok_or_else(|| Invalid::required("role"))?;
        Grant::new(
            Role::parse(role.trim())?,
            parse_namespaces(self.namespaces.unwrap_or_default())?,
            parse_businesses(self.businesses.unwrap_or_default())?,
        )
    }

    fn read_revoked(self) -> Result<RevokedGrants, Invalid> {
        Ok(RevokedGrants {
            role: self.role.map(|role| Role::parse(role.trim())).transpose()?,
            namespaces: parse_namespaces(self.namespaces.unwrap_or_default())?,
            businesses: parse_businesses(self.businesses.unwrap_or_default())?,
        })
    }
}

/// Several, as they stand in the body that makes an app or a user.
pub(super) fn read_all(bodies: Vec<GrantBody>) -> Result<Vec<Grant>, Invalid> {
    let numbered = bodies.into_iter().enumerate();
    numbered
        .map(|(index, body)| {
            body.read()
                .map_err(|invalid| invalid.within(&format!("grants[{index}]")))
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
    Asking(caller): Asking,
    subject: Subject,
    body: GrantBody,
) -> Result<Response, ApiError> {
    let grants = http
        .control
        .access()
        .grant(&caller, subject, body.read()?)
        .await?;
    let list = GrantList {
        grants: rows(&grants),
    };
    Ok(json(StatusCode::CREATED, &list))
}

async fn take(
    http: HttpState,
    Asking(caller): Asking,
    subject: Subject,
    body: GrantBody,
) -> Result<Response, ApiError> {
    let revoked = body.read_revoked()?;
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
    asking: Asking,
    Segments(code): Segments<String>,
    Read(body): Read<GrantBody>,
) -> Result<Response, ApiError> {
    give(http, asking, Subject::App(code), body).await
}

/// Takes roles of an app back: those named, or these places of them, or all.
#[utoipa::path(delete, path = "/api/v1/apps/{code}/grants", operation_id = "revoke_from_app", tag = "access",
    params(("code" = String, Path)), request_body = GrantBody,
    responses((status = 200, description = "All that it has left", body = GrantList),
        (status = 409, description = "Nobody can take the role of admin from themselves", body = super::error::ErrorBody), Refusals))]
pub(crate) async fn take_from_app(
    State(http): State<HttpState>,
    asking: Asking,
    Segments(code): Segments<String>,
    Read(body): Read<GrantBody>,
) -> Result<Response, ApiError> {
    take(http, asking, Subject::App(code), body).await
}

/// Gives a user a role. It counts from their next request on.
#[utoipa::path(post, path = "/api/v1/users/{name}/grants", operation_id = "grant_to_user", tag = "access",
    params(("name" = String, Path)), request_body = GrantBody,
    responses((status = 201, description = "All that they have now", body = GrantList), Refusals))]
pub(crate) async fn give_to_user(
    State(http): State<HttpState>,
    asking: Asking,
    Segments(name): Segments<String>,
    Read(body): Read<GrantBody>,
) -> Result<Response, ApiError> {
    give(http, asking, Subject::User(name), body).await
}

/// Takes roles of a user back: those named, or these places of them, or all.
#[utoipa::path(delete, path = "/api/v1/users/{name}/grants", operation_id = "revoke_from_user", tag = "access",
    params(("name" = String, Path)), request_body = GrantBody,
    responses((status = 200, description = "All that they have left", body = GrantList),
        (status = 409, description = "Nobody can take the role of admin from themselves", body = super::error::ErrorBody), Refusals))]
pub(crate) async fn take_from_user(
    State(http): State<HttpState>,
    asking: Asking,
    Segments(name): Segments<String>,
    Read(body): Read<GrantBody>,
) -> Result<Response, ApiError> {
    take(http, asking, Subject::User(name), body).await
}
