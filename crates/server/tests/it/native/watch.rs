//! /api/v1/watch.

use model::{State, Status};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::rig::{HEADERS, Rig, TIMEOUT, read_until, spec};

#[tokio::test]
async fn a_watch_streams_statuses_tasks_and_agents() {
    let rig = Rig::new().await;
    let mut all = rig.open("GET", "/api/v1/watch", &HEADERS, b"").await;
    let head = read_until(&mut all, &[": watching"]).await;
    assert!(head.contains("content-type: text/event-stream"));
    let mut other = rig
        .open(
            "GET",
            "/api/v1/watch?namespace=other&kinds=status,task",
            &HEADERS,
            b"",
        )
        .await;
    read_until(&mut other, &[": watching"]).await;

    let agent = rig.agent("0:10.0.0.1").await;
    for name in ["gse/web", "other/web"] {
        let body = json!({"hosts": ["10.0.0.1"], "spec": spec()});
        assert_eq!(
            rig.native("POST", &format!("/processes/{name}"), body)
                .await
                .0,
            200
        );
        let status = Status {
            state: State::Running,
            pid: 7,
            ..Status::default()
        };
        agent.reports(name, status).await;
    }
    let body = json!({"op": "stop", "hosts": ["10.0.0.2"]});
    rig.native("POST", "/processes/gse/web/operate", body).await;
    let text = read_until(
        &mut all,
        &["event: agent", "gse/web", "other/web", "event: task"],
    )
    .await;
    let is_status = |line: &&str| line.contains("gse/web") && line.contains("\"pid\"");
    let status = text.lines().find(is_status).unwrap();
    let status: Value = serde_json::from_str(status.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(
        (&status["state"], &status["pid"], &status["host"]),
        (&json!("running"), &json!(7), &json!("0:10.0.0.1"))
    );

    let text = read_until(&mut other, &["other/web"]).await;
    assert!(
        !text.contains("gse/web") && !text.contains("event: agent"),
        "{text}"
    );
    // A server that stops ends its watches.
    rig.stop.send_replace(true);
    let mut rest = Vec::new();
    let ending = tokio::time::timeout(TIMEOUT, all.read_to_end(&mut rest));
    ending.await.expect("the watch ends").unwrap();
}

/// One server-sent event.
#[derive(Debug, Default, Clone)]
struct Sent {
    id: String,
    name: String,
    data: Value,
}

/// The events of a stream; comments and ids without data move the id only.
struct Events {
    stream: tokio::net::TcpStream,
    text: String,
    id: String,
}

impl Events {
    async fn open(rig: &Rig, query: &str, last_id: Option<&str>) -> Self {
        let last_id = last_id.map(|id| ("Last-Event-ID", id));
        let headers: Vec<_> = HEADERS.into_iter().chain(last_id).collect();
        let path = format!("/api/v1/watch{query}");
        let mut stream = rig.open("GET", &path, &headers, b"").await;
        let text = read_until(&mut stream, &[": watching", "\n\n"]).await;
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        let (_, text) = text.split_once("\r\n\r\n").unwrap();
        Self {
            stream,
            text: text.to_owned(),
            id: String::new(),
        }
    }

    async fn next(&mut self) -> Sent {
        loop {
            // Chunks of the transfer coding begin with their length.
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let mut sent = Sent::default();
                for line in event.lines() {
                    match line.trim().split_once(": ") {
                        Some(("id", id)) => id.clone_into(&mut self.id),
                        Some(("event", name)) => name.clone_into(&mut sent.name),
                        Some(("data", data)) => sent.data = serde_json::from_str(data).unwrap(),
                        _ => {}
                    }
                }
                if !sent.data.is_null() {
                    sent.id = self.id.clone();
                    return sent;
                }
                continue;
            }
            self.text += &read_until(&mut self.stream, &["\n\n"]).await;
        }
    }

    /// Reads until an event has what is asked for.
    async fn find(&mut self, name: &str, is: impl Fn(&Value) -> bool) -> Sent {
        loop {
            let sent = self.next().await;
            if sent.name == name && is(&sent.data) {
                return sent;
            }
        }
    }
}

fn status(pid: i32) -> Status {
    Status {
        state: State::Running,
        process_state: model::ProcessState::Running,
        pid,
        started_at: model::UnixMillis(5_000),
        cpu: 1.5,
        mem: 2.5,
        ..Status::default()
    }
}

