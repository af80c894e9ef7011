//! One process driven through each API dialect.

use serde_json::{Value, json};
use testkit::{Cluster, api::with_credentials, wait};

use crate::fixture::Fixture;

/// Polls the dialect's result call until no key has code 115.
fn ended(cluster: &Cluster, method: &str, path: &str, task: &Value) -> Value {
    wait::until("the task to end", || {
        let body = with_credentials(json!({"task_id": task["data"]["task_id"]}));
        let (_, answer) = cluster.api.native(method, path, Some(body));
        let data = answer["data"].as_object()?;
        data.values()
            .all(|key| key["error_code"] != 115)
            .then(|| Value::Object(data.clone()))
    })
}

#[test]
fn pms_speaks_get_and_delete_with_a_body() {
    let cluster = Cluster::start();
    let _agent = cluster.agent("10.1.1.1");
    let daemon = Fixture::daemon(cluster.path(), "10.1.1.1", "pms");
    let call = |method: &str, path: &str, body: Value| {
        let (status, answer) = cluster
            .api
            .native(method, path, Some(with_credentials(body)));
        assert_eq!(
            (status, &answer["code"]),
            (200, &json!(0)),
            "{method} {path}: {answer}"
        );
        answer
    };
    let spec = daemon.spec(&daemon.daemon_cmd());
    let (meta, hosts) = (&daemon.meta, &daemon.hosts);
    call(
        "POST",
        "/procapi/v1/proc/procinfo",
        json!({"meta": meta, "hosts": hosts, "spec": spec}),
    );
    call(
        "PUT",
        "/procapi/v1/proc/procinfo",
        json!({"meta": meta, "hosts": hosts, "spec": spec}),
    );
    let task = call(
        "POST",
        "/procapi/v1/proc/operate",
        json!({"meta": meta, "hosts": hosts, "op_type": 0}),
    );
    let data = ended(&cluster, "GET", "/procapi/v1/proc/operate", &task);
    assert_eq!(data[&daemon.key]["error_code"], 0, "{data}");
    let row = call(
        "GET",
        "/procapi/v1/proc/status",
        json!({"meta": meta, "hosts": hosts}),
    );
    assert_eq!(row["data"]["proc_infos"][0]["status"], 1, "{row}");
    let page = json!({"meta": {"namespace": "e2e"}, "page": {"start": "0", "limit": "10"}});
    assert_eq!(
        call("GET", "/procapi/v1/proc/syncstatus", page)["data"]["count"],
        1
    );
    let task = call(
        "POST",
        "/procapi/v2/proc/operate",
        json!({"meta": meta, "hosts": hosts, "op_type": 1, "spec": spec}),
    );
    let data = ended(&cluster, "GET", "/procapi/v2/proc/operate", &task);
    assert_eq!(data["0:10.1.1.1:e2e:pms"]["error_code"], 0, "{data}");
    call(
        "DELETE",
        "/procapi/v1/proc/procinfo",
        json!({"meta": meta, "hosts": hosts}),
    );
    let row = call(
        "GET",
        "/procapi/v2/proc/status",
        json!({"meta": meta, "hosts": hosts}),
    );
    assert_eq!(
        (&row["data"]["proc_infos"][0]["status"], daemon.is_alive()),
        (&json!(0), false)
    );
}

