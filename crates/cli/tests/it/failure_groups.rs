//! Failures in groups, and retries that choose among them.

use serde_json::{Value, json};

use crate::command::muster;
use crate::fake_server::{FakeServer, Request, Response, ok, status};

const TASK: &str = "GSETASK:000066A1B2C3D4E5";
const RETRY: &str = "GSETASK:000066A1B2C3D4E6";

fn groups() -> Value {
    json!({"groups": [
        {"code": 117, "reason": "agent on … is not connected", "count": 1200, "hosts": ["0:10.0.0.1", "0:10.0.0.2", "0:10.0.0.3"]},
        {"code": 836, "reason": "exited with code 3", "count": 1, "hosts": ["0:10.0.0.9"]},
    ]})
}

fn server() -> FakeServer {
    FakeServer::new(|asked: &Request| -> Response {
        let target = json!({"process": "web/a", "host": "0:10.0.0.1", "op": "start", "code": 0, "message": "success"});
        let task = json!({"id": RETRY, "state": "finished", "created_at": 1, "app": "", "user": "ann", "retries": TASK,
            "counts": {"total": 1, "ended": 1, "ok": 1, "failed": 0, "running": 0}, "count": 1, "start": 0,
            "results": [target]});
        match asked.line.as_str() {
            line if line.ends_with("/failures") => ok(groups()),
            line if line.starts_with("POST ") && line.contains("/tasks/") => {
                status(202, json!({"task_id": RETRY, "targets": 1}))
            }
            line if line.starts_with("POST ") => status(202, json!({"id": 17, "tasks": 1})),
            line if line.starts_with("GET /api/v1/tasks?") => {
                ok(json!({"tasks": [], "next": null}))
            }
            _ => ok(task),
        }
    })
}

#[test]
fn failures_are_a_line_for_each_group() {
    let server = server();
    for (args, line) in [
        (
            &["task", TASK, "--failures"][..],
            format!("GET /api/v1/tasks/{TASK}/failures"),
        ),
        (
            &["job", "show", "17", "--failures"],
            "GET /api/v1/jobs/17/failures".to_owned(),
        ),
    ] {
        let ran = muster(args).to(&server.url).run();
        assert_eq!(ran.code, 1, "{ran:?}");
        assert_eq!(server.asked().last().unwrap().line, line);
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(
            lines[0].split_whitespace().collect::<Vec<_>>(),
            ["COUNT", "CODE", "REASON", "HOSTS"]
        );
        assert!(
            lines[1].starts_with(
                "1,200   117  agent on … is not connected  0:10.0.0.1, 0:10.0.0.2, 0:10.0.0.3, …"
            ),
            "{ran:?}"
        );
        let ran = muster(&[args, &["-o", "json"]].concat())
            .to(&server.url)
            .run();
        assert_eq!(ran.json(), groups());
    }
    let ran = muster(&["task", "--failures"]).to(&server.url).run();
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn a_retry_of_a_task_sends_its_choice_and_follows_the_new_task() {
    let server = server();
    let ran = muster(&[
        "task",
        "retry",
        "000066A1B2C3D4E5",
        "--code",
        "117,836",
        "--reason",
        "agent on …",
        "--host",
        "10.0.0.1",
    ])
    .to(&server.url)
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = server.asked();
    assert_eq!(asked[0].line, format!("POST /api/v1/tasks/{TASK}/retry"));
    assert_eq!(
        asked[0].body,
        json!({"codes": [117, 836], "reason": "agent on …", "hosts": ["10.0.0.1"]})
    );
    assert!(asked[1].line.contains(RETRY), "{asked:?}");
    assert!(ran.stdout.ends_with("1 ok\n"), "{ran:?}");
    let ran = muster(&["task", "retry", TASK, "--no-wait"])
        .to(&server.url)
        .run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, &*format!("{RETRY}\n")));
    assert_eq!(server.asked().last().unwrap().body, json!({}));
    let ran = muster(&["task", RETRY]).to(&server.url).run();
    assert!(
        ran.stderr.contains(&format!("again what failed of {TASK}")),
        "{ran:?}"
    );
}

#[test]
fn a_retry_of_a_job_sends_its_choice() {
    let server = server();
    let ran = muster(&[
        "job",
        "retry",
        "17",
        "--task",
        "3",
        "--code",
        "836",
        "--no-wait",
    ])
    .to(&server.url)
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        server.asked()[0].body,
        json!({"tasks": [3], "codes": [836]})
    );
}

#[test]
fn tasks_are_listed_by_what_they_did() {
    let server = server();
    let ran = muster(&[
        "task",
        "--process",
        "web/nginx",
        "--op",
        "stop",
        "--user",
        "ann",
        "--app",
        "x",
        "--state",
        "running",
        "--since",
        "24h",
        "--until",
        "1h",
        "-n",
        "web,db",
        "--limit",
        "5",
    ])
    .to(&server.url)
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let line = &server.asked()[0].line;
    for part in [
        "limit=5",
        "process=web%2Fnginx",
        "op=stop",
        "user=ann",
        "app=x",
        "state=running",
        "since=24h",
        "until=1h",
        "namespace=web",
        "namespace=db",
    ] {
        assert!(
            line.contains(part) || line.contains(&part.replace("%2F", "/")),
            "{part}: {line}"
        );
    }
}
