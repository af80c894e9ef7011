//! Operations: request, waiting, report, exit code.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use serde_json::{Value, json};

use crate::command::{Output, muster};
use crate::fake_server::{FakeServer, Request, ok, status};

const ID: &str = "GSETASK:0123456789ABCDEF";

fn result(index: usize, code: i32, message: &str) -> Value {
    json!({"process": "web/nginx", "host": format!("0:10.0.{}.{}", index / 256, index % 256), "op": "start",
        "code": code, "message": message, "ended_at": 1, "managed": true, "command": "./start.sh",
        "exit_code": 3, "exit_signal": null, "duration_ms": 312, "output": "one\ntwo\n", "instance": null})
}

/// A server on which every operation is a task that ends with these results after so many polls.
fn ending(results: Vec<Value>, polls: usize) -> FakeServer {
    let seen = AtomicUsize::new(0);
    FakeServer::new(move |asked| answer(asked, &results, polls, &seen))
}

fn answer(
    asked: &Request,
    results: &[Value],
    polls: usize,
    seen: &AtomicUsize,
) -> crate::fake_server::Response {
    if asked.line.starts_with("POST") {
        return status(202, json!({"task_id": ID, "targets": results.len()}));
    }
    if !asked.line.contains("/tasks/") {
        let rows: Vec<Value> = results
            .iter()
            .map(|row| json!({"namespace": "web", "name": "nginx", "host": row["host"]}))
            .collect();
        return ok(json!({"count": rows.len(), "processes": rows}));
    }
    let is_failed = |row: &&Value| row["code"] != 0;
    let wanted: Vec<&Value> = match asked.line.contains("failed=true") {
        true => results.iter().filter(is_failed).collect(),
        false => results.iter().collect(),
    };
    let number = |key: &str, default: usize| {
        let found = asked
            .line
            .split(['?', '&'])
            .find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
        found.map_or(default, |text| text.parse().unwrap())
    };
    let (start, limit) = (number("start", 0), number("limit", 100));
    assert!((1..=1000).contains(&limit));
    let page: Vec<&Value> = wanted.iter().skip(start).take(limit).copied().collect();
    let n_failed = results.iter().filter(is_failed).count();
    let is_over = !asked.line.contains("wait=") || seen.fetch_add(1, Ordering::Relaxed) >= polls;
    ok(json!({
        "id": ID, "state": if is_over { "finished" } else { "running" }, "created_at": 1, "app": "test", "user": "me",
        "counts": {"total": results.len(), "ended": results.len(), "ok": results.len() - n_failed, "failed": n_failed, "running": 0},
        "count": wanted.len(), "results": page,
    }))
}

fn run(server: &FakeServer, args: &[&str]) -> Output {
    muster(args).to(&server.url).run()
}

