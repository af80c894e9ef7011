//! Grants by labels: their holder sees and operates the processes that pass, and cannot make more of them pass.

use model::event::{Event, EventKind};
use model::{State, Status, UnixMillis};
use serde_json::{Value, json};
use testkit::FakeAgent;

use crate::rig::{Rig, read_until, spec};

const SECRET: &str = "secret-0123456789";
const HEADERS: [(&str, &str); 2] = [
    ("X-Bkapi-App-Code", "front"),
    ("X-Bkapi-App-Secret", SECRET),
];

/// web/front and web/back on 10.0.0.1 and 10.0.0.2, db/front on 10.0.0.1; the app `front` is an operator of tier=front in web.
struct World {
    rig: Rig,
    one: FakeAgent,
    two: FakeAgent,
}

impl World {
    async fn new() -> Self {
        let rig = Rig::new().await;
        let (one, two) = (rig.agent("0:10.0.0.1").await, rig.agent("0:10.0.0.2").await);
        for (name, hosts, tier) in [
            ("web/front", json!(["10.0.0.1", "10.0.0.2"]), "front"),
            ("web/back", json!(["10.0.0.1", "10.0.0.2"]), "back"),
            ("db/front", json!(["10.0.0.1"]), "front"),
        ] {
            let body = json!({"hosts": hosts, "labels": {"tier": tier}, "spec": spec()});
            let path = format!("/processes/{name}");
            assert_eq!(rig.native("POST", &path, body).await.0, 200);
        }
        let grant = json!({"role": "operator", "namespaces": ["web"], "label": "tier=front"});
        let app = json!({"code": "front", "secret": SECRET, "grants": [grant]});
        let (status, answer) = rig.native("POST", "/apps", app).await;
        assert_eq!(status, 201, "{answer}");
        Self { rig, one, two }
    }

    /// A request of the app.
    async fn call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let path = format!("/api/v1{path}");
        let answer = self
            .rig
            .send(method, &path, &HEADERS, body.as_bytes())
            .await;
        match answer.body.is_empty() {
            true => (answer.status, Value::Null),
            false => (answer.status, answer.json()),
        }
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.call("GET", path, Value::Null).await
    }
}

fn names(page: &Value) -> Vec<String> {
    let rows = page["processes"].as_array().unwrap().iter();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    rows.map(|row| format!("{}/{}", text(row, "namespace"), text(row, "name")))
        .collect()
}

#[tokio::test]
async fn lists_show_only_what_passes() {
    let world = World::new().await;
    let (status, page) = world.get("/processes").await;
    assert_eq!((status, &page["count"]), (200, &json!(2)), "{page}");
    assert_eq!(names(&page), ["web/front", "web/front"]);
    for (query, count) in [
        ("namespace=web", 2),
        ("label=tier=back", 0),
        ("label=tier!=back", 2),
        ("host=10.0.0.1", 1),
        ("q=back", 0),
    ] {
        let (status, page) = world.get(&format!("/processes?{query}")).await;
        assert_eq!((status, &page["count"]), (200, &json!(count)), "{query}");
    }
    let (status, facets) = world.get("/processes/facets?by=name,namespace").await;
    assert_eq!((status, &facets["count"]), (200, &json!(2)), "{facets}");
    assert!(!facets.to_string().contains("back") && !facets.to_string().contains("db"));
    for path in [
        "/processes?namespace=db",
        "/processes/facets?by=name&namespace=db",
        "/events?namespace=db",
        "/watch?namespace=db",
        "/processes/web/back",
        "/processes/web/none",
        "/processes/db/front",
    ] {
        let (status, refused) = world.get(path).await;
        assert_eq!(status, 403, "{path}: {refused}");
    }
    let (status, shown) = world.get("/processes/web/front").await;
    assert_eq!(status, 200, "{shown}");
    let (_, me) = world.get("/whoami").await;
    assert_eq!(me["app"]["grants"][0]["label"], "tier=front", "{me}");
}

