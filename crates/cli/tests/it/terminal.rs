//! Output on a terminal: control characters in foreign text are escaped. Each test has a terminal of its own.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::fake_server::{FakeServer, Response, ok, status};

const HOSTILE: &str = "one\u{1b}]0;owned\u{7}\u{1b}[2J\rtwo\u{202e}x\u{9b}31m";

/// What `muster` writes to its terminal, errors as well.
fn on_terminal(url: &str, args: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let command = format!("stty -opost; {} {args}", env!("CARGO_BIN_EXE_muster"));
    terminal(url, home.path(), &command)
}

/// What a shell command writes to its terminal.
fn terminal(url: &str, home: &Path, command: &str) -> String {
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", command, "/dev/null"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("SHELL", "/bin/sh")
        .env("HOME", home)
        .env("MUSTER_DATA", home)
        .env("MUSTER_URL", url)
        .env("MUSTER_APP_CODE", "test")
        .env("MUSTER_APP_SECRET", "hush")
        .env("MUSTER_USER", "tester")
        .stdin(Stdio::null())
        .output()
        .expect("script of util-linux");
    assert!(!output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Colours are ours; everything else that steers is not there.
#[track_caller]
fn assert_escaped(shown: &str) {
    let mut plain = shown.to_owned();
    for colour in ["0", "1", "2", "31", "32", "33"] {
        plain = plain.replace(&format!("\u{1b}[{colour}m"), "");
    }
    let steers = |c: char| model::text::must_be_escaped(c) && !matches!(c, '\n' | '\t');
    assert!(!plain.contains(steers), "{plain:?}");
}

fn logs() -> FakeServer {
    FakeServer::new(|_| Response {
        status: 200,
        headers: "Content-Type: application/x-ndjson\r\n".into(),
        body: format!("{}\n", json!({"text": format!("{HOSTILE}\r\nthree\n")})),
    })
}

#[test]
fn logs_on_a_terminal_are_escaped() {
    let shown = on_terminal(&logs().url, "logs web/nginx -H 10.0.0.1");
    assert_eq!(
        shown,
        "one^[]0;owned^G^[[2J^Mtwo\\u{202e}x\\u{9b}31m\nthree\n"
    );
}

#[test]
fn a_watched_table_is_redrawn_in_place_and_cut_to_the_height() {
    // The first change makes it read again; the refusal of that ends it.
    let n_reads = AtomicUsize::new(0);
    let server = FakeServer::new(move |asked| {
        if asked.line.contains("/watch") {
            return Response {
                status: 200,
                headers: "Content-Type: text/event-stream\r\n".into(),
                body: "event: status\ndata: {}\n\n".into(),
            };
        }
        if n_reads.fetch_add(1, Ordering::Relaxed) > 0 {
            return status(
                403,
                json!({"error": {"code": "forbidden", "message": "no more"}}),
            );
        }
        let row = |n: usize| json!({"namespace": "web", "name": format!("p{n}"), "host": "0:10.0.0.1", "state": "running"});
        let rows: Vec<_> = (0..30).map(row).collect();
        ok(json!({"count": 30, "start": 0, "processes": rows}))
    });
    let home = tempfile::tempdir().unwrap();
    let command = format!(
        "stty -opost rows 10 cols 100; {} ps -w",
        env!("CARGO_BIN_EXE_muster")
    );
    let shown = terminal(&server.url, home.path(), &command);
    let drawn = shown.split("\u{1b}[H").nth(1).unwrap();
    assert_eq!(drawn.matches("\u{1b}[K").count(), 9, "{drawn:?}");
    assert!(
        drawn.starts_with("30 processes: 30 running   "),
        "{drawn:?}"
    );
    assert!(drawn.contains("web/p5"), "{drawn:?}");
    assert!(!drawn.contains("web/p6"), "{drawn:?}");
    assert!(
        drawn.contains("… and 24 more rows\u{1b}[K\n\u{1b}[J"),
        "{drawn:?}"
    );
}

#[test]
fn logs_of_several_hosts_are_escaped_line_by_line() {
    let shown = on_terminal(&logs().url, "logs web/nginx -H 10.0.0.1,10.0.0.2");
    assert_escaped(&shown);
    assert_eq!(shown.lines().count(), 4, "{shown}");
}

#[test]
fn raw_logs_stay_as_they_are() {
    let shown = on_terminal(&logs().url, "logs web/nginx -H 10.0.0.1 --raw");
    assert_eq!(shown, format!("{HOSTILE}\r\nthree\n"));
}

#[test]
fn json_on_a_terminal_is_escaped_and_stays_the_same() {
    let shown = on_terminal(&logs().url, "logs web/nginx -H 10.0.0.1 -o json");
    assert_escaped(&shown);
    let first: serde_json::Value = serde_json::from_str(shown.lines().next().unwrap()).unwrap();
    assert_eq!(first["line"], format!("{HOSTILE}\r"));
}

#[test]
fn foreign_text_is_escaped_in_every_verb() {
    let process = json!({"namespace": "web", "name": "nginx", "host": "0:10.0.0.1", "agent_id": HOSTILE,
        "labels": {"a": HOSTILE}, "flag": "running", "state": "running", "managed": true, "connected": true,
        "message": HOSTILE, "pid": 1, "version": HOSTILE, "registered_at": 0, "started_at": 0, "reported_at": 0,
        "cpu": 0.0, "mem": 0.0, "fd": 0, "disk": 0, "net": 0});
    let event = json!({"id": 1, "at": 1, "host": "0:10.0.0.1", "process": "web/nginx", "kind": HOSTILE,
        "reason": HOSTILE, "exit_code": 1, "exit_signal": null, "report_id": 0});
    let host = json!({"host": "0:10.0.0.1", "connected": true, "processes": 1, "agent_id": HOSTILE,
        "version": HOSTILE, "hostname": HOSTILE, "kernel": HOSTILE, "cores": 1, "memory_kib": 1, "root": true,
        "since": 1, "heard_at": 1, "enrolled_at": 1});
    let held = json!({"host": "0:10.0.0.1",
        "foreign": [{"process": "web/nginx", "pid_path": HOSTILE, "pid": 9, "program": HOSTILE, "user": HOSTILE}],
        "processes": [{"process": "web/nginx", "wanted": {}, "held": {}, "differs": [HOSTILE]}]});
    for (verb, answer) in [
        (
            "ps",
            json!({"count": 1, "start": 0, "processes": [process]}),
        ),
        ("events", json!({"events": [event], "next": null})),
        ("hosts", json!({"count": 1, "start": 0, "hosts": [host]})),
        ("diff --host 10.0.0.1", held),
    ] {
        let server = FakeServer::new(move |_| ok(answer.clone()));
        for format in ["", " -o json"] {
            let shown = on_terminal(&server.url, &format!("{verb}{format}"));
            assert!(shown.contains("one"), "{verb}: {shown}");
            assert_escaped(&shown);
        }
    }
    let error = json!({"error": {"code": "invalid", "message": HOSTILE}});
    let server = FakeServer::new(move |_| status(400, error.clone()));
    let shown = on_terminal(&server.url, "ps");
    assert!(shown.contains("error:"), "{shown}");
    assert_escaped(&shown);
}
