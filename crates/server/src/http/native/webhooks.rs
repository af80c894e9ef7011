//! Webhooks: who else is told of events.

use std::time::Instant;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::WebhookHealth;
use model::event::EventKind;
use model::webhook::{Webhook, WebhookUrl};
use model::{Invalid, Namespace, UnixMillis};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ApiError;
use super::answer::{json, ok};
use super::caller::Asking;
use super::events::parse_kind;
use super::grants::parse_namespaces;
use super::read::{Read, Segments};
use super::responses::Refusals;
use crate::http::{HttpState, chain, now};
use crate::webhooks::{PostError, deliver, test_row};

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookList {
    webhooks: Vec<WebhookRow>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookRow {
    id: String,
    #[schema(value_type = String)]
    url: WebhookUrl,
    /// Null for all.
    #[schema(value_type = Option<Vec<String>>)]
    namespaces: Option<Vec<Namespace>>,
    /// Null for all.
    #[schema(value_type = Option<Vec<String>>)]
    kinds: Option<Vec<EventKind>>,
    #[schema(value_type = i64)]
    created_at: UnixMillis,
    /// Deliveries that succeeded since the server started.
    delivered: u64,
    /// Attempts that failed since the server started.
    failed: u64,
    /// Since when deliveries fail; null when the last one succeeded.
    #[schema(value_type = Option<i64>)]
    failing_since: Option<UnixMillis>,
    /// Why the last delivery failed; null when it succeeded.
    last_error: Option<String>,
}

impl From<(Webhook, WebhookHealth)> for WebhookRow {
    fn from((webhook, health): (Webhook, WebhookHealth)) -> Self {
        let (failing_since, last_error) = health.failing.unzip();
        Self {
            id: webhook.id,
            url: webhook.url,
            namespaces: webhook.namespaces,
            kinds: webhook.kinds,
            created_at: webhook.created_at,
            delivered: health.n_delivered,
            failed: health.n_failed,
            failing_since,
            last_error,
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct WebhookBody {
    /// `http://HOST[:PORT]/PATH`
    #[schema(required)]
    url: Option<String>,
    /// Only events of these namespaces; all if not given.
    namespaces: Option<Vec<String>>,
    /// Only events of these kinds; all if not given.
    kinds: Option<Vec<String>>,
    /// Signs what is sent, 16 to 256 bytes; made by the server if not given. The server keeps it to sign with.
    secret: Option<String>,
}

/// The secret is shown this once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedWebhook {
    id: String,
    #[schema(value_type = String)]
    url: WebhookUrl,
    secret: String,
}

/// How a test went.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookTest {
    delivered: bool,
    /// What the receiver answered with; null when it did not.
    status: Option<u16>,
    /// Why it was not delivered; null when it was.
    error: Option<String>,
    took_ms: u64,
}

/// Lists webhooks, with how deliveries go.
#[utoipa::path(get, path = "/api/v1/webhooks", operation_id = "list_webhooks", tag = "events",
    responses((status = 200, description = "All webhooks", body = WebhookList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Asking(caller): Asking,
) -> Result<Response, ApiError> {
    let webhooks = http.control.webhooks().list(&caller)?;
    Ok(ok(&WebhookList {
        webhooks: webhooks.into_iter().map(WebhookRow::from).collect(),
    }))
}

/// Creates a webhook, which is told of every event from now on, and shows its secret this once.
#[utoipa::path(post, path = "/api/v1/webhooks", operation_id = "create_webhook", tag = "events", request_body = WebhookBody, responses(
    (status = 201, description = "Created", body = CreatedWebhook),
    (status = 409, description = "There are too many", body = super::error::ErrorBody), Refusals))]
pub(crate) async fn create(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Read(body): Read<WebhookBody>,
) -> Result<Response, ApiError> {
    let url = WebhookUrl::parse(&body.url.unwrap_or_default())?;
    let namespaces = body.namespaces.map(parse_namespaces).transpose()?;
    let kinds = body.kinds.map(parse_kinds).transpose()?;
    let secret = body.secret.filter(|secret| !secret.is_empty());
    let webhook = http
        .control
        .webhooks()
        .create(&caller, url, namespaces, kinds, secret)
        .await?;
    let created = CreatedWebhook {
        id: webhook.id,
        url: webhook.url,
        secret: webhook.secret,
    };
    Ok(json(StatusCode::CREATED, &created))
}

fn parse_kinds(names: Vec<String>) -> Result<Vec<EventKind>, Invalid> {
    let numbered = names.iter().enumerate();
    numbered
        .map(|(index, name)| {
            parse_kind(name).map_err(|error| Invalid::new(format!("kinds[{index}]"), error.rule))
        })
        .collect()
}

/// Deletes a webhook: it is told nothing more.
#[utoipa::path(delete, path = "/api/v1/webhooks/{id}", operation_id = "delete_webhook", tag = "events", params(("id" = String, Path)),
    responses((status = 204, description = "Deleted"), Refusals))]
pub(crate) async fn delete(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(id): Segments<String>,
) -> Result<StatusCode, ApiError> {
    http.control.webhooks().delete(&caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a signed event of kind `test` now, once, and says how that went.
#[utoipa::path(post, path = "/api/v1/webhooks/{id}/test", operation_id = "test_webhook", tag = "events", params(("id" = String, Path)),
    responses((status = 200, description = "It was tried", body = WebhookTest), Refusals))]
pub(crate) async fn test(
    State(http): State<HttpState>,
    Asking(caller): Asking,
    Segments(id): Segments<String>,
) -> Result<Response, ApiError> {
    let webhook = http.control.webhooks().start_test(&caller, &id).await?;
    let began = Instant::now();
    let reason = format!("{} tries whether events arrive", caller.user);
    let sent = deliver(&webhook, &http.webhook_client, &test_row(now(), &reason)).await;
    let (status, error) = match sent {
        Ok(status) => (Some(status), None),
        Err(error) => {
            let status = match &error {
                PostError::Status(status) => Some(*status),
                _ => None,
            };
            (status, Some(chain(&error)))
        }
    };
    Ok(ok(&WebhookTest {
        delivered: error.is_none(),
        status,
        error,
        took_ms: began.elapsed().as_millis() as u64,
    }))
}
