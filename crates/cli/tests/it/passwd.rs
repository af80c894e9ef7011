//! `passwd`.

use serde_json::json;

use crate::command::muster;
use crate::fake_server::{FakeServer, Request, Response, ok};

#[test]
fn a_password_is_changed_from_standard_input() {
    let server = FakeServer::new(|_: &Request| -> Response { ok(json!(null)) });
    let ran = muster(&["passwd", "--password-stdin"])
        .to(&server.url)
        .env("MUSTER_TOKEN", "t0ken")
        .stdin("correct horse\nbattery staple\n")
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = server.asked();
    assert_eq!(asked[0].line, "POST /api/v1/me/password");
    assert_eq!(
        asked[0].body,
        json!({"old": "correct horse", "new": "battery staple"})
    );
    let ran = muster(&["passwd", "--password-stdin"])
        .to(&server.url)
        .env("MUSTER_TOKEN", "t0ken")
        .stdin("correct horse\n")
        .run();
    assert_eq!(ran.code, 2, "{ran:?}");
}
