//! `timeline`: what happened to a process or a host.

use serde_json::json;

use crate::command::muster;
use crate::fake_server::{FakeServer, ok};

fn answering() -> FakeServer {
    FakeServer::new(|_| {
        ok(json!({"entries": [
            {"id": "t2", "at": 1_700_000_000_000_i64, "kind": "operation", "code": "stop", "params": {}, "text": "stop was asked for",
                "process": "web/nginx", "host": "0:10.0.0.1", "user": "ann", "app": "", "from": "10.0.0.9",
                "task_id": "7", "job_id": null},
            {"id": "t1", "at": 1_600_000_000_000_i64, "kind": "agent", "code": "agent_away", "params": {},
                "text": "the agent went away", "process": null, "host": "0:10.0.0.1", "user": "", "app": "", "from": "",
                "task_id": null, "job_id": null}], "next": "t1"}))
    })
}

#[test]
fn a_process_on_a_host_shows_who_did_what() {
    let server = answering();
    let words = [
        "timeline",
        "web/nginx",
        "-H",
        "10.0.0.1",
        "--kind",
        "operation,agent",
        "--since",
        "1h",
    ];
    let ran = muster(&words).to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        server.lines()[0],
        "GET /api/v1/timeline?limit=50&process=web%2Fnginx&host=0:10.0.0.1&kinds=operation%2Cagent&since=3600s"
    );
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let titles: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(titles, ["AT", "KIND", "WHAT", "BY"]);
    assert!(
        lines[1].contains("stop was asked for") && lines[1].ends_with("ann from 10.0.0.9"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("--before t1"), "{ran:?}");
}

#[test]
fn a_host_shows_its_processes_and_one_of_both_is_needed() {
    let server = answering();
    let ran = muster(&["timeline", "--host", "10.0.0.1"])
        .to(&server.url)
        .run();
    assert!(ran.stdout.contains("web/nginx"), "{ran:?}");
    let ran = muster(&["timeline"]).to(&server.url).run();
    assert_eq!(ran.code, 2, "{ran:?}");
    let ran = muster(&["timeline", "web/nginx", "-o", "json"])
        .to(&server.url)
        .run();
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["entries"][0]["user"], "ann");
}
