//! POST /api/v1/operate by filter: everything that matches, less exceptions, with a dry run and an expected number.

use serde_json::{Value, json};

use crate::gsekit::business::Business;
use crate::rig::{Rig, spec};

/// web/nginx and web/api on two hosts, db/redis on one; 10.0.0.1 is connected.
async fn five() -> (Rig, testkit::FakeAgent) {
    let rig = Rig::new().await;
    let agent = rig.agent("0:10.0.0.1").await;
    for (name, hosts, tier) in [
        ("web/nginx", json!(["10.0.0.1", "10.0.0.2"]), "front"),
        ("web/api", json!(["10.0.0.1", "10.0.0.2"]), "back"),
        ("db/redis", json!(["10.0.0.1"]), "back"),
    ] {
        let body = json!({"hosts": hosts, "labels": {"tier": tier}, "spec": spec()});
        let path = format!("/processes/{name}");
        assert_eq!(rig.native("POST", &path, body).await.0, 200);
    }
    (rig, agent)
}

async fn n_tasks(rig: &Rig) -> usize {
    let (_, tasks) = rig.native("GET", "/tasks", Value::Null).await;
    tasks["tasks"].as_array().unwrap().len()
}

async fn targets(rig: &Rig, answer: &Value) -> Vec<String> {
    let id = answer["task_id"].as_str().unwrap();
    let (_, task) = rig
        .native("GET", &format!("/tasks/{id}"), Value::Null)
        .await;
    let results = task["results"].as_array().unwrap().iter();
    let text = |result: &Value| {
        let (process, host) = (&result["process"], &result["host"]);
        format!("{}@{}", process.as_str().unwrap(), host.as_str().unwrap())
    };
    results.map(text).collect()
}

#[tokio::test]
async fn everything_that_matches_is_operated_on_in_one_task() {
    let (rig, _agent) = five().await;
    let body = json!({"op": "stop", "filter": {"namespace": "web", "label": "tier=front"}});
    let (status, answer) = rig.native("POST", "/operate", body).await;
    assert_eq!((status, &answer["targets"]), (202, &json!(2)), "{answer}");
    let expected = ["web/nginx@0:10.0.0.1", "web/nginx@0:10.0.0.2"];
    assert_eq!(targets(&rig, &answer).await, expected);

    let body = json!({"op": "restart", "filter": {"namespace": ["web", "db"]}, "expect_count": 3,
        "except": ["web/nginx@0:10.0.0.1", "web/api@10.0.0.2"]});
    let (status, answer) = rig.native("POST", "/operate", body).await;
    assert_eq!(status, 202, "{answer}");
    let expected = [
        "web/nginx@0:10.0.0.2",
        "web/api@0:10.0.0.1",
        "db/redis@0:10.0.0.1",
    ];
    assert_eq!(targets(&rig, &answer).await, expected);
    let (_, audit) = rig
        .native("GET", "/audit?action=operate", Value::Null)
        .await;
    let rows = audit["audit"].as_array().or(audit["rows"].as_array());
    let text = rows.map_or_else(|| audit.to_string(), |rows| json!(rows).to_string());
    assert!(text.contains("restart web/nginx"), "{text}");
}

#[tokio::test]
async fn another_number_than_expected_changes_nothing() {
    let (rig, _agent) = five().await;
    let before = n_tasks(&rig).await;
    let body = json!({"op": "stop", "filter": {"namespace": "web"}, "expect_count": 3});
    for dry_run in [false, true] {
        let mut body = body.clone();
        body["dry_run"] = json!(dry_run);
        let (status, answer) = rig.native("POST", "/operate", body).await;
        let error = &answer["error"];
        assert_eq!((status, &error["code"]), (409, &json!("count_changed")));
        assert_eq!(
            (&error["count"], &error["field"]),
            (&json!(4), &json!("expect_count"))
        );
    }
    assert_eq!(n_tasks(&rig).await, before);
}

