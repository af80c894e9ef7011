//! Live questions to agents: logs, and held processes.

use serde_json::{Value, json};
use testkit::FakeAgent;
use tokio::net::TcpStream;
use wire::Question;

use crate::rig::{HEADERS, Rig, read_until, spec};

const GZIP_HEADERS: [(&str, &str); 4] = [
    HEADERS[0],
    HEADERS[1],
    HEADERS[2],
    ("Accept-Encoding", "gzip"),
];

async fn rig() -> (Rig, FakeAgent) {
    let rig = Rig::new().await;
    let agent = rig.agent("0:10.0.0.1").await;
    let body = json!({"hosts": ["10.0.0.1"], "spec": spec()});
    let registered = rig.native("POST", "/processes/gse/web", body).await;
    assert_eq!(registered.0, 200, "{registered:?}");
    (rig, agent)
}

/// Follows a log and sends the first chunk.
async fn follow(rig: &Rig, agent: &FakeAgent) -> (TcpStream, u64) {
    let path = "/api/v1/processes/gse/web/logs?host=10.0.0.1&tail=5&follow=true";
    let stream = rig.open("GET", path, &GZIP_HEADERS, b"").await;
    let (id, question) = agent.next_question().await;
    let Question::Logs(logs) = question else {
        panic!("{question:?}");
    };
    assert_eq!((logs.tail_lines, logs.follow), (5, true));
    agent.send_chunk(id, b"one\n").await;
    (stream, id)
}

#[tokio::test]
async fn logs_are_plain_text_line_by_line() {
    let (rig, agent) = rig().await;
    let (mut stream, id) = follow(&rig, &agent).await;
    let head = read_until(&mut stream, &["one\n"]).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("content-type: text/plain"), "{head}");
    // Compression does not hold chunks back.
    agent.send_chunk(id, b"two").await;
    read_until(&mut stream, &["two"]).await;
    drop(agent);
    let last_line = "\nmuster: the agent of host 0:10.0.0.1 disconnected; the output ends here\n";
    read_until(&mut stream, &[last_line]).await;
}

#[tokio::test]
async fn logs_in_pieces_say_how_they_end_and_that_the_server_lives() {
    let (rig, agent) = rig().await;
    let path = "/api/v1/processes/gse/web/logs?follow=true&format=json";
    let mut stream = rig.open("GET", path, &GZIP_HEADERS, b"").await;
    let (id, _) = agent.next_question().await;
    agent.send_chunk(id, b"one\n").await;
    let head = read_until(&mut stream, &["{\"text\":\"one\\n\"}\n"]).await;
    assert!(
        head.contains("content-type: application/x-ndjson"),
        "{head}"
    );
    agent.send_chunk(id, b"\xff").await;
    read_until(&mut stream, &["{\"base64\":\"/w==\"}\n"]).await;
    // Nothing is written for a while.
    read_until(&mut stream, &["{}\n"]).await;
    drop(agent);
    let end = "{\"end\":\"the agent of host 0:10.0.0.1 disconnected\"}\n";
    read_until(&mut stream, &[end]).await;
}

#[tokio::test]
async fn what_to_show_is_passed_on_to_the_agent() {
    let (rig, agent) = rig().await;
    let path = "/processes/gse/web/logs?previous=true&since=10m&grep=a%7Cb&tail=3";
    let asking = rig.native("GET", path, Value::Null);
    let answering = async {
        let (id, question) = agent.next_question().await;
        // Not `Logs`: an old agent would ignore what it does not know.
        let Question::SelectedLogs(logs) = question else {
            panic!("{question:?}");
        };
        assert!(logs.previous && !logs.follow);
        assert_eq!((logs.tail_lines, logs.since_ms), (3, Some(600_000)));
        assert_eq!(logs.grep.unwrap().as_str(), "a|b");
        agent.send(wire::Output::refuse(id, "only one run")).await;
    };
    let ((status, body), ()) = tokio::join!(asking, answering);
    assert_eq!(
        (status, &body["error"]["message"]),
        (404, &json!("only one run"))
    );
}

#[tokio::test]
async fn a_disconnected_reader_cancels_the_question() {
    let (rig, agent) = rig().await;
    let (mut stream, id) = follow(&rig, &agent).await;
    read_until(&mut stream, &["one\n"]).await;
    drop(stream);
    assert_eq!(agent.next_question().await, (id, Question::Cancel));
}

#[tokio::test]
async fn a_stopping_server_ends_logs_with_a_message() {
    let (rig, agent) = rig().await;
    let (mut stream, _) = follow(&rig, &agent).await;
    read_until(&mut stream, &["one\n"]).await;
    rig.stop.send_replace(true);
    read_until(&mut stream, &["muster: the server is stopping"]).await;
}

