//! `muster hosts remove`: looks first, asks, and removes exactly what it showed. `muster hosts HOST --check`.

use serde_json::{Value, json};

use crate::command::muster;
use crate::fake_server::{FakeServer, ok};

/// Two hosts, of which `connected` are connected.
fn server(connected: usize) -> FakeServer {
    FakeServer::new(move |asked| {
        let is_dry = asked.body["dry_run"] == true;
        ok(
            json!({"count": 2, "removed": !is_dry, "connected": connected, "processes": 3, "hosts": [
                {"host": "0:10.0.0.1", "connected": connected > 0, "since": 1000, "processes": 3,
                 "businesses": [{"id": 2, "name": "shop"}]},
                {"host": "0:10.0.0.2", "connected": false, "since": 0, "processes": 0, "businesses": []},
            ]}),
        )
    })
}

/// The bodies of requests that were no dry run.
fn changes(server: &FakeServer) -> Vec<Value> {
    let bodies = server.asked().into_iter().map(|asked| asked.body);
    bodies.filter(|body| body["dry_run"] != true).collect()
}

#[test]
fn without_a_terminal_it_needs_yes_and_then_removes_what_it_counted() {
    let fake = server(0);
    let words = ["hosts", "remove", "10.0.0.1", "10.0.0.2"];
    let ran = muster(&words).to(&fake.url).run();
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr
            .contains("not done: remove 2 hosts and forget 3 processes"),
        "{ran:?}"
    );
    assert!(changes(&fake).is_empty());

    let ran = muster(&[&words[..], &["--yes"]].concat())
        .to(&fake.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("removed 2 hosts"), "{ran:?}");
    assert!(ran.stdout.contains("what runs goes on"), "{ran:?}");
    assert!(ran.stderr.contains("next import or refresh"), "{ran:?}");
    let expected = json!({"hosts": ["0:10.0.0.1", "0:10.0.0.2"], "expect_count": 2});
    assert_eq!(changes(&fake), [expected]);
}

#[test]
fn a_dry_run_lists_hosts_and_removes_none() {
    let fake = server(1);
    let words = ["hosts", "remove", "--gone-for", "30d", "--dry-run"];
    let ran = muster(&words).to(&fake.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    for part in ["0:10.0.0.1", "connected", "shop", "0:10.0.0.2", "away"] {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
    let ran = muster(&[&words[..], &["-o", "json"]].concat())
        .to(&fake.url)
        .run();
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&document["count"], &document["removed"]),
        (&json!(2), &json!(false))
    );
    assert!(changes(&fake).is_empty());
    assert_eq!(
        fake.asked()[0].body,
        json!({"gone_for": "30d", "dry_run": true})
    );
}

#[test]
fn a_connected_host_is_refused_without_force() {
    let fake = server(1);
    let words = ["hosts", "remove", "10.0.0.1", "10.0.0.2", "--yes"];
    let ran = muster(&words).to(&fake.url).run();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr.contains("the agent of 0:10.0.0.1 is connected"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("--force"), "{ran:?}");
    assert!(changes(&fake).is_empty());
    let ran = muster(&[&words[..], &["--force"]].concat())
        .to(&fake.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(changes(&fake)[0]["force"], true);
}

#[test]
fn a_wrong_command_line_asks_no_server() {
    let fake = server(0);
    for words in [
        vec!["hosts", "remove"],
        vec!["hosts", "remove", "nowhere"],
        vec!["hosts", "remove", "--gone-for", "soon"],
        vec!["hosts", "--check"],
    ] {
        let ran = muster(&words).to(&fake.url).run();
        assert_eq!(ran.code, 2, "{words:?}: {ran:?}");
    }
    assert!(fake.asked().is_empty());
}

#[test]
fn a_check_ends_with_1_if_the_host_is_not_fit() {
    for (result, code) in [("ok", 0), ("degraded", 0), ("no", 1)] {
        let fake = FakeServer::answering(
            200,
            json!({"host": "0:10.0.0.1", "result": result, "left_out": [], "checks": [
                {"name": "disk", "result": result, "message": "1 MiB\u{7} free", "hint": "free space"}]}),
        );
        let ran = muster(&["hosts", "10.0.0.1", "--check"])
            .to(&fake.url)
            .run();
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(
            ran.stdout.contains(result) && ran.stdout.contains("\n"),
            "{ran:?}"
        );
        assert!(
            ran.stdout.contains("free space") && !ran.stdout.contains('\u{7}'),
            "{ran:?}"
        );
        let ran = muster(&["hosts", "10.0.0.1", "--check", "-o", "json"])
            .to(&fake.url)
            .run();
        assert_eq!(ran.code, code, "{ran:?}");
        assert_eq!(fake.lines()[0], "GET /api/v1/hosts/0:10.0.0.1/check");
    }
}
