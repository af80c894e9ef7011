//! `watch`: the stream as sentences and as JSON lines.

use crate::command::muster;
use crate::fake_server::{FakeServer, Response, status};

const STREAM: &str = ": hello\n\n\
    event: status\ndata: {\"process\":\"web/nginx\",\"host\":\"0:10.0.0.1\",\"state\":\"running\",\"pid\":77,\"message\":\"\",\"at\":1700000000000}\n\n\
    event: agent\ndata: {\"host\":\"0:10.0.0.1\",\"connected\":false,\"at\":1700000000000}\n\n\
    event: registration\nid: 7-9\ndata: {\"process\":\"web/nginx\",\"hosts\":3,\"what\":\"updated\"}\n\n\
    event: event\ndata: {\"host\":\"0:10.0.0.1\",\"process\":\"web/nginx\",\"kind\":\"process_exit\",\"reason\":\"exited with code 3\",\"at\":1700000001000}\n\n";

/// Streams once, then refuses, which ends the command.
fn streaming() -> FakeServer {
    let mut first = Some(STREAM.to_owned());
    let first = std::sync::Mutex::new(first.take());
    FakeServer::new(move |_| match first.lock().unwrap().take() {
        Some(body) => Response {
            status: 200,
            headers: "Content-Type: text/event-stream\r\n".into(),
            body,
        },
        None => status(
            403,
            serde_json::json!({"error": {"code": "forbidden", "message": "enough"}}),
        ),
    })
}

#[test]
fn changes_are_sentences_for_people() {
    let server = streaming();
    let ran = muster(&["watch", "-n", "web", "--kind", "status,agent"])
        .to(&server.url)
        .run();
    assert_eq!(
        without_now(&ran.stdout),
        "22:13:20  status        web/nginx on 0:10.0.0.1: running, pid 77\n\
         22:13:20  agent         0:10.0.0.1: away\n\
         CLOCK  registration  web/nginx: updated on 3 hosts\n\
         22:13:21  event         web/nginx on 0:10.0.0.1: process_exit: exited with code 3\n"
    );
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("the connection was lost"), "{ran:?}");
    assert_eq!(
        server.lines()[0],
        "GET /api/v1/watch?namespace=web&kinds=status%2Cagent"
    );
    assert_eq!(
        server.lines()[1],
        "GET /api/v1/watch?namespace=web&kinds=status%2Cagent&since=7-9",
        "it goes on where it was"
    );
}

/// A registration has no time: the line has the time at which it came.
fn without_now(stdout: &str) -> String {
    let line = |line: &str| match line.contains("  registration  ") {
        true => format!("CLOCK{}\n", &line[8..]),
        false => format!("{line}\n"),
    };
    stdout.lines().map(line).collect()
}

#[test]
fn changes_are_json_lines_for_programs() {
    let ran = muster(&["watch", "-o", "json", "-q"])
        .to(&streaming().url)
        .run();
    let lines: Vec<serde_json::Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0]["event"], "status");
    assert_eq!(lines[0]["data"]["pid"], 77);
}
