//! The exit code of each kind of response.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::command::muster;
use crate::fake_server::{FakeServer, Response, ok, status};

fn refusal(code: &str, message: &str) -> Value {
    json!({"error": {"code": code, "message": message}})
}

#[test]
fn no_server_is_3_and_says_what_to_do() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let ran = muster(&["ps"]).to(&format!("http://{port}")).run();
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.stderr.contains("cannot reach http://127.0.0.1:"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("is the server running"), "{ran:?}");
}

#[test]
fn refused_credentials_are_3_and_name_their_source() {
    let server =
        FakeServer::answering(401, refusal("unauthenticated", "the app's secret is wrong"));
    let ran = muster(&["ps"]).to(&server.url).run();
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr.contains("refused app test (from MUSTER_APP_CODE and MUSTER_APP_SECRET): the app's secret is wrong"),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("hush"), "{ran:?}");

    let ran = muster(&["ps"]).env("MUSTER_URL", &server.url).run();
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr.contains("none were found (there is no "),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("MUSTER_APP_CODE and MUSTER_APP_SECRET"),
        "{ran:?}"
    );
}

#[test]
fn each_status_has_its_exit_code() {
    for (answer, code, part) in [
        (
            status(403, refusal("forbidden", "not yours")),
            3,
            "error: not yours",
        ),
        (
            status(404, refusal("not_found", "no host 0:10.0.0.1")),
            4,
            "no host 0:10.0.0.1",
        ),
        (
            status(
                400,
                json!({"error": {"code": "invalid", "field": "limit", "message": "must be small"}}),
            ),
            2,
            "limit: must be small",
        ),
        (
            status(
                400,
                json!({"error": {"code": "invalid", "field": "limit", "message": "limit: must be small"}}),
            ),
            2,
            "error: limit: must be small",
        ),
        (
            status(413, refusal("too_large", "too large")),
            2,
            "name fewer hosts",
        ),
        (status(409, refusal("conflict", "exists")), 1, "exists"),
        (
            status(500, refusal("internal", "its log says why")),
            3,
            "cannot answer now",
        ),
        (status(502, json!("<html>proxy</html>")), 3, "proxy"),
    ] {
        let answer = std::sync::Mutex::new(Some(answer));
        let server = FakeServer::new(move |_| answer.lock().unwrap().take().unwrap());
        let ran = muster(&["hosts", "10.0.0.1"]).to(&server.url).run();
        assert_eq!(ran.code, code, "{part}: {ran:?}");
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
        assert!(ran.stdout.is_empty(), "{ran:?}");
    }
}

#[test]
fn a_busy_server_is_asked_again() {
    let tries = std::sync::atomic::AtomicU32::new(0);
    let server =
        FakeServer::new(
            move |_| match tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                0 => Response {
                    headers: "Retry-After: 1\r\n".into(),
                    ..status(429, refusal("too_fast", "slow down"))
                },
                _ => ok(json!({"count": 0, "hosts": []})),
            },
        );
    let ran = muster(&["hosts"]).to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(server.lines().len(), 2);
}

#[test]
fn what_is_no_muster_server_is_told() {
    let server = FakeServer::new(|_| Response {
        status: 200,
        headers: String::new(),
        body: "<html>".into(),
    });
    let ran = muster(&["ps"]).to(&server.url).run();
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("is this a Muster server"), "{ran:?}");
}
