//! operate_proc, _v2, _multi, and their results.

use model::operation::{CommandRun, ProcessInspection};
use model::status::Exit;
use model::{Code, Flag, Outcome, UnixMillis};
use serde_json::{Value, json};

use crate::rig::{Rig, example, spec, target};

const KEY: &str = "1:2:10.0.0.1:gse:proc-test";

fn operate(op: i64) -> Value {
    let mut body = target();
    body["op_type"] = json!(op);
    body
}

fn task_of(data: &Value) -> Value {
    let id = data["task_id"].as_str().unwrap();
    assert!(id.starts_with("GSETASK:"));
    json!({ "task_id": id })
}

fn content(entry: &Value) -> Value {
    serde_json::from_str(entry["content"].as_str().unwrap()).unwrap()
}

/// Polls until no target is 115 (running).
async fn ended(rig: &Rig, task: &Value) -> Value {
    let id = task["task_id"].as_str().unwrap();
    let (status, view) = rig
        .native("GET", &format!("/tasks/{id}?wait=20s"), Value::Null)
        .await;
    assert_eq!(
        (status, &view["state"]),
        (200, &json!("finished")),
        "{view}"
    );
    rig.esb_ok("get_proc_operate_result", task.clone()).await
}

#[tokio::test]
async fn a_start_is_115_until_its_agent_sends_the_result() {
    let rig = Rig::new().await;
    let agent = rig.agent("1:10.0.0.1").await;
    rig.esb_ok("register_proc_info", example()).await;
    let task = task_of(&rig.esb_ok("operate_proc", operate(0)).await);
    let first = rig.esb_ok("get_proc_operate_result", task.clone()).await;
    assert_eq!(
        first,
        json!({KEY: {"error_code": 115, "error_msg": "handling", "content": ""}})
    );
    agent
        .end_next(|_| Outcome {
            flag: Some(Flag::Running),
            managed: Some(true),
            ran: Some(CommandRun {
                command: "./start.sh".into(),
                exit: Some(Exit::Code(0)),
                duration_ms: 42,
                output: "started\n".into(),
            }),
            ..Outcome::plain(Code::OK, "success", UnixMillis(1))
        })
        .await;
    let data = ended(&rig, &task).await;
    assert_eq!(data[KEY]["error_code"], 0);
    assert_eq!(data[KEY]["error_msg"], "success");
    assert_eq!(
        content(&data[KEY]),
        json!({"value": [{"procName": "proc-test", "setupPath": "/data/gsetest/", "funcID": "", "instanceID": "",
            "result": "success", "isAuto": true, "command": "./start.sh", "exitCode": 0, "exitSignal": null,
            "durationMs": 42, "output": "started\n"}]})
    );
    // The pms dialect reads the same task, by body or by query.
    let pms = rig
        .gse("GET", "/procapi/v1/proc/operate", task.clone())
        .await;
    assert_eq!(pms["data"], data);
    let path = format!(
        "/procapi/v2/proc/operate?task_id={}",
        task["task_id"].as_str().unwrap()
    );
    assert_eq!(rig.gse("GET", &path, json!({})).await["data"], data);
}

#[tokio::test]
async fn a_query_has_the_types_that_strict_clients_need() {
    let rig = Rig::new().await;
    let agent = rig.agent("1:10.0.0.1").await;
    rig.esb_ok("register_proc_info", example()).await;
    let task = task_of(&rig.esb_ok("operate_proc", operate(2)).await);
    agent
        .end_next(|_| Outcome {
            instance: Some(Box::new(ProcessInspection {
                pid: 77,
                disk: -1,
                threads: 3,
                ..Default::default()
            })),
            ..Outcome::plain(Code::OK, "success", UnixMillis(1))
        })
        .await;
    let data = ended(&rig, &task).await;
    let content = content(&data[KEY]);
    assert_eq!(content["ip"], "10.0.0.1");
    let process = &content["process"][0];
    assert_eq!(process["procname"], "proc-test");
    let instance = &process["instance"][0];
    assert_eq!(
        (&instance["pid"], &instance["threadCount"]),
        (&json!(77), &json!(3))
    );
    assert_eq!(
        (&instance["utime"], &instance["freeVMem"]),
        (&json!("0"), &json!("0"))
    );
    assert!(instance["register_time"].as_i64().unwrap() > 1_600_000_000);
    assert!(instance["cpuUsage"].is_f64());
}

