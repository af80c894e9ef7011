//! /api/v1/events, and the live stream of them.

use model::event::{Event, EventKind};
use model::status::Exit;
use serde_json::{Value, json};

use crate::rig::Rig;

fn event(name: &str, kind: EventKind, at: i64, exit: Option<Exit>) -> Event {
    Event {
        at: model::UnixMillis(at),
        process: name.parse().unwrap(),
        kind,
        reason: format!("{name} at {at}"),
        exit,
        report_id: 7,
    }
}

/// Lists until there are `n` events.
async fn listed(rig: &Rig, query: &str, n: usize) -> Value {
    let mut changed = rig.control.webhooks().deliveries_changed();
    loop {
        let (status, list) = rig
            .native("GET", &format!("/events?{query}"), Value::Null)
            .await;
        assert_eq!(status, 200, "{list}");
        if list["events"].as_array().unwrap().len() >= n {
            return list;
        }
        changed.changed().await.unwrap();
    }
}

fn reasons(list: &Value) -> Vec<&str> {
    let events = list["events"].as_array().unwrap().iter();
    events.map(|row| row["reason"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn events_are_listed_filtered_and_paged() {
    let rig = Rig::new().await;
    let (one, two) = (rig.agent("0:10.0.0.1").await, rig.agent("0:10.0.0.2").await);
    let exit = EventKind::ProcessExit;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.unwrap().as_millis() as i64;
    let old = now - 7_200_000;
    one.sends_event(1, &event("web/a", exit, old, Some(Exit::Code(3))))
        .await;
    two.sends_event(1, &event("web/b", EventKind::ConfigDrift, now - 2000, None))
        .await;
    let killed = event("db/a", exit, now - 1000, Some(Exit::Signal(9)));
    one.sends_event(2, &killed).await;

    let all = listed(&rig, "", 3).await;
    assert_eq!(all["next"], Value::Null);
    let (killed, drift, exited) = (&all["events"][0], &all["events"][1], &all["events"][2]);
    let mut without_id = exited.clone();
    without_id.as_object_mut().unwrap().remove("id").unwrap();
    assert_eq!(
        without_id,
        json!({"at": old, "host": "0:10.0.0.1", "process": "web/a", "kind": "process_exit",
            "reason": format!("web/a at {old}"), "exit_code": 3, "exit_signal": null, "report_id": 7})
    );
    assert_eq!(
        (&killed["exit_code"], &killed["exit_signal"]),
        (&Value::Null, &json!(9))
    );
    let of = |row: &Value| row["reason"].as_str().unwrap().to_owned();
    for (query, expected) in [
        ("namespace=web", vec![of(drift), of(exited)]),
        (
            "namespace=web,db&kind=process_exit",
            vec![of(killed), of(exited)],
        ),
        ("name=a&host=10.0.0.1", vec![of(killed), of(exited)]),
        ("host=10.0.0.2", vec![of(drift)]),
        ("host=10.9.9.9", vec![]),
        ("since=1h", vec![of(killed), of(drift)]),
        ("until=1h", vec![of(exited)]),
    ] {
        let list = listed(&rig, query, expected.len()).await;
        assert_eq!(reasons(&list), expected, "{query}");
    }
    let until = format!("since={old}&until={}", old + 1);
    assert_eq!(reasons(&listed(&rig, &until, 1).await), [of(exited)]);

    let first = listed(&rig, "limit=2", 2).await;
    let next = first["next"].as_u64().unwrap();
    let second = listed(&rig, &format!("limit=2&before={next}"), 1).await;
    assert_eq!(reasons(&second), [of(exited)]);
    assert_eq!(second["next"], Value::Null);

    let answer = rig.send("GET", "/metrics", &[], b"").await;
    let text = String::from_utf8(answer.body).unwrap();
    let line = "muster_events_total{kind=\"process_exit\"} 2";
    assert!(text.lines().any(|l| l == line), "{text}");
}

#[tokio::test]
async fn each_bad_parameter_is_named() {
    let rig = Rig::new().await;
    for (query, field) in [
        ("kind=nonsense", "kind"),
        ("host=nonsense", "host"),
        ("namespace=a:b", "namespace"),
        ("name=a/b", "name"),
        ("since=yesterday", "since"),
        ("until=1x", "until"),
        ("limit=1001", "limit"),
        ("before=-1", "before"),
    ] {
        let (status, answer) = rig
            .native("GET", &format!("/events?{query}"), Value::Null)
            .await;
        assert_eq!(
            (status, &answer["error"]["field"]),
            (400, &json!(field)),
            "{query}"
        );
    }
}
