//! Jobs over registered processes, and jobs by filter, with dry runs.

use model::{Code, Flag, Outcome, UnixMillis};
use serde_json::{Value, json};
use testkit::FakeAgent;

use crate::gsekit::business::Business;
use crate::rig::{Rig, spec};

/// `web/a` on three hosts, of which the last has no agent.
async fn fleet(rig: &Rig) -> Vec<FakeAgent> {
    let body = json!({"hosts": ["10.0.0.1", "10.0.0.2", "10.0.0.3"], "spec": spec(), "labels": {"tier": "front"}});
    assert_eq!(rig.native("POST", "/processes/web/a", body).await.0, 200);
    vec![rig.agent("0:10.0.0.1").await, rig.agent("0:10.0.0.2").await]
}

async fn get(rig: &Rig, path: &str) -> Value {
    let (status, answer) = rig.native("GET", path, Value::Null).await;
    assert_eq!(status, 200, "{path}: {answer}");
    answer
}

async fn job_status(rig: &Rig, body: Value) -> Value {
    let path = "/v2/gsekit/api/job/job_status/";
    let text = body.to_string();
    rig.send("POST", path, &crate::rig::HEADERS, text.as_bytes())
        .await
        .json()
}

#[tokio::test]
async fn a_job_over_processes_is_planned_begun_paused_and_shown() {
    let rig = Rig::new().await;
    let agents = fleet(&rig).await;
    let filter = json!({"namespace": "web", "label": "tier=front"});
    let plan = json!({"action": "start", "filter": filter, "dry_run": true});
    let (status, plan) = rig.native("POST", "/jobs", plan).await;
    assert_eq!(status, 200, "{plan}");
    assert_eq!((&plan["count"], &plan["hosts"]), (&json!(3), &json!(3)));
    assert_eq!(plan["namespaces"], json!([{"value": "web", "count": 3}]));
    assert_eq!(
        plan["blocked"],
        json!([{"reason": "agent_away", "count": 1, "hosts": ["0:10.0.0.3"]}])
    );
    assert_eq!(plan["commands"].as_array().unwrap().len(), 1);
    assert_eq!(
        plan["sample"][0],
        json!({"process": "web/a", "host": "0:10.0.0.1"})
    );
    assert_eq!(get(&rig, "/jobs").await["jobs"], json!([]));

    let body = |count: u32| {
        json!({"action": "start", "filter": filter, "except": ["web/a@0:10.0.0.3"], "expect_count": count,
            "options": {"batch_size": "50%", "max_failures": 1}})
    };
    let (status, answer) = rig.native("POST", "/jobs", body(3)).await;
    assert_eq!(
        (status, &answer["error"]["code"], &answer["error"]["count"]),
        (409, &json!("count_changed"), &json!(2))
    );
    let (status, answer) = rig.native("POST", "/jobs", body(2)).await;
    assert_eq!((status, &answer["targets"]), (202, &json!(2)), "{answer}");
    let job = format!("/jobs/{}", answer["id"]);
    let command = agents[0].next_command().await;
    let shown = get(&rig, &job).await;
    assert_eq!(
        (&shown["business"], &shown["namespaces"], &shown["batch"]),
        (
            &Value::Null,
            &json!(["web"]),
            &json!({"number": 1, "of": 2})
        )
    );
    assert_eq!(shown["selection"]["filter"], filter);
    assert_eq!(shown["options"]["batch_size"], 1);
    let task = &shown["tasks"][0];
    assert_eq!(
        (&task["name"], &task["process"], &task["host"]),
        (&json!("web/a"), &Value::Null, &json!("0:10.0.0.1"))
    );
    let (status, _) = rig
        .native("POST", &format!("{job}/pause"), Value::Null)
        .await;
    assert_eq!(status, 202);
    let failed = Outcome::plain(Code(836), "exited with code 7", UnixMillis(5));
    agents[0].end(&command, failed).await;
    let shown = get(&rig, &format!("{job}?wait=20s&ended=0")).await;
    assert_eq!(
        (&shown["paused_by"], &shown["counts"]["pending"]),
        (&json!("alice"), &json!(1))
    );
    assert_eq!(
        get(&rig, "/jobs?status=running").await["jobs"][0]["paused_by"],
        "alice"
    );
    let (status, _) = rig
        .native("POST", &format!("{job}/resume"), Value::Null)
        .await;
    assert_eq!(status, 202);
    agents[1].end_well(Flag::Running, true).await;
    let shown = get(&rig, &format!("{job}?wait=20s")).await;
    assert_eq!(
        (&shown["status"], &shown["paused_by"], &shown["batch"]),
        (&json!("failed"), &json!(""), &Value::Null)
    );
    let (failed, done) = (&shown["tasks"][0], &shown["tasks"][1]);
    assert_eq!(
        failed["cause"],
        json!({"code": "check_failed", "params": {}})
    );
    assert_eq!(
        (&failed["blocked"], &done["cause"]),
        (&json!({}), &Value::Null)
    );
    assert_eq!(done["blocked"], json!({"retry": "not_failed"}));
    // Failures, by the text of their group.
    let failures = get(&rig, &format!("{job}/failures")).await;
    assert_eq!(
        failures["groups"],
        json!([{"code": 836, "reason": "exited with code 7", "count": 1, "hosts": ["0:10.0.0.1"]}])
    );
    for (query, count) in [
        ("reason=exited+with+code+9", 1),
        ("reason=exited", 0),
        ("code=836", 1),
        ("host=10.0.0.2", 1),
        ("q=web/a+10.0.0.2", 1),
        ("status=succeeded&q=exited", 0),
    ] {
        assert_eq!(
            get(&rig, &format!("{job}?{query}")).await["count"],
            count,
            "{query}"
        );
    }
    let path = format!("/api/v1{job}/hosts?status=failed");
    let hosts = rig.send("GET", &path, &crate::rig::HEADERS, b"").await;
    assert_eq!(hosts.body, b"10.0.0.1\n");
    for body in [
        json!({"codes": [1]}),
        json!({"reason": "other"}),
        json!({"hosts": ["10.0.0.2"]}),
    ] {
        let (status, answer) = rig.native("POST", &format!("{job}/retry"), body).await;
        assert_eq!(status, 409, "{answer}");
    }
    let body = json!({"codes": [836], "reason": "exited with code …"});
    let (status, answer) = rig.native("POST", &format!("{job}/retry"), body).await;
    assert_eq!((status, &answer["tasks"]), (202, &json!(1)), "{answer}");
    agents[0].end_well(Flag::Running, true).await;
    assert_eq!(
        get(&rig, &format!("{job}?wait=20s")).await["status"],
        "succeeded"
    );
    let (status, _) = rig
        .native("POST", &format!("{job}/pause"), Value::Null)
        .await;
    assert_eq!(status, 409, "it is over");
    for (query, count) in [("?since=1h", 1), ("?until=1h", 0)] {
        let list = get(&rig, &format!("/jobs{query}")).await;
        assert_eq!(list["jobs"].as_array().unwrap().len(), count, "{query}");
    }
    // GSEKit knows no job without a business.
    let body = json!({"job_id": answer["id"]});
    let answer = job_status(&rig, body).await;
    assert_eq!(answer["result"], false, "{answer}");
}