#[tokio::test]
async fn a_disconnected_agent_is_117_at_once_and_an_unregistered_process_851() {
    let rig = Rig::new().await;
    rig.agent("0:10.0.0.2").await;
    rig.esb_ok("register_proc_info", example()).await;
    let mut body = operate(0);
    body["hosts"] = json!([
        {"ip": "10.0.0.1", "bk_cloud_id": 1, "bk_supplier_id": 2},
        {"ip": "10.0.0.2", "bk_cloud_id": 0, "bk_supplier_id": 0},
        {"ip": "10.0.0.400", "bk_cloud_id": 0, "bk_supplier_id": 0},
    ]);
    let task = task_of(&rig.esb_ok("operate_proc", body).await);
    let data = rig.esb_ok("get_proc_operate_result", task).await;
    let codes: Vec<(&str, i64)> = data
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, entry)| (key.as_str(), entry["error_code"].as_i64().unwrap()))
        .collect();
    assert_eq!(
        codes,
        [
            ("0:0:10.0.0.2:gse:proc-test", 851),
            ("0:0:10.0.0.400:gse:proc-test", 1_000_400),
            (KEY, 117),
        ]
    );
    for entry in data.as_object().unwrap().values() {
        assert_eq!(content(entry)["value"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn an_inline_spec_needs_no_registration() {
    let rig = Rig::new().await;
    let agent = rig.agent("0:10.0.0.1").await;
    let body = json!({"meta": {"namespace": "gse", "name": "p"}, "op_type": "0", "spec": spec(),
        "hosts": [{"ip": "10.0.0.1", "bk_cloud_id": 0}]});
    let task = task_of(&rig.esb_ok("operate_proc_v2", body).await);
    agent.end_well(Flag::Running, true).await;
    let data = ended(&rig, &task).await;
    assert_eq!(data["0:10.0.0.1:gse:p"]["error_code"], 0, "{data}");
    let row = rig
        .esb_ok("get_proc_status_v2", json!({"meta": {"namespace": "gse", "name": "p"}, "hosts": [{"ip": "10.0.0.1", "bk_cloud_id": 0}]}))
        .await;
    let row = &row["proc_infos"][0];
    assert_eq!((&row["flag"], &row["isauto"]), (&json!(1), &json!(true)));
}

#[tokio::test]
async fn a_multi_request_is_one_task_in_every_dialect() {
    let rig = Rig::new().await;
    let one = |name: &str, op: i64| {
        json!({"meta": {"namespace": "gse", "name": name}, "op_type": op, "spec": spec(),
            "agent_id_list": ["0:10.0.0.1"]})
    };
    let body = json!({"proc_operate_req": [one("a", 0), one("b", 1), one("c", 2)]});
    for (method, path) in [
        ("POST", "/api/v2/proc/operate_proc_multi"),
        ("POST", "/procapi/v2/proc/multioperate"),
        ("POST", "/v2/gse/operate_proc_multi/"),
    ] {
        let envelope = rig.gse(method, path, body.clone()).await;
        let task = task_of(&envelope["data"]);
        let envelope = rig
            .gse("POST", "/api/v2/proc/get_proc_operate_result_v2", task)
            .await;
        let data = envelope["data"].as_object().unwrap();
        let keys: Vec<&String> = data.keys().collect();
        assert_eq!(
            keys,
            ["0:10.0.0.1:gse:a", "0:10.0.0.1:gse:b", "0:10.0.0.1:gse:c"],
            "{path}"
        );
        assert!(
            data.values().all(|entry| entry["error_code"] == 117),
            "{data:?}"
        );
    }
}

#[tokio::test]
async fn a_task_state_lists_agents_by_outcome() {
    let rig = Rig::new().await;
    let agent = rig.agent("0:10.0.0.1").await;
    let body = json!({"meta": {"namespace": "gse", "name": "p"}, "op_type": 0, "spec": spec(),
        "agent_id_list": ["0:10.0.0.1", "0:10.0.0.2", "nobody"]});
    let envelope = rig.gse("POST", "/api/v2/proc/operate_proc_v2", body).await;
    let task = task_of(&envelope["data"]);
    let path = "/api/v2/task/get_task_state";
    let state = &rig.gse("POST", path, task.clone()).await["data"];
    assert_eq!(
        (&state["state"], &state["total"], &state["ended"]),
        (&json!("running"), &json!(3), &json!(2))
    );
    assert_eq!(state["result"]["state"], "executing");
    assert_eq!(state["result"]["pending_agents"], json!(["0:10.0.0.1"]));
    assert_eq!(
        state["result"]["offline_agents"],
        json!(["0:10.0.0.2", "nobody"])
    );
    agent.end_well(Flag::Running, true).await;
    ended(&rig, &task).await;
    let state = &rig.gse("POST", path, task).await["data"];
    assert_eq!(state["result"]["successed_agents"], json!(["0:10.0.0.1"]));
    assert_eq!((&state["ok"], &state["failed"]), (&json!(1), &json!(2)));
    assert_eq!(state["results"]["nobody:gse:p"]["error_code"], 117);
}

#[tokio::test]
async fn each_dialect_has_the_keys_of_its_form() {
    let rig = Rig::new().await;
    rig.esb_ok("register_proc_info", example()).await;
    let v2 = "1:10.0.0.1:gse:proc-test";
    for (operate_path, result_method, result_path, key) in [
        (
            "/api/c/compapi/v2/gse/operate_proc/",
            "POST",
            "/v2/gse/get_proc_operate_result/",
            KEY,
        ),
        (
            "/procapi/v1/proc/operate",
            "GET",
            "/procapi/v1/proc/operate",
            KEY,
        ),
        (
            "/v2/gse/operate_proc_v2",
            "POST",
            "/v2/gse/get_proc_operate_result_v2",
            v2,
        ),
        (
            "/procapi/v2/proc/operate/",
            "GET",
            "/procapi/v2/proc/operate/",
            v2,
        ),
        (
            "/api/v2/proc/operate_proc_v2",
            "POST",
            "/api/v2/proc/get_proc_operate_result_v2",
            v2,
        ),
        (
            "/api/bk-gse/prod/api/v2/proc/operate_proc_v2",
            "POST",
            "/api/bk-gse/prod/api/v2/proc/get_proc_operate_result_v2",
            v2,
        ),
    ] {
        let accepted = rig.gse("POST", operate_path, operate(1)).await;
        let task = task_of(&accepted["data"]);
        let envelope = rig.gse(result_method, result_path, task).await;
        let data = envelope["data"].as_object().unwrap();
        let keys: Vec<&String> = data.keys().collect();
        assert_eq!(keys, [key], "{operate_path}");
        assert_eq!(data[key]["error_code"], 117);
    }
    let status = rig.gse("GET", "/procapi/v2/proc/status", target()).await;
    let row = &status["data"]["proc_infos"][0];
    assert_eq!(row["host"], json!({"ip": "10.0.0.1", "bk_cloud_id": 1}));
    assert!(row["isauto"].is_boolean() && row["bk_agent_id"].is_string());
}

#[tokio::test]
async fn a_query_with_a_partial_spec_stores_nothing() {
    let rig = Rig::new().await;
    let agent = rig.agent("0:10.0.0.1").await;
    let body = json!({"meta": {"namespace": "gse", "name": "p"}, "op_type": 2,
        "spec": {"identity": {"proc_name": "nginx"}, "monitor_policy": null},
        "hosts": [{"ip": "10.0.0.1", "bk_cloud_id": 0}]});
    let task = task_of(&rig.esb_ok("operate_proc_v2", body).await);
    agent
        .end_next(|_| Outcome {
            instance: Some(Box::new(ProcessInspection {
                pid: -1,
                ..Default::default()
            })),
            ..Outcome::plain(Code::OK, "success", UnixMillis(1))
        })
        .await;
    let data = ended(&rig, &task).await;
    let entry = &data["0:10.0.0.1:gse:p"];
    assert_eq!(entry["error_code"], 0);
    let process = &content(entry)["process"][0];
    assert_eq!(
        (
            &process["instance"][0]["pid"],
            &process["instance"][0]["processName"]
        ),
        (&json!(-1), &json!("p"))
    );
    assert_eq!(rig.control.inspect_fleet().n_processes(), 0);
}

#[tokio::test]
async fn an_unusable_spec_fails_its_own_keys_only() {
    for path in [
        "/v2/gse/operate_proc_multi/",
        "/procapi/v2/proc/multioperate",
        "/api/v2/proc/operate_proc_multi",
    ] {
        let rig = Rig::new().await;
        let agent = rig.agent("1:10.0.0.1").await;
        let line = |name: &str, setup_path: &str| {
            let mut spec = spec();
            spec["identity"]["setup_path"] = json!(setup_path);
            json!({"meta": {"namespace": "gse", "name": name}, "op_type": 0, "spec": spec,
                "hosts": [{"ip": "10.0.0.1", "bk_cloud_id": 1}, {"ip": "10.0.0.2", "bk_cloud_id": 1}]})
        };
        let body = json!({"proc_operate_req": [line("bad", ""), line("good", "/opt")]});
        let answer = rig.gse("POST", path, body).await;
        assert_eq!(answer["code"], 0, "{path}: {answer}");
        let task = task_of(&answer["data"]);
        agent.end_well(Flag::Running, true).await;
        ended(&rig, &task).await;
        let data = rig.esb_ok("get_proc_operate_result_v2", task).await;
        let codes: Vec<(&str, i64)> = data
            .as_object()
            .unwrap()
            .iter()
            .map(|(key, entry)| (key.as_str(), entry["error_code"].as_i64().unwrap()))
            .collect();
        let expected = [
            ("1:10.0.0.1:gse:bad", 65535),
            ("1:10.0.0.1:gse:good", 0),
            ("1:10.0.0.2:gse:bad", 65535),
            ("1:10.0.0.2:gse:good", 117),
        ];
        assert_eq!(codes, expected, "{path}");
        assert_eq!(
            data["1:10.0.0.2:gse:bad"]["error_msg"],
            "spec.identity.setup_path: is required"
        );
        let page = json!({"meta": {"namespace": "gse"}, "page": {"start": 0, "limit": 10}});
        let synced = rig.esb_ok("sync_proc_status", page).await;
        assert_eq!(
            synced["count"], 2,
            "the bad one is not registered: {synced}"
        );
    }
}
