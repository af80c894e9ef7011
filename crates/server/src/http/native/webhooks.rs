//! Webhooks: who else is told of events.

use std::borrow::Cow;
use std::time::Instant;

use api::{CreatedWebhook, WebhookBody, WebhookList, WebhookRow, WebhookTest};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use control::WebhookHealth;
use model::Invalid;
use model::event::EventKind;
use model::selector::LabelSelector;
use model::webhook::{Webhook, WebhookUrl};

use super::ApiError;
use super::caller::Authenticated;
use super::events::parse_kind;
use super::grants::{parse_namespaces, texts};
use super::refusals::Refusals;
use super::request::{JsonBody, PathParams};
use super::response::{json, ok};
use crate::http::{HttpState, chain, now};
use crate::webhooks::{PostError, deliver, test_row};

fn words(kinds: Vec<EventKind>) -> Vec<Cow<'static, str>> {
    kinds.into_iter().map(|kind| kind.as_str().into()).collect()
}

fn row((webhook, health): (Webhook, WebhookHealth)) -> WebhookRow {
    let (failing_since, last_error) = health.failing.unzip();
    WebhookRow {
        id: webhook.id,
        url: webhook.url.into(),
        namespaces: webhook.namespaces.map(texts),
        kinds: webhook.kinds.map(words),
        label: webhook.labels.map(|labels| labels.to_string()),
        created_at: webhook.created_at,
        delivered: health.n_delivered,
        failed: health.n_failed,
        failing_since,
        last_error,
    }
}

/// Lists webhooks, with how deliveries go.
#[utoipa::path(get, path = "/api/v1/webhooks", operation_id = "list_webhooks", tag = "events",
    responses((status = 200, description = "All webhooks", body = WebhookList), Refusals))]
pub(crate) async fn list(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
) -> Result<Response, ApiError> {
    let webhooks = http.control.webhooks().list(&caller)?;
    Ok(ok(&WebhookList {
        webhooks: webhooks.into_iter().map(row).collect(),
    }))
}

/// Creates a webhook, which is told of every event from now on, and shows its secret this once.
#[utoipa::path(post, path = "/api/v1/webhooks", operation_id = "create_webhook", tag = "events", request_body = WebhookBody, responses(
    (status = 201, description = "Created", body = CreatedWebhook),
    (status = 409, description = "There are too many", body = api::ErrorBody), Refusals))]
pub(crate) async fn create(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    JsonBody(body): JsonBody<WebhookBody>,
) -> Result<Response, ApiError> {
    let url = WebhookUrl::parse(&body.url.unwrap_or_default())?;
    let namespaces = body.namespaces.map(parse_namespaces).transpose()?;
    let kinds = body.kinds.map(parse_kinds).transpose()?;
    let labels = body.label.as_deref().map(LabelSelector::parse);
    let labels = labels.transpose()?;
    let secret = body.secret.filter(|secret| !secret.is_empty());
    let webhook = http
        .control
        .webhooks()
        .create(&caller, url, namespaces, kinds, labels, secret)
        .await?;
    let created = CreatedWebhook {
        id: webhook.id,
        url: webhook.url.into(),
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
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<String>,
) -> Result<StatusCode, ApiError> {
    http.control.webhooks().delete(&caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a signed event of kind `test` now, once, and says how that went.
#[utoipa::path(post, path = "/api/v1/webhooks/{id}/test", operation_id = "test_webhook", tag = "events", params(("id" = String, Path)),
    responses((status = 200, description = "It was tried", body = WebhookTest), Refusals))]
pub(crate) async fn test(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    PathParams(id): PathParams<String>,
) -> Result<Response, ApiError> {
    let webhook = http.control.webhooks().start_test(&caller, &id).await?;
    let began = Instant::now();
    let who = match caller.user.as_str() {
        "" => &caller.app,
        user => user,
    };
    let reason = format!("{who} tries whether events arrive");
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
