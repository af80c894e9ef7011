//! POST /api/v1/label-hosts, and label selectors of every endpoint that takes them.

use model::event::{Event, EventKind};
use model::{State, Status, UnixMillis};
use serde_json::{Value, json};
use testkit::FakeAgent;

use crate::rig::{HEADERS, Rig, read_until, spec};

async fn label(rig: &Rig, body: Value) -> (u16, Value) {
    rig.native("POST", "/label-hosts", body).await
}

/// web/front and web/back on two hosts. 10.0.0.1 is in zone a, 10.0.0.2 in zone b; web/back is in zone x by its own label.
async fn four() -> Rig {
    let rig = Rig::new().await;
    for (name, labels) in [
        ("web/front", json!({"tier": "front"})),
        ("web/back", json!({"tier": "back", "zone": "x"})),
    ] {
        let hosts = json!(["10.0.0.1", "10.0.0.2"]);
        let body = json!({"hosts": hosts, "labels": labels, "spec": spec()});
        let path = format!("/processes/{name}");
        assert_eq!(rig.native("POST", &path, body).await.0, 200);
    }
    for (host, zone) in [("10.0.0.1", "a"), ("10.0.0.2", "b")] {
        let body = json!({"hosts": [host], "labels": {"zone": zone}});
        let (status, labelled) = label(&rig, body).await;
        assert_eq!((status, &labelled["changed"]), (200, &json!(1)));
    }
    rig
}

fn names(rows: &Value) -> String {
    let rows = rows.as_array().unwrap().iter();
    let mut found: Vec<String> = rows
        .map(|row| {
            let host = row["host"].as_str().unwrap().rsplit('.').next().unwrap();
            format!("{}.{host}", row["name"].as_str().unwrap())
        })
        .collect();
    found.sort();
    found.join(" ")
}

