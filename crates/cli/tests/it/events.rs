//! `events` and `webhook`.

use serde_json::{Value, json};

use crate::command::muster;
use crate::fake_server::{FakeServer, Response, ok, status};

fn event(n: u64) -> Value {
    json!({"id": n, "at": 1_700_000_000_000_u64 + n * 1000, "host": "0:10.0.0.1", "process": "web/nginx",
        "kind": "process_exit", "reason": format!("exited with code {n}"), "exit_code": n, "exit_signal": null,
        "report_id": 0})
}

fn live(n: u64) -> String {
    let mut event = event(n);
    event.as_object_mut().unwrap().remove("id");
    format!("event: event\ndata: {event}\n\n")
}

#[test]
fn events_are_a_table_for_people_and_json_for_programs() {
    let server = FakeServer::answering(200, json!({"events": [event(2), event(1)], "next": 17}));
    let ran = muster(&[
        "events",
        "-n",
        "web,db",
        "--name",
        "nginx",
        "-H",
        "10.0.0.1",
        "--kind",
        "process_exit,config_drift",
        "--since",
        "1h",
        "--limit",
        "2",
    ])
    .to(&server.url)
    .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        ran.stdout,
        "AT                    HOST        PROCESS    KIND          REASON\n\
         2023-11-14T22:13:22Z  0:10.0.0.1  web/nginx  process_exit  exited with code 2\n\
         2023-11-14T22:13:21Z  0:10.0.0.1  web/nginx  process_exit  exited with code 1\n"
    );
    assert!(ran.stderr.contains("--before 17"), "{ran:?}");
    assert_eq!(
        server.lines(),
        [
            "GET /api/v1/events?limit=2&namespace=web%2Cdb&name=nginx&host=0:10.0.0.1\
          &kind=process_exit%2Cconfig_drift&since=3600s"
        ]
    );
    let ran = muster(&["events", "-o", "json"]).to(&server.url).run();
    assert_eq!(ran.json()["events"][0]["exit_code"], 2);
}

#[test]
fn no_events_is_no_error_and_a_wrong_kind_is_one() {
    let server = FakeServer::answering(200, json!({"events": [], "next": null}));
    let ran = muster(&["events"]).to(&server.url).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.contains("no events"), "{ran:?}");
    let ran = muster(&["events", "--kind", "nonsense"])
        .to(&server.url)
        .run();
    assert_eq!(ran.code, 2);
}

/// Follows twice: the connection is lost in between, and then the server has enough.
fn following() -> FakeServer {
    let n_streams = std::sync::Mutex::new(0);
    FakeServer::new(move |asked| {
        if asked.line.contains("/events?") {
            return match asked.line.contains("since=") {
                false => ok(json!({"events": [event(2), event(1)]})),
                true => ok(json!({"events": [event(4), event(3)]})),
            };
        }
        let mut n = n_streams.lock().unwrap();
        *n += 1;
        let other = live(9).replace("web/nginx", "web/other");
        let body = match *n {
            // One that is in the list already, one that is not, and one that does not match.
            1 => format!(": hello\n\n{}{}{other}", live(2), live(3)),
            2 => live(5),
            _ => {
                return status(
                    403,
                    json!({"error": {"code": "forbidden", "message": "enough"}}),
                );
            }
        };
        Response {
            status: 200,
            headers: "Content-Type: text/event-stream\r\n".into(),
            body,
        }
    })
}

#[test]
fn followed_events_come_once_each_also_when_the_connection_was_lost() {
    let server = following();
    let ran = muster(&["events", "-f", "-n", "web", "--name", "nginx"])
        .to(&server.url)
        .run();
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 5, "{ran:?}");
    for (n, line) in (1..).zip(&lines) {
        let wanted = format!(
            "2023-11-14T22:13:2{n}Z  process_exit  web/nginx on 0:10.0.0.1: exited with code {n}"
        );
        assert_eq!(*line, wanted);
    }
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(
        server.lines()[0],
        "GET /api/v1/watch?namespace=web&kinds=event"
    );
    assert!(
        server.lines().contains(
            &"GET /api/v1/events?limit=1000&namespace=web&name=nginx&since=1700000003000"
                .to_owned()
        ),
        "{:?}",
        server.lines()
    );
    let ran = muster(&["events", "-f", "-q", "-o", "json", "--name", "nginx"])
        .to(&following().url)
        .run();
    let last: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["exit_code"], 5);
}

#[test]
fn webhooks_come_are_tried_and_go() {
    let server = FakeServer::new(|asked| {
        let (method, path) = asked.line.split_once(' ').unwrap();
        match (method, path.trim_start_matches("/api/v1/")) {
            ("POST", "webhooks") => status(
                201,
                json!({"id": "w1", "url": "http://h/", "secret": "s3cret"}),
            ),
            ("POST", "webhooks/w1/test") => {
                ok(json!({"delivered": true, "status": 204, "error": null, "took_ms": 12}))
            }
            ("POST", "webhooks/w2/test") => ok(
                json!({"delivered": false, "status": 500, "error": "answered with status 500", "took_ms": 1}),
            ),
            ("GET", "webhooks") => ok(json!({"webhooks": [
                {"id": "w1", "url": "http://h/", "namespaces": ["web"], "kinds": null, "created_at": 1, "delivered": 1234,
                 "failed": 0, "failing_since": null, "last_error": null},
                {"id": "w2", "url": "http://x/", "namespaces": null, "kinds": ["config_drift"], "created_at": 1,
                 "delivered": 0, "failed": 3, "failing_since": 1, "last_error": "cannot connect: refused"}]})),
            ("DELETE", _) => status(204, Value::Null),
            _ => status(404, Value::Null),
        }
    });
    let run = |args: &[&str], stdin: &str| muster(args).to(&server.url).stdin(stdin).run();
    let ran = run(
        &[
            "webhook",
            "create",
            "http://h/",
            "-n",
            "web",
            "-k",
            "config_drift",
        ],
        "",
    );
    assert_eq!(
        ran.stdout,
        "MUSTER_WEBHOOK_ID=w1\nMUSTER_WEBHOOK_SECRET=s3cret\n"
    );
    run(
        &["webhook", "create", "http://h/", "--secret-stdin"],
        "a secret of mine\n",
    );
    let bodies: Vec<Value> = server.asked().into_iter().map(|asked| asked.body).collect();
    assert_eq!(
        bodies,
        [
            json!({"url": "http://h/", "namespaces": ["web"], "kinds": ["config_drift"]}),
            json!({"url": "http://h/", "secret": "a secret of mine"}),
        ]
    );
    let list = run(&["webhook", "list"], "").stdout;
    assert!(list.contains("1,234  ok"), "{list}");
    assert!(list.contains(": cannot connect: refused"), "{list}");

    let ran = run(&["webhook", "test", "w1"], "");
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "delivered: answered with 204 in 12 ms\n")
    );
    let ran = run(&["webhook", "test", "w2"], "");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr
            .contains("not delivered: answered with status 500"),
        "{ran:?}"
    );
    let ran = run(&["webhook", "test", "w2", "-o", "json"], "");
    assert_eq!((ran.code, &ran.json()["status"]), (1, &json!(500)));
    let ran = run(&["webhook", "delete", "w1", "--yes"], "");
    assert_eq!(ran.stdout, "deleted webhook w1\n");
    assert_eq!(server.lines().last().unwrap(), "DELETE /api/v1/webhooks/w1");
}
