//! `why`: one sentence, and the last output of the run that ended.

use serde_json::json;

use crate::command::muster;
use crate::fake_server::{FakeServer, status};

fn answering() -> FakeServer {
    FakeServer::new(|_| {
        status(
            200,
            json!({"process": "web/nginx", "host": "0:10.0.0.1", "state": "failed", "since": 1_700_000_000_000_i64,
                "code": "gave_up", "params": {"tried": "4"}, "text": "the agent gave up after 4 attempts",
                "last_exit": {"code": 1, "signal": null, "at": 1_700_000_000_000_i64, "oom": false}, "tried": 4,
                "cause": {"code": "host_restarted", "params": {}, "text": "its host was restarted", "at": 1_700_000_000_000_i64},
                "next": null, "output": ["no such table", "bye \u{1b}[31m"]}),
        )
    })
}

#[test]
fn a_sentence_says_why_and_the_output_follows() {
    let server = answering();
    let ran = muster(&["why", "web/nginx", "--host", "10.0.0.1"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut lines = ran.stdout.lines();
    assert_eq!(
        lines.next(),
        Some("web/nginx on 0:10.0.0.1: failed: the agent gave up after 4 attempts")
    );
    assert!(ran.stdout.contains("tried"), "{ran:?}");
    assert!(
        ran.stdout
            .contains("host restarted: its host was restarted\n"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("  no such table\n"), "{ran:?}");
    assert!(!ran.stdout.contains('\u{1b}'), "{ran:?}");
    assert_eq!(
        server.lines()[0],
        "GET /api/v1/processes/web/nginx/why?host=0:10.0.0.1"
    );
}

#[test]
fn programs_get_the_answer_as_it_is() {
    let ran = muster(&["why", "web/nginx", "-o", "json"])
        .to(&answering().url)
        .run();
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["code"], "gave_up");
}
