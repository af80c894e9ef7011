//! create_job and job_status.

use model::{Code, Outcome, UnixMillis};
use serde_json::{Value, json};

use super::business::Business;

const CREATE: &str = "/api/c/compapi/v2/gsekit/api/job/create_job/";
const STATUS: &str = "/api/c/compapi/v2/gsekit/api/job/job_status";

async fn create(business: &Business, body: Value) -> u64 {
    let envelope = business.rig.gse("POST", CREATE, body).await;
    assert_eq!(envelope["code"], 0, "{envelope}");
    envelope["data"]["job_id"].as_u64().unwrap()
}

/// Waits until the job has ended.
async fn wait_for_end(business: &Business, id: u64) {
    loop {
        let path = format!("/jobs/{id}?wait=20s");
        let (status, job) = business.rig.native("GET", &path, Value::Null).await;
        assert_eq!(status, 200, "{job}");
        if job["counts"]["ended"] == job["counts"]["total"] && job["ended_at"] != 0 {
            return;
        }
    }
}

#[tokio::test]
async fn a_job_runs_on_every_instance_and_shows_each() {
    let business = Business::new().await;
    let body = json!({"bk_biz_id": "2", "job_object": "process", "job_action": "stop",
        "scope": {"bk_set_env": "3", "bk_process_ids": [47]}, "extra_data": {"isolation": "host", "unknown": 1}});
    let id = create(&business, body).await;
    let agent = &business.agents[1];
    let commands = agent.commands(2).await;
    for (command, code, message) in [
        (&commands[0], Code::OK, "success"),
        (&commands[1], Code::NO_CONNECTION, "it is away"),
    ] {
        let outcome = Outcome::plain(code, message, UnixMillis(1_700_000_000_000));
        agent.end(command, outcome).await;
    }
    wait_for_end(&business, id).await;

    let data = business
        .rig
        .gse(
            "POST",
            STATUS,
            json!({"bk_biz_id": 2, "job_id": id.to_string()}),
        )
        .await["data"]
        .clone();
    let mut info = data["job_info"].clone();
    let began = info["start_time"].as_str().unwrap().to_owned();
    assert!(began.len() == 25 && began.ends_with("+00:00"), "{began}");
    assert!(info["end_time"].is_string());
    let fields = info.as_object_mut().unwrap();
    fields.remove("start_time");
    fields.remove("end_time");
    assert_eq!(
        info,
        json!({"id": id, "bk_biz_id": 2, "expression": "*.*.*.*.*", "scope": {"bk_set_env": "3", "bk_set_ids": [],
            "bk_module_ids": [], "bk_service_ids": [], "bk_process_names": [], "bk_process_ids": [47]},
            "job_object": "process", "job_action": "stop", "status": "failed", "created_by": "alice",
            "is_ready": true, "pipeline_id": "", "extra_data": {"isolation": "host", "batch_size": null,
            "max_failures": 0, "ignore_error_codes": [], "pause_secs": 0, "config_template_ids": [],
            "after_release": null}, "expression_scope": null, "bk_app_code": "demo"})
    );
    let tasks = data["job_tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 2);
    let failed = tasks
        .iter()
        .find(|task| task["status"] == "failed")
        .unwrap();
    let good = tasks
        .iter()
        .find(|task| task["status"] == "succeeded")
        .unwrap();
    assert_eq!(failed["extra_data__failed_reason"], "it is away");
    assert_eq!(failed["extra_data__retryable"], true);
    assert_eq!(failed["extra_data__err_code"], 117);
    assert_eq!(
        failed["extra_data__solutions"],
        json!(["start the agent of this host, then retry the task"])
    );
    for key in [
        "extra_data__failed_reason",
        "extra_data__retryable",
        "extra_data__solutions",
    ] {
        assert_eq!(good[key], json!(null));
    }
    assert_eq!(good["bk_process_id"], 47);
    assert_eq!(good["bk_host_innerip"], "10.0.0.2");

    let asked = |ids: Value| {
        let body = json!({"job_id": id, "job_task_id_list": ids});
        let business = &business;
        async move { business.rig.gse("POST", STATUS, body).await["data"]["job_tasks"].clone() }
    };
    assert_eq!(asked(json!([failed["id"]])).await, json!([failed]));
    assert_eq!(
        asked(json!([failed["id"].to_string(), 1, -4])).await,
        json!([failed])
    );
    assert_eq!(asked(json!([])).await.as_array().unwrap().len(), 2);
    let elsewhere = business
        .rig
        .gse("POST", STATUS, json!({"bk_biz_id": 3, "job_id": id}))
        .await;
    assert_eq!(elsewhere["code"], 4_103_005);
    let (_, trail) = business
        .rig
        .native("GET", "/audit?action=create_job", Value::Null)
        .await;
    assert_eq!(trail["audit"][0]["user"], "alice");
}

#[tokio::test]
async fn a_job_by_expression_shows_the_expression() {
    let business = Business::new().await;
    let body = json!({"bk_biz_id": 2, "job_object": "process", "job_action": "set_auto",
        "expression_scope": {"bk_set_env": 0, "bk_set_name": "管控*", "bk_process_name": "redis"}});
    let id = create(&business, body).await;
    business.agents[1]
        .end_well(model::Flag::Running, true)
        .await;
    wait_for_end(&business, id).await;
    let envelope = business
        .rig
        .gse("POST", STATUS, json!({"job_id": id}))
        .await;
    let info = &envelope["data"]["job_info"];
    assert_eq!(info["status"], "succeeded");
    assert_eq!(info["expression"], "管控*.*.*.redis.*");
    assert_eq!(info["expression_scope"]["bk_set_env"], "0");
    assert_eq!(info["scope"], json!(null));
}
