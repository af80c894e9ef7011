//! `ps`, `hosts`, `status`, `app`, `token`, `user`, `audit`.

use serde_json::{Value, json};

use crate::command::muster;
use crate::fake_server::{FakeServer, ok, status};

fn process(index: usize) -> Value {
    json!({
        "namespace": "web", "name": "nginx", "host": format!("0:10.0.{}.{}", index / 256, index % 256),
        "cloud_id": 0, "ip": "x", "agent_id": "a1", "labels": {"tier": "front"}, "flag": "running", "state": "running",
        "managed": true, "pid": 100 + index, "version": "1.2", "message": "", "registered_at": 1_700_000_000_000_u64,
        "started_at": 1_700_000_000_000_u64, "reported_at": 1_700_000_000_000_u64, "cpu": 1.25, "mem": 0.5, "fd": 9,
        "disk": 2048, "net": 0, "something_new": [1],
    })
}

fn query(line: &str, key: &str) -> usize {
    let (_, rest) = line.split_once(&format!("{key}=")).unwrap();
    rest.split('&').next().unwrap().parse().unwrap()
}

fn fleet(total: usize) -> FakeServer {
    FakeServer::new(move |asked| {
        let (start, limit) = (query(&asked.line, "start"), query(&asked.line, "limit"));
        assert!((1..=1000).contains(&limit));
        let rows: Vec<Value> = (start..total.min(start + limit)).map(process).collect();
        ok(json!({"count": total, "start": start, "processes": rows}))
    })
}

#[test]
fn ps_is_a_table_for_people() {
    let server = fleet(2);
    let ran = muster(&[
        "ps",
        "--namespace",
        "web",
        "--state",
        "running",
        "--managed",
        "--host",
        "10.0.0.1",
    ])
    .to(&server.url)
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        server.lines(),
        [
            "GET /api/v1/processes?namespace=web&host=0:10.0.0.1&state=running&managed=true&start=0&limit=1000"
        ]
    );
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(
        lines[0].starts_with("PROCESS    HOST        STATE    MANAGED  PID"),
        "{}",
        lines[0]
    );
    assert!(
        lines[1].starts_with("web/nginx  0:10.0.0.0  running  yes      100"),
        "{}",
        lines[1]
    );
    assert!(!ran.stdout.contains('\x1b'), "colours only on a terminal");
}

#[test]
fn ps_has_formats_for_people_and_programs() {
    let ran = muster(&["ps", "-o", "name"]).to(&fleet(2).url).run();
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "web/nginx\n"),
        "{ran:?}"
    );
    let ran = muster(&["ps", "-o", "yaml"]).to(&fleet(1).url).run();
    assert!(ran.stdout.starts_with("count: 1\nprocesses:\n"), "{ran:?}");
    let value: Value = serde_norway::from_str(&ran.stdout).unwrap();
    assert_eq!(value["processes"][0], process(0));
    let ran = muster(&["ps", "-o", "wide"]).to(&fleet(1).url).run();
    let ran_flag = muster(&["ps", "--wide"]).to(&fleet(1).url).run();
    assert!(ran.stdout.contains("tier=front"), "{ran:?}");
    assert_eq!(ran.stdout.lines().next(), ran_flag.stdout.lines().next());
    let ran = muster(&["start", "web/nginx", "-o", "name"]).run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr.contains("-o name is for verbs that list"),
        "{ran:?}"
    );
}