#[tokio::test]
async fn a_dry_run_tells_what_would_be_done_and_does_nothing() {
    let (rig, _agent) = five().await;
    let body = json!({"op": "stop", "filter": {"namespace": ["web", "db"]}, "dry_run": true});
    let (status, plan) = rig.native("POST", "/operate", body).await;
    assert_eq!(status, 200, "{plan}");
    assert_eq!((&plan["count"], &plan["hosts"]), (&json!(5), &json!(2)));
    assert_eq!(
        plan["namespaces"],
        json!([{"value": "web", "count": 4}, {"value": "db", "count": 1}])
    );
    assert_eq!(plan["environments"], json!([]));
    assert_eq!(
        plan["blocked"],
        json!([{"reason": "agent_away", "count": 2, "hosts": ["0:10.0.0.2"]}])
    );
    assert_eq!(
        plan["commands"],
        json!([{"command": "./stop.sh", "count": 5}])
    );
    assert_eq!(
        plan["sample"][0],
        json!({"process": "web/nginx", "host": "0:10.0.0.1"})
    );
    assert_eq!(plan["sample"].as_array().unwrap().len(), 5);
    assert_eq!(n_tasks(&rig).await, 0);
    let (_, audit) = rig
        .native("GET", "/audit?action=operate", Value::Null)
        .await;
    assert!(!audit.to_string().contains("stop web/"), "{audit}");
    let nothing = json!({"op": "stop", "filter": {"namespace": "none"}, "dry_run": true});
    let (status, plan) = rig.native("POST", "/operate", nothing).await;
    assert_eq!((status, &plan["count"]), (200, &json!(0)));
}

#[tokio::test]
async fn each_bad_request_is_refused_and_changes_nothing() {
    let (rig, _agent) = five().await;
    let web = json!({"namespace": "web"});
    for (body, status, field) in [
        (json!({}), 400, "operations"),
        (json!({"op": "stop"}), 400, "filter"),
        (json!({"filter": web}), 400, "op"),
        (json!({"op": "boot", "filter": web}), 400, "op"),
        (json!({"op": "stop", "filter": {}}), 400, "filter"),
        (
            json!({"op": "stop", "filter": {"namespaces": "web"}}),
            400,
            "filter.namespaces",
        ),
        (
            json!({"op": "stop", "filter": {"namespace": []}}),
            400,
            "filter.namespace",
        ),
        (
            json!({"op": "stop", "filter": {"state": "up"}}),
            400,
            "filter.state",
        ),
        (
            json!({"op": "stop", "filter": web, "excpt": []}),
            400,
            "excpt",
        ),
        (
            json!({"op": "query", "filter": web, "options": {"batch_size": 1}}),
            400,
            "options",
        ),
        (
            json!({"op": "stop", "filter": web, "options": {"batch": 1}}),
            400,
            "options.batch",
        ),
        (
            json!({"op": "stop", "filter": {}, "options": {"batch_size": 1}}),
            400,
            "filter",
        ),
        (
            json!({"op": "stop", "filter": web, "except": ["web/nginx"]}),
            400,
            "except[0]",
        ),
        (
            json!({"op": "stop", "filter": web, "except": ["db/redis@10.0.0.1"]}),
            400,
            "except[0]",
        ),
        (
            json!({"op": "stop", "filter": web, "except": ["web/api@10.0.0.9"]}),
            400,
            "except[0]",
        ),
        (
            json!({"op": "stop", "filter": web, "operations": []}),
            400,
            "operations",
        ),
    ] {
        let (got, answer) = rig.native("POST", "/operate", body.clone()).await;
        let error = &answer["error"];
        assert_eq!(
            (got, &error["field"]),
            (status, &json!(field)),
            "{body}: {answer}"
        );
    }
    let body = json!({"op": "stop", "filter": {"namespace": "none"}});
    let (status, answer) = rig.native("POST", "/operate", body).await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (404, &json!("not_found"))
    );
    assert_eq!(n_tasks(&rig).await, 0);
}

