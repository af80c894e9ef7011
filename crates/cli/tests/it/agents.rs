//! `token create`, `agent revoke`, `agent versions` and `drain`.

use serde_json::{Value, json};

use crate::command::muster;
use crate::fake_server::{FakeServer, ok, status};

#[test]
fn a_token_may_be_for_one_host_once_and_within_the_hour() {
    let server = FakeServer::new(|asked| match asked.line.as_str() {
        "POST /api/v1/tokens" => {
            let line = "curl -fsS http://127.0.0.1:7100/install.sh | sh -s -- --token tok.fp";
            let made = json!({"id": "t1", "token": "tok.fp", "expires_at": 0, "install": line});
            status(201, made)
        }
        _ => ok(
            json!({"tokens": [{"id": "t1", "host": "0:10.0.0.7", "expires_at": 0, "created_at": 1, "uses_left": 1}]}),
        ),
    });
    let words = "token create --host 0:10.0.0.7 --expires 1h --uses 1";
    let words: Vec<&str> = words.split(' ').collect();
    let ran = muster(&words).to(&server.url).run();
    // Scripts read the token alone; people read how to use it.
    assert_eq!(ran.stdout, "tok.fp\n");
    let line = "\n  curl -fsS http://127.0.0.1:7100/install.sh | sh -s -- --token tok.fp\n";
    assert!(ran.stderr.contains(line), "{ran:?}");
    let warning = "other machines need the address of this one in place of 127.0.0.1";
    assert!(ran.stderr.contains(warning), "{ran:?}");
    let asked = server.asked();
    assert_eq!(
        asked[0].body,
        json!({"host": "0:10.0.0.7", "expires_in": "3600s", "uses": 1})
    );
    let list = muster(&["token", "list"]).to(&server.url).run();
    assert!(list.stdout.contains("JOINS LEFT"), "{list:?}");
    let replacing = muster(&["token", "create", "--replace"]).to(&server.url);
    assert_eq!(replacing.run().code, 0);
    assert_eq!(
        server.asked().last().unwrap().body,
        json!({"replace": true})
    );
    let none = muster(&["token", "create", "--uses", "0"]).to(&server.url);
    assert_eq!(none.run().code, 2);
}

