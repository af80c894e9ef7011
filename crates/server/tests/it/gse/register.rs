//! register_proc_info, update_proc_info, unregister_proc_info.

use serde_json::{Value, json};

use crate::rig::{Rig, example, spec, target};

const KEY: &str = "1:2:10.0.0.1:gse:proc-test";

#[tokio::test]
async fn the_documented_example_answers_as_documented() {
    let rig = Rig::new().await;
    let envelope = rig.esb("register_proc_info", example()).await;
    assert_eq!(
        envelope,
        json!({"result": true, "code": 0, "message": "success", "data": {
            KEY: {"error_code": 0, "error_msg": "success", "content": ""}}})
    );
}

#[tokio::test]
async fn registering_again_is_fine_and_differently_is_850() {
    let rig = Rig::new().await;
    rig.esb_ok("register_proc_info", example()).await;
    let again = rig.esb_ok("register_proc_info", example()).await;
    assert_eq!(again[KEY]["error_code"], 0);
    let mut other = example();
    other["spec"]["control"]["start_cmd"] = json!("./other.sh");
    let refused = rig.esb_ok("register_proc_info", other.clone()).await;
    assert_eq!(
        refused[KEY],
        json!({"error_code": 850, "error_msg": "Fail to register, for the process info already exists.", "content": ""})
    );
    let updated = rig.esb_ok("update_proc_info", other).await;
    assert_eq!(updated[KEY]["error_code"], 0);
}

#[tokio::test]
async fn pms_registers_updates_and_unregisters_by_method() {
    let rig = Rig::new().await;
    let path = "/procapi/v1/proc/procinfo";
    for (method, body) in [
        ("POST", example()),
        ("PUT", example()),
        ("DELETE", target()),
        ("DELETE", target()),
    ] {
        let envelope = rig.gse(method, path, body).await;
        assert_eq!(
            envelope["data"][KEY]["error_code"], 0,
            "{method}: {envelope}"
        );
    }
    let status = rig.gse("GET", "/procapi/v1/proc/status/", target()).await;
    assert_eq!(status["data"]["proc_infos"][0]["flag"], 0);
}

#[tokio::test]
async fn gse_2_updates_by_agent_id_list_and_echoes_it() {
    let rig = Rig::new().await;
    let mut spec = spec();
    spec.as_object_mut().unwrap().remove("resource");
    spec["alive_monitor_policy"] = spec["monitor_policy"].take();
    let body = json!({"meta": {"namespace": "gse", "name": "p"}, "agent_id_list": ["0:10.0.0.1", "nobody", "0:10.0.0.1"],
        "hosts": [{"ip": "10.9.9.9", "bk_cloud_id": 0}], "spec": spec});
    let envelope = rig.gse("POST", "/api/v2/proc/update_proc_info", body).await;
    let data = envelope["data"].as_object().unwrap();
    let keys: Vec<&String> = data.keys().collect();
    assert_eq!(keys, ["0:10.0.0.1:gse:p", "nobody:gse:p"]);
    assert_eq!(data["0:10.0.0.1:gse:p"]["error_code"], 0);
    assert_eq!(data["nobody:gse:p"]["error_code"], 117);
}

#[tokio::test]
async fn a_bad_host_fails_its_own_key_and_a_host_named_twice_is_one_key() {
    let rig = Rig::new().await;
    let mut body = example();
    body["hosts"] = json!([
        {"ip": "10.0.0.1", "bk_cloud_id": "0", "bk_supplier_id": "0"},
        {"ip": "10.0.0.1", "bk_cloud_id": 0, "bk_supplier_id": 0},
        {"ip": "10.0.0.300", "bk_cloud_id": 0, "bk_supplier_id": 0},
        {"ip": "10.0.0.2", "bk_cloud_id": -1, "bk_supplier_id": 0},
    ]);
    let data = rig.esb_ok("register_proc_info", body).await;
    assert_eq!(data.as_object().unwrap().len(), 3);
    assert_eq!(data["0:0:10.0.0.1:gse:proc-test"]["error_code"], 0);
    let bad = &data["0:0:10.0.0.300:gse:proc-test"];
    assert_eq!(bad["error_code"], 1_000_400);
    assert_eq!(
        bad["error_msg"],
        "ip: must be an IPv4 or IPv6 address, not \"10.0.0.300\""
    );
    assert_eq!(data["-1:0:10.0.0.2:gse:proc-test"]["error_code"], 1_000_400);
}

#[tokio::test]
async fn a_bad_spec_changes_nothing() {
    let rig = Rig::new().await;
    let mut body = example();
    body["spec"]["identity"]["setup_path"] = json!("relative");
    let envelope = rig.esb("register_proc_info", body).await;
    assert_eq!(envelope["code"], 1_000_400);
    assert_eq!(rig.control.inspect_fleet().n_processes(), 0);
    assert_eq!(rig.control.inspect_fleet().n_hosts(), 0);
}

#[tokio::test]
async fn names_are_any_text_of_up_to_255_characters() {
    let rig = Rig::new().await;
    let agent = rig.agent("1:10.0.0.1").await;
    let longest = "\u{20000}".repeat(255);
    for (namespace, name) in [
        ("two words", "and a name"),
        (longest.as_str(), longest.as_str()),
        ("a%2Fb", "?#&+%"),
    ] {
        let mut body = example();
        (body["meta"]["namespace"], body["meta"]["name"]) = (json!(namespace), json!(name));
        let data = rig.esb_ok("register_proc_info", body.clone()).await;
        let key = format!("1:2:10.0.0.1:{namespace}:{name}");
        assert_eq!(data[&key]["error_code"], 0, "{data}");
        body["op_type"] = json!(0);
        let task = rig.esb_ok("operate_proc", body.clone()).await;
        agent.end_well(model::Flag::Running, true).await;
        let id = task["task_id"].as_str().unwrap();
        let (_, view) = rig
            .native("GET", &format!("/tasks/{id}?wait=20s"), Value::Null)
            .await;
        assert_eq!(view["state"], "finished", "{view}");
        let data = rig.esb_ok("get_proc_status", body).await;
        assert_eq!(data["proc_infos"][0]["flag"], 1);
        let escape =
            |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
        let path = format!("/processes/{}/{}", escape(namespace), escape(name));
        let (status, found) = rig.native("GET", &path, Value::Null).await;
        assert_eq!(status, 200, "{found}");
    }
    for (name, rule) in [
        (
            "\u{20000}".repeat(256),
            "meta.name: must be at most 255 characters",
        ),
        (
            " a".to_owned(),
            "meta.name: must not begin or end with a blank",
        ),
        (
            "a:b".to_owned(),
            "meta.name: must not hold control characters, ':' or '/'",
        ),
        (
            "a\tb".to_owned(),
            "meta.name: must not hold control characters, ':' or '/'",
        ),
    ] {
        let mut body = example();
        body["meta"]["name"] = json!(name);
        let refused = rig.esb("register_proc_info", body).await;
        assert_eq!(refused["message"], rule);
    }
}
