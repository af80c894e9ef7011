//! `job`: begin, follow, show, retry.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::command::muster;
use crate::fake_server::{FakeServer, Request, Response, ok, status};

fn job(state: &str, failed: u64) -> Value {
    json!({
        "id": 17, "business": 2, "action": "start", "status": state, "user": "ann", "app": "muster",
        "selection": {"expression_scope": {}}, "created_at": 1_700_000_000_000_i64, "ended_at": 0, "cancelled_by": "",
        "counts": {"total": 2, "ended": 2, "pending": 0, "running": 0, "succeeded": 2 - failed, "failed": failed, "ignored": 0},
        "count": 2, "start": 0,
        "tasks": [task(0, "succeeded"), task(1, if failed > 0 { "failed" } else { "succeeded" })],
    })
}

fn task(ordinal: u32, state: &str) -> Value {
    let code = if state == "failed" { 836 } else { 0 };
    let reason = if state == "failed" {
        "exited with 3"
    } else {
        ""
    };
    json!({
        "ordinal": ordinal, "inst_id": 1, "expression": format!("z.m.s.login.{ordinal}"), "host": "0:10.0.0.1",
        "status": state, "code": code, "reason": reason, "solutions": [], "command": "./start.sh",
        "output": "no config\nbye", "started_at": 1, "ended_at": 5,
    })
}

/// Goes on when it is looked at first, and is over then.
fn job_server(failed: u64) -> FakeServer {
    let looks = AtomicUsize::new(0);
    FakeServer::new(move |asked: &Request| -> Response {
        if asked.line.starts_with("POST /api/v1/jobs") {
            return status(202, json!({"id": 17, "tasks": 1}));
        }
        match looks.fetch_add(1, Ordering::Relaxed) {
            0 => ok(job("running", 0)),
            _ => ok(job(if failed > 0 { "failed" } else { "succeeded" }, failed)),
        }
    })
}

#[test]
fn a_job_sends_its_selection_and_options() {
    let server = job_server(0);
    let ran = muster(&[
        "job",
        "release",
        "--biz",
        "2",
        "--set",
        "zone-1",
        "--env",
        "test",
        "--batch",
        "10",
        "--max-failures",
        "2",
        "--pause",
        "5s",
        "--isolation",
        "host",
        "--ignore",
        "828,829",
        "--template",
        "3,4",
        "--then",
        "reload",
    ])
    .to(&server.url)
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = server.asked();
    assert_eq!(asked[0].line, "POST /api/v1/jobs");
    assert_eq!(
        asked[0].body,
        json!({
            "business": 2, "action": "release", "env": "test", "expression": "zone-1.*.*.*.*",
            "options": {
                "isolation": "host", "batch_size": 10, "max_failures": 2, "pause_secs": 5,
                "ignore_error_codes": [828, 829], "config_template_ids": [3, 4], "after_release": "reload",
            },
        })
    );
    assert!(
        asked[1].line.starts_with("GET /api/v1/jobs/17?"),
        "{asked:?}"
    );
    assert!(asked[2].line.contains("wait=10000ms"), "{asked:?}");
    assert!(
        ran.stderr.contains("job 17: start of business 2, 2 tasks"),
        "{ran:?}"
    );
    assert!(ran.stdout.ends_with("2 ok\n"), "{ran:?}");
}

#[test]
fn every_action_has_its_verb() {
    for (verb, action) in [
        ("start", "start"),
        ("stop", "stop"),
        ("restart", "restart"),
        ("reload", "reload"),
        ("kill", "force_stop"),
        ("manage", "set_auto"),
        ("unmanage", "unset_auto"),
        ("generate", "generate"),
        ("release", "release"),
        ("diff", "diff"),
    ] {
        let server = job_server(0);
        let ran = muster(&["job", verb, "--biz", "2", "--no-wait", "--yes"])
            .to(&server.url)
            .run();
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "17\n"), "{ran:?}");
        let body = &server.asked()[0].body;
        assert_eq!(body["action"], action);
        assert_eq!(body["expression"], "*");
    }
}

#[test]
fn a_failed_task_is_told_and_ends_with_one() {
    let server = job_server(1);
    let ran = muster(&["job", "start", "--biz", "2"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("(836) exited with 3"), "{ran:?}");
    assert!(ran.stdout.ends_with("1 ok, 1 failed\n"), "{ran:?}");
    let server = job_server(1);
    let ran = muster(&["job", "watch", "17", "-o", "json"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 1, "{ran:?}");
    let json = ran.json();
    assert_eq!(json["counts"]["failed"], 1);
    assert_eq!(json["tasks"].as_array().unwrap().len(), 2);
}

#[test]
fn a_job_is_shown_with_what_its_commands_printed() {
    let server = FakeServer::answering(200, job("failed", 1));
    let ran = muster(&["job", "show", "17", "--failed", "--with-output"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        server.lines()[1].contains("status=failed"),
        "{:?}",
        server.lines()
    );
    assert!(
        ran.stdout.contains("  $ ./start.sh\n  no config\n  bye\n"),
        "{ran:?}"
    );
    assert!(
        ran.stdout
            .starts_with("job 17: start of business 2, failed\n"),
        "{ran:?}"
    );
}

#[test]
fn failed_tasks_begin_again_and_a_job_is_cancelled() {
    let server = job_server(0);
    let ran = muster(&["job", "retry", "17", "--task", "1,4", "--no-wait"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(server.asked()[0].line, "POST /api/v1/jobs/17/retry");
    assert_eq!(server.asked()[0].body, json!({"tasks": [1, 4]}));
    let ran = muster(&["job", "cancel", "17"]).to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let said = json!({"error": {"code": "conflict", "message": "job 17 is over"}});
    let server = FakeServer::answering(409, said);
    let ran = muster(&["job", "cancel", "17"]).to(&server.url).run();
    assert_eq!(ran.code, 1, "{ran:?}");
}

#[test]
fn a_job_that_takes_too_long_goes_on() {
    let server = FakeServer::answering(200, job("running", 0));
    let ran = muster(&["job", "watch", "17", "--timeout", "1s"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.stderr.contains("muster job watch 17"), "{ran:?}");
}

#[test]
fn jobs_are_filtered_by_the_server() {
    let server = FakeServer::answering(200, json!({"jobs": [job("succeeded", 0)], "next": 17}));
    let ran = muster(&[
        "job",
        "list",
        "--biz",
        "2",
        "--action",
        "start",
        "--state",
        "succeeded",
        "--user",
        "ann",
        "--limit",
        "1",
    ])
    .to(&server.url)
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        server.lines(),
        ["GET /api/v1/jobs?business=2&action=start&status=succeeded&user=ann&limit=1"]
    );
    assert!(ran.stderr.contains("--before 17"), "{ran:?}");
}