#[tokio::test]
async fn operations_are_taken_on_what_passes_and_refused_elsewhere() {
    let world = World::new().await;
    let stop = json!({"op": "stop", "hosts": ["10.0.0.1", "10.0.0.2"]});
    let (status, begun) = world
        .call("POST", "/processes/web/front/operate", stop.clone())
        .await;
    assert_eq!(status, 202, "{begun}");
    let task = format!("/tasks/{}", begun["task_id"].as_str().unwrap());
    assert_eq!(world.get(&task).await.0, 200);

    let filter = json!({"op": "stop", "filter": {"namespace": "web"}, "expect_count": 2});
    let (status, begun) = world.call("POST", "/operate", filter).await;
    assert_eq!((status, &begun["targets"]), (202, &json!(2)), "{begun}");
    let dry = json!({"op": "stop", "filter": {"label": "tier"}, "dry_run": true});
    let (_, plan) = world.call("POST", "/operate", dry).await;
    assert_eq!(plan["count"], 2, "{plan}");
    assert!(!plan["blocked"].to_string().contains("role"), "{plan}");

    let unknown_host = json!({"op": "stop", "hosts": ["10.0.0.9"]});
    let with_spec =
        json!({"op": "start", "hosts": ["10.0.0.1"], "spec": spec(), "labels": {"tier": "front"}});
    let several = json!({"operations": [
        {"process": "web/front", "op": "stop", "hosts": ["10.0.0.1"]},
        {"process": "web/back", "op": "stop", "hosts": ["10.0.0.1"]},
    ]});
    for (path, body) in [
        ("/processes/web/back/operate", stop.clone()),
        (
            "/processes/db/front/operate",
            json!({"op": "stop", "hosts": ["10.0.0.1"]}),
        ),
        ("/processes/web/none/operate", stop.clone()),
        ("/processes/web/front/operate", unknown_host),
        ("/processes/web/front/operate", with_spec),
        ("/operate", several),
    ] {
        let (status, refused) = world.call("POST", path, body.clone()).await;
        assert_eq!(status, 403, "{path} {body}: {refused}");
    }
    let (_, commands) = world.rig.native("GET", "/tasks", Value::Null).await;
    assert_eq!(commands["tasks"].as_array().unwrap().len(), 2);
    // Of another caller, with targets that do not pass.
    let (_, other) = world
        .rig
        .native("POST", "/processes/web/back/operate", stop)
        .await;
    let task = format!("/tasks/{}", other["task_id"].as_str().unwrap());
    assert_eq!(world.get(&task).await.0, 403);
}

#[tokio::test]
async fn its_holder_cannot_make_more_processes_pass() {
    let world = World::new().await;
    let labelled = json!({"hosts": ["10.0.0.1"], "labels": {"tier": "front"}, "spec": spec()});
    let group = json!({"hosts": ["10.0.0.1"], "process_group": []});
    let host = json!({"hosts": ["10.0.0.1"], "labels": {"tier": "front"}});
    let job = json!({"action": "stop", "filter": {"namespace": "web"}});
    let grant = json!({"role": "operator"});
    for (method, path, body) in [
        ("POST", "/processes/web/back", labelled.clone()),
        ("POST", "/processes/web/new", labelled.clone()),
        ("POST", "/processes/web/front", labelled.clone()),
        ("PUT", "/processes/web/back", labelled.clone()),
        ("PUT", "/processes/web/front", labelled),
        (
            "DELETE",
            "/processes/web/front",
            json!({"hosts": ["10.0.0.1"]}),
        ),
        ("PUT", "/groups/web", group),
        ("POST", "/label-hosts", host),
        (
            "PUT",
            "/hosts/0:10.0.0.1/agent_id",
            json!({"agent_id": "x"}),
        ),
        ("POST", "/jobs", job),
        ("POST", "/apps/front/grants", grant),
    ] {
        let (status, refused) = world.call(method, path, body).await;
        assert_eq!(status, 403, "{method} {path}: {refused}");
    }
    let (_, page) = world
        .rig
        .native(
            "GET",
            "/processes?label=tier=front&namespace=web",
            Value::Null,
        )
        .await;
    assert_eq!(page["count"], 2);
}

