//! Labels of hosts, and selectors where they are sent to the server.

use serde_json::{Value, json};

use crate::command::muster;
use crate::fake_server::{FakeServer, Response, ok};

fn labelled() -> FakeServer {
    FakeServer::new(|_| {
        ok(json!({"count": 2, "changed": 1, "hosts": [
            {"host": "0:10.0.0.1", "labels": {"rack": "7", "zone": "a"}, "changed": true},
            {"host": "0:10.0.0.2", "labels": {"zone": "a"}, "changed": false},
        ]}))
    })
}

#[test]
fn hosts_are_labelled_in_one_request() {
    let server = labelled();
    let words = ["hosts", "label", "10.0.0.1", "10.0.0.2", "zone=a", "old-"];
    let ran = muster(&words).to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    for part in ["0:10.0.0.1", "rack=7,zone=a", "0:10.0.0.2"] {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
    assert!(ran.stderr.contains("1 changed of 2 hosts"), "{ran:?}");
    let asked = server.asked().remove(0);
    assert_eq!(asked.line, "POST /api/v1/label-hosts");
    let body = json!({"hosts": ["0:10.0.0.1", "0:10.0.0.2"], "labels": {"zone": "a", "old": null}});
    assert_eq!(asked.body, body);

    let words = [&words[..], &["--overwrite", "-o", "json"]].concat();
    let ran = muster(&words).to(&server.url).run();
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["changed"], 1);
    assert_eq!(server.asked()[1].body["overwrite"], true);
}

#[test]
fn wrong_labels_are_refused_before_anything_is_sent() {
    let server = labelled();
    for (words, why) in [
        (&["hosts", "label", "10.0.0.1"][..], "which labels?"),
        (&["hosts", "label", "zone=a"], "which hosts?"),
        (&["hosts", "label", "10.0.0.1", "=a"], "has no key"),
        (&["hosts", "label", "10.0.0.1", "-"], "has no key"),
        (
            &["hosts", "label", "10.0.0.1", "zone=a", "zone-"],
            "given twice",
        ),
        (&["hosts", "-l", "zone in a"], "character 5"),
        (&["ps", "-l", "zone in (a"], "expected a comma or )"),
        (&["events", "-l", "=a"], "the key of a label"),
        (&["watch", "-l", "a,,b"], "the key of a label"),
        (&["logs", "-l", "!"], "the key of a label"),
        (
            &["webhook", "create", "http://h", "-l", "a (b)"],
            "expected in or notin",
        ),
        (&["logs"], "required arguments"),
    ] {
        let ran = muster(words).to(&server.url).run();
        assert_eq!(ran.code, 2, "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(why), "{words:?}: {ran:?}");
    }
    assert!(server.asked().is_empty());
}

#[test]
fn hosts_show_their_labels_and_are_found_by_them() {
    let server = FakeServer::answering(
        200,
        json!({"count": 1, "start": 0, "hosts": [{"host": "0:10.0.0.1", "labels": {"zone": "a"}}]}),
    );
    let ran = muster(&["hosts", "-l", "zone in (a,b)", "-l", "!old"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("LABELS") && ran.stdout.contains("zone=a"));
    let line = server.lines().remove(0);
    assert!(
        line.contains("label=zone%20in%20%28a%2Cb%29&label=%21old"),
        "{line}"
    );
}

/// The server tests labels event by event, so the client goes on until it has enough.
#[test]
fn events_with_labels_are_read_page_by_page() {
    let event = |id: u64| {
        json!({"id": id, "at": id, "host": "0:10.0.0.1", "process": "web/nginx", "kind": "process_exit",
            "reason": format!("exit {id}")})
    };
    let server = FakeServer::new(move |asked| {
        ok(match asked.line.contains("before=50") {
            false => json!({"events": [event(90)], "next": 50}),
            true => json!({"events": [event(20)], "next": null}),
        })
    });
    let ran = muster(&["events", "-l", "tier=front", "--limit", "5"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout.contains("exit 90") && ran.stdout.contains("exit 20"),
        "{ran:?}"
    );
    let lines = server.lines();
    assert!(lines[0].contains("label=tier%3Dfront&limit=5"), "{lines:?}");
    assert!(lines[1].contains("limit=4&before=50"), "{lines:?}");
}

#[test]
fn logs_are_read_of_every_process_with_the_labels() {
    let server = FakeServer::new(|asked| match asked.line.contains("/logs?") {
        true => Response {
            status: 200,
            headers: "Content-Type: application/x-ndjson\r\n".into(),
            body: "{\"text\":\"one\\n\"}\n".into(),
        },
        false => ok(json!({"count": 2, "start": 0, "processes": [
            {"namespace": "web", "name": "nginx", "host": "0:10.0.0.1"},
            {"namespace": "db", "name": "pg", "host": "0:10.0.0.2"},
        ]})),
    });
    let ran = muster(&["logs", "-l", "tier=front"]).to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        ran.stdout,
        "db/pg@0:10.0.0.2     | one\nweb/nginx@0:10.0.0.1 | one\n"
    );
    assert!(server.lines()[0].contains("processes?label=tier%3Dfront"));
    let ran = muster(&["logs", "-l", "tier=front", "-o", "json"])
        .to(&server.url)
        .run();
    let first: Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(
        first,
        json!({"process": "db/pg", "host": "0:10.0.0.2", "line": "one"})
    );
}

#[test]
fn a_webhook_is_created_with_its_labels() {
    let server = FakeServer::answering(201, json!({"id": "1", "url": "http://h", "secret": "s"}));
    let words = ["webhook", "create", "http://h", "-l", "tier=front,!old"];
    let ran = muster(&words).to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(server.asked()[0].body["label"], "tier=front,!old");
}

#[test]
fn a_role_is_granted_and_revoked_by_labels() {
    let grant = json!({"role": "operator", "everything": false, "namespaces": [], "businesses": [],
        "label": "tier=front"});
    let server = FakeServer::answering(201, json!({"grants": [grant]}));
    let words = [
        "user",
        "grant",
        "ada",
        "--role",
        "operator",
        "-l",
        "tier=front",
    ];
    let ran = muster(&words).to(&server.url).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout
            .contains("ada is now operator of everything with the labels tier=front"),
        "{ran:?}"
    );
    let ran = muster(&["user", "revoke", "ada", "-l", "tier=front"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    for asked in server.asked() {
        assert_eq!(asked.body["label"], "tier=front");
    }
}
