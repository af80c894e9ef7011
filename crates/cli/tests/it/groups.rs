//! `group list` and `group set`.

use serde_json::{Value, json};

use crate::command::muster;
use crate::fake_server::{FakeServer, ok, status};

/// A server where `web` has processes on two hosts, one of them with a group.
fn server() -> FakeServer {
    FakeServer::new(|asked| {
        if asked
            .line
            .starts_with("GET /api/v1/processes?namespace=web")
        {
            let row = |host: &str| json!({"namespace": "web", "name": "nginx", "host": host});
            let rows = [row("0:10.0.0.1"), row("0:10.0.0.2"), row("0:10.0.0.1")];
            return ok(json!({"count": 3, "start": 0, "processes": rows}));
        }
        if asked.line.starts_with("GET /api/v1/processes?") {
            return ok(json!({"count": 0, "start": 0, "processes": []}));
        }
        if asked.line.starts_with("GET /api/v1/groups/web") {
            let pool = json!({"cpu_pool_limit": 50.0, "mem_pool_limit": 0.0, "cpu_pool_weight": 1, "mem_pool_weight": 0});
            return ok(json!({"groups": [
                {"host": "0:10.0.0.1", "process_group": [{"id": "front", "resource": pool}]},
                {"host": "0:10.0.0.2", "process_group": []},
            ]}));
        }
        let hosts = asked.body["hosts"].as_array().cloned().unwrap_or_default();
        let results: Vec<Value> = hosts
            .iter()
            .map(|host| match host == "0:10.0.0.9" {
                true => json!({"host": host, "code": 1_000_400, "message": "no"}),
                false => json!({"host": host, "code": 0, "message": "success"}),
            })
            .collect();
        ok(json!({"results": results}))
    })
}

#[test]
fn groups_are_listed_for_people_and_programs() {
    let server = server();
    let ran = muster(&["group", "list", "web"]).to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    assert!(
        lines[1].starts_with("0:10.0.0.1  front") && lines[1].contains("50%"),
        "{ran:?}"
    );
    assert!(lines[1].contains("most of its own limit"), "{ran:?}");
    assert_eq!(
        server.lines()[1],
        "GET /api/v1/groups/web?host=0:10.0.0.1%2C0:10.0.0.2"
    );
    let ran = muster(&["-o", "json", "group", "list", "web", "-H", "10.0.0.1"])
        .to(&server.url)
        .run();
    assert_eq!(ran.json()["groups"][0]["process_group"][0]["id"], "front");
    let ran = muster(&["group", "list", "other"]).to(&server.url).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert!(ran.stderr.contains("muster group set"), "{ran:?}");
}

#[test]
fn groups_are_set_as_written() {
    let server = server();
    let ran = muster(&[
        "group",
        "set",
        "web",
        "--host",
        "10.0.0.1,10.0.0.2",
        "--group",
        "front:cpu=50,mem=40.5%",
        "--group",
        "batch:mem=20,mem-weight=1",
    ])
    .to(&server.url)
    .run();
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "web has 2 groups on 2 hosts\n"),
        "{ran:?}"
    );
    let asked = &server.asked()[0];
    assert_eq!(asked.line, "PUT /api/v1/groups/web");
    let groups = &asked.body["process_group"];
    assert_eq!(groups[0]["id"], "front");
    assert_eq!(groups[0]["resource"]["cpu_pool_limit"], 50.0);
    assert_eq!(groups[0]["resource"]["mem_pool_limit"], 40.5);
    assert_eq!(groups[1]["resource"]["mem_pool_weight"], 1);
    let ran = muster(&["group", "set", "web", "--all", "--none", "--yes"])
        .to(&server.url)
        .run();
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "web has 0 groups on 2 hosts\n"),
        "{ran:?}"
    );
    assert_eq!(
        server.asked().last().unwrap().body["process_group"],
        json!([])
    );
    let ran = muster(&["group", "set", "web", "-H", "10.0.0.9", "--none", "--yes"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stdout.contains("0:10.0.0.9  failed (1000400): no"),
        "{ran:?}"
    );
}

#[test]
fn a_wrong_group_is_refused_before_anything_is_asked() {
    let server = FakeServer::new(|_| status(500, json!({})));
    for (group, expected) in [
        ("front", "NAME:cpu=PERCENT"),
        (":cpu=5", "NAME:cpu=PERCENT"),
        ("front:cpu=lots", "cpu must be a percentage"),
        ("front:cpu=101", "cpu must be a percentage"),
        ("front:cpu-weight=1", "needs a limit"),
        ("front:cpu=5,cpu-weight=2", "cpu-weight must be 0 or 1"),
        ("front:disk=5", "none of cpu, mem"),
    ] {
        let ran = muster(&["group", "set", "web", "-H", "10.0.0.1", "--group", group])
            .to(&server.url)
            .run();
        assert_eq!(ran.code, 2, "{group}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{group}: {ran:?}");
    }
    for args in [
        &["group", "set", "web", "-H", "10.0.0.1"][..],
        &["group", "set", "web", "--none", "--group", "a:cpu=1"],
        &[
            "group", "set", "web", "-H", "10.0.0.1", "--group", "a:cpu=1", "--group", "a:cpu=2",
        ],
        &["group", "list", "web", "--host", "agent:a-1"],
        &["group", "list", "a/b"],
    ] {
        let ran = muster(args).to(&server.url).run();
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
    }
    assert!(server.asked().is_empty());
}

#[test]
fn a_namespace_on_several_hosts_needs_hosts_or_all() {
    let server = server();
    let ran = muster(&["group", "set", "web", "--none"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("--all"), "{ran:?}");
    let ran = muster(&["group", "set", "other", "--none"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 4, "{ran:?}");
}