#[tokio::test]
async fn a_job_of_a_business_takes_the_filter_of_the_view() {
    let business = Business::new().await;
    let rig = &business.rig;
    let body = json!({"business": 2, "action": "stop", "filter": {"env": "formal", "module": [22, 21]}, "dry_run": true});
    let (status, plan) = rig.native("POST", "/jobs", body).await;
    assert_eq!(status, 200, "{plan}");
    assert_eq!((&plan["count"], &plan["hosts"]), (&json!(4), &json!(2)));
    assert_eq!(
        plan["environments"],
        json!([{"value": "formal", "count": 4}])
    );
    assert_eq!(
        plan["blocked"],
        json!([{"reason": "already_stopped", "count": 1, "hosts": ["0:10.0.0.2"]}])
    );
    let body = json!({"business": 2, "action": "stop", "filter": {"ip": "10.0.0.2"}, "except": [47], "expect_count": 1});
    let (status, answer) = rig.native("POST", "/jobs", body).await;
    assert_eq!((status, &answer["targets"]), (202, &json!(1)), "{answer}");
    let job = get(rig, &format!("/jobs/{}", answer["id"])).await;
    assert_eq!(
        (&job["tasks"][0]["process"], &job["selection"]),
        (
            &json!(48),
            &json!({"filter": {"ip": "10.0.0.2"}, "except": ["47"]})
        )
    );
}

#[tokio::test]
async fn errors_in_a_job_by_filter_name_their_field_and_change_nothing() {
    let business = Business::new().await;
    let rig = &business.rig;
    for (body, field) in [
        (json!({"action": "start"}), "filter"),
        (
            json!({"action": "start", "filter": {}, "scope": {}}),
            "business",
        ),
        (
            json!({"action": "start", "filter": {"namespaces": ["gse"]}}),
            "filter.namespaces",
        ),
        (
            json!({"action": "start", "filter": {"state": ["gone"]}}),
            "filter.state",
        ),
        (
            json!({"action": "start", "filter": {"managed": [true, false]}}),
            "filter.managed",
        ),
        (
            json!({"action": "start", "filter": {"namespace": "none"}}),
            "filter",
        ),
        (
            json!({"action": "start", "filter": {"namespace": "GSEKIT_BIZ_2"}, "except": ["web"]}),
            "except[0]",
        ),
        (
            json!({"action": "start", "filter": {"namespace": "GSEKIT_BIZ_2"}, "except": ["web/x@10.0.0.1"]}),
            "except",
        ),
        (
            json!({"action": "start", "filter": {"namespace": "GSEKIT_BIZ_2"}, "expect_count": -1}),
            "expect_count",
        ),
        (
            json!({"action": "release", "filter": {"namespace": "GSEKIT_BIZ_2"}}),
            "action",
        ),
        (json!({"action": "start", "filter": {}}), "filter"),
        (
            json!({"action": "start", "filter": {"namespace": "GSEKIT_BIZ_2"}, "options": {"isolation": "set"}}),
            "options.isolation",
        ),
        (
            json!({"action": "start", "filter": {"namespace": "GSEKIT_BIZ_2"}, "options": {"batch_size": "0%"}}),
            "options.batch_size",
        ),
        (
            json!({"business": 2, "action": "start", "filter": {}, "scope": {}}),
            "filter",
        ),
        (
            json!({"business": 2, "action": "start", "filter": {"namespace": "x"}}),
            "filter.namespace",
        ),
        (
            json!({"business": 2, "action": "start", "filter": {"module": ["x"]}}),
            "filter.module",
        ),
        (
            json!({"business": 2, "action": "start", "filter": {"ip": "10.9.9.9"}}),
            "filter",
        ),
        (
            json!({"business": 2, "action": "start", "filter": {}, "except": ["x"]}),
            "except[0]",
        ),
        (
            json!({"business": 2, "action": "start", "filter": {"ip": "10.0.0.2"}, "except": [46]}),
            "except",
        ),
    ] {
        let (status, answer) = rig.native("POST", "/jobs", body.clone()).await;
        assert_eq!(
            (status, &answer["error"]["field"]),
            (400, &json!(field)),
            "{body}: {answer}"
        );
    }
    assert_eq!(get(rig, "/jobs").await["jobs"], json!([]));
}
