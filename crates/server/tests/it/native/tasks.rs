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
