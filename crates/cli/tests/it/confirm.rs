//! The one rule about asking first: on a terminal, and without one.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::command::muster;
use crate::fake_server::{FakeServer, ok, status};

const TASK: &str = "GSETASK:0123456789ABCDEF";

/// Two processes on two hosts; every change succeeds.
fn server() -> FakeServer {
    FakeServer::new(|asked| {
        let rows = json!([
            {"namespace": "app", "name": "api", "host": "0:10.0.0.1"},
            {"namespace": "app", "name": "api", "host": "0:10.0.0.2"},
            {"namespace": "db", "name": "redis", "host": "0:10.0.0.2"},
        ]);
        let is_get = asked.line.starts_with("GET");
        match asked.line.split('?').next().unwrap() {
            "GET /api/v1/processes" => ok(json!({"count": 3, "processes": rows})),
            "GET /api/v1/processes/view" => ok(json!({"count": 2, "processes": [
                {"id": 1, "expression": "a.b.c.d.1", "instances": [{}]},
                {"id": 2, "expression": "a.b.c.d.2", "instances": [{}]}]})),
            "GET /api/v1/businesses/2/templates" => {
                ok(json!({"templates": [{"id": 1, "template_name": "t"}]}))
            }
            line if line.contains("/tasks/") => ok(json!({"id": TASK, "state": "finished",
                "counts": {"total": 0, "ended": 0}, "count": 0, "results": []})),
            _ if is_get => status(
                404,
                json!({"error": {"code": "not_found", "message": "no"}}),
            ),
            "POST /api/v1/jobs" => status(202, json!({"id": 7})),
            line if line.ends_with("operate") => {
                status(202, json!({"task_id": TASK, "targets": 3}))
            }
            _ if asked.body["hosts"].is_array() => ok(json!({"results": []})),
            _ => ok(json!({})),
        }
    })
}

/// Every verb that asks.
const ASKED: [&str; 17] = [
    "stop */*",
    "restart app/api db/redis --all",
    "kill -l tier",
    "rm db/redis -H 10.0.0.2",
    "unregister db/redis -H 10.0.0.2",
    "job stop --biz 2 --no-wait",
    "job restart --biz 2 --set a --no-wait",
    "job kill --biz 2 --no-wait",
    "job release --biz 2 --then restart --no-wait",
    "topology remove 2",
    "template delete t --biz 2",
    "group set app --all --none",
    "app delete a",
    "user delete u",
    "token delete t",
    "webhook delete w",
    "agent revoke 10.0.0.7",
];
/// Verbs that touch several and interrupt none, or interrupt only one.
const NOT_ASKED: [&str; 8] = [
    "start */*",
    "reload */*",
    "manage */*",
    "unmanage */*",
    "query */*",
    "stop db/redis -H 10.0.0.2",
    "restart db/redis -H 10.0.0.2",
    "job start --biz 2 --no-wait",
];

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn changes(server: &FakeServer) -> Vec<String> {
    let mut lines = server.lines();
    lines.retain(|line| !line.starts_with("GET"));
    lines
}

#[test]
fn without_a_terminal_yes_is_needed() {
    for line in ASKED {
        let server = server();
        let ran = muster(&words(line)).to(&server.url).run();
        assert_eq!(ran.code, 2, "{line}: {ran:?}");
        assert!(ran.stderr.contains("error: not done: "), "{line}: {ran:?}");
        assert!(ran.stderr.contains("--yes"), "{line}: {ran:?}");
        assert!(changes(&server).is_empty(), "{line}");
        let with_yes = [words(line), vec!["--yes"]].concat();
        let ran = muster(&with_yes).to(&server.url).run();
        assert!(!changes(&server).is_empty(), "{line}: {ran:?}");
    }
    for line in NOT_ASKED {
        let server = server();
        muster(&words(line)).to(&server.url).run();
        assert_eq!(changes(&server).len(), 1, "{line}");
    }
}

/// Runs on a terminal of its own, and types.
fn on_terminal(server: &FakeServer, line: &str, typed: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let command = format!("set -f; {} {line}", env!("CARGO_BIN_EXE_muster"));
    let mut child = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("SHELL", "/bin/sh")
        .env("HOME", home.path())
        .env("MUSTER_DATA", home.path())
        .env("MUSTER_URL", &server.url)
        .env("MUSTER_APP_CODE", "test")
        .env("MUSTER_APP_SECRET", "hush")
        .env("MUSTER_USER", "tester")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script of util-linux");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(typed.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn on_a_terminal_only_yes_is_yes() {
    for line in ASKED {
        for typed in ["n\n", "\n"] {
            let server = server();
            let shown = on_terminal(&server, line, typed);
            assert!(shown.contains("? [y/N]"), "{line}: {shown}");
            assert!(shown.contains("not done"), "{line}: {shown}");
            assert!(changes(&server).is_empty(), "{line}");
        }
        let server = server();
        let shown = on_terminal(&server, line, "y\n");
        assert!(!changes(&server).is_empty(), "{line}: {shown}");
    }
}

#[test]
fn what_is_touched_is_shown_before() {
    let server = server();
    let shown = on_terminal(&server, "stop */* ", "n\n");
    let shown = shown.replace('\r', "");
    assert!(
        shown.contains(
            "stop 3 processes on 2 hosts:\n  app/api   0:10.0.0.1, 0:10.0.0.2\n  db/redis  0:10.0.0.2\n"
        ),
        "{shown}"
    );
    let ran = muster(&["start", "*/*"]).to(&server.url).run();
    assert!(
        ran.stderr.starts_with("start 3 processes on 2 hosts:\n"),
        "{ran:?}"
    );
    let sent = server.asked();
    let sent = sent.iter().find(|one| one.line == "POST /api/v1/operate");
    assert_eq!(
        sent.map(|one| &one.body),
        Some(&json!({"op": "start", "filter": {"process": ["*/*"]}, "expect_count": 3})),
        "exactly as many as were shown"
    );
    let ran = muster(&["rm", "*/*", "--dry-run"]).to(&server.url).run();
    assert_eq!(ran.stdout.lines().count(), 4, "{ran:?}");
}