#[test]
fn tasks_say_what_was_done_to_what_by_whom() {
    let server = FakeServer::new(|_| {
        ok(json!({"next": null, "tasks": [
            {"id": "GSETASK:1", "state": "finished", "created_at": 1, "app": "cli", "user": "ann", "targets": 3, "ended": 3,
             "ok": 1, "failed": 2, "op": "restart", "process": "web/nginx", "processes": 1},
            {"id": "GSETASK:0", "state": "running", "created_at": 1, "app": "cli", "user": "", "targets": 1200, "ended": 3,
             "ok": 3, "failed": 0, "op": null, "process": "a/b", "processes": 4},
        ]}))
    });
    let ran = muster(&["task"]).to(&server.url).run();
    let words = |line: usize| {
        let line = ran.stdout.lines().nth(line).unwrap();
        Vec::from_iter(line.split_whitespace().filter(|word| !word.ends_with('h')))
    };
    assert_eq!(
        words(0),
        [
            "TASK", "AGE", "OP", "PROCESS", "STATE", "TARGETS", "OK", "FAILED", "BY"
        ]
    );
    assert_eq!(
        words(1),
        [
            "GSETASK:1",
            "restart",
            "web/nginx",
            "finished",
            "3",
            "1",
            "2",
            "ann",
            "(cli)"
        ]
    );
    assert_eq!(
        words(2),
        [
            "GSETASK:0",
            "several",
            "a/b",
            "and",
            "3",
            "more",
            "running",
            "1,200",
            "3",
            "0",
            "cli"
        ]
    );
}

/// Rows in every state that has more to say than its name.
fn states() -> FakeServer {
    let later = |secs: u64| {
        let now = std::time::SystemTime::now();
        let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
        // Half a second more, so that the time until then does not become a second less.
        now.as_millis() as u64 + secs * 1000 + 500
    };
    let rows = [
        json!({"state": "backoff", "next_at": later(12), "pid": null, "restarts": 4,
            "last_exit": {"code": 1, "signal": null, "at": 1_700_000_000_000_u64, "oom": false}}),
        json!({"state": "unknown", "was": "running", "pid": 77}),
        json!({"state": "failed", "pid": null,
            "last_exit": {"code": null, "signal": 9, "at": 1_700_000_000_000_u64, "oom": true}}),
        json!({"state": "scheduled", "next_at": later(3 * 3600), "pid": null}),
        json!({"state": "unhealthy", "pid": 78, "restart_needed": true,
            "health": {"ok": false, "checked_at": 1_700_000_000_000_u64, "message": "no database"}}),
    ];
    FakeServer::new(move |asked| {
        let mut shown: Vec<Value> = Vec::new();
        for (index, more) in rows.iter().enumerate() {
            let mut row = process(index);
            row.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            shown.push(row);
        }
        if asked.line.contains("restart_needed=true") {
            shown.drain(..4);
        }
        match asked.line.contains("processes?") {
            true => ok(json!({"count": shown.len(), "start": 0, "processes": shown})),
            false => ok(json!({"process": "web/nginx", "definitions": []})),
        }
    })
}

#[test]
fn ps_shows_states_restarts_and_last_exits() {
    let server = states();
    let args = [
        "ps",
        "--state",
        "backoff,failed",
        "--state",
        "unknown",
        "--order",
        "state,-restarts",
    ];
    let ran = muster(&args).to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = "state=backoff%2Cfailed%2Cunknown&order=state%2C-restarts";
    assert!(server.lines()[0].contains(asked), "{:?}", server.lines());
    let lines: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect()
        })
        .collect();
    assert_eq!(
        lines[0][2..8],
        ["STATE", "MANAGED", "PID", "UP", "RESTARTS", "LAST EXIT"]
    );
    assert_eq!(lines[1][2..6], ["backoff (in 12s)", "yes", "4", "exit 1"]);
    assert_eq!(lines[2][2..5], ["unknown (was running)", "yes", "0"]);
    assert_eq!(lines[3][2..6], ["failed", "yes", "0", "SIGKILL (oom)"]);
    assert_eq!(lines[4][2..4], ["scheduled (in 3h0m)", "yes"]);
    assert_eq!(lines[5][2..5], ["unhealthy *", "yes", "78"]);
    let note = "* runs with an older spec: muster restart applies the new one";
    assert!(ran.stderr.contains(note), "{ran:?}");
    let ran = muster(&["ps", "--state", "up"]).to(&server.url).run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr
            .contains("running, ready, starting, unhealthy, backoff"),
        "{ran:?}"
    );
}

