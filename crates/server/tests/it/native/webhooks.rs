//! /api/v1/webhooks, and their deliveries: signed, in order, retried after a failure, across a restart.

use model::access::Caller;
use model::event::{Event, EventKind};
use model::status::Exit;
use model::webhook::{Webhook, WebhookUrl};
use model::{Namespace, UnixMillis};
use serde_json::{Value, json};
use server::Running;
use tempfile::TempDir;
use testkit::FakeAgent;

use crate::receiver::Receiver;
use crate::rig::{Rig, attach, config};

#[tokio::test]
async fn webhooks_are_created_listed_tested_and_deleted() {
    let rig = Rig::new().await;
    let mut receiver = Receiver::new(|n| [204, 500][n]).await;
    let body = json!({"url": receiver.url(), "namespaces": ["web"], "kinds": ["process_exit"]});
    let (status, created) = rig.native("POST", "/webhooks", body).await;
    assert_eq!(status, 201, "{created}");
    let id = created["id"].as_str().unwrap();
    let secret = created["secret"].as_str().unwrap();

    let (_, list) = rig.native("GET", "/webhooks", Value::Null).await;
    let row = &list["webhooks"][0];
    assert_eq!((&row["id"], &row["url"]), (&json!(id), &created["url"]));
    assert_eq!(
        (&row["namespaces"], &row["kinds"], &row["last_error"]),
        (&json!(["web"]), &json!(["process_exit"]), &Value::Null)
    );
    assert!(!list.to_string().contains(secret));

    let path = format!("/webhooks/{id}/test");
    let (status, tried) = rig.native("POST", &path, Value::Null).await;
    assert_eq!(
        (status, &tried["delivered"], &tried["status"]),
        (200, &json!(true), &json!(204))
    );
    let received = receiver.next().await;
    assert_eq!(received.request_line(), "POST /hook?from=muster HTTP/1.1");
    assert_eq!(received.header("x-muster-webhook"), id);
    assert_eq!(received.header("content-type"), "application/json");
    assert!(received.is_signed_with(secret));
    assert!(!received.is_signed_with("another secret"));
    let event = received.json();
    assert_eq!((&event["kind"], &event["id"]), (&json!("test"), &json!(0)));
    let (_, tried) = rig.native("POST", &path, Value::Null).await;
    assert_eq!(
        (&tried["delivered"], &tried["error"]),
        (&json!(false), &json!("answered with status 500"))
    );

    let path = format!("/webhooks/{id}");
    assert_eq!(rig.native("DELETE", &path, Value::Null).await.0, 204);
    assert_eq!(rig.native("DELETE", &path, Value::Null).await.0, 404);
    let path = format!("/webhooks/{id}/test");
    assert_eq!(rig.native("POST", &path, Value::Null).await.0, 404);
}

#[tokio::test]
async fn each_bad_field_of_a_webhook_is_named() {
    let rig = Rig::new().await;
    for (body, field) in [
        (json!({}), "url"),
        (json!({"url": "ftp://example.org/"}), "url"),
        (
            json!({"url": "http://h", "namespaces": ["a", "b/c"]}),
            "namespaces[1]",
        ),
        (json!({"url": "http://h", "namespaces": []}), "namespaces"),
        (
            json!({"url": "http://h", "kinds": ["nonsense"]}),
            "kinds[0]",
        ),
        (
            json!({"url": "http://h", "label": "tier in front"}),
            "label",
        ),
        (json!({"url": "http://h", "label": ""}), "label"),
        (json!({"url": "http://h", "secret": "short"}), "secret"),
    ] {
        let (status, answer) = rig.native("POST", "/webhooks", body.clone()).await;
        assert_eq!(
            (status, &answer["error"]["field"]),
            (400, &json!(field)),
            "{body}"
        );
    }
}

async fn start(folder: &TempDir) -> Running {
    server::start(config(folder)).await.unwrap()
}

async fn webhook(running: &Running, url: &str, namespace: Option<&str>) -> Webhook {
    let namespaces = namespace.map(|name| vec![Namespace::parse(name).unwrap()]);
    let url = WebhookUrl::parse(url).unwrap();
    running
        .control
        .webhooks()
        .create(&Caller::system(), url, namespaces, None, None, None)
        .await
        .unwrap()
}

async fn send_events(agent: &FakeAgent, seq: std::ops::Range<u64>, name: &str) {
    for seq in seq {
        let event = Event {
            at: UnixMillis(1_700_000_000_000),
            process: name.parse().unwrap(),
            kind: EventKind::ProcessExit,
            reason: format!("{seq}"),
            exit: Some(Exit::Code(1)),
            report_id: 0,
        };
        agent.sends_event(seq, &event).await;
    }
}

fn numbers(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|n| n.to_string()).collect()
}

#[tokio::test]
async fn events_are_delivered_in_order_retried_and_not_delayed_by_another_webhook() {
    let folder = TempDir::new().unwrap();
    let running = start(&folder).await;
    let mut flaky = Receiver::new(|n| if n < 2 { 500 } else { 200 }).await;
    let mut narrow = Receiver::new(|_| 200).await;
    let dead = webhook(&running, "http://127.0.0.1:1/", None).await;
    let hook = webhook(&running, &flaky.url(), None).await;
    webhook(&running, &narrow.url(), Some("db")).await;

    let agent = attach(&running.control, "0:10.0.0.1").await;
    send_events(&agent, 1..251, "web/a").await;
    send_events(&agent, 251..252, "db/a").await;
    // The receiver refuses the first one twice, and no event overtakes it.
    let first = flaky.next().await;
    assert!(first.is_signed_with(&hook.secret));
    assert_eq!(first.json()["process"], "web/a");
    assert_eq!(flaky.reasons(2).await, ["1", "1"]);
    assert_eq!(flaky.reasons(250).await, numbers(2..252));
    assert_eq!(narrow.reasons(1).await, ["251"]);

    let health = running.control.webhooks().list(&Caller::system()).unwrap();
    let of = |id: &str| {
        let found = health.iter().find(|(webhook, _)| webhook.id == id);
        found.unwrap().1.clone()
    };
    assert_eq!((of(&hook.id).n_failed, of(&hook.id).failing), (2, None));
    let failing = of(&dead.id).failing.unwrap().1;
    assert!(failing.starts_with("cannot connect: "), "{failing}");
    running.stop().await;
    assert!(flaky.is_empty() && narrow.is_empty());
}

#[tokio::test]
async fn deliveries_go_on_after_a_restart() {
    let folder = TempDir::new().unwrap();
    let running = start(&folder).await;
    // Refuses the third event until the server is started again.
    let mut receiver = Receiver::new(|n| if n == 2 { 503 } else { 200 }).await;
    webhook(&running, &receiver.url(), None).await;
    let agent = attach(&running.control, "0:10.0.0.1").await;
    send_events(&agent, 1..3, "web/a").await;
    assert_eq!(receiver.reasons(2).await, ["1", "2"]);
    send_events(&agent, 3..5, "web/a").await;
    assert_eq!(receiver.reasons(1).await, ["3"]);
    running.stop().await;
    drop(agent);

    let running = start(&folder).await;
    assert_eq!(receiver.reasons(2).await, ["3", "4"]);
    let agent = attach(&running.control, "0:10.0.0.1").await;
    send_events(&agent, 5..6, "web/a").await;
    assert_eq!(receiver.reasons(1).await, ["5"]);
    running.stop().await;
    assert!(receiver.is_empty());
}
