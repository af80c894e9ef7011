//! The examples of the API documents, replayed as written, their slips in JSON mended.

use serde_json::{Value, json};
use testkit::Cluster;

const META: &str =
    r#"{"namespace": "gse", "name": "proc-test", "labels": {"proc_name": "proc-test"}}"#;

fn hosts() -> Value {
    json!([{"ip": "10.0.0.1", "bk_cloud_id": 1, "bk_supplier_id": 2}])
}

fn meta() -> Value {
    serde_json::from_str(META).unwrap()
}

fn register_example() -> Value {
    json!({
        "meta": meta(),
        "hosts": hosts(),
        "spec": {
            "identity": {"index_key": "", "proc_name": "proc-test", "setup_path": "/data/gsetest/",
                "pid_path": "/data/gsetest/proc-test.pid", "config_path": "/data/gsetest/proc-test.conf",
                "log_path": "/data/gsetest/logs/", "user": "root"},
            "control": {"start_cmd": "./start.sh", "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh",
                "reload_cmd": "./reload.sh", "kill_cmd": "./kill.sh", "version_cmd": "./version.sh",
                "health_cmd": "./health.sh"},
            "resource": {"cpu": 10.0, "mem": 10.0, "fd": 10000, "disk": 100, "net": 0},
            "monitor_policy": {"auto_type": 1, "start_check_secs": 5, "stop_check_secs": 5, "start_retries": 3,
                "start_interval": 20, "crotab_rule": ""},
            "warn_report_policy": {"report_id": 0},
            "configmap": [{"path": "", "md5": ""}],
        },
    })
}

#[test]
fn the_documents_examples_work_as_written() {
    let cluster = Cluster::start();
    let answer = cluster.api.esb("register_proc_info", register_example());
    assert_eq!(
        answer,
        json!({"result": true, "code": 0, "message": "success", "data": {
            "1:2:10.0.0.1:gse:proc-test": {"error_code": 0, "error_msg": "success", "content": ""}}})
    );

    let answer = cluster.api.esb(
        "operate_proc",
        json!({"meta": meta(), "op_type": 0, "hosts": hosts()}),
    );
    assert_eq!(
        (&answer["result"], &answer["code"], &answer["message"]),
        (&json!(true), &json!(0), &json!("success"))
    );
    let task_id = answer["data"]["task_id"].as_str().unwrap();
    assert!(task_id.starts_with("GSETASK:"), "{task_id}");
    let data = cluster.api.ended(task_id);
    assert_eq!(
        data["1:2:10.0.0.1:gse:proc-test"]["error_code"], 117,
        "no agent is there: {data}"
    );

    let answer = cluster
        .api
        .esb("get_proc_status", json!({"meta": meta(), "hosts": hosts()}));
    let row = &answer["data"]["proc_infos"][0];
    assert_eq!(row["meta"], meta());
    assert_eq!(row["host"], hosts()[0]);
    let documented = [
        "flag",
        "status",
        "message",
        "pid",
        "version",
        "register_time",
        "last_start_time",
        "report_time",
        "cpu_usage",
        "mem_usage",
        "fd",
        "disk",
        "net",
        "isauto",
        "bk_agent_id",
    ];
    for field in documented {
        assert!(!row[field].is_null(), "{field} is missing: {row}");
    }
    assert!(
        row["cpu_usage"].is_number() && row["fd"].is_i64() && row["pid"] == -1,
        "{row}"
    );
    assert!(row["register_time"].as_i64().unwrap() > 1_700_000_000);

    let page = json!({"meta": {"namespace": "gse"}, "page": {"start": 0, "limit": 1000}});
    let answer = cluster.api.esb("sync_proc_status", page);
    assert_eq!(answer["data"]["count"], 1);
    assert_eq!(answer["data"]["proc_infos"][0]["meta"]["name"], "proc-test");
    assert_eq!(answer["data"]["proc_infos"][0]["host"]["bk_cloud_id"], 1);
}

#[test]
fn an_example_copied_with_its_slips_gets_a_clear_answer() {
    let cluster = Cluster::start();
    let slip =
        r#"{"bk_app_code": "x", "meta": {"namespace": "gse"} "page": {"start": 0, "limit": 1000}}"#;
    let url = format!(
        "http://{}/api/c/compapi/v2/gse/sync_proc_status/",
        cluster.http()
    );
    let mut answer = ureq::post(url).send(slip).unwrap();
    let answer: Value = answer.body_mut().read_json().unwrap();
    assert_eq!(
        (&answer["result"], &answer["data"]),
        (&json!(false), &Value::Null)
    );
    let message = answer["message"].as_str().unwrap();
    assert!(
        message.contains("JSON") && message.contains("line 1"),
        "{message}"
    );
}