#[tokio::test]
async fn rights_follow_the_labels_of_processes_and_hosts() {
    let world = World::new().await;
    let rig = &world.rig;
    let stop = json!({"op": "stop", "hosts": ["10.0.0.2"]});
    let path = "/processes/web/bare/operate";
    let body = json!({"hosts": ["10.0.0.1", "10.0.0.2"], "spec": spec()});
    assert_eq!(rig.native("POST", "/processes/web/bare", body).await.0, 200);
    assert_eq!(world.call("POST", path, stop.clone()).await.0, 403);
    // The label of the host counts where the process has none of that key, and not where it has another value.
    let host = json!({"hosts": ["10.0.0.2"], "labels": {"tier": "front"}});
    assert_eq!(rig.native("POST", "/label-hosts", host).await.0, 200);
    assert_eq!(world.call("POST", path, stop.clone()).await.0, 202);
    let back = "/processes/web/back/operate";
    assert_eq!(world.call("POST", back, stop.clone()).await.0, 403);
    let all = json!({"op": "stop", "hosts": ["10.0.0.1", "10.0.0.2"]});
    assert_eq!(world.call("POST", path, all).await.0, 403);
    let host = json!({"hosts": ["10.0.0.2"], "labels": {"tier": null}});
    assert_eq!(rig.native("POST", "/label-hosts", host).await.0, 200);
    assert_eq!(world.call("POST", path, stop).await.0, 403);
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

#[tokio::test]
async fn events_and_watches_show_only_what_passes() {
    let world = World::new().await;
    let path = "/api/v1/watch?kinds=status,event";
    let mut stream = world.rig.open("GET", path, &HEADERS, b"").await;
    read_until(&mut stream, &[": watching"]).await;
    let running = |pid| Status {
        state: State::Running,
        pid,
        ..Status::default()
    };
    world.one.reports("web/back", running(11)).await;
    world.one.reports("db/front", running(12)).await;
    world.one.sends_event(1, &event("web/back", 1)).await;
    world.one.sends_event(2, &event("db/front", 2)).await;
    world.one.sends_event(3, &event("web/gone", 3)).await;
    world.two.reports("web/front", running(13)).await;
    world.two.sends_event(1, &event("web/front", 4)).await;
    let text = read_until(&mut stream, &["\"pid\":13", "web/front 4"]).await;
    for hidden in ["web/back", "db/front", "web/gone"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    let mut changed = world.rig.control.webhooks().deliveries_changed();
    loop {
        let (_, all) = world.rig.native("GET", "/events", Value::Null).await;
        if all["events"].as_array().unwrap().len() == 4 {
            break;
        }
        changed.changed().await.unwrap();
    }
    for query in ["", "?namespace=web", "?label=tier=front", "?limit=1"] {
        let (status, list) = world.get(&format!("/events{query}")).await;
        assert_eq!(status, 200, "{list}");
        assert_eq!(
            list["events"].as_array().unwrap().len(),
            1,
            "{query}: {list}"
        );
        assert_eq!(list["events"][0]["reason"], "web/front 4");
    }
    let (_, none) = world.get("/events?label=tier=back").await;
    assert_eq!(none["events"], json!([]));
    // Counts are of whole namespaces.
    let (status, _) = world.get("/events/counts?namespace=web").await;
    assert_eq!(status, 403);
}

#[tokio::test]
async fn logs_and_reasons_are_read_of_what_passes() {
    let world = World::new().await;
    for path in [
        "/processes/web/back/logs?host=10.0.0.1",
        "/processes/web/back/figures?host=10.0.0.1",
        "/processes/web/back/why?host=10.0.0.1",
        "/processes/web/front/logs?host=10.0.0.9",
        "/processes/web/none/logs",
        "/processes/db/front/logs",
    ] {
        let (status, refused) = world.get(path).await;
        assert_eq!(status, 403, "{path}: {refused}");
    }
    let (status, why) = world.get("/processes/web/front/why?host=10.0.0.1").await;
    assert_eq!(status, 200, "{why}");
    // On two hosts: which one is asked for.
    let (status, refused) = world.get("/processes/web/front/logs").await;
    assert_eq!((status, &refused["error"]["field"]), (400, &json!("host")));
    let reading = world.rig.open(
        "GET",
        "/api/v1/processes/web/front/logs?host=10.0.0.1",
        &HEADERS,
        b"",
    );
    let answering = async {
        let (id, _) = world.one.next_question().await;
        world.one.send_last(id, "one line\n").await;
    };
    let (mut stream, ()) = tokio::join!(reading, answering);
    read_until(&mut stream, &["one line"]).await;
}
