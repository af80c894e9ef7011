//! `/healthz` and `/readyz`, for service managers and load balancers.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::HttpState;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`, or `waiting`.
    status: &'static str,
    version: &'static str,
    /// What is waited for, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    waiting_for: BTreeMap<&'static str, String>,
}

/// Says that the process lives.
#[utoipa::path(get, path = "/healthz", tag = "server", security(()), responses((status = 200, description = "It lives", body = Health)))]
pub(crate) async fn healthz(State(http): State<HttpState>) -> Json<Health> {
    Json(Health {
        status: "ok",
        version: http.version,
        waiting_for: BTreeMap::new(),
    })
}

/// Says whether requests will be answered.
#[utoipa::path(get, path = "/readyz", tag = "server", security(()), responses(
    (status = 200, description = "Ready", body = Health),
    (status = 503, description = "Not ready; says what for", body = Health),
))]
pub(crate) async fn readyz(State(http): State<HttpState>) -> (StatusCode, Json<Health>) {
    let mut waiting_for = http.ready.reasons();
    if http.control.replicas().is_draining() {
        waiting_for.insert(
            "drain",
            "draining: its agents go to other replicas".to_owned(),
        );
    }
    let (code, status) = match waiting_for.is_empty() {
        true => (StatusCode::OK, "ok"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "waiting"),
    };
    (
        code,
        Json(Health {
            status,
            version: http.version,
            waiting_for,
        }),
    )
}