#[test]
fn gse_2_speaks_of_agents_by_id_or_by_address() {
    let cluster = Cluster::start();
    let _agent = cluster.agent("10.1.1.1");
    let daemon = Fixture::daemon(cluster.path(), "10.1.1.1", "v2");
    let id = "020000000052540012345616000000000001";
    let upgrade = json!({"hosts": [{"ip": "10.1.1.1", "bk_cloud_id": 0, "bk_agent_id": id}]});
    let answer = cluster.api.post(
        "/api/v2/proc/upgrade_to_agent_id",
        with_credentials(upgrade),
    );
    assert_eq!(answer["data"]["failed"], json!([]), "{answer}");
    let mut spec = daemon.spec(&daemon.daemon_cmd());
    spec["alive_monitor_policy"] = spec["monitor_policy"].take();
    spec.as_object_mut().unwrap().remove("monitor_policy");
    spec.as_object_mut().unwrap().remove("resource");
    let line = json!({"meta": daemon.meta, "agent_id_list": [id, "0:10.1.1.1"], "op_type": 0, "spec": spec});
    let multi = with_credentials(json!({"proc_operate_req": [line]}));
    let task = cluster.api.post("/api/v2/proc/operate_proc_multi", multi);
    let data = ended(
        &cluster,
        "POST",
        "/api/v2/proc/get_proc_operate_result_v2",
        &task,
    );
    // The same host under two names is one target with two keys.
    assert_eq!(data.as_object().unwrap().len(), 2, "{data}");
    for key in [format!("{id}:e2e:v2"), "0:10.1.1.1:e2e:v2".to_owned()] {
        assert_eq!(data[&key]["error_code"], 0, "{data}");
    }
    assert_eq!(daemon.executions(), 1);
    let body = with_credentials(json!({"meta": daemon.meta, "agent_id_list": ["0:10.1.1.1"]}));
    let answer = cluster.api.post("/api/v2/proc/get_proc_status_v2", body);
    let row = &answer["data"]["proc_infos"][0];
    assert_eq!(
        (&row["bk_agent_id"], &row["isauto"], &row["status"]),
        (&json!("0:10.1.1.1"), &json!(true), &json!(1)),
        "{answer}"
    );

    let body = json!({"meta": daemon.meta, "agent_id_list": ["0:10.1.1.1"], "op_type": 2,
        "spec": {"identity": {"proc_name": "odd"}, "monitor_policy": null}});
    let task = cluster
        .api
        .post("/api/v2/proc/operate_proc_v2", with_credentials(body));
    let data = ended(
        &cluster,
        "POST",
        "/api/v2/proc/get_proc_operate_result_v2",
        &task,
    );
    let content: Value =
        serde_json::from_str(data["0:10.1.1.1:e2e:v2"]["content"].as_str().unwrap()).unwrap();
    assert_eq!(content["bk_agent_id"], id);
    assert!(content["process"][0]["instance"][0]["utime"].is_string());
}

#[test]
fn the_native_api_operates_and_waits() {
    let cluster = Cluster::start();
    let _agent = cluster.agent("10.1.1.1");
    let daemon = Fixture::daemon(cluster.path(), "10.1.1.1", "native");
    let spec = daemon.spec(&daemon.daemon_cmd());
    let path = "/api/v1/processes/e2e/native";
    let (status, answer) = cluster.api.native(
        "POST",
        path,
        Some(json!({"hosts": ["10.1.1.1"], "spec": spec})),
    );
    assert_eq!(
        (status, &answer["results"][0]["code"]),
        (200, &json!(0)),
        "{answer}"
    );
    let (status, task) = cluster.api.native(
        "POST",
        &format!("{path}/operate"),
        Some(json!({"op": "start", "all": true})),
    );
    assert_eq!((status, &task["targets"]), (202, &json!(1)), "{task}");
    let id = task["task_id"].as_str().unwrap();
    let (status, task) = cluster
        .api
        .native("GET", &format!("/api/v1/tasks/{id}?wait=30s"), None);
    assert_eq!(
        (status, &task["state"]),
        (200, &json!("finished")),
        "{task}"
    );
    assert_eq!(task["results"][0]["code"], 0, "{task}");
    daemon.wait_for_status(&cluster.api, 1);
    let (_, page) =
        cluster
            .api
            .native("GET", "/api/v1/processes?namespace=e2e&state=running", None);
    assert_eq!(
        (&page["count"], &page["processes"][0]["name"]),
        (&json!(1), &json!("native")),
        "{page}"
    );
    let (status, error) = cluster
        .api
        .native("GET", "/api/v1/tasks/GSETASK:0000000000000001", None);
    assert_eq!(status, 404, "{error}");
}
