//! Sets and removes labels of hosts.

use std::borrow::Cow;

use api::{ErrorBody, HostsLabelled, LabelHostsBody, LabelledHostView};
use axum::extract::State;
use axum::response::Response;
use control::LabelHosts;

use super::ApiError;
use super::caller::Authenticated;
use super::refusals::Refusals;
use super::request::JsonBody;
use super::response::ok;
use super::targets::parse_host;
use crate::http::HttpState;

/// How many hosts a response names.
const MAX_SHOWN: usize = 1000;

/// Sets and removes labels of hosts, of all that are named or of none. Processes have the labels of their host, too, where they
/// have no label of the same key.
#[utoipa::path(post, path = "/api/v1/label-hosts", operation_id = "label_hosts", tag = "hosts", request_body = LabelHostsBody,
    responses(
        (status = 200, description = "The labels of the hosts", body = HostsLabelled),
        (status = 409, description = "A host has another value of a label; nothing was changed", body = ErrorBody),
        Refusals,
    ))]
pub(crate) async fn label(
    State(http): State<HttpState>,
    Authenticated(caller): Authenticated,
    JsonBody(body): JsonBody<LabelHostsBody>,
) -> Result<Response, ApiError> {
    let hosts = body.hosts.unwrap_or_default();
    let request = LabelHosts {
        hosts: hosts.iter().map(parse_host).collect(),
        labels: body.labels.unwrap_or_default(),
        overwrite: body.overwrite.unwrap_or(false),
    };
    let registry = http.control.registry();
    let labelled = registry.label_hosts(&caller, request).await?;
    Ok(ok(&HostsLabelled {
        count: labelled.len(),
        changed: labelled.iter().filter(|one| one.changed).count(),
        hosts: labelled
            .iter()
            .take(MAX_SHOWN)
            .map(|one| LabelledHostView {
                host: one.host.into(),
                labels: Cow::Borrowed(&one.labels),
                changed: one.changed,
            })
            .collect(),
    }))
}
