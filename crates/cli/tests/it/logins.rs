//! `logins`: own logins, listed and ended.

use serde_json::json;

use crate::command::muster;
use crate::fake_server::{FakeServer, Request, Response, ok};

fn answering() -> FakeServer {
    FakeServer::new(|request: &Request| -> Response {
        match request.line.starts_with("GET") {
            true => ok(json!({"logins": [
                {"id": "aa11", "created_at": 1_700_000_000_000_i64, "expires_at": 4_000_000_000_000_i64, "from": "10.0.0.9",
                    "user_agent": "muster/0.1.0", "current": true},
                {"id": "bb22", "created_at": 1_700_000_000_000_i64, "expires_at": 4_000_000_000_000_i64, "from": "",
                    "user_agent": "", "current": false}]})),
            false => ok(json!(null)),
        }
    })
}

#[test]
fn own_logins_are_listed_with_where_they_began() {
    let server = answering();
    let ran = muster(&["logins"])
        .to(&server.url)
        .env("MUSTER_TOKEN", "t0ken")
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let first = ran.stdout.lines().nth(1).unwrap();
    for text in ["aa11", "10.0.0.9", "this one", "muster/0.1.0"] {
        assert!(first.contains(text), "{text}: {ran:?}");
    }
}

#[test]
fn ending_one_needs_a_yes() {
    let server = answering();
    let end = ["logins", "end", "bb22"];
    let ran = muster(&end)
        .to(&server.url)
        .env("MUSTER_TOKEN", "t0ken")
        .run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        server
            .lines()
            .iter()
            .all(|line| !line.starts_with("DELETE"))
    );
    let ran = muster(&[&end[..], &["--yes"]].concat())
        .to(&server.url)
        .env("MUSTER_TOKEN", "t0ken")
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        server.lines().last().unwrap(),
        "DELETE /api/v1/me/logins/bb22"
    );
}

#[test]
fn an_app_has_no_logins() {
    let ran = muster(&["logins"]).to(&answering().url).run();
    assert_eq!(ran.code, 2, "{ran:?}");
}