#[tokio::test]
async fn a_question_that_cannot_be_answered_has_a_status_and_a_reason() {
    let (rig, agent) = rig().await;
    let get = async |path: &str| {
        let (status, body) = rig.native("GET", path, Value::Null).await;
        let error = &body["error"];
        let message = error["message"].as_str().unwrap_or_default().to_owned();
        (
            status,
            error["code"].as_str().unwrap_or_default().to_owned(),
            message,
        )
    };
    for (path, status, code) in [
        ("/processes/gse/none/logs", 404, "not_found"),
        ("/processes/gse/web/logs?host=10.0.0.9", 404, "not_found"),
        ("/processes/gse/web/logs?host=x", 400, "invalid"),
        ("/processes/gse/web/logs?tail=-1", 400, "invalid"),
        ("/processes/gse/web/logs?follow=maybe", 400, "invalid"),
        ("/processes/gse/web/logs?grep=(", 400, "invalid"),
        ("/processes/gse/web/logs?since=soon", 400, "invalid"),
        ("/processes/gse/web/logs?previous=perhaps", 400, "invalid"),
        ("/processes/gse/web/logs?format=xml", 400, "invalid"),
        (
            "/processes/gse/web/logs?previous=true&follow=true",
            400,
            "invalid",
        ),
        ("/hosts/0:10.0.0.9/held", 404, "not_found"),
        ("/hosts/x/held", 400, "invalid"),
        ("/hosts/0:10.0.0.9/check", 404, "not_found"),
        ("/hosts/x/check", 400, "invalid"),
    ] {
        let answer = get(path).await;
        assert_eq!((answer.0, answer.1.as_str()), (status, code), "{path}");
    }
    drop(agent);
    for path in [
        "/processes/gse/web/logs",
        "/hosts/0:10.0.0.1/held",
        "/hosts/0:10.0.0.1/check",
    ] {
        let (status, code, message) = get(path).await;
        assert_eq!((status, code.as_str()), (503, "away"), "{path}");
        assert_eq!(message, "the agent of host 0:10.0.0.1 is not connected");
    }
}

#[tokio::test]
async fn held_processes_are_compared_with_desired_ones() {
    let (rig, agent) = rig().await;
    let report = json!({
        "processes": [{"process": "gse/old", "incarnation": 1, "definition_hash": 255, "flag": 1, "managed": true,
            "phase": "up", "run": {"pid": 77, "started_at": 1_700_000_000_000_i64}, "operations": []}],
        "foreign": [{"process": "gse/web", "pid_path": "/w.pid", "pid": 9, "program": "sleep", "user": "root"}],
    });
    let answering = async {
        let (id, question) = agent.next_question().await;
        assert_eq!(question, Question::Held {});
        agent.send_last(id, report.to_string()).await;
    };
    let asking = rig.native("GET", "/hosts/0:10.0.0.1/held", Value::Null);
    let ((status, body), ()) = tokio::join!(asking, answering);
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["host"], "0:10.0.0.1");
    let old = &body["processes"][0];
    assert_eq!(old["process"], "gse/old");
    assert_eq!(old["wanted"]["registered"], false);
    assert_eq!(old["held"]["definition"], "00000000000000ff");
    assert_eq!(old["held"]["run"]["pid"], 77);
    assert_eq!(
        old["differs"],
        json!(["held by the agent, but not registered"])
    );
    let web = &body["processes"][1];
    assert_eq!(
        (&web["process"], &web["held"]),
        (&json!("gse/web"), &Value::Null)
    );
    assert_eq!(web["wanted"]["flag"], "stopped");
    assert_eq!(
        web["differs"],
        json!(["registered, but not held by the agent"])
    );
    assert_eq!(body["foreign"][0]["program"], "sleep");
}

#[tokio::test]
async fn an_agent_checks_its_host_and_an_old_one_is_said_to_be_too_old() {
    let (rig, agent) = rig().await;
    let report = json!({"checks": [
        {"name": "kernel", "result": "ok", "message": "Linux 6.1\u{1b}[2J", "hint": ""},
        {"name": "disk", "result": "no", "message": "0 MiB free", "hint": "free space"},
    ], "left_out": ["the clock: no server could be asked"]});
    let path = "/hosts/0:10.0.0.1/check";
    let answering = async {
        let (id, question) = agent.next_question().await;
        assert_eq!(question, Question::Check {});
        agent.send_chunk(id, b"").await;
        agent.send_last(id, report.to_string()).await;
    };
    let ((status, body), ()) = tokio::join!(rig.native("GET", path, Value::Null), answering);
    assert_eq!(status, 200, "{body}");
    assert_eq!(
        (&body["host"], &body["result"]),
        (&json!("0:10.0.0.1"), &json!("no"))
    );
    assert_eq!(body["checks"][1]["hint"], "free space");
    assert_eq!(body["left_out"], report["left_out"]);
    let kernel = body["checks"][0]["message"].as_str().unwrap();
    assert!(
        kernel.starts_with("Linux 6.1") && !kernel.contains('\u{1b}'),
        "{kernel}"
    );

    for (reason, status, expected) in [
        (
            "this agent does not know the question: ask: unknown variant `check`",
            404,
            "too old",
        ),
        (
            "this host is being checked already",
            503,
            "being checked already",
        ),
    ] {
        let refusing = async {
            let (id, _) = agent.next_question().await;
            agent.send(wire::Output::refuse(id, reason)).await;
        };
        let ((answered, body), ()) = tokio::join!(rig.native("GET", path, Value::Null), refusing);
        let message = body["error"]["message"].as_str().unwrap();
        assert_eq!(answered, status, "{body}");
        assert!(message.contains(expected), "{message}");
    }
}