#[tokio::test]
async fn a_caller_operates_on_nothing_where_it_may_not_on_all() {
    let (rig, _agent) = five().await;
    let app = json!({"code": "limited", "secret": "secret-0123456789", "grants": [
        {"role": "viewer"}, {"role": "operator", "namespaces": ["db"]}]});
    assert_eq!(rig.native("POST", "/apps", app).await.0, 201);
    let headers = [
        ("X-Bkapi-App-Code", "limited"),
        ("X-Bkapi-App-Secret", "secret-0123456789"),
    ];
    let send = |body: Value| {
        let body = body.to_string();
        let (rig, headers) = (&rig, &headers);
        async move {
            rig.send("POST", "/api/v1/operate", headers, body.as_bytes())
                .await
        }
    };
    let all = json!({"q": "10.0.0"});
    let refused = send(json!({"op": "stop", "filter": all})).await;
    assert_eq!(refused.status, 403);
    assert_eq!(refused.json()["error"]["missing_role"]["namespace"], "web");
    assert_eq!(n_tasks(&rig).await, 0);
    let plan = send(json!({"op": "stop", "filter": all, "dry_run": true}))
        .await
        .json();
    assert_eq!(plan["count"], 5);
    assert_eq!(plan["blocked"][0]["reason"], "role");
    assert_eq!(plan["blocked"][0]["count"], 4);
    let own = send(json!({"op": "stop", "filter": {"namespace": "db"}})).await;
    assert_eq!(own.status, 202);
}

#[tokio::test]
async fn instances_of_a_business_are_found_by_business_and_environment() {
    let business = Business::new().await;
    let rig = &business.rig;
    let body = json!({"op": "stop", "filter": {"business": 2, "env": "formal"}, "dry_run": true});
    let (status, plan) = rig.native("POST", "/operate", body).await;
    assert_eq!(status, 200, "{plan}");
    let count = plan["count"].as_u64().unwrap();
    assert!(count > 0);
    assert_eq!(
        plan["environments"],
        json!([{"value": "formal", "count": count}])
    );
    let (_, page) = rig
        .native("GET", "/processes?business=2&env=formal", Value::Null)
        .await;
    assert_eq!(page["count"], json!(count));
    assert_eq!(page["processes"][0]["business"], 2);
}

#[tokio::test]
async fn some_thousand_processes_are_operated_on_by_one_small_request() {
    let rig = Rig::new().await;
    let hosts: Vec<String> = (0..3000)
        .map(|n| format!("10.1.{}.{}", n / 250, n % 250))
        .collect();
    for name in ["many/one", "many/two"] {
        let body = json!({"hosts": hosts, "spec": spec()});
        let path = format!("/processes/{name}");
        assert_eq!(rig.native("POST", &path, body).await.0, 200);
    }
    let body = json!({"op": "start", "filter": {"namespace": "many"}, "expect_count": 5999,
        "except": ["many/two@0:10.1.0.7"]});
    let (status, answer) = rig.native("POST", "/operate", body).await;
    assert_eq!(
        (status, &answer["targets"]),
        (202, &json!(5999)),
        "{answer}"
    );
    let id = answer["task_id"].as_str().unwrap();
    let (_, task) = rig
        .native("GET", &format!("/tasks/{id}?limit=1"), Value::Null)
        .await;
    assert_eq!(task["counts"]["total"], 5999);
    assert_eq!(task["counts"]["failed"], 5999, "no agent is connected");
}

#[tokio::test]
async fn options_make_it_a_job_in_batches() {
    let (rig, agent) = five().await;
    let body = |dry_run: bool, count: u32| {
        json!({"op": "stop", "filter": {"namespace": "web"}, "except": ["web/api@0:10.0.0.2"], "expect_count": count,
            "dry_run": dry_run, "options": {"batch_size": "34%", "max_failures": 3}})
    };
    let (status, plan) = rig.native("POST", "/operate", body(true, 3)).await;
    assert_eq!((status, &plan["count"]), (200, &json!(3)), "{plan}");
    let (status, error) = rig.native("POST", "/operate", body(false, 4)).await;
    assert_eq!(
        (status, &error["error"]["count"]),
        (409, &json!(3)),
        "{error}"
    );
    let (status, answer) = rig.native("POST", "/operate", body(false, 3)).await;
    assert_eq!((status, &answer["targets"]), (202, &json!(3)), "{answer}");
    let command = agent.next_command().await;
    agent.answer_ok(&command, None, None).await;
    let command = agent.next_command().await;
    agent.answer_ok(&command, None, None).await;
    let path = format!("/jobs/{}?wait=20s", answer["job_id"]);
    let (_, job) = rig.native("GET", &path, Value::Null).await;
    assert_eq!(
        (
            &job["action"],
            &job["namespaces"],
            &job["counts"]["succeeded"]
        ),
        (&json!("stop"), &json!(["web"]), &json!(2))
    );
    assert_eq!(job["options"]["batch_size"], 2);
}