#[test]
fn pending_lists_what_runs_with_an_older_spec() {
    let server = states();
    let ran = muster(&["ps", "--pending"]).to(&server.url).run();
    assert_eq!(ran.stdout.lines().count(), 2, "{ran:?}");
    assert!(server.lines()[0].contains("restart_needed=true"));
    let ran = muster(&["status", "web/nginx", "-H", "10.0.0.1", "-o", "json"])
        .to(&server.url)
        .run();
    assert_eq!(ran.json()["processes"][0]["pid"], Value::Null);
}

#[test]
fn status_shows_health_and_the_last_exit() {
    let rows = json!([{
        "namespace": "web", "name": "nginx", "host": "0:10.0.0.1", "state": "unhealthy", "pid": 5, "restarts": 2,
        "restart_needed": true, "health": {"ok": false, "checked_at": 1_700_000_000_000_u64, "message": "no database"},
        "last_exit": {"code": null, "signal": 9, "at": 1_700_000_000_000_u64, "oom": true},
    }]);
    let server = FakeServer::new(move |asked| match asked.line.contains("processes?") {
        true => ok(json!({"count": 1, "start": 0, "processes": rows})),
        false => ok(json!({"process": "web/nginx", "definitions": []})),
    });
    let ran = muster(&["status", "web/nginx"]).to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let line = |field: &str| {
        let found = ran
            .stdout
            .lines()
            .find(|line| line.trim_start().starts_with(field));
        found
            .unwrap_or_else(|| panic!("{field}: {ran:?}"))
            .to_owned()
    };
    assert!(line("state").ends_with("unhealthy"));
    assert!(line("restart needed").contains("yes: it runs with an older spec"));
    assert!(line("health").contains("failing: no database, checked 2023-11-14T22:13:20"));
    assert!(line("restarts").ends_with(" 2"));
    assert!(line("last exit").contains("SIGKILL (oom), 2023-11-14T22:13:20"));
}

#[test]
fn ps_for_programs_has_every_row_and_every_field() {
    let server = fleet(2500);
    let ran = muster(&["ps", "-o", "json"]).to(&server.url).run();
    let json = ran.json();
    assert_eq!(json["count"], 2500);
    assert_eq!(json["processes"].as_array().unwrap().len(), 2500);
    assert_eq!(json["processes"][2499]["something_new"], json!([1]));
    assert_eq!(server.lines().len(), 3);
}

#[test]
fn a_long_table_is_cut_and_says_so() {
    let server = fleet(2500);
    let ran = muster(&["ps", "--limit", "1500"]).to(&server.url).run();
    assert_eq!(ran.stdout.lines().count(), 1501);
    assert!(
        ran.stderr.contains("1,500 of 2,500 processes shown"),
        "{}",
        ran.stderr
    );
    assert_eq!(query(&server.lines()[1], "limit"), 500);
    let ran = muster(&["ps"]).to(&fleet(0).url).run();
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (0, "", "no processes\n")
    );
    let ran = muster(&["ps", "-q"]).to(&fleet(0).url).run();
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (0, "", "")
    );
}

#[test]
fn status_shows_state_and_spec() {
    let server = FakeServer::new(|asked| match asked.line.contains("?") {
        true => ok(json!({"count": 1, "processes": [process(1)]})),
        false => ok(json!({
            "process": "web/nginx", "count": 1, "processes": [process(1)],
            "definitions": [{"hosts": 1, "labels": {"tier": "front"}, "spec": {
                "identity": {"proc_name": "nginx", "setup_path": "/opt/nginx", "pid_path": "/run/n.pid", "user": "root"},
                "control": {"start_cmd": "./sbin/nginx"}, "resource": {"mem": 20.0},
                "monitor_policy": {"auto_type": 1}}}],
        })),
    });
    let ran = muster(&["status", "web/nginx"]).to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    for part in [
        "  state       running\n",
        "  pid         101\n",
        "  start       ./sbin/nginx\n",
        "  limits      20% mem\n",
        "  policy      resident: restarted when it dies\n",
        "  labels      tier=front\n",
    ] {
        assert!(ran.stdout.contains(part), "{part:?} in {}", ran.stdout);
    }
}

