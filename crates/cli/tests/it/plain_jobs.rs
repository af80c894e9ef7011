//! `job` without a business, with a dry run, and `job pause` and `resume`.

use serde_json::{Value, json};

use crate::command::muster;
use crate::fake_server::{FakeServer, Request, Response, ok, status};

fn job() -> Value {
    json!({
        "id": 17, "business": null, "namespaces": ["web"], "action": "restart", "status": "succeeded", "user": "ann", "app": "",
        "selection": {"filter": {"process": ["web/*"]}}, "created_at": 1_700_000_000_000_i64, "ended_at": 5, "cancelled_by": "",
        "paused_by": "", "batch": null,
        "counts": {"total": 2, "ended": 2, "pending": 0, "running": 0, "succeeded": 2, "failed": 0, "ignored": 0},
        "count": 1, "start": 0,
        "tasks": [{"ordinal": 0, "process": null, "local_inst_id": null, "inst_id": null, "name": "web/a", "expression": "",
            "host": "0:10.0.0.1", "status": "succeeded", "code": 0, "reason": "", "solutions": [], "command": "", "output": "",
            "started_at": 1, "ended_at": 5}],
    })
}

fn server() -> FakeServer {
    FakeServer::new(|asked: &Request| -> Response {
        match (asked.line.as_str(), &asked.body["dry_run"]) {
            ("POST /api/v1/jobs", Value::Bool(true)) => ok(json!({
                "count": 2, "hosts": 2, "namespaces": [{"value": "web", "count": 2}], "environments": [],
                "blocked": [{"reason": "agent_away", "count": 1, "hosts": ["0:10.0.0.2"]}],
                "commands": [{"command": "./restart.sh", "count": 2}], "sample": [],
            })),
            ("POST /api/v1/jobs", _) => status(202, json!({"id": 17, "targets": 2})),
            (line, _) if line.starts_with("POST ") => status(202, json!({"id": 17})),
            _ => ok(job()),
        }
    })
}

#[test]
fn a_job_over_processes_is_planned_and_then_begun_with_the_number_that_was_shown() {
    let server = server();
    let ran = muster(&[
        "job",
        "restart",
        "web/*",
        "-l",
        "tier=front",
        "--batch",
        "10%",
        "--pause",
        "30s",
        "--yes",
    ])
    .to(&server.url)
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = server.asked();
    let filter = json!({"process": ["web/*"], "label": ["tier=front"]});
    assert_eq!(
        (&asked[0].body["dry_run"], &asked[0].body["filter"]),
        (&json!(true), &filter)
    );
    let begun = &asked[1].body;
    assert_eq!(
        (
            &begun["filter"],
            &begun["expect_count"],
            begun.get("dry_run")
        ),
        (&filter, &json!(2), None)
    );
    assert_eq!(
        (
            &begun["options"]["batch_size"],
            &begun["options"]["pause_secs"]
        ),
        (&json!("10%"), &json!(30))
    );
    assert!(ran.stderr.contains("1 agent away: 0:10.0.0.2"), "{ran:?}");
    assert!(
        ran.stderr
            .contains("job 17: restart of processes in web, 2 tasks"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("web/a"), "{ran:?}");
}

#[test]
fn without_a_terminal_an_interrupting_job_needs_yes() {
    let server = server();
    let ran = muster(&["job", "stop", "web/*"]).to(&server.url).run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(server.asked().len(), 1, "only the dry run");
    assert!(
        ran.stderr.contains("stop 2 processes on 2 hosts"),
        "{ran:?}"
    );
}

#[test]
fn a_dry_run_shows_the_plan_and_begins_nothing() {
    let server = server();
    let ran = muster(&["job", "start", "web/*", "--host", "10.0.0.1", "--dry-run"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        ran.stdout,
        "start 2 processes on 2 hosts\n  1 agent away: 0:10.0.0.2\n  $ ./restart.sh  (2)\n"
    );
    let asked = server.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].body["filter"]["host"], json!(["10.0.0.1"]));
}

#[test]
fn a_job_names_processes_or_a_business() {
    let server = server();
    for args in [
        &["job", "start"][..],
        &["job", "start", "web/a", "--biz", "2"],
        &["job", "release"],
        &["job", "start", "web/a", "--batch", "0%"],
    ] {
        let ran = muster(args).to(&server.url).run();
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
    }
    assert_eq!(server.asked().len(), 0);
}

/// What a server says of a job that is paused while tasks are under way.
fn paused_job() -> Value {
    let mut job = job();
    job["status"] = "running".into();
    job["paused_by"] = "ben".into();
    job["ended_at"] = 0.into();
    job
}

#[test]
fn a_paused_job_is_shown_as_paused_with_who_and_since_when() {
    let server = FakeServer::new(|asked: &Request| {
        let path = asked.line.split('?').next().unwrap_or_default();
        match path {
            "GET /api/v1/jobs" => ok(json!({"jobs": [paused_job()], "next": null})),
            // The newest first; the filter of the server is one by a part of the text.
            "GET /api/v1/audit" => {
                assert!(asked.line.contains("action=pause_job"), "{}", asked.line);
                let line = |id: u64, object: &str, at: i64| {
                    json!({"id": id, "at": at, "app": "", "user": "ben", "from": "", "request_id": "",
                        "action": "pause_job", "object": object, "detail": ""})
                };
                ok(json!({"audit": [
                    line(3, "job 170", 1_700_000_999_000),
                    line(2, "job 17", 1_700_000_060_000),
                    line(1, "job 17", 1_700_000_030_000),
                ], "next": null}))
            }
            _ => ok(paused_job()),
        }
    });
    let shown = muster(&["job", "show", "17"]).to(&server.url).run();
    assert!(
        shown.stdout.contains("processes in web, paused\n"),
        "{shown:?}"
    );
    assert!(
        shown
            .stdout
            .contains("  paused    by ben, 2023-11-14T22:14:20Z"),
        "{shown:?}"
    );
    let listed = muster(&["job", "list"]).to(&server.url).run();
    assert!(listed.stdout.contains("  paused  "), "{listed:?}");
    for args in [
        &["job", "show", "17", "-o", "json"][..],
        &["job", "list", "-o", "json"],
    ] {
        let document = muster(args).to(&server.url).run().json();
        let job = document["jobs"].get(0).unwrap_or(&document);
        assert_eq!(
            (&job["status"], &job["paused_by"]),
            (&"paused".into(), &"ben".into())
        );
    }
}

#[test]
fn a_job_is_paused_and_resumed() {
    let server = server();
    for (verb, text) in [
        (
            "pause",
            "job 17 is paused: what is under way ends by itself\n",
        ),
        ("resume", "job 17 goes on\n"),
    ] {
        let ran = muster(&["job", verb, "17"]).to(&server.url).run();
        assert_eq!((ran.code, ran.stdout.as_str()), (0, text), "{ran:?}");
        assert_eq!(
            server.asked().last().unwrap().line,
            format!("POST /api/v1/jobs/17/{verb}")
        );
    }
}
