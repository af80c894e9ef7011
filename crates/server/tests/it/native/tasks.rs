//! /api/v1/tasks, and the operations that create them.

use std::time::{Duration, Instant};

use model::operation::CommandRun;
use model::status::Exit;
use model::{Code, Flag, Outcome, UnixMillis};
use serde_json::{Value, json};

use crate::rig::{Rig, spec};

async fn start(rig: &Rig, body: Value) -> String {
    let (status, answer) = rig.native("POST", "/processes/gse/web/operate", body).await;
    assert_eq!(status, 202, "{answer}");
    answer["task_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_long_poll_answers_when_the_task_ends() {
    let rig = Rig::new().await;
    let agent = rig.agent("0:10.0.0.1").await;
    let id = start(
        &rig,
        json!({"op": "start", "hosts": ["10.0.0.1", "10.0.0.2"], "spec": spec()}),
    )
    .await;
    let (_, early) = rig
        .native("GET", &format!("/tasks/{id}"), Value::Null)
        .await;
    assert_eq!(
        early["counts"],
        json!({"total": 2, "ended": 1, "ok": 0, "failed": 1, "running": 1})
    );
    assert_eq!(
        (&early["state"], &early["user"]),
        (&json!("running"), &json!("alice"))
    );
    assert_eq!(
        (
            &early["results"][0]["code"],
            &early["results"][0]["message"]
        ),
        (&json!(115), &json!("in progress"))
    );
    let failing = agent.end_next(|_| Outcome {
        flag: Some(Flag::Running),
        ran: Some(CommandRun {
            command: "./start.sh".into(),
            exit: Some(Exit::Signal(9)),
            duration_ms: 12,
            output: "boom".into(),
        }),
        ..Outcome::plain(Code::COMMAND_FAILED, "boom", UnixMillis(1))
    });
    let path = format!("/tasks/{id}?wait=30s");
    let ((), (status, late)) = tokio::join!(failing, rig.native("GET", &path, Value::Null));
    assert_eq!((status, &late["state"]), (200, &json!("finished")));
    let result = &late["results"][0];
    assert_eq!(
        (&result["process"], &result["host"], &result["op"]),
        (&json!("gse/web"), &json!("0:10.0.0.1"), &json!("start"))
    );
    assert_eq!(
        (
            &result["code"],
            &result["exit_signal"],
            &result["exit_code"]
        ),
        (&json!(65535), &json!(9), &Value::Null)
    );
    assert_eq!(
        (
            &result["command"],
            &result["output"],
            &result["duration_ms"]
        ),
        (&json!("./start.sh"), &json!("boom"), &json!(12))
    );

    let (_, failed) = rig
        .native(
            "GET",
            &format!("/tasks/{id}?failed=true&start=1&limit=1"),
            Value::Null,
        )
        .await;
    assert_eq!(
        (&failed["count"], &failed["results"][0]["code"]),
        (&json!(2), &json!(117))
    );
    assert_eq!(failed["results"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_long_poll_answers_at_its_timeout_and_when_the_server_stops() {
    let rig = Rig::new().await;
    let _agent = rig.agent("0:10.0.0.1").await;
    let id = start(
        &rig,
        json!({"op": "start", "hosts": ["10.0.0.1"], "spec": spec()}),
    )
    .await;
    let began = Instant::now();
    let (_, view) = rig
        .native("GET", &format!("/tasks/{id}?wait=300ms"), Value::Null)
        .await;
    assert_eq!(view["state"], "running");
    assert!(began.elapsed() >= Duration::from_millis(300));
    // A stopping server ends the wait.
    let path = format!("/tasks/{id}?wait=60s");
    let stopping = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        rig.stop.send_replace(true);
    };
    let both = async { tokio::join!(stopping, rig.native("GET", &path, Value::Null)) };
    let both = tokio::time::timeout(Duration::from_secs(55), both).await;
    let ((), (status, _)) = both.expect("an answer before the wait of 60 s is over");
    assert_eq!(status, 200);
}

#[tokio::test]
async fn all_means_every_host_with_the_process() {
    let rig = Rig::new().await;
    let (status, answer) = rig
        .native(
            "POST",
            "/processes/gse/web/operate",
            json!({"op": "stop", "all": true}),
        )
        .await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (404, &json!("not_found"))
    );
    rig.native(
        "POST",
        "/processes/gse/web",
        json!({"hosts": ["10.0.0.1", "10.0.0.2"], "spec": spec()}),
    )
    .await;
    let (status, answer) = rig
        .native(
            "POST",
            "/operate",
            json!({"operations": [
            {"process": "gse/web", "op": "stop", "all": true},
            {"process": "gse/db", "op": "start", "hosts": ["10.0.0.3"], "spec": spec()}]}),
        )
        .await;
    assert_eq!((status, &answer["targets"]), (202, &json!(3)), "{answer}");
    let (_, list) = rig.native("GET", "/tasks?limit=1", Value::Null).await;
    let task = &list["tasks"][0];
    assert_eq!(
        (&task["id"], &task["targets"], &task["ended"]),
        (&answer["task_id"], &json!(3), &json!(3))
    );
    let (_, older) = rig
        .native(
            "GET",
            &format!("/tasks?before={}", task["id"].as_str().unwrap()),
            Value::Null,
        )
        .await;
    assert_eq!(older["tasks"], json!([]));
}

#[tokio::test]
async fn an_unknown_task_is_not_found() {
    let rig = Rig::new().await;
    let (status, answer) = rig
        .native("GET", "/tasks/GSETASK:0000000000000001", Value::Null)
        .await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (404, &json!("not_found"))
    );
}

#[tokio::test]
async fn an_operation_on_one_process_names_it_in_the_path_alone() {
    let rig = Rig::new().await;
    let body = json!({"op": "start", "hosts": ["10.0.0.1"], "process": "gse/other"});
    let (status, answer) = rig.native("POST", "/processes/gse/web/operate", body).await;
    assert_eq!(
        (status, &answer["error"]["field"]),
        (400, &json!("process"))
    );
}

/// Registers `gse/web` and `gse/db` on three hosts, of which the last has no agent; starts `gse/web`, which fails on the second.
async fn partly_failed(rig: &Rig) -> (String, testkit::FakeAgent) {
    let agents = [rig.agent("0:10.0.0.1").await, rig.agent("0:10.0.0.2").await];
    let hosts = json!(["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    for name in ["web", "db"] {
        let path = format!("/processes/gse/{name}");
        let body = json!({"hosts": hosts, "spec": spec()});
        assert_eq!(rig.native("POST", &path, body).await.0, 200);
    }
    let id = start(rig, json!({"op": "start", "all": true})).await;
    let [first, second] = agents;
    first.end_well(Flag::Running, true).await;
    let failed = |_| Outcome::plain(Code(836), "no such table: t7 (pid 4711)", UnixMillis(5));
    second.end_next(failed).await;
    let (_, task) = rig
        .native("GET", &format!("/tasks/{id}?wait=30s"), Value::Null)
        .await;
    assert_eq!(task["state"], "finished", "{task}");
    (id, second)
}

#[tokio::test]
async fn a_process_that_was_so_before_is_no_failure() {
    let rig = Rig::new().await;
    let agent = rig.agent("0:10.0.0.1").await;
    let body = json!({"op": "start", "hosts": ["10.0.0.1"], "spec": spec()});
    let id = start(&rig, body).await;
    let runs = Outcome::plain(Code::ALREADY_RUNNING, "it runs", UnixMillis(5));
    agent.end_next(|_| runs.clone()).await;
    let path = format!("/tasks/{id}");
    let (_, task) = rig
        .native("GET", &format!("{path}?wait=10s"), Value::Null)
        .await;
    let counts = json!({"total": 1, "ended": 1, "ok": 1, "failed": 0, "running": 0});
    assert_eq!(task["counts"], counts);
    let (_, list) = rig.native("GET", "/tasks", Value::Null).await;
    assert_eq!(
        (&list["tasks"][0]["ok"], &list["tasks"][0]["failed"]),
        (&json!(1), &json!(0))
    );
    for (query, count) in [("status=ok", 1), ("status=failed", 0), ("failed=true", 1)] {
        let (_, task) = rig
            .native("GET", &format!("{path}?{query}"), Value::Null)
            .await;
        assert_eq!(task["count"], count, "{query}");
    }
    let (_, failures) = rig
        .native("GET", &format!("{path}/failures"), Value::Null)
        .await;
    assert_eq!(failures["groups"], json!([]));
}

#[tokio::test]
async fn results_are_filtered_grouped_and_copied() {
    let rig = Rig::new().await;
    let (id, _agent) = partly_failed(&rig).await;
    let (_, task) = rig
        .native("GET", &format!("/tasks/{id}"), Value::Null)
        .await;
    let of = |host: &str| {
        let results = task["results"].as_array().unwrap();
        results
            .iter()
            .find(|result| result["host"] == host)
            .unwrap()
    };
    assert_eq!(of("0:10.0.0.1")["reason"], Value::Null);
    assert_eq!(of("0:10.0.0.1")["blocked"], json!({"retry": "not_failed"}));
    assert_eq!(of("0:10.0.0.2")["reason"]["code"], "check_failed");
    assert_eq!(of("0:10.0.0.2")["blocked"], json!({}));
    assert_eq!(of("0:10.0.0.3")["reason"]["code"], "agent_away");
    for (query, count) in [
        ("status=ok", 1),
        ("status=failed", 2),
        ("status=failed,ok", 3),
        ("status=running", 0),
        ("failed=true", 2),
        ("failed=true&status=ok", 0),
        ("code=117", 1),
        ("code=117,836", 2),
        ("host=10.0.0.2,0:10.0.0.3", 2),
        ("q=TABLE+web", 1),
        ("q=10.0.0", 3),
        ("q=nothing", 0),
        ("reason=agent+on+10.9.9.9+is+not+connected", 1),
        ("reason=success", 0),
        (
            "reason=no+such+table:+%E2%80%A6+(pid+%E2%80%A6)&code=836",
            1,
        ),
    ] {
        let path = format!("/tasks/{id}?{query}");
        let (status, task) = rig.native("GET", &path, Value::Null).await;
        assert_eq!(
            (status, &task["count"]),
            (200, &json!(count)),
            "{query}: {task}"
        );
        assert_eq!(task["results"].as_array().unwrap().len(), count, "{query}");
        assert_eq!(task["counts"]["total"], 3, "counts are of the whole task");
    }
    let (_, failures) = rig
        .native("GET", &format!("/tasks/{id}/failures"), Value::Null)
        .await;
    assert_eq!(
        failures["groups"],
        json!([
            {"code": 836, "reason": "no such table: t7 (pid 4711)", "count": 1, "hosts": ["0:10.0.0.2"]},
            {"code": 117, "reason": "agent on 10.0.0.3 is not connected", "count": 1, "hosts": ["0:10.0.0.3"]},
        ])
    );
    for (query, text) in [
        ("", "10.0.0.1\n10.0.0.2\n10.0.0.3\n"),
        ("?status=failed", "10.0.0.2\n10.0.0.3\n"),
        ("?code=115", ""),
    ] {
        let path = format!("/api/v1/tasks/{id}/hosts{query}");
        let answer = rig.send("GET", &path, &crate::rig::HEADERS, b"").await;
        assert_eq!(
            answer.header("content-type"),
            Some("text/plain; charset=utf-8")
        );
        assert_eq!(String::from_utf8(answer.body).unwrap(), text, "{query}");
    }
    for (path, field) in [
        (format!("/tasks/{id}?status=gone"), "status"),
        (format!("/tasks/{id}?code=x"), "code"),
        (format!("/tasks/{id}/hosts?host=x"), "host"),
        ("/tasks?state=open".to_owned(), "state"),
        ("/tasks?process=x".to_owned(), "process"),
        ("/tasks?op=boot".to_owned(), "op"),
        ("/tasks?since=x".to_owned(), "since"),
    ] {
        let (status, answer) = rig.native("GET", &path, Value::Null).await;
        assert_eq!(
            (status, &answer["error"]["field"]),
            (400, &json!(field)),
            "{path}"
        );
    }
}

#[tokio::test]
async fn failed_targets_are_retried_in_a_new_task() {
    let rig = Rig::new().await;
    let (id, agent) = partly_failed(&rig).await;
    let path = format!("/tasks/{id}/retry");
    for (body, field) in [
        (json!({"code": [836]}), "code"),
        (json!({"codes": []}), "codes"),
        (json!({"hosts": ["x"]}), "hosts[0]"),
    ] {
        let (status, answer) = rig.native("POST", &path, body).await;
        assert_eq!((status, &answer["error"]["field"]), (400, &json!(field)));
    }
    for body in [json!({"codes": [1]}), json!({"hosts": ["10.0.0.1"]})] {
        let (status, answer) = rig.native("POST", &path, body).await;
        assert_eq!(
            (status, &answer["error"]["code"]),
            (409, &json!("conflict"))
        );
    }
    let body = json!({"codes": [836], "reason": "no such table: t9 (pid 1)"});
    let (status, answer) = rig.native("POST", &path, body).await;
    assert_eq!((status, &answer["targets"]), (202, &json!(1)), "{answer}");
    agent.end_well(Flag::Running, true).await;
    let retry = answer["task_id"].as_str().unwrap();
    let (_, task) = rig
        .native("GET", &format!("/tasks/{retry}?wait=30s"), Value::Null)
        .await;
    assert_eq!(
        (&task["retries"], &task["counts"]["ok"]),
        (&json!(id), &json!(1))
    );
    let (status, answer) = rig.native("POST", &path, json!({})).await;
    assert_eq!((status, &answer["targets"]), (202, &json!(2)), "{answer}");
    agent.end_well(Flag::Running, true).await;

    let both = answer["task_id"].as_str().unwrap();
    let path = format!("/tasks/{both}?wait=30s");
    assert_eq!(
        rig.native("GET", &path, Value::Null).await.1["state"],
        "finished"
    );
    for (query, expected) in [
        ("", json!([both, retry, id])),
        (
            "?process=gse/web&op=start&user=alice",
            json!([both, retry, id]),
        ),
        ("?process=gse/db", json!([])),
        ("?namespace=gse&limit=1", json!([both])),
        ("?namespace=other", json!([])),
        ("?op=stop", json!([])),
        ("?app=nobody", json!([])),
        ("?since=1h", json!([both, retry, id])),
        ("?until=1h", json!([])),
        ("?state=running", json!([])),
    ] {
        let (_, list) = rig
            .native("GET", &format!("/tasks{query}"), Value::Null)
            .await;
        let tasks = list["tasks"].as_array().unwrap().iter();
        let ids: Value = tasks.map(|task| task["id"].clone()).collect();
        assert_eq!(ids, expected, "{query}");
    }
}