#[test]
fn status_of_an_unknown_process_is_4() {
    let server =
        FakeServer::answering(404, json!({"error": {"code": "not_found", "message": "x"}}));
    let ran = muster(&["status", "web/nginx"]).to(&server.url).run();
    assert_eq!(ran.code, 4);
    assert!(
        ran.stderr.contains("web/nginx is not registered"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("muster register web/nginx"), "{ran:?}");
}

#[test]
fn hosts_are_listed_and_shown() {
    let row = json!({"host": "0:10.0.0.1", "cloud_id": 0, "ip": "10.0.0.1", "agent_id": "a1", "connected": true,
        "since": 1_700_000_000_000_u64, "version": "0.1.0", "root": false, "hostname": "web1", "kernel": "6.1",
        "cores": 4, "memory_kib": 8_388_608, "processes": 12});
    let listed = row.clone();
    let server = FakeServer::new(move |asked| match asked.line.contains("hosts/0:10.0.0.1") {
        true => ok(row.clone()),
        false => ok(json!({"count": 1, "hosts": [listed]})),
    });
    let ran = muster(&["hosts", "--connected", "true"])
        .to(&server.url)
        .run();
    assert!(ran.stdout.contains("0:10.0.0.1  connected"), "{ran:?}");
    assert!(ran.stdout.contains("8.0 GiB"), "{ran:?}");
    let ran = muster(&["hosts", "10.0.0.1"]).to(&server.url).run();
    assert!(
        ran.stdout
            .contains("an ordinary user: its own processes only"),
        "{ran:?}"
    );
}

#[test]
fn apps_users_and_tokens_are_created_and_deleted() {
    let server = FakeServer::new(|asked| {
        let (method, path) = asked.line.split_once(' ').unwrap();
        match (method, path.trim_start_matches("/api/v1/")) {
            ("POST", "apps") => status(201, json!({"code": "ci", "secret": "s3cret"})),
            ("POST", "users") => status(201, json!({"name": "alice"})),
            ("POST", "tokens") => {
                status(201, json!({"id": "t1", "token": "tok.fp", "expires_at": 0}))
            }
            ("GET", "apps") => ok(
                json!({"apps": [{"code": "ci", "grants": [{"role": "operator", "namespaces": ["web"]}], "trusted": false, "rate_limit": 5, "created_at": 1}]}),
            ),
            ("GET", "users") => ok(json!({"users": [{"name": "alice", "created_at": 1}]})),
            ("GET", "tokens") => ok(
                json!({"tokens": [{"id": "t1", "host": null, "expires_at": 0, "created_at": 1}]}),
            ),
            ("GET", path) if path.starts_with("audit") => {
                ok(json!({"audit": [{"id": 7, "at": 1_700_000_000_000_u64,
                "app": "ci", "user": "alice", "from": "127.0.0.1", "action": "register", "object": "web/nginx", "detail": "1 host"}]}))
            }
            ("DELETE", _) => status(204, Value::Null),
            _ => status(404, Value::Null),
        }
    });
    let run = |args: &[&str], stdin: &str| muster(args).to(&server.url).stdin(stdin).run();
    let ran = run(
        &["app", "create", "ci", "-n", "web,db", "--rate-limit", "5"],
        "",
    );
    assert_eq!(ran.stdout, "MUSTER_APP_CODE=ci\nMUSTER_APP_SECRET=s3cret\n");
    run(
        &["app", "create", "ci", "--trusted", "--secret-stdin"],
        "chosen\n",
    );
    run(&["user", "create", "alice", "--password-stdin"], "pa ss\n");
    assert_eq!(
        run(
            &[
                "token",
                "create",
                "--expires-in",
                "24h",
                "--host",
                "10.0.0.7"
            ],
            ""
        )
        .stdout,
        "tok.fp\n"
    );
    let bodies: Vec<Value> = server.asked().into_iter().map(|asked| asked.body).collect();
    assert_eq!(
        bodies,
        [
            json!({"code": "ci", "trusted": false, "rate_limit": 5,
                "grants": [{"role": "operator", "namespaces": ["web", "db"], "businesses": []}]}),
            json!({"code": "ci", "secret": "chosen", "trusted": true, "rate_limit": 0}),
            json!({"name": "alice", "password": "pa ss",
                "grants": [{"role": "viewer", "namespaces": [], "businesses": []}]}),
            json!({"host": "0:10.0.0.7", "expires_in": "86400s"}),
        ]
    );
    assert!(
        run(&["app", "list"], "")
            .stdout
            .contains("ci   no                5")
    );
    assert!(run(&["user", "list"], "").stdout.contains("alice"));
    assert!(run(&["token", "list"], "").stdout.contains("t1  any"));
    assert!(
        run(&["audit"], "")
            .stdout
            .contains("2023-11-14T22:13:20Z  alice  ci")
    );
    for what in ["app", "user", "token"] {
        let ran = run(&[what, "delete", "x/y", "--yes"], "");
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(
            server.lines().last().unwrap(),
            &format!("DELETE /api/v1/{what}s/x%2Fy")
        );
    }
}

#[test]
fn a_password_is_never_taken_from_the_command_line() {
    let server = FakeServer::answering(500, Value::Null);
    let ran = muster(&["user", "create", "alice"])
        .to(&server.url)
        .stdin("x\n")
        .run();
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("--password-stdin"), "{ran:?}");
    let ran = muster(&["user", "create", "alice", "--password-stdin"])
        .to(&server.url)
        .run();
    assert!(ran.stderr.contains("the password is empty"), "{ran:?}");
    assert!(server.lines().is_empty());
}

