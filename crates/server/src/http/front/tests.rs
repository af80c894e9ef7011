use axum::body::Body;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Router, middleware};
use control::{Clock, Control};
use http_body_util::BodyExt;
use serde_json::Value;
use store::Store;
use tempfile::TempDir;
use tokio::sync::watch;
use tower::ServiceExt;

use super::*;
use crate::http::Readiness;

async fn broken() -> &'static str {
    panic!("a request that cannot be answered");
}

#[tokio::test]
async fn a_panic_in_a_handler_answers_500_in_every_dialect_and_the_server_goes_on() {
    let dir = TempDir::new().unwrap();
    let url = format!("sqlite:{}/muster.db", dir.path().display());
    let store = Store::open(&url).await.unwrap();
    let (control, _background) = Control::alone(store, Clock::system()).await.unwrap();
    let (_stop, stopped) = watch::channel(false);
    let state = HttpState::new(control, "test", Readiness::default(), stopped);
    let app = Router::new()
        .route("/api/v1/broken", get(broken))
        .route("/api/c/compapi/v2/gse/broken/", get(broken))
        .route("/api/v1/whole", get(|| async { "{}" }))
        .layer(middleware::from_fn_with_state(state, front));
    let ask = |path: &'static str| {
        let request = Request::get(path).body(Body::empty()).unwrap();
        app.clone().oneshot(request)
    };
    let native = ask("/api/v1/broken").await.unwrap();
    assert_eq!(native.status(), StatusCode::INTERNAL_SERVER_ERROR);
    // Clients of GSE raise on any other status.
    let gse = ask("/api/c/compapi/v2/gse/broken/").await.unwrap();
    assert_eq!(gse.status(), StatusCode::OK);
    let body = gse.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["result"], false);
    let whole = ask("/api/v1/whole").await.unwrap();
    assert_eq!(whole.status(), StatusCode::OK);
}

#[test]
fn a_usable_request_id_is_kept_and_any_other_replaced() {
    let of = |value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID, HeaderValue::from_str(value).unwrap());
        RequestId::of(&headers).0
    };
    assert_eq!(&*of("abc-1"), "abc-1");
    assert_eq!(of("a b").len(), 32);
    assert_eq!(of(&"x".repeat(MAX_REQUEST_ID + 1)).len(), 32);
    assert_ne!(
        RequestId::of(&HeaderMap::new()).0,
        RequestId::of(&HeaderMap::new()).0
    );
}
