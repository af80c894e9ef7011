//! Why a process is as it is: the timeline, the sentence, figures over time, counts of events.

use model::event::{Event, EventKind};
use model::status::{Exit, LastExit};
use model::{Flag, ProcessState, State, Status, UnixMillis};
use serde_json::{Value, json};
use testkit::FakeAgent;
use wire::Question;

use crate::rig::{Rig, spec};

async fn rig() -> (Rig, FakeAgent) {
    let rig = Rig::new().await;
    let agent = rig.agent("0:10.0.0.1").await;
    let body = json!({"hosts": ["10.0.0.1"], "spec": spec()});
    let registered = rig.native("POST", "/processes/gse/web", body).await;
    assert_eq!(registered.0, 200, "{registered:?}");
    (rig, agent)
}

async fn get(rig: &Rig, path: &str) -> Value {
    let (status, body) = rig.native("GET", path, Value::Null).await;
    assert_eq!(status, 200, "{path}: {body}");
    body
}

fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_millis() as i64
}

/// Asks until the answer is as it should be.
async fn until(rig: &Rig, path: &str, is: impl Fn(&Value) -> bool) -> Value {
    let mut changes = rig.control.events().watch();
    loop {
        let answer = get(rig, path).await;
        if is(&answer) {
            return answer;
        }
        // A change means that the answer may be another; some come without one.
        let _ = tokio::time::timeout(std::time::Duration::from_millis(200), changes.recv()).await;
    }
}

fn codes(timeline: &Value) -> Vec<&str> {
    let entries = timeline["entries"].as_array().unwrap().iter();
    entries
        .map(|entry| entry["code"].as_str().unwrap())
        .collect()
}

fn exit_event(kind: EventKind, at: i64) -> Event {
    Event {
        at: UnixMillis(at),
        process: "gse/web".parse().unwrap(),
        kind,
        reason: "exited with code 3".into(),
        exit: Some(Exit::Code(3)),
        report_id: 0,
    }
}