#[test]
fn a_page_that_is_shorter_than_wanted_is_not_the_last() {
    let host = |n: u32| json!({"host": format!("0:10.0.0.{n}"), "connected": true, "processes": n});
    let server = FakeServer::new(move |asked| {
        let hosts = match asked.line.contains("start=2") {
            true => vec![host(3)],
            false => vec![host(1), host(2)],
        };
        ok(json!({"count": 3, "start": 0, "hosts": hosts}))
    });
    let ran = muster(&["hosts"]).to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    for n in 1..=3 {
        assert!(ran.stdout.contains(&format!("0:10.0.0.{n}")), "{ran:?}");
    }
    assert_eq!(server.lines().len(), 2);
}

#[test]
fn lists_are_filtered_and_sorted_by_the_server() {
    let server = FakeServer::new(|_| ok(json!({"count": 0, "processes": [], "hosts": []})));
    let asked = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let ran = muster(&words).to(&server.url).run();
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        server.lines().last().unwrap().clone()
    };
    assert_eq!(
        asked("ps --sort -cpu --wanted running --connected false --search ngi --search 10.0"),
        "GET /api/v1/processes?wanted=running&connected=false&q=ngi%2010.0&order=-cpu&start=0&limit=1000"
    );
    assert_eq!(
        asked("ps --biz 2 --search login --connected --sort state"),
        "GET /api/v1/processes/view?business=2&connected=true&order=state&search=login&start=0&limit=1000"
    );
    assert_eq!(
        asked("hosts --search a --agent-version 1.0,1.1 --cloud 7 --sort -processes"),
        "GET /api/v1/hosts?q=a&version=1.0%2C1.1&cloud=7&order=-processes&start=0&limit=1000"
    );
    assert_eq!(
        asked("search web nginx --limit 3"),
        "GET /api/v1/search?q=web%20nginx&limit=3"
    );
}
