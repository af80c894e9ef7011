//! `token create`, `agent revoke` and `drain`.

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
