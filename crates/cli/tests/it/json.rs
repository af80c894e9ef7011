//! `-o json`: every verb prints one document, even with --quiet.

use serde_json::{Value, json};

use crate::command::muster;
use crate::fake_server::{FakeServer, Request, ok, status};

const TASK: &str = "GSETASK:0123456789ABCDEF";

/// A server with one of everything.
fn answer(asked: &Request) -> crate::fake_server::Response {
    let (method, path) = asked.line.split_once(' ').unwrap();
    let path = path.trim_start_matches("/api/v1/");
    let kind = path.split(['/', '?']).next().unwrap();
    let spec = json!({
        "identity": {"proc_name": "nginx", "setup_path": "/opt/nginx", "pid_path": "/run/n.pid", "user": "root"},
        "control": {"start_cmd": "./start"},
    });
    match (method, kind) {
        ("DELETE", "apps" | "users" | "tokens") => status(204, Value::Null),
        ("POST", "apps") => status(201, json!({"code": "ci", "secret": "s3cret"})),
        ("POST", "users") => status(201, json!({"name": "alice"})),
        ("POST", "tokens") => status(201, json!({"id": "t1", "token": "t.f", "expires_at": 1})),
        ("POST", _) if path.ends_with("/operate") => {
            status(202, json!({"task_id": TASK, "targets": 1}))
        }
        ("POST" | "PUT" | "DELETE", _) => {
            ok(json!({"results": [{"host": "0:10.0.0.1", "code": 0, "message": "success"}]}))
        }
        ("GET", "tasks") if path.contains("GSETASK") => ok(
            json!({"id": TASK, "state": "finished", "counts": {"total": 1, "ended": 1, "ok": 1},
            "count": 1, "results": [{"process": "web/nginx", "host": "0:10.0.0.1", "op": "start", "code": 0}]}),
        ),
        ("GET", "processes") => ok(
            json!({"count": 1, "processes": [{"namespace": "web", "name": "nginx", "host": "0:10.0.0.1"}],
                "definitions": [{"spec": spec, "hosts": 1}]}),
        ),
        ("GET", kind) => ok(json!({"count": 1, kind: [{"host": "0:10.0.0.1"}]})),
        _ => status(404, Value::Null),
    }
}

#[test]
fn every_verb_prints_one_document() {
    let server = FakeServer::new(answer);
    for line in [
        "register web/nginx --host 10.0.0.1 --start ./start",
        "update web/nginx --all --mem 20",
        "unregister web/nginx --all --yes",
        "unregister web/nginx --host 10.0.0.2 --yes",
        "unregister */* --yes",
        "rm web/nginx --yes",
        "rm web/nginx --dry-run",
        "export web/nginx",
        "start web/nginx --dry-run",
        "status */*",
        "start web/nginx",
        "stop web/nginx --all",
        "restart web/nginx --no-wait",
        "reload web/nginx",
        "kill web/nginx",
        "manage web/nginx",
        "unmanage web/nginx",
        "query web/nginx",
        "ps",
        "status web/nginx",
        "task",
        "task 0123456789ABCDEF",
        "task 0123456789ABCDEF --no-wait",
        "hosts",
        "hosts 10.0.0.1",
        "hosts --search web --order -since",
        "search nginx",
        "app list",
        "app create ci",
        "app create ci --secret-stdin",
        "app delete ci --yes",
        "token list",
        "token create --expires-in 1h",
        "token delete t1 --yes",
        "user list",
        "user create alice --password-stdin",
        "user delete alice --yes",
        "audit",
        "completions bash",
        "up --print-config",
        "server --print-config",
        "agent --print-config --server 10.0.0.1:7101",
    ] {
        for quiet in [None, Some("-q")] {
            let words: Vec<&str> = line.split(' ').chain(["-o", "json"]).chain(quiet).collect();
            let ran = muster(&words)
                .to(&server.url)
                .env("MUSTER_APP_SECRET", "long-enough-for-a-server")
                .stdin("password\n")
                .run();
            assert_eq!(ran.code, 0, "{line}: {ran:?}");
            assert!(ran.json().is_object(), "{line}: {ran:?}");
        }
    }
}

#[test]
fn created_and_deleted_rows_use_the_field_names_of_lists() {
    let server = FakeServer::new(answer);
    let json = |line: &str| {
        let words: Vec<&str> = line.split(' ').chain(["-o", "json"]).collect();
        let ran = muster(&words).to(&server.url).stdin("password\n").run();
        ran.json()
    };
    assert_eq!(
        json("app delete ci --yes"),
        json!({"code": "ci", "deleted": true})
    );
    assert_eq!(
        json("token delete t1 --yes"),
        json!({"id": "t1", "deleted": true})
    );
    assert_eq!(
        json("user delete alice --yes"),
        json!({"name": "alice", "deleted": true})
    );
    assert_eq!(
        json("user create alice --password-stdin"),
        json!({"name": "alice"})
    );
}