#[tokio::test]
async fn the_timeline_shows_specs_operations_and_events_in_order() {
    let (rig, agent) = rig().await;
    let mut body = json!({"hosts": ["10.0.0.1"], "spec": spec()});
    body["spec"]["control"]["start_cmd"] = json!("./other");
    assert_eq!(rig.native("PUT", "/processes/gse/web", body).await.0, 200);
    let body = json!({"op": "stop", "hosts": ["10.0.0.1", "10.0.0.9"]});
    let (_, task) = rig.native("POST", "/processes/gse/web/operate", body).await;
    agent
        .sends_event(1, &exit_event(EventKind::ProcessExit, now() + 5000))
        .await;
    agent
        .sends_event(2, &exit_event(EventKind::ProcessUnhealthy, now() + 6000))
        .await;
    let path = "/timeline?process=gse/web&host=10.0.0.1";
    let all = until(&rig, path, |answer| {
        let there = codes(answer);
        there.contains(&"process_unhealthy") && there.contains(&"agent_connected")
    })
    .await;
    let without_agent: Vec<&str> = (codes(&all).into_iter())
        .filter(|code| !code.starts_with("agent_"))
        .collect();
    assert_eq!(
        without_agent,
        [
            "process_unhealthy",
            "process_exit",
            "stop",
            "updated",
            "registered"
        ]
    );
    let find = |code: &str| {
        let entries = all["entries"].as_array().unwrap();
        entries.iter().find(|entry| entry["code"] == code).unwrap()
    };
    let stop = find("stop");
    for (key, value) in [
        ("kind", json!("operation")),
        ("process", json!("gse/web")),
        ("host", json!("0:10.0.0.1")),
        ("user", json!("alice")),
        ("app", json!("demo")),
        ("from", json!("127.0.0.1")),
        ("task_id", task["task_id"].clone()),
        ("job_id", Value::Null),
    ] {
        assert_eq!(stop[key], value, "{key} of {stop}");
    }
    assert_eq!(find("process_exit")["params"]["exit_code"], "3");
    assert_eq!(find("process_unhealthy")["kind"], "health");
    assert_eq!(find("registered")["kind"], "spec");
    // Pages have each once, in the same order.
    let (mut paged, mut next) = (Vec::new(), String::new());
    loop {
        let page = get(&rig, &format!("{path}&limit=1{next}")).await;
        paged.extend(page["entries"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(token) => next = format!("&before={token}"),
            None => break,
        }
    }
    assert_eq!(json!(paged), all["entries"]);
    for (query, expected) in [
        ("kinds=operation", vec!["stop"]),
        (
            "kinds=health,spec",
            vec!["process_unhealthy", "updated", "registered"],
        ),
        ("kinds=event&limit=5", vec!["process_exit"]),
        ("kinds=spec&until=1h", vec![]),
    ] {
        let some = get(&rig, &format!("{path}&{query}")).await;
        assert_eq!(codes(&some), expected, "{query}");
    }
    let elsewhere = get(&rig, "/timeline?process=gse/web&host=10.0.0.2").await;
    assert_eq!(codes(&elsewhere), Vec::<&str>::new());
    // Without a process: of the host, whatever the process.
    let of_host = get(&rig, "/timeline?host=10.0.0.1&kinds=operation,spec").await;
    assert_eq!(codes(&of_host), ["stop", "updated", "registered"]);
    for (query, field) in [
        ("process=web", "process"),
        ("host=x", "host"),
        ("kinds=x", "kinds"),
        ("before=x", "before"),
        ("since=x", "since"),
    ] {
        let (code, answer) = rig
            .native("GET", &format!("/timeline?{query}"), Value::Null)
            .await;
        assert_eq!(code, 400, "{query}: {answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(field), "{message}");
    }
}

#[tokio::test]
async fn a_viewer_of_another_namespace_sees_no_timeline_and_no_summary_of_this_one() {
    let (rig, _agent) = rig().await;
    let grants = json!([{"role": "viewer", "namespaces": ["other"]}]);
    let body = json!({"code": "other", "secret": "other-secret-0123456789", "grants": grants});
    let (status, answer) = rig.native("POST", "/apps", body).await;
    assert_eq!(status, 201, "{answer}");
    let headers = [
        ("X-Bkapi-App-Code", "other"),
        ("X-Bkapi-App-Secret", "other-secret-0123456789"),
    ];
    let ask = async |path: &str| {
        let path = format!("/api/v1{path}");
        let answer = rig.send("GET", &path, &headers, b"").await;
        (answer.status, answer.json())
    };
    let (status, timeline) = ask("/timeline?kinds=spec,operation").await;
    assert_eq!((status, codes(&timeline)), (200, vec![]));
    assert_eq!(ask("/summary").await.1["processes"], 0);
    for path in [
        "/timeline?process=gse/web",
        "/processes/gse/web/why",
        "/processes/gse/web/figures",
        "/summary?namespace=gse",
        "/events/counts?namespace=gse",
    ] {
        assert_eq!(ask(path).await.0, 403, "{path}");
    }
}

#[tokio::test]
async fn why_says_who_stopped_it_and_what_the_last_run_wrote() {
    let (rig, agent) = rig().await;
    let body = json!({"op": "stop", "hosts": ["10.0.0.1"]});
    rig.native("POST", "/processes/gse/web/operate", body).await;
    let status = Status {
        state: State::Stopped,
        process_state: ProcessState::Stopped,
        flag: Some(Flag::Stopped),
        managed: Some(false),
        last_exit: Some(LastExit::new(Exit::Code(3), UnixMillis(now()))),
        ..Status::default()
    };
    agent.reports("gse/web", status).await;
    until(&rig, "/processes?name=web", |page| {
        page["processes"][0]["state"] == "stopped"
    })
    .await;
    let answering = async {
        let (id, question) = agent.next_question().await;
        let Question::Logs(logs) = question else {
            panic!("{question:?}");
        };
        assert!(!logs.follow && !logs.previous);
        agent.send_last(id, "no such table\nbye\n".to_owned()).await;
    };
    let (why, ()) = tokio::join!(get(&rig, "/processes/gse/web/why"), answering);
    assert_eq!(why["state"], "stopped");
    assert_eq!(why["code"], "stopped_by", "{why}");
    assert_eq!(why["params"]["user"], "alice");
    assert_eq!(why["params"]["from"], "127.0.0.1");
    assert_eq!(why["last_exit"]["code"], 3);
    assert_eq!(why["cause"]["code"], "operator", "{why}");
    assert_eq!(why["cause"]["params"]["user"], "alice");
    assert_eq!(why["output"], json!(["no such table", "bye"]));
    let text = why["text"].as_str().unwrap();
    assert!(text.starts_with("it was stopped (stop) by alice"), "{text}");
    drop(agent);
    let away = until(&rig, "/processes/gse/web/why", |why| {
        why["code"] == "agent_away"
    })
    .await;
    assert_eq!(away["output"], json!([]));
    for (path, status) in [
        ("/processes/gse/none/why", 404),
        ("/processes/gse/web/why?host=10.0.0.9", 404),
        ("/processes/gse/web/why?host=x", 400),
    ] {
        assert_eq!(
            rig.native("GET", path, Value::Null).await.0,
            status,
            "{path}"
        );
    }
}

#[tokio::test]
async fn runs_come_from_the_agent_with_their_ends() {
    let (rig, agent) = rig().await;
    let run = |number: u32, end: Option<(i64, i32)>| model::run_history::RunRecord {
        number,
        began: model::UnixMillis(1000),
        end: end.map(|(at, signal)| {
            model::status::LastExit::new(model::status::Exit::Signal(signal), model::UnixMillis(at))
        }),
        is_current: end.is_none(),
        output_bytes: Some(7),
        log_path: String::new(),
    };
    let runs = [run(3, Some((3500, 9))), run(4, None)];
    let answering = async {
        let (id, question) = agent.next_question().await;
        let Question::Runs(wanted) = question else {
            panic!("{question:?}");
        };
        assert_eq!(wanted.process.to_string(), "gse/web");
        agent
            .send_last(id, serde_json::to_string(&runs).unwrap())
            .await;
    };
    let (shown, ()) = tokio::join!(get(&rig, "/processes/gse/web/runs"), answering);
    assert_eq!(shown["host"], "0:10.0.0.1");
    let (killed, current) = (&shown["runs"][0], &shown["runs"][1]);
    assert_eq!(
        (&killed["number"], &killed["running"]),
        (&json!(3), &json!(false))
    );
    assert_eq!(
        (&killed["duration_ms"], &killed["end"]["signal"]),
        (&json!(2500), &json!(9))
    );
    assert_eq!(
        (&current["running"], &current["end"]),
        (&json!(true), &Value::Null)
    );

    let answering = async {
        let (id, question) = agent.next_question().await;
        let Question::RunLogs(wanted) = question else {
            panic!("{question:?}");
        };
        assert_eq!((wanted.run, wanted.tail_lines), (Some(3), 100));
        agent.send_last(id, "it wrote this".to_owned()).await;
    };
    let asking = rig.native(
        "GET",
        "/processes/gse/web/logs?run=3&format=json",
        Value::Null,
    );
    let ((status, _), ()) = tokio::join!(asking, answering);
    assert_eq!(status, 200);
    for bad in ["run=0", "run=x", "run=3&previous=true", "run=3&follow=true"] {
        let path = format!("/processes/gse/web/logs?{bad}");
        let (status, answer) = rig.native("GET", &path, Value::Null).await;
        assert_eq!(
            (status, &answer["error"]["field"]),
            (400, &json!("run")),
            "{bad}: {answer}"
        );
    }
}

#[tokio::test]
async fn figures_come_from_the_agent_and_an_old_one_is_said_to_be_too_old() {
    let (rig, agent) = rig().await;
    let mut series = model::figures::FigureSeries::empty();
    (series.cpu[239], series.mem[239], series.fd[239]) = (Some(1.5), Some(2.25), Some(7));
    let answering = async {
        let (id, question) = agent.next_question().await;
        let Question::Figures(wanted) = question else {
            panic!("{question:?}");
        };
        assert_eq!(wanted.process.to_string(), "gse/web");
        agent
            .send_last(id, serde_json::to_string(&series).unwrap())
            .await;
    };
    let (figures, ()) = tokio::join!(get(&rig, "/processes/gse/web/figures"), answering);
    assert_eq!(figures["step_secs"], 15);
    assert_eq!(figures["host"], "0:10.0.0.1");
    assert_eq!(figures["cpu"].as_array().unwrap().len(), 240);
    assert_eq!(
        (
            &figures["cpu"][239],
            &figures["mem"][239],
            &figures["fd"][239]
        ),
        (&json!(1.5), &json!(2.25), &json!(7))
    );
    assert_eq!(figures["cpu"][0], Value::Null);

    let refusing = async {
        let (id, _) = agent.next_question().await;
        let reason = "this agent does not know the question: ask: unknown variant `figures`";
        agent.send(wire::Output::refuse(id, reason)).await;
    };
    let asking = rig.native("GET", "/processes/gse/web/figures", Value::Null);
    let ((status, answer), ()) = tokio::join!(asking, refusing);
    assert_eq!(status, 404);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("too old"), "{message}");
}

#[tokio::test]
async fn states_are_counted_over_time() {
    let (rig, _agent) = rig().await;
    let figures = until(&rig, "/figures/states?window=10m", |answer| {
        answer["states"]["unknown"][1] == 1
    })
    .await;
    assert_eq!(figures["step_secs"], 300);
    assert_eq!(figures["states"]["unknown"].as_array().unwrap().len(), 2);
    assert_eq!(figures["states"].as_object().unwrap().len(), 10);
    for bad in ["1m", "25h", "x"] {
        let path = format!("/figures/states?window={bad}");
        assert_eq!(rig.native("GET", &path, Value::Null).await.0, 400, "{bad}");
    }
}

#[tokio::test]
async fn events_are_counted_by_time_and_value() {
    let (rig, agent) = rig().await;
    let hour = 3_600_000;
    let begin = now() / hour * hour - 3 * hour;
    for (seq, (kind, at)) in [
        (EventKind::ProcessExit, begin + 1),
        (EventKind::ProcessExit, begin + 2),
        (EventKind::ProcessRestartSuccess, begin + 3),
        (EventKind::ProcessExit, begin + hour + 1),
    ]
    .into_iter()
    .enumerate()
    {
        agent
            .sends_event(seq as u64 + 1, &exit_event(kind, at))
            .await;
    }
    let counts = until(&rig, "/events/counts?bucket=1h&by=kind", |answer| {
        answer["top"][0]["count"] == 3
    })
    .await;
    assert_eq!(
        counts,
        json!({"bucket_secs": 3600, "buckets": [
            {"at": begin, "counts": {"process_exit": 2, "process_restart_success": 1}},
            {"at": begin + hour, "counts": {"process_exit": 1}},
        ], "top": [{"value": "process_exit", "count": 3}, {"value": "process_restart_success", "count": 1}]})
    );
    for (query, value) in [("by=process", "gse/web"), ("by=host", "0:10.0.0.1")] {
        let counts = get(&rig, &format!("/events/counts?{query}&kind=process_exit")).await;
        assert_eq!(
            counts["top"],
            json!([{"value": value, "count": 3}]),
            "{query}"
        );
    }
    for bad in [
        "bucket=1s",
        "bucket=1m&since=7d",
        "by=x",
        "top=0",
        "kind=x",
        "since=x",
    ] {
        let path = format!("/events/counts?{bad}");
        assert_eq!(rig.native("GET", &path, Value::Null).await.0, 400, "{bad}");
    }
}