#[test]
fn the_certificates_of_a_host_are_revoked_by_its_address() {
    let server = FakeServer::new(|_| status(204, Value::Null));
    let ran = muster(&["agent", "revoke", "10.0.0.7", "--yes"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("has to join again"), "{ran:?}");
    let asked = server.asked();
    assert_eq!(asked[0].line, "POST /api/v1/hosts/0:10.0.0.7/revoke");
    let ran = muster(&["agent", "revoke", "nowhere"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn a_replica_is_drained_and_takes_agents_again() {
    let server = FakeServer::new(|asked| {
        let draining = asked.line.starts_with("POST");
        ok(json!({"draining": draining, "agents": 7}))
    });
    let ran = muster(&["drain"]).to(&server.url).run();
    assert!(ran.stdout.contains("7 of its agents"), "{ran:?}");
    let ran = muster(&["drain", "--undo"]).to(&server.url).run();
    assert!(ran.stdout.contains("takes agents again"), "{ran:?}");
    let lines: Vec<String> = server.asked().into_iter().map(|asked| asked.line).collect();
    assert_eq!(lines, ["POST /api/v1/drain", "DELETE /api/v1/drain"]);
    let ran = muster(&["drain", "-o", "json"]).to(&server.url).run();
    assert_eq!(ran.json(), json!({"draining": true, "agents": 7}));
}

/// Hosts as a server lists them, and no binaries.
fn with_hosts(hosts: Value) -> FakeServer {
    FakeServer::new(move |asked| match asked.line.contains("/agents/binaries") {
        true => ok(json!({"binaries": [], "protocol_oldest": 1, "protocol_newest": 1})),
        false => ok(json!({"hosts": hosts, "count": hosts.as_array().unwrap().len()})),
    })
}

fn host(version: Option<&str>, protocols: (Option<u32>, Option<u32>), connected: bool) -> Value {
    let (oldest, newest) = protocols;
    json!({"host": "0:10.0.0.1", "connected": connected, "since": 1, "enrolled_at": 1, "version": version,
        "protocol_oldest": oldest, "protocol": newest, "missing": [], "processes": 0, "states": {}})
}

#[test]
fn versions_tell_whether_a_new_server_speaks_with_every_agent() {
    let newest = *agent::PROTOCOLS.end();
    let next = newest + 1;
    let known = (Some(newest), Some(newest));
    // One that speaks more than this program is no stranger, and neither is one whose server does not say the oldest.
    let server = with_hosts(json!([
        host(Some("0.1.0"), known, true),
        host(Some("0.1.0"), (None, Some(newest)), false),
        host(Some("0.2.0"), (Some(newest), Some(next)), true),
        host(None, (None, None), false),
    ]));
    let ran = muster(&["agent", "versions"]).to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let table = &ran.stdout;
    assert!(table.contains("speaks with them"), "{table}");
    assert!(!table.contains("does not speak"), "{table}");
    assert!(table.contains(&format!("{newest}-{next}")), "{table}");
    assert!(ran.stderr.contains("1 agent of unknown version"), "{ran:?}");

    let server = with_hosts(json!([
        host(Some("0.1.0"), known, true),
        host(Some("9.0.0"), (Some(next), Some(next + 1)), true),
        host(Some("9.0.0"), (Some(next), Some(next + 1)), false),
    ]));
    let ran = muster(&["agent", "versions"]).to(&server.url).run();
    assert_eq!(ran.code, 1, "{ran:?}");
    let expected = "does not speak with 2 agents: they are newer, and need a newer server";
    assert!(ran.stderr.contains(expected), "{ran:?}");
    let older = with_hosts(json!([host(Some("0.0.1"), (Some(0), Some(0)), true)]));
    let ran = muster(&["agent", "versions"]).to(&older.url).run();
    let expected = "does not speak with 1 agent: upgrade them before the server";
    assert!(ran.code == 1 && ran.stderr.contains(expected), "{ran:?}");
    let ran = muster(&["agent", "versions", "-o", "json"])
        .to(&server.url)
        .run();
    let document = ran.json();
    assert_eq!(ran.code, 1);
    assert_eq!(document["this"]["agents_that_it_does_not_speak_with"], 2);
    assert_eq!(document["versions"][1]["speaks"], false, "{document}");
    assert_eq!(document["versions"][1]["protocol_oldest"], next);
}

#[test]
fn an_upgrade_says_which_agents_it_leaves_out_and_why() {
    let plan = |count: u64, left_out: Value| {
        let hosts: Vec<&str> = vec!["0:10.0.0.1"; count as usize];
        let plan = json!({"job": null, "version": "0.2.0", "count": count, "hosts": hosts, "left_out": left_out});
        FakeServer::answering(200, plan)
    };
    let upgrade = |server: &FakeServer, more: &[&str]| {
        let words = [&["agent", "upgrade", "--all"][..], more].concat();
        muster(&words).to(&server.url).run()
    };
    let group =
        |reason: &str| json!({"reason": reason, "count": 2, "hosts": ["0:10.0.0.8", "0:10.0.0.9"]});
    let groups = ["already_so", "away", "not_replaceable", "no_binary"].map(group);
    let ran = upgrade(&plan(1, json!(groups)), &["--dry-run"]);
    let expected = [
        "1 agent would be upgraded to 0.2.0: 0:10.0.0.1",
        "left out 2: of that version already (0:10.0.0.8, 0:10.0.0.9)",
        "left out 2: not connected (",
        "left out 2: not replaceable by the server, ",
        "left out 2: the server has no binary for this processor",
    ];
    assert_eq!(ran.code, 0, "{ran:?}");
    for line in expected {
        assert!(ran.stdout.contains(line), "{line}: {ran:?}");
    }
    let ran = upgrade(&plan(0, json!([group("already_so")])), &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = upgrade(&plan(0, json!([group("away")])), &[]);
    assert!(
        ran.code == 4 && ran.stderr.contains("nothing to do"),
        "{ran:?}"
    );
    let ran = upgrade(&plan(0, json!([])), &[]);
    assert!(
        ran.code == 4 && ran.stderr.contains("no agent matches"),
        "{ran:?}"
    );
}