#[tokio::test]
async fn labels_of_hosts_are_set_replaced_removed_and_shown() {
    let rig = four().await;
    let both = json!(["10.0.0.1", "10.0.0.2", {"ip": "10.0.0.1"}]);
    let body = json!({"hosts": both, "labels": {"zone": "a", "rack": "7"}});
    let (status, refused) = label(&rig, body.clone()).await;
    assert_eq!(
        (status, &refused["error"]["code"]),
        (409, &json!("conflict"))
    );
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("host 0:10.0.0.2 has the label zone=b already"),
        "{message}"
    );
    let (_, shown) = rig.native("GET", "/hosts/0:10.0.0.1", Value::Null).await;
    assert_eq!(shown["labels"], json!({"zone": "a"}), "nothing was changed");

    let mut overwriting = body;
    overwriting["overwrite"] = json!(true);
    let (status, labelled) = label(&rig, overwriting).await;
    assert_eq!(status, 200, "{labelled}");
    assert_eq!(
        (&labelled["count"], &labelled["changed"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(
        labelled["hosts"][1]["labels"],
        json!({"rack": "7", "zone": "a"})
    );
    let body = json!({"hosts": ["10.0.0.1"], "labels": {"rack": null, "none": null}});
    let (_, labelled) = label(&rig, body.clone()).await;
    assert_eq!(labelled["hosts"][0]["labels"], json!({"zone": "a"}));
    let (_, again) = label(&rig, body).await;
    assert_eq!(again["changed"], 0);

    let (_, audit) = rig.native("GET", "/audit", Value::Null).await;
    let lines = audit["audit"].as_array().unwrap().iter();
    let details: Vec<&str> = lines
        .filter(|line| line["action"] == "host.labels" && line["object"] == "0:10.0.0.1")
        .map(|line| line["detail"].as_str().unwrap())
        .collect();
    assert_eq!(details, ["rack-", "rack=7", "zone=a"], "the newest first");
    for (query, count) in [
        ("label=rack", 1),
        ("label=zone%20in%20(a,b)", 2),
        ("label=!rack", 1),
        ("label=tier", 0),
    ] {
        let path = format!("/hosts?{query}");
        let (_, hosts) = rig.native("GET", &path, Value::Null).await;
        assert_eq!(hosts["count"], count, "{query}");
    }
}

#[tokio::test]
async fn labels_of_a_host_survive_another_change_of_it_but_not_its_removal() {
    let rig = four().await;
    let path = "/hosts/0:10.0.0.1/agent_id";
    let (status, _) = rig.native("PUT", path, json!({"agent_id": "other"})).await;
    assert_eq!(status, 200);
    let _agent = rig.agent("0:10.0.0.1").await;
    let (_, shown) = rig.native("GET", "/hosts/0:10.0.0.1", Value::Null).await;
    assert_eq!(shown["labels"], json!({"zone": "a"}));
    let body = json!({"hosts": ["10.0.0.2"]});
    assert_eq!(rig.native("POST", "/remove-hosts", body).await.0, 200);
    let body = json!({"hosts": ["10.0.0.2"], "spec": spec()});
    assert_eq!(
        rig.native("POST", "/processes/web/front", body).await.0,
        200
    );
    let (_, shown) = rig.native("GET", "/hosts/0:10.0.0.2", Value::Null).await;
    assert_eq!(shown["labels"], json!({}));
}

#[tokio::test]
async fn each_wrong_request_is_refused_and_changes_nothing() {
    let rig = four().await;
    let long = "x".repeat(2000);
    for (body, status, field) in [
        (json!({"labels": {"a": "b"}}), 400, "hosts"),
        (json!({"hosts": [], "labels": {"a": "b"}}), 400, "hosts"),
        (
            json!({"hosts": ["no host"], "labels": {"a": "b"}}),
            400,
            "hosts",
        ),
        (json!({"hosts": ["10.0.0.1"]}), 400, "labels"),
        (json!({"hosts": ["10.0.0.1"], "labels": {}}), 400, "labels"),
        (
            json!({"hosts": ["10.0.0.1"], "labels": {"": "b"}}),
            400,
            "labels.",
        ),
        (
            json!({"hosts": ["10.0.0.1"], "labels": {"a": long}}),
            400,
            "labels.a",
        ),
        (
            json!({"hosts": ["10.0.0.1"], "labels": {"a": 1}}),
            400,
            "labels.a",
        ),
        (
            json!({"hosts": ["10.0.0.1"], "labels": {"a": "b"}, "x": 1}),
            400,
            "x",
        ),
    ] {
        let (answered, refused) = label(&rig, body.clone()).await;
        assert_eq!(
            (answered, refused["error"]["field"].as_str()),
            (status, Some(field)),
            "{body}: {refused}"
        );
    }
    for unknown in [json!("10.9.9.9"), json!({"agent_id": "nobody"})] {
        let body = json!({"hosts": ["10.0.0.1", unknown], "labels": {"a": "b"}});
        let (status, refused) = label(&rig, body).await;
        assert_eq!(
            (status, &refused["error"]["code"]),
            (404, &json!("not_found")),
            "{refused}"
        );
    }
    let (_, hosts) = rig.native("GET", "/hosts?label=a", Value::Null).await;
    assert_eq!(hosts["count"], 0);
}

#[tokio::test]
async fn a_selector_that_is_wrong_is_refused_everywhere() {
    let rig = four().await;
    let wrong = "zone%20in%20a";
    for path in [
        "/processes",
        "/processes/facets?by=state&",
        "/hosts",
        "/events",
        "/watch",
        "/processes/web/front/logs",
    ] {
        let mark = if path.contains('?') { "" } else { "?" };
        let path = format!("{path}{mark}label={wrong}");
        let (status, refused) = rig.native("GET", &path, Value::Null).await;
        assert_eq!(
            (status, &refused["error"]["field"]),
            (400, &json!("label")),
            "{path}: {refused}"
        );
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("character 5"), "{message}");
    }
    let counts = "/events/counts?label=zone=a";
    let (status, refused) = rig.native("GET", counts, Value::Null).await;
    assert_eq!((status, &refused["error"]["field"]), (400, &json!("label")));
}

#[tokio::test]
async fn a_process_has_the_labels_of_its_host_where_it_has_none_of_its_own() {
    let rig = four().await;
    for (label, found) in [
        ("zone=a", "front.1"),
        ("zone=x", "back.1 back.2"),
        ("zone%20in%20(a,b)", "front.1 front.2"),
        ("zone%20in%20(a,x)", "back.1 back.2 front.1"),
        ("zone%20notin%20(a,x)", "front.2"),
        ("zone!=a", "back.1 back.2 front.2"),
        ("zone", "back.1 back.2 front.1 front.2"),
        ("!zone", ""),
        ("zone=b,tier=front", "front.2"),
        ("rack", ""),
    ] {
        let path = format!("/processes?label={label}");
        let (status, page) = rig.native("GET", &path, Value::Null).await;
        assert_eq!(status, 200, "{page}");
        assert_eq!(names(&page["processes"]), found, "{label}");
        assert_eq!(page["count"], page["processes"].as_array().unwrap().len());
    }
    let path = "/processes/facets?by=name&label=zone%20in%20(a,x)";
    let (_, facets) = rig.native("GET", path, Value::Null).await;
    assert_eq!(facets["count"], 3, "{facets}");
}

#[tokio::test]
async fn operations_and_jobs_take_a_selector() {
    let rig = four().await;
    let filter = json!({"label": "zone in (a,b),tier=front"});
    let body = json!({"op": "stop", "filter": filter, "dry_run": true});
    let (status, plan) = rig.native("POST", "/operate", body).await;
    assert_eq!((status, &plan["count"]), (200, &json!(2)), "{plan}");
    let body = json!({"op": "stop", "filter": filter, "expect_count": 2});
    let (status, begun) = rig.native("POST", "/operate", body).await;
    assert_eq!((status, &begun["targets"]), (202, &json!(2)), "{begun}");
    let body =
        json!({"action": "stop", "filter": {"label": "zone=b"}, "options": {"max_failures": 9}});
    let (status, job) = rig.native("POST", "/jobs", body).await;
    assert_eq!((status, &job["targets"]), (202, &json!(1)), "{job}");
}

fn event(name: &str, n: i64) -> Event {
    Event {
        at: UnixMillis(1_700_000_000_000 + n),
        process: name.parse().unwrap(),
        kind: EventKind::ProcessExit,
        reason: format!("{name} {n}"),
        exit: None,
        report_id: 0,
    }
}

async fn agents(rig: &Rig) -> [FakeAgent; 2] {
    [rig.agent("0:10.0.0.1").await, rig.agent("0:10.0.0.2").await]
}

#[tokio::test]
async fn events_and_webhooks_take_a_selector() {
    let rig = four().await;
    let body = json!({"url": "http://127.0.0.1:1/", "label": "tier=front, zone in (b)"});
    let (status, created) = rig.native("POST", "/webhooks", body).await;
    assert_eq!(status, 201, "{created}");
    let (_, list) = rig.native("GET", "/webhooks", Value::Null).await;
    assert_eq!(list["webhooks"][0]["label"], "tier=front,zone=b");

    let [one, two] = agents(&rig).await;
    let mut changed = rig.control.webhooks().deliveries_changed();
    one.sends_event(1, &event("web/front", 1)).await;
    one.sends_event(2, &event("web/back", 2)).await;
    one.sends_event(3, &event("web/unregistered", 3)).await;
    two.sends_event(1, &event("web/back", 4)).await;
    two.sends_event(2, &event("web/front", 5)).await;
    two.sends_event(3, &event("web/front", 6)).await;
    loop {
        let (_, list) = rig.native("GET", "/events", Value::Null).await;
        if list["events"].as_array().unwrap().len() == 6 {
            break;
        }
        changed.changed().await.unwrap();
    }
    for (query, found) in [
        (
            "label=tier=front",
            vec!["web/front 6", "web/front 5", "web/front 1"],
        ),
        ("label=zone=a", vec!["web/front 1"]),
        (
            "label=zone!=a",
            vec!["web/front 6", "web/front 5", "web/back 4", "web/back 2"],
        ),
        ("label=zone=x&host=10.0.0.2", vec!["web/back 4"]),
        ("label=rack", vec![]),
    ] {
        let path = format!("/events?{query}");
        let (_, list) = rig.native("GET", &path, Value::Null).await;
        let rows = list["events"].as_array().unwrap().iter();
        let reasons: Vec<&str> = rows.map(|row| row["reason"].as_str().unwrap()).collect();
        assert_eq!(reasons, found, "{query}");
        assert_eq!(list["next"], Value::Null, "{query}");
    }
    let (_, first) = rig
        .native("GET", "/events?label=tier=front&limit=2", Value::Null)
        .await;
    assert_eq!(first["events"].as_array().unwrap().len(), 2);
    let path = format!("/events?label=tier=front&limit=2&before={}", first["next"]);
    let (_, rest) = rig.native("GET", &path, Value::Null).await;
    assert_eq!(rest["events"][0]["reason"], "web/front 1");
    assert_eq!(rest["next"], Value::Null);

    let webhooks = rig.control.webhooks();
    let webhook = webhooks.all().remove(0);
    let deliveries = webhooks.next_deliveries(&webhook).await.unwrap().unwrap();
    let reasons: Vec<&str> = (deliveries.events.iter())
        .map(|view| view.event.reason.as_str())
        .collect();
    assert_eq!(reasons, ["web/front 5", "web/front 6"]);
}

#[tokio::test]
async fn a_watch_takes_a_selector() {
    let rig = four().await;
    let [one, two] = agents(&rig).await;
    let path = "/api/v1/watch?kinds=status,event,task&label=zone=b";
    let mut stream = rig.open("GET", path, &HEADERS, b"").await;
    read_until(&mut stream, &[": watching"]).await;
    let running = |pid| Status {
        state: State::Running,
        pid,
        ..Status::default()
    };
    one.reports("web/front", running(11)).await;
    two.reports("web/back", running(12)).await;
    one.sends_event(1, &event("web/front", 1)).await;
    two.sends_event(1, &event("web/back", 2)).await;
    for name in ["web/back", "web/front"] {
        let path = format!("/processes/{name}/operate");
        let body = json!({"op": "stop", "hosts": ["10.0.0.9"]});
        assert_eq!(rig.native("POST", &path, body).await.0, 202);
    }
    two.reports("web/front", running(13)).await;
    two.sends_event(2, &event("web/front", 3)).await;
    let text = read_until(&mut stream, &["\"pid\":13", "web/front 3", "event: task"]).await;
    for hidden in ["\"pid\":11", "\"pid\":12", "web/front 1", "web/back"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
}
