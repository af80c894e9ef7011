//! /api/v1/jobs.

use model::{Code, Flag, Outcome, UnixMillis};
use serde_json::{Value, json};

use crate::gsekit::business::Business;
use crate::rig::{HEADERS, read_until};

async fn create(business: &Business, body: Value) -> u64 {
    let (status, answer) = business.rig.native("POST", "/jobs", body).await;
    assert_eq!(status, 202, "{answer}");
    answer["id"].as_u64().unwrap()
}

async fn show(business: &Business, id: u64, query: &str) -> Value {
    let path = format!("/jobs/{id}{query}");
    let (status, answer) = business.rig.native("GET", &path, Value::Null).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

/// Waits until the job has ended; shows it.
async fn wait_for_end(business: &Business, id: u64) -> Value {
    loop {
        let job = show(business, id, "?wait=20s").await;
        if job["ended_at"] != 0 {
            return job;
        }
    }
}

#[tokio::test]
async fn a_job_is_created_watched_retried_and_listed() {
    let business = Business::new().await;
    let path = "/api/v1/watch?kinds=job";
    let mut watch = business.rig.open("GET", path, &HEADERS, b"").await;
    read_until(&mut watch, &[": watching"]).await;

    let body =
        json!({"business": 2, "action": "start", "expression": "*.nginx.*.*.47", "env": "formal"});
    let id = create(&business, body).await;
    let agent = &business.agents[1];
    let commands = agent.commands(2).await;
    let outcome = Outcome::plain(Code::OK, "success", UnixMillis(5));
    agent.end(&commands[0], outcome).await;
    let moved = show(&business, id, "?wait=20s&ended=0").await;
    assert_eq!(
        (&moved["counts"]["ended"], &moved["counts"]["total"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(moved["status"], "running");
    let outcome = Outcome::plain(Code::ALREADY_RUNNING, "it runs", UnixMillis(5));
    agent.end(&commands[1], outcome).await;
    let job = wait_for_end(&business, id).await;
    assert_eq!(
        (&job["status"], &job["user"], &job["business"]),
        (&json!("failed"), &json!("alice"), &json!(2))
    );
    assert_eq!(job["selection"]["expression_scope"]["bk_process_id"], "47");
    let failed = show(&business, id, "?status=failed").await;
    assert_eq!(
        (&failed["count"], failed["tasks"].as_array().unwrap().len()),
        (&json!(1), 1)
    );
    let task = &failed["tasks"][0];
    assert_eq!(
        (&task["code"], &task["reason"], &task["host"]),
        (&json!(828), &json!("it runs"), &json!("0:10.0.0.2"))
    );
    assert!(task["solutions"][0].as_str().unwrap().contains("828"));
    let none = show(&business, id, "?start=2").await;
    assert_eq!((&none["count"], &none["tasks"]), (&json!(2), &json!([])));

    let path = format!("/jobs/{id}/retry");
    let ordinals = json!({"tasks": [task["ordinal"]]});
    let (status, answer) = business.rig.native("POST", &path, ordinals).await;
    assert_eq!((status, &answer["tasks"]), (202, &json!(1)), "{answer}");
    agent.end_well(Flag::Running, false).await;
    assert_eq!(wait_for_end(&business, id).await["status"], "succeeded");
    let (status, answer) = business.rig.native("POST", &path, Value::Null).await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (409, &json!("conflict"))
    );
    let (status, _) = business
        .rig
        .native("POST", &format!("/jobs/{id}/cancel"), Value::Null)
        .await;
    assert_eq!(status, 409, "it is over");

    let text = read_until(
        &mut watch,
        &["\"status\":\"failed\"", "\"status\":\"succeeded\""],
    )
    .await;
    assert!(text.contains("event: job"), "{text}");
    let last = text
        .lines()
        .rfind(|line| line.contains("\"status\":\"succeeded\""))
        .unwrap();
    let last: Value = serde_json::from_str(last.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(
        (&last["id"], &last["counts"]["succeeded"]),
        (&json!(id), &json!(2))
    );

    let second = create(
        &business,
        json!({"business": 2, "action": "reload", "scope": {"ids": [49]}}),
    )
    .await;
    wait_for_end(&business, second).await;
    for (query, expected) in [
        ("", vec![second, id]),
        ("?limit=1", vec![second]),
        (&*format!("?before={second}"), vec![id]),
        ("?action=reload", vec![second]),
        ("?status=succeeded", vec![id]),
        ("?user=alice&business=2", vec![second, id]),
        ("?user=bob", vec![]),
    ] {
        let (_, list) = business
            .rig
            .native("GET", &format!("/jobs{query}"), Value::Null)
            .await;
        let ids: Vec<u64> = list["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| job["id"].as_u64().unwrap())
            .collect();
        assert_eq!(ids, expected, "{query}");
    }
}

#[tokio::test]
async fn a_cancelled_job_starts_no_more_tasks() {
    let business = Business::new().await;
    let body = json!({"business": 2, "action": "stop", "scope": {"modules": [22]}, "options": {"batch_size": 1}});
    let id = create(&business, body).await;
    let path = format!("/jobs/{id}/cancel");
    let (status, answer) = business.rig.native("POST", &path, Value::Null).await;
    assert_eq!(status, 202, "{answer}");
    business.agents[1].end_well(Flag::Stopped, false).await;
    let job = wait_for_end(&business, id).await;
    assert_eq!(
        (&job["status"], &job["cancelled_by"]),
        (&json!("failed"), &json!("alice"))
    );
    assert_eq!(
        (&job["counts"]["failed"], &job["counts"]["succeeded"]),
        (&json!(2), &json!(1))
    );
}

#[tokio::test]
async fn errors_in_a_job_name_their_field() {
    let business = Business::new().await;
    for (body, field) in [
        (json!({"action": "start", "scope": {}}), "business"),
        (json!({"business": 2, "scope": {}}), "action"),
        (
            json!({"business": 2, "action": "jump", "scope": {}}),
            "action",
        ),
        (json!({"business": 2, "action": "start"}), "scope"),
        (
            json!({"business": 2, "action": "start", "scope": {}, "expression": "*"}),
            "scope",
        ),
        (
            json!({"business": 2, "action": "start", "scope": {"sets": [99]}}),
            "scope",
        ),
        (
            json!({"business": 2, "action": "start", "scope": {"set": [5]}}),
            "scope.set",
        ),
        (
            json!({"business": 2, "action": "start", "expression": "["}),
            "expression",
        ),
        (
            json!({"business": 2, "action": "start", "scope": {}, "env": "x"}),
            "env",
        ),
        (
            json!({"business": 2, "action": "start", "scope": {}, "options": {"isolation": "x"}}),
            "options.isolation",
        ),
        (
            json!({"business": 2, "action": "start", "scope": {}, "options": {"max_failure": 1}}),
            "options.max_failure",
        ),
    ] {
        let (status, answer) = business.rig.native("POST", "/jobs", body.clone()).await;
        assert_eq!(
            (status, &answer["error"]["field"]),
            (400, &json!(field)),
            "{body}: {answer}"
        );
    }
    let body = json!({"business": 9, "action": "start", "scope": {}});
    assert_eq!(business.rig.native("POST", "/jobs", body).await.0, 404);
    for (method, path, expected) in [
        ("GET", "/jobs/77", 404),
        ("GET", "/jobs/x", 400),
        ("POST", "/jobs/77/retry", 404),
        ("POST", "/jobs/77/cancel", 404),
        ("GET", "/jobs?status=odd", 400),
        ("GET", "/jobs?action=odd", 400),
        ("GET", "/jobs?before=x", 400),
    ] {
        let (status, answer) = business.rig.native(method, path, Value::Null).await;
        assert_eq!(status, expected, "{method} {path}: {answer}");
    }
}