async fn registered(rig: &Rig, name: &str) {
    let body = json!({"hosts": ["10.0.0.1"], "spec": spec()});
    let (code, answer) = rig
        .native("POST", &format!("/processes/{name}"), body)
        .await;
    assert_eq!(code, 200, "{answer}");
}

#[tokio::test]
async fn a_batch_has_the_last_change_of_each_process() {
    let rig = Rig::new().await;
    let agent = rig.agent("0:10.0.0.1").await;
    registered(&rig, "gse/web").await;
    registered(&rig, "gse/db").await;
    // Changes wait for the next batch, which the ten seconds after the first one are far from.
    let mut events = Events::open(&rig, "?every=10s&kinds=status", None).await;
    agent.reports("gse/web", status(1)).await;
    let first = events.next().await;
    assert_eq!(first.name, "changes");
    let change = &first.data["changes"][0];
    let (_, page) = rig.native("GET", "/processes?name=web", Value::Null).await;
    let row = &page["processes"][0];
    for (key, value) in [
        ("kind", json!("status")),
        ("process", json!("gse/web")),
        ("state", json!("running")),
        ("wanted", row["flag"].clone()),
        ("managed", row["managed"].clone()),
        ("started_at", json!(5000)),
        ("cpu", json!(1.5)),
        ("mem", json!(2.5)),
        ("pid", json!(1)),
    ] {
        assert_eq!(change[key], value, "{key} of {change}");
    }
    let mut resumed = Events::open(&rig, "?every=100ms&kinds=status", Some(&first.id)).await;
    drop(events);
    for (name, pid) in [("gse/web", 2), ("gse/db", 3), ("gse/web", 4)] {
        agent.reports(name, status(pid)).await;
    }
    let mut pids = Vec::new();
    while !pids.contains(&4) {
        let batch = resumed.next().await;
        let changes = batch.data["changes"].as_array().unwrap();
        let mut processes: Vec<_> = changes.iter().map(|one| one["process"].clone()).collect();
        processes.dedup();
        assert_eq!(
            processes.len(),
            changes.len(),
            "each process once: {batch:?}"
        );
        pids.extend(changes.iter().map(|one| one["pid"].as_i64().unwrap()));
    }
    assert_eq!(pids.last(), Some(&4));
    assert!(!pids.contains(&1), "it was read before: {pids:?}");
}

#[tokio::test]
async fn a_watcher_resumes_after_the_last_event_that_it_read() {
    let rig = Rig::new().await;
    let agent = rig.agent("0:10.0.0.1").await;
    registered(&rig, "gse/web").await;
    let mut random = testing::random::Random::new(11);
    let mut last: Option<String> = None;
    let mut got = Vec::new();
    let mut sent = 0;
    while sent < 60 {
        let mut events = Events::open(&rig, "?kinds=status", last.as_deref()).await;
        if last.is_none() {
            last = Some(events.id_of_hello().await);
        }
        for _ in 0..random.below(8) {
            sent += 1;
            agent.reports("gse/web", status(sent)).await;
        }
        // Reads some of them, and is cut.
        for _ in 0..random.below(sent as usize - got.len() + 1) {
            let event = events.next().await;
            assert_eq!(event.name, "status", "{event:?}");
            got.push(event.data["pid"].as_i64().unwrap() as i32);
            last = Some(event.id);
        }
    }
    let query = format!("?kinds=status&since={}", last.unwrap());
    let mut events = Events::open(&rig, &query, None).await;
    while got.len() < sent as usize {
        got.push(events.next().await.data["pid"].as_i64().unwrap() as i32);
    }
    assert_eq!(got, (1..=sent).collect::<Vec<_>>());
}

impl Events {
    /// The id that the first bytes of the stream have.
    async fn id_of_hello(&mut self) -> String {
        let (_, rest) = self.text.split_once(": watching").unwrap();
        let (_, rest) = rest.split_once("id: ").unwrap();
        rest.lines().next().unwrap().trim().to_owned()
    }
}