#[test]
fn an_operation_is_waited_for_and_reported() {
    let server = ending(vec![result(1, 0, "success"), result(2, 0, "success")], 2);
    let ran = run(&server, &["start", "web/nginx", "--all"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout
            .contains("0:10.0.0.1  web/nginx  start  ok      312 ms  success\n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.ends_with("\n2 ok\n"), "{}", ran.stdout);
    assert!(
        ran.stderr
            .contains(&format!("{ID}: start web/nginx on 2 hosts")),
        "{}",
        ran.stderr
    );
    let asked = server.asked();
    assert_eq!(
        asked[0].line,
        "GET /api/v1/processes?process=web%2Fnginx&fields=namespace%2Cname%2Chost&start=0&limit=1000"
    );
    assert_eq!(asked[1].line, "POST /api/v1/processes/web/nginx/operate");
    assert_eq!(
        asked[1].body,
        json!({"op": "start", "hosts": ["0:10.0.0.1", "0:10.0.0.2"]})
    );
    let ran = run(&server, &["start", "web/nginx", "--all", "-q"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (0, "", "")
    );
}

#[test]
fn wildcards_and_labels_are_sent_as_a_filter_with_the_number_that_was_shown() {
    let server = ending(vec![result(1, 0, "success"), result(2, 0, "success")], 0);
    let ran = run(
        &server,
        &[
            "start",
            "web/*",
            "-l",
            "tier=front",
            "-H",
            "10.0.0.1,10.0.0.2",
        ],
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = server.asked();
    let sent = asked.iter().find(|asked| asked.line.starts_with("POST"));
    assert_eq!(
        sent.map(|sent| (sent.line.as_str(), &sent.body)),
        Some((
            "POST /api/v1/operate",
            &json!({"op": "start", "expect_count": 2, "filter": {"process": ["web/*"], "label": ["tier=front"],
                "host": ["0:10.0.0.1", "0:10.0.0.2"]}})
        ))
    );
}

#[test]
fn a_set_that_has_changed_is_refused_with_what_to_do() {
    let server = FakeServer::new(|asked| match asked.line.starts_with("POST") {
        true => status(
            409,
            json!({"error": {"code": "count_changed", "field": "expect_count", "count": 3,
                "message": "expect_count: the filter matches 3 processes now, not 1; nothing was done"}}),
        ),
        false => ok(
            json!({"count": 1, "processes": [{"namespace": "web", "name": "x", "host": "0:10.0.0.1"}]}),
        ),
    });
    let ran = run(&server, &["start", "web/*"]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("matches 3 processes now"), "{ran:?}");
}

#[test]
fn a_dry_run_shows_what_the_server_says() {
    let server = FakeServer::new(|asked| match asked.line.starts_with("POST") {
        true => ok(
            json!({"count": 2, "hosts": 2, "namespaces": [{"value": "web", "count": 2}],
            "environments": [{"value": "formal", "count": 2}],
            "blocked": [{"reason": "agent_away", "count": 1, "hosts": ["0:10.0.0.2"]}],
            "commands": [{"command": "./stop.sh", "count": 2}], "sample": []}),
        ),
        false => ok(
            json!({"count": 2, "processes": [{"namespace": "web", "name": "x", "host": "0:10.0.0.1"},
            {"namespace": "web", "name": "x", "host": "0:10.0.0.2"}]}),
        ),
    });
    let ran = run(&server, &["stop", "web/*", "--dry-run"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("web/x    0:10.0.0.2"), "{ran:?}");
    for line in [
        "would stop web/x on 2 hosts",
        "  environments: 2 formal",
        "  1: the agent is away (0:10.0.0.2)",
        "  runs ./stop.sh on 2 processes",
    ] {
        assert!(ran.stderr.contains(line), "{line}: {ran:?}");
    }
    let asked = server.asked();
    assert_eq!(
        asked[1].body,
        json!({"op": "stop", "filter": {"process": ["web/*"]}, "dry_run": true})
    );
    let ran = run(
        &server,
        &["stop", "web/x", "--all", "--dry-run", "-o", "json"],
    );
    assert_eq!(ran.json()["plan"]["count"], 2);
    assert_eq!(ran.json()["targets"].as_array().unwrap().len(), 2);
    let changed = server.lines();
    let posts = changed.iter().filter(|line| line.starts_with("POST"));
    assert_eq!(posts.count(), 2, "only dry runs");
}

#[test]
fn a_file_names_hosts_and_spec() {
    let server = ending(vec![result(1, 0, "success")], 0);
    let file = "hosts = ['10.0.0.7']\n[spec.identity]\nproc_name = 'x'\nsetup_path = '/x'\npid_path = '/x/pid'\n\
        user = 'root'\n[spec.control]\nstart_cmd = './x'\n[spec.runtime]\numask = '027'\n";
    let ran = muster(&["start", "web/new", "--file", "d.toml"])
        .in_home()
        .file("d.toml", file)
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let asked = server.asked();
    assert_eq!(
        asked[0].line, "POST /api/v1/processes/web/new/operate",
        "it need not be registered yet"
    );
    assert_eq!(asked[0].body["hosts"], json!(["0:10.0.0.7"]));
    assert_eq!(asked[0].body["spec"]["control"]["start_cmd"], "./x");
    assert_eq!(asked[0].body["spec"]["runtime"]["umask"], "027");
}

#[test]
fn every_operation_has_its_verb() {
    for verb in [
        "start", "stop", "restart", "reload", "kill", "manage", "unmanage", "query",
    ] {
        let server = ending(vec![result(1, 0, "success")], 0);
        let ran = run(&server, &[verb, "web/nginx", "--host", "10.0.0.1"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(
            server.asked()[0].body,
            json!({"op": verb, "hosts": ["0:10.0.0.1"]})
        );
    }
}

#[test]
fn failures_are_listed_with_command_and_output() {
    let server = ending(
        vec![
            result(1, 0, "success"),
            result(2, 836, "start process (nginx) failed"),
        ],
        0,
    );
    let ran = run(&server, &["start", "web/nginx", "--all"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let expected = "0:10.0.0.2  web/nginx  start failed (836): start process (nginx) failed\n    \
        command  ./start.sh\n    end      exited with code 3 after 312 ms\n    output   one\n             two\n\
        1 ok, 1 failed\n";
    assert!(ran.stdout.ends_with(expected), "{}", ran.stdout);
}

#[test]
fn of_many_hosts_only_the_failures_are_shown() {
    let mut results: Vec<Value> = (0..9998).map(|n| result(n, 0, "success")).collect();
    results.extend([
        result(9998, 117, "can not find connection"),
        result(9999, 828, "is running already"),
    ]);
    let server = ending(results, 0);
    let ran = run(&server, &["start", "web/nginx", "--all"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stdout
            .ends_with("9,999 ok (1 already running), 1 failed\n"),
        "{}",
        ran.stdout
    );
    assert_eq!(
        ran.stdout
            .lines()
            .filter(|line| line.contains("failed ("))
            .count(),
        1
    );
    let n_bytes: usize = server
        .lines()
        .iter()
        .filter(|line| !line.contains("failed=true"))
        .count();
    assert_eq!(
        n_bytes,
        3,
        "only the hosts, the request and a first glance: {:?}",
        server.lines()
    );
}

#[test]
fn of_many_failures_some_are_shown_and_all_are_counted() {
    let code = |n| if n % 3 == 0 { 836 } else { 117 };
    let server = ending((0..300).map(|n| result(n, code(n), "no")).collect(), 0);
    let ran = run(&server, &["start", "web/nginx", "--all"]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.stdout
            .lines()
            .filter(|line| line.contains("start failed ("))
            .count(),
        50
    );
    let expected = format!(
        "… and 250 more: muster task {ID} -o json shows all\nfailed: 200 with 117, 100 with 836\n0 ok, 300 failed\n"
    );
    assert!(ran.stdout.ends_with(&expected), "{}", ran.stdout);
}

#[test]
fn already_so_is_fine_unless_strict() {
    let server = ending(vec![result(1, 828, "is running already")], 0);
    let ran = run(&server, &["start", "web/nginx", "--host", "10.0.0.1"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("already running"), "{ran:?}");
    assert!(
        ran.stdout.ends_with("1 ok (1 already running)\n"),
        "{ran:?}"
    );
    let ran = run(
        &server,
        &["start", "web/nginx", "--host", "10.0.0.1", "--strict"],
    );
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.ends_with("0 ok, 1 failed\n"), "{ran:?}");
}

#[test]
fn programs_get_every_result() {
    let results: Vec<Value> = (0..1500)
        .map(|n| result(n, if n == 7 { 836 } else { 0 }, "x"))
        .collect();
    let server = ending(results, 0);
    let ran = run(
        &server,
        &["restart", "web/nginx", "--all", "--yes", "-o", "json"],
    );
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let json = ran.json();
    assert_eq!(json["results"].as_array().unwrap().len(), 1500);
    assert_eq!(
        json["counts"],
        json!({"total": 1500, "ended": 1500, "ok": 1499, "already_so": 0, "failed": 1})
    );
    assert_eq!(json["id"], ID);
}

#[test]
fn waiting_can_be_skipped_or_limited() {
    let server = ending(vec![result(1, 0, "success")], usize::MAX);
    let ran = run(
        &server,
        &["start", "web/nginx", "--host", "10.0.0.1", "--no-wait"],
    );
    assert_eq!((ran.code, ran.stdout), (0, format!("{ID}\n")));
    let ran = run(
        &server,
        &[
            "start",
            "web/nginx",
            "--host",
            "10.0.0.1",
            "--no-wait",
            "-o",
            "json",
        ],
    );
    assert_eq!(ran.json(), json!({"task_id": ID, "targets": 1}));
    let ran = run(
        &server,
        &[
            "start",
            "web/nginx",
            "--host",
            "10.0.0.1",
            "--timeout",
            "0s",
        ],
    );
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.stderr.contains(&format!("muster task {ID}")), "{ran:?}");
}

#[test]
fn an_interrupt_leaves_the_task_and_says_so() {
    for args in [
        &["start", "web/nginx", "--host", "10.0.0.1"][..],
        &["start", "web/nginx", "--all", "-q", "-o", "json"],
        &["task", ID],
    ] {
        // The first look at the task is held back until the signal has been sent, as a real server holds it.
        let (looked, polls) = sync_channel(1);
        let (go_on, may_go_on) = sync_channel::<()>(1);
        let results = [result(1, 0, "success")];
        let server = FakeServer::new(move |asked| {
            if asked.line.contains("/tasks/") {
                let _one_is_enough = looked.try_send(());
                let _until_the_test_ends = may_go_on.recv();
            }
            answer(asked, &results, usize::MAX, &AtomicUsize::new(0))
        });
        let ran = muster(args)
            .to(&server.url)
            .run_until(|| polls.recv().unwrap());
        drop(go_on);
        assert_eq!((ran.code, ran.stdout.as_str()), (130, ""), "{ran:?}");
        assert_eq!(
            ran.stderr,
            format!(
                "error: interrupted; {ID} continues\n  it is not cancelled; see how it ends with: muster task {ID}\n"
            )
        );
    }
}

#[test]
fn an_interrupt_while_results_are_read_ends_the_command() {
    let (looked, polls) = sync_channel(1);
    let (go_on, may_go_on) = sync_channel::<()>(1);
    let results = [result(1, 0, "success")];
    let server = FakeServer::new(move |asked| {
        if asked.line.contains("/tasks/") && !asked.line.contains("wait=") {
            let _one_is_enough = looked.try_send(());
            let _until_the_test_ends = may_go_on.recv();
        }
        answer(asked, &results, 0, &AtomicUsize::new(0))
    });
    let ran = muster(&["task", ID])
        .to(&server.url)
        .run_until(|| polls.recv().unwrap());
    drop(go_on);
    assert_eq!(ran.code, 130, "{ran:?}");
    assert!(!ran.stderr.contains("continues"), "the task ended: {ran:?}");
}

#[test]
fn no_registered_target_exits_with_4() {
    let unknown = || result(1, 851, "process is not registered");
    let by_host = ["start", "web/nginx", "--host", "10.0.0.1"];
    let ran = run(&ending(vec![unknown()], 0), &by_host);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stderr.contains("muster register web/nginx"), "{ran:?}");
    let ran = run(
        &ending(vec![unknown()], 0),
        &[&by_host[..], &["-o", "json"]].concat(),
    );
    assert_eq!(
        (ran.code, &ran.json()["results"][0]["code"]),
        (4, &json!(851))
    );
    let many = |n| std::iter::repeat_with(unknown).take(n);
    let ran = run(&ending(many(30).collect(), 0), &by_host);
    assert_eq!(ran.code, 4, "{ran:?}");

    // Where some are, the others failed.
    let others = many(30).chain([result(2, 0, "success")]).collect();
    let ran = run(&ending(others, 0), &by_host);
    assert_eq!(ran.code, 1, "{ran:?}");
}

#[test]
fn several_hosts_must_be_chosen_from() {
    let one = ending(vec![result(1, 0, "success")], 0);
    let ran = run(&one, &["stop", "web/nginx"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(one.asked()[1].body["hosts"], json!(["0:10.0.0.1"]));

    let seven: Vec<Value> = (0..7).map(|n| result(n, 0, "success")).collect();
    let ran = run(&ending(seven, 0), &["stop", "web/nginx"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("registered on 7 hosts: 0:10.0.0.0,"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("and 2 more"), "{ran:?}");
    assert!(ran.stderr.contains("--all"), "{ran:?}");

    let ran = run(&ending(Vec::new(), 0), &["stop", "web/nginx"]);
    assert_eq!(ran.code, 4);
    assert!(
        ran.stderr.contains("web/nginx is not registered"),
        "{ran:?}"
    );
}

#[test]
fn a_query_shows_what_runs() {
    let seen = |index, pid| {
        let mut row = result(index, 0, "success");
        row["op"] = json!("query");
        row["instance"] = json!({"pid": pid, "cmdline": "nginx: master", "version": "1.2", "managed": true, "cpu": 1.5,
            "mem": 0.5, "rss_kib": 2048, "threads": 4, "elapsed_secs": 3700});
        row
    };
    let server = ending(vec![seen(1, 77), seen(2, -1)], 0);
    let ran = run(&server, &["query", "web/nginx", "--all"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(
        lines[1].contains(
            "running   77  yes      1.2       1.5   0.5  2.0 MiB        4  1h1m  nginx: master"
        ),
        "{}",
        lines[1]
    );
    assert!(lines[2].contains("stopped"), "{}", lines[2]);
}

#[test]
fn a_task_is_followed_by_its_id() {
    let server = ending(vec![result(1, 65535, "boom")], 0);
    for id in [ID, "0123456789ABCDEF"] {
        let ran = run(&server, &["task", id]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stdout.contains("start failed (65535): boom"), "{ran:?}");
    }
    assert!(
        server
            .lines()
            .iter()
            .all(|line| line.contains("/tasks/GSETASK:0123456789ABCDEF"))
    );
    let list = FakeServer::answering(
        200,
        json!({"tasks": [{"id": ID, "created_at": 1, "app": "a", "user": "u", "targets": 10, "ended": 9, "ok": 8,
            "op": "stop", "process": "web/nginx", "processes": 1}]}),
    );
    let ran = run(&list, &["task", "list"]);
    assert!(
        ran.stdout
            .contains("stop  web/nginx  running       10   8       1  u (a)"),
        "{}",
        ran.stdout
    );
    let gone = FakeServer::answering(
        404,
        json!({"error": {"code": "not_found", "message": "task does not exist"}}),
    );
    assert_eq!(run(&gone, &["task", ID]).code, 4);
}
