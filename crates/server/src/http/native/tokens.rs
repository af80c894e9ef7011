//! Join tokens: what lets an agent enrol.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::NewJoinToken;
use model::{Host, Invalid, UnixMillis};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ApiError;
use super::answer::{json, ok};
use super::caller::Asking;
use super::read::{Read, Segments, parse_duration};
use super::responses::Refusals;
use crate::http::HttpState;
use crate::http::json::Scalar;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TokenList {
    tokens: Vec<TokenRow>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TokenRow {
    id: String,
    /// The only host that it is good for; null for any.
    #[schema(value_type = Option<String>)]
    host: Option<Host>,
    /// 0 for never.
    #[schema(value_type = i64)]
    expires_at: UnixMillis,
    #[schema(value_type = i64)]
    created_at: UnixMillis,
    /// How many agents may still join with it; null for any number.
    uses_left: Option<u32>,
    /// Whether an agent that joins with it takes the place of one that is connected, or was within the last ten minutes.
    replace: bool,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TokenBody {
    /// `CLOUD:IP`: good for this host alone.
    host: Option<String>,
    /// Such as `24h`; it does not expire if not given.
    #[schema(value_type = Option<String>)]
    expires_in: Option<Scalar>,
    /// How many agents may join with it; any number if not given.
    #[schema(value_type = Option<u32>, minimum = 1)]
    uses: Option<Scalar>,
    /// Whether an agent that joins with it takes the place of one that is connected, or was within the last ten minutes.
    /// No, if not given.
    replace: Option<bool>,
}

/// The token is shown this once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedToken {
    id: String,
    token: String,
    #[schema(value_type = i64)]
    expires_at: UnixMillis,
}

/// Lists join tokens.
#[utoipa::path(get, path = "/api/v1/tokens", operation_id = "list_tokens", tag = "access",
    responses((status = 200, description = "All join tokens", body = TokenList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Asking(caller): Asking,
) -> Result<Response, ApiError> {
    let tokens = http.control.access().join_tokens(&caller)?;
    let tokens = tokens.into_iter().map(|token| TokenRow {
        id: token.id,
        host: token.host,
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
    Asking(caller): Asking,
    Read(body): Read<TokenBody>,
) -> Result<Response, ApiError> {
    let host = body.host.filter(|host| !host.trim().is_empty());
    let host: Option<Host> = host.map(|host| host.parse::<Host>()).transpose()?;
    let lives = body.expires_in.and_then(Scalar::into_text);
    let lives = lives
        .map(|text| parse_duration("expires_in", &text))
        .transpose()?;
    if lives.is_some_and(|lives| lives.is_zero()) {
        return Err(Invalid::new("expires_in", "must be more than nothing").into());
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
    let created = CreatedToken {
        id: record.id,
        token: token.to_string(),
        expires_at: record.expires_at,
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
    Asking(caller): Asking,
    Segments(id): Segments<String>,
) -> Result<StatusCode, ApiError> {
    http.control
        .access()
        .delete_join_token(&caller, &id)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