#[tokio::test]
async fn an_id_that_is_not_known_here_gives_lagged_first() {
    let rig = Rig::new().await;
    for id in ["0123456789abcdef-7", "of another program"] {
        let mut events = Events::open(&rig, "", Some(id)).await;
        let first = events.next().await;
        assert_eq!(
            (first.name.as_str(), &first.data),
            ("lagged", &json!({"missed": null}))
        );
        // From there on it is complete.
        let again = Events::open(&rig, &format!("?since={}", first.id), None).await;
        assert!(!again.text.contains("lagged"), "{}", again.text);
    }
    for (query, field) in [
        ("since=7", "since"),
        ("every=99ms", "every"),
        ("every=11s", "every"),
        ("every=x", "every"),
        ("business=x", "business"),
        ("kinds=x", "kinds"),
        ("process=[", "process"),
    ] {
        let (code, answer) = rig
            .native("GET", &format!("/watch?{query}"), Value::Null)
            .await;
        assert_eq!(code, 400, "{query}: {answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(field), "{message}");
    }
}

#[tokio::test]
async fn registrations_and_what_is_wanted_are_changes() {
    let rig = Rig::new().await;
    let _agent = rig.agent("0:10.0.0.1").await;
    let mut events = Events::open(&rig, "?process=gse/w*&kinds=registration,status", None).await;
    registered(&rig, "gse/other").await;
    registered(&rig, "gse/web").await;
    let new = events.next().await;
    assert_eq!(new.name, "registration");
    assert_eq!(
        new.data,
        json!({"process": "gse/web", "hosts": 1, "what": "registered"})
    );
    let mut body = json!({"hosts": ["10.0.0.1"], "spec": spec()});
    body["spec"]["control"]["start_cmd"] = json!("./other");
    rig.native("PUT", "/processes/gse/web", body).await;
    let updated = events
        .find("registration", |data| data["what"] == "updated")
        .await;
    assert_eq!(updated.data["hosts"], 1);
    rig.native(
        "DELETE",
        "/processes/gse/web",
        json!({"hosts": ["10.0.0.1"]}),
    )
    .await;
    events
        .find("registration", |data| data["what"] == "unregistered")
        .await;
}

#[tokio::test]
async fn a_summary_is_sent_when_it_changed() {
    let rig = Rig::new().await;
    let agent = rig.agent("0:10.0.0.1").await;
    registered(&rig, "gse/web").await;
    registered(&rig, "other/web").await;
    let mut events = Events::open(&rig, "?kinds=summary", None).await;
    let first = events.find("summary", |_| true).await.data;
    assert_eq!(first["processes"], 2);
    assert_eq!(first["states"]["running"], 0);
    let mut batches = Events::open(&rig, "?kinds=summary&every=100ms&namespace=gse", None).await;
    agent.reports("gse/web", status(7)).await;
    events
        .find("summary", |data| data["states"]["running"] == 1)
        .await;
    batches
        .find("changes", |data| {
            let summary = &data["changes"][0];
            summary["kind"] == "summary"
                && summary["processes"] == 1
                && summary["states"]["running"] == 1
        })
        .await;
    let (code, summary) = rig.native("GET", "/summary", Value::Null).await;
    assert_eq!(code, 200);
    assert_eq!(summary["processes"], 2);
    assert_eq!(summary["states"]["running"], 1);
    assert_eq!(
        (&summary["hosts"], &summary["agents_up"]),
        (&json!(1), &json!(1))
    );
    let (_, one) = rig
        .native("GET", "/summary?namespace=other", Value::Null)
        .await;
    assert_eq!(
        (&one["processes"], &one["states"]["running"]),
        (&json!(1), &json!(0))
    );
}

#[tokio::test]
async fn a_job_that_is_paused_says_by_whom() {
    let rig = Rig::new().await;
    registered(&rig, "web/a").await;
    let _agent = rig.agent("0:10.0.0.1").await;
    let mut events = Events::open(&rig, "?kinds=job", None).await;
    let body = json!({"action": "start", "filter": {"namespace": "web"}});
    let (status, job) = rig.native("POST", "/jobs", body).await;
    assert_eq!(status, 202, "{job}");
    let path = format!("/jobs/{}", job["id"]);
    let pause = format!("{path}/pause");
    assert_eq!(rig.native("POST", &pause, Value::Null).await.0, 202);
    let is_paused = |job: &Value| job["paused_by"] != "";
    let paused = events.find("job", is_paused).await;
    assert_eq!(paused.data["paused_by"], "alice");
    let resume = format!("{path}/resume");
    assert_eq!(rig.native("POST", &resume, Value::Null).await.0, 202);
    events.find("job", |job| !is_paused(job)).await;
}
