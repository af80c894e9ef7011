//! Join tokens: what lets an agent enrol.

use api::{CreatedToken, Scalar, TokenBody, TokenList, TokenRow};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use control::NewJoinToken;
use model::{Host, Invalid};

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::request::{JsonBody, PathParams, parse_duration};
use super::response::{json, ok};
use crate::http::{HttpState, install};

/// Lists join tokens.
#[utoipa::path(get, path = "/api/v1/tokens", operation_id = "list_tokens", tag = "access",
    responses((status = 200, description = "All join tokens", body = TokenList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
) -> Result<Response, ApiError> {
    let tokens = http.control.access().join_tokens(&caller)?;
    let tokens = tokens.into_iter().map(|token| TokenRow {
        id: token.id,
        host: token.host.map(|host| host.to_string()),
        expires_at: token.expires_at,
        created_at: token.created_at,
        uses_left: token.uses_left,
        replace: token.replace,
    });
    Ok(ok(&TokenList {
        tokens: tokens.collect(),
    }))
}

/// Creates a join token and shows it this once.
#[utoipa::path(post, path = "/api/v1/tokens", operation_id = "create_token", tag = "access", request_body = TokenBody,
    responses((status = 201, description = "Created", body = CreatedToken), Refusals))]
pub(crate) async fn create(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    headers: HeaderMap,
    JsonBody(body): JsonBody<TokenBody>,
) -> Result<Response, ApiError> {
    let host = body.host.filter(|host| !host.trim().is_empty());
    let host: Option<Host> = host.map(|host| host.parse::<Host>()).transpose()?;
    let lives = body.expires_in.and_then(Scalar::into_text);
    let lives = lives
        .map(|text| parse_duration("expires_in", &text))
        .transpose()?;
    if lives.is_some_and(|lives| lives.is_zero()) {
        return Err(Invalid::new("expires_in", "must be longer than 0").into());
    }
    let uses = body.uses.and_then(Scalar::into_text);
    let uses = uses.map(|text| parse_uses(&text)).transpose()?;
    let new = NewJoinToken {
        host,
        lives,
        uses,
        replace: body.replace.unwrap_or(false),
    };
    let (record, secret) = http
        .control
        .access()
        .create_join_token(&caller, new)
        .await?;
    let token = wire::enrol::JoinToken {
        secret,
        ca_sha256: http.ca_sha256,
    };
    let token = token.to_string();
    let created = CreatedToken {
        id: record.id,
        install: install::line(&http, &headers, &token, host),
        token,
        expires_at: record.expires_at,
        agents_address: http.agents_address.map(|address| address.to_string()),
    };
    Ok(json(StatusCode::CREATED, &created))
}

fn parse_uses(text: &str) -> Result<u32, Invalid> {
    let uses = text.trim().parse().ok().filter(|uses| *uses > 0);
    uses.ok_or_else(|| Invalid::new("uses", "must be a whole number from 1"))
}

/// Deletes a join token; agents that used it stay enrolled.
#[utoipa::path(delete, path = "/api/v1/tokens/{id}", operation_id = "delete_token", tag = "access", params(("id" = String, Path)),
    responses((status = 204, description = "Deleted"), Refusals))]
pub(crate) async fn delete(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    http.control
        .access()
        .delete_join_token(&caller, &id)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
