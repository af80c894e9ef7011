//! Health, readiness, metrics, request ids, compression, unknown paths.

use serde_json::json;

use crate::rig::{Rig, target};

#[tokio::test]
async fn readiness_names_the_parts_that_are_not_ready() {
    let rig = Rig::new().await;
    let health = rig.send("GET", "/healthz", &[], b"").await;
    assert_eq!(
        (health.status, health.json()),
        (200, json!({"status": "ok", "version": "9.9.9"}))
    );
    assert_eq!(rig.send("GET", "/readyz", &[], b"").await.status, 200);
    rig.ready.wait_for("store", "replaying 7 changes");
    let waiting = rig.send("GET", "/readyz", &[], b"").await;
    assert_eq!(waiting.status, 503);
    assert_eq!(
        waiting.json()["waiting_for"],
        json!({"store": "replaying 7 changes"})
    );
    rig.ready.ready("store");
    assert_eq!(rig.send("GET", "/readyz", &[], b"").await.status, 200);
}

#[tokio::test]
async fn metrics_count_every_dialect() {
    let rig = Rig::new().await;
    rig.esb_ok("get_proc_status", target()).await;
    rig.esb("get_proc_status", json!({})).await;
    rig.native("GET", "/processes", serde_json::Value::Null)
        .await;
    rig.send("GET", "/no/such/path", &[], b"").await;
    let answer = rig.send("GET", "/metrics", &[], b"").await;
    let text = String::from_utf8(answer.body).unwrap();
    let arch = std::env::consts::ARCH;
    for line in [
        &format!("muster_build_info{{version=\"9.9.9\",arch=\"{arch}\"}} 1"),
        "muster_processes 0",
        "muster_http_requests_total{dialect=\"esb\",endpoint=\"get_proc_status\",class=\"ok\"} 1",
        "muster_http_requests_total{dialect=\"esb\",endpoint=\"get_proc_status\",class=\"client_error\"} 1",
        "muster_http_requests_total{dialect=\"native\",endpoint=\"/api/v1/processes\",class=\"ok\"} 1",
        "muster_http_requests_total{dialect=\"native\",endpoint=\"other\",class=\"client_error\"} 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
}

#[tokio::test]
async fn request_ids_are_echoed_or_created() {
    let rig = Rig::new().await;
    for path in ["/healthz", "/v2/gse/nothing", "/nothing"] {
        let echoed = rig
            .send("GET", path, &[("X-Bkapi-Request-Id", "abc")], b"")
            .await;
        assert_eq!(echoed.header("x-bkapi-request-id"), Some("abc"));
        let created = rig.send("GET", path, &[], b"").await;
        assert_eq!(created.header("x-bkapi-request-id").unwrap().len(), 32);
    }
}

#[tokio::test]
async fn unknown_paths_and_methods_of_the_native_api_have_ordinary_codes() {
    let rig = Rig::new().await;
    for (method, path, status) in [
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/nothing", 404),
        ("DELETE", "/api/v1/tasks", 405),
        ("POST", "/healthz", 405),
    ] {
        let answer = rig.send(method, path, &[], b"").await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert!(answer.json()["error"]["message"].is_string());
    }
}

#[tokio::test]
async fn large_responses_are_compressed_on_request() {
    let rig = Rig::new().await;
    let plain = rig.send("GET", "/openapi.json", &[], b"").await;
    assert_eq!(plain.header("content-encoding"), None);
    let packed = rig
        .send("GET", "/openapi.json", &[("accept-encoding", "gzip")], b"")
        .await;
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() * 4 < plain.body.len());
    let small = rig
        .send("GET", "/healthz", &[("accept-encoding", "gzip")], b"")
        .await;
    assert_eq!(small.header("content-encoding"), None);
}
