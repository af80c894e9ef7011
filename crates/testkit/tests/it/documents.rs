//! The examples of the API documents, with their JSON errors corrected.

use serde_json::{Value, json};
use testkit::api::with_credentials;
use testkit::{Api, Cluster, odd, wait};

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

/// The example of process_status, with corrected commas.
const PROCESS_STATUS: &str = r#"{
    "bk_app_code": "xxxx",
    "bk_app_secret": "xxx",
    "bk_username": "admin",
    "bk_biz_id": 2,
    "scope": {
        "bk_set_env": "3",
        "bk_set_ids": [],
        "bk_module_ids": [],
        "bk_service_ids": [],
        "bk_process_names": [],
        "bk_process_ids": []
    },
    "bk_host_innerips": [],
    "process_status": 1,
    "is_auto": true,
    "searches": [],
    "page": 1,
    "pagesize": 10,
    "expression_scope": {
        "bk_set_env": "3",
        "bk_set_name": "[管控平台, PaaS平台]",
        "bk_module_name": "*",
        "service_instance_name": "*",
        "bk_process_name": "*",
        "bk_process_id": "4[6, 8, 9]"
    }
}"#;

/// Its answer. The document has `is_auto` false where only managed processes are asked for, an `id` of its own, and the
/// module before the name of the service instance.
const PROCESS_STATUS_ANSWER: &str = r#"{
  "result": true,
  "code": 0,
  "message": "",
  "data": {
    "count": 1,
    "list": [
      {
        "id": 46,
        "bk_biz_id": 2,
        "expression": "管控平台.gse_agent.127.0.0.1_gse_agent.gse_agent.46",
        "bk_host_innerip": "127.0.0.1",
        "bk_cloud_id": 0,
        "bk_set_env": "3",
        "bk_set_id": 5,
        "bk_module_id": 21,
        "service_template_id": 26,
        "service_instance_id": 5,
        "bk_process_name": "gse_agent",
        "bk_process_id": 46,
        "process_template_id": 26,
        "process_status": 1,
        "is_auto": true,
        "bk_set_name": "管控平台",
        "bk_module_name": "gse_agent",
        "bk_service_name": "127.0.0.1_gse_agent",
        "bk_cloud_name": "default area",
        "config_templates": [
          {"config_template_id": 1, "template_name": "更新模板名称", "file_name": "更新文件名称"},
          {"config_template_id": 2, "template_name": "MySQL配置", "file_name": "mysql.ini"},
          {"config_template_id": 3, "template_name": "Redis配置", "file_name": "redis.conf"},
          {"config_template_id": 4, "template_name": "模板进程专属配置", "file_name": "process_template.conf"}
        ],
        "proc_inst_infos": [
          {"bk_process_id": 46, "local_inst_id": 1, "inst_id": 1, "process_status": 1, "is_auto": true}
        ]
      }
    ]
  }
}"#;

/// A business as the document's, and one more process that is not in the answer.
fn import_business(cluster: &Cluster) {
    let folder = cluster.path().join("gse_agent");
    std::fs::create_dir_all(&folder).unwrap();
    let start = format!("{} --daemon --pid-file pid", odd::odd().display());
    let process = json!({"bk_process_id": 46, "bk_process_name": "gse_agent", "bk_func_name": "odd",
        "process_template_id": 26, "user": "root", "work_path": folder, "pid_file": "pid", "start_cmd": start, "bk_start_check_secs": 1});
    let mut other = process.clone();
    other["bk_process_id"] = json!(47);
    other["bk_process_name"] = json!("other");
    other["process_template_id"] = json!(0);
    let document = json!({
        "bk_biz_id": 2, "clouds": {"0": "default area"},
        "sets": [{"bk_set_id": 5, "bk_set_name": "管控平台", "modules": [{
            "bk_module_id": 21, "bk_module_name": "gse_agent", "service_template_id": 26,
            "service_instances": [{"service_instance_id": 5, "host": "127.0.0.1", "processes": [process, other]}],
        }]}],
    });
    let path = "/api/v1/businesses/2/topology";
    let (status, answer) = cluster.api.native("PUT", path, Some(document));
    assert_eq!((status, &answer["troubles"]), (200, &json!([])), "{answer}");
    for (name, file, bindings) in [
        ("更新模板名称", "更新文件名称", json!({"processes": [46]})),
        ("MySQL配置", "mysql.ini", json!({"processes": [46]})),
        ("Redis配置", "redis.conf", json!({"processes": [46]})),
        (
            "模板进程专属配置",
            "process_template.conf",
            json!({"process_templates": [26]}),
        ),
    ] {
        let template = json!({"template_name": name, "file_name": file, "abs_path": "/etc"});
        let path = "/api/v1/businesses/2/templates";
        let (status, made) = cluster.api.native("POST", path, Some(template));
        assert_eq!(status, 201, "{made}");
        let path = format!("{path}/{}/bindings", made["id"]);
        let (status, answer) = cluster.api.native("PUT", &path, Some(bindings));
        assert_eq!(status, 200, "{answer}");
    }
}

/// Does something to process 46 by a job, and waits for it.
fn job(api: &Api, action: &str) {
    let body = json!({"bk_biz_id": 2, "job_object": "process", "job_action": action,
        "scope": {"bk_set_env": "3", "bk_process_ids": [46]}});
    let answer = api.post(
        "/api/c/compapi/v2/gsekit/api/job/create_job/",
        with_credentials(body),
    );
    assert_eq!(answer["code"], 0, "{answer}");
    let status = json!({"bk_biz_id": 2, "job_id": answer["data"]["job_id"]});
    wait::until("the job to end", || {
        let path = "/v2/gsekit/api/job/job_status/";
        let answer = api.post(path, with_credentials(status.clone()));
        let info = &answer["data"]["job_info"];
        assert_ne!(info["status"], "failed", "{answer}");
        info["status"] == "succeeded"
    });
}

#[test]
fn the_process_views_example_works_as_written() {
    let cluster = Cluster::start();
    let _agent = cluster.agent("127.0.0.1");
    import_business(&cluster);
    job(&cluster.api, "start");
    job(&cluster.api, "set_auto");
    let body: Value = serde_json::from_str(PROCESS_STATUS).unwrap();
    let path = "//v2/gsekit/api/process/process_status/";
    let mut answer = wait::until("its status", || {
        let answer = cluster.api.post(path, with_credentials(body.clone()));
        (answer["data"]["count"] != 0).then_some(answer)
    });
    let row = answer["data"]["list"][0].as_object_mut().unwrap();
    assert_eq!(row.remove("bk_host_innerip_v6"), Some(Value::Null));
    assert!(row.remove("bk_agent_id").unwrap().is_string());
    let expected: Value = serde_json::from_str(PROCESS_STATUS_ANSWER).unwrap();
    assert_eq!(answer, expected);
    // Without a scope the expression counts.
    let mut by_expression = body;
    by_expression.as_object_mut().unwrap().remove("scope");
    let answer = cluster.api.post(path, with_credentials(by_expression));
    assert_eq!(answer["data"]["count"], 1);
}

#[test]
fn an_example_with_its_json_errors_gets_a_clear_response() {
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
