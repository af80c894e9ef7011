//! Bad input: a clear error that names the field and the rule, in the envelope, with HTTP 200.

use serde_json::{Value, json};

use crate::rig::{APP, Rig, SECRET, example, target};

fn with(mut body: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    body.pointer_mut(parent).unwrap()[key] = value;
    body
}

#[tokio::test]
async fn each_error_row_names_its_field() {
    let rig = Rig::new().await;
    let sync = |limit: Value, start: Value| json!({"meta": {"namespace": "gse"}, "page": {"start": start, "limit": limit}});
    let operate = |op: Value| with(target(), "/op_type", op);
    for (name, body, message) in [
        ("register_proc_info", json!({}), "meta: is required"),
        (
            "register_proc_info",
            with(example(), "/meta/namespace", Value::Null),
            "meta.namespace: is required",
        ),
        (
            "register_proc_info",
            with(example(), "/meta/name", json!("")),
            "meta.name: is required",
        ),
        (
            "register_proc_info",
            with(example(), "/meta/name", json!(5)),
            "meta.name: must be a string, not integer `5`",
        ),
        (
            "register_proc_info",
            with(example(), "/spec/control", json!(["sleep 1000"])),
            "spec.control: must be an object, not sequence",
        ),
        (
            "register_proc_info",
            with(example(), "/spec/configmap", json!([["/a", "b"]])),
            "spec.configmap[0]: must be an object, not sequence",
        ),
        (
            "register_proc_info",
            with(example(), "/hosts", json!([])),
            "hosts: must not be empty",
        ),
        (
            "register_proc_info",
            with(example(), "/hosts", Value::Null),
            "hosts: is required",
        ),
        (
            "register_proc_info",
            with(example(), "/hosts", json!(["10.0.0.1"])),
            "hosts[0]: must be an object, not string \"10.0.0.1\"",
        ),
        (
            "register_proc_info",
            with(example(), "/hosts/0/bk_supplier_id", json!("two")),
            "hosts[0].bk_supplier_id: must be a whole number, not \"two\"",
        ),
        (
            "get_proc_status",
            with(target(), "/hosts/0/bk_supplier_id", json!(true)),
            "hosts[0].bk_supplier_id: must be a whole number, not \"true\"",
        ),
        (
            "get_proc_status",
            with(
                target(),
                "/hosts",
                json!([{"bk_cloud_id": 1, "bk_supplier_id": 2}]),
            ),
            "hosts[0].ip: is required",
        ),
        (
            "get_proc_status_v2",
            with(target(), "/hosts/0/ip", json!(" ")),
            "hosts[0].ip: is required",
        ),
        (
            "operate_proc",
            with(operate(json!(0)), "/hosts/0/ip", Value::Null),
            "hosts[0].ip: is required",
        ),
        (
            "register_proc_info",
            with(example(), "/spec", Value::Null),
            "spec: is required",
        ),
        (
            "register_proc_info",
            with(example(), "/spec/identity/setup_path", json!("data")),
            "spec.identity.setup_path: must be an absolute path",
        ),
        (
            "register_proc_info",
            with(example(), "/spec/identity/pid_path", json!("")),
            "spec.identity.pid_path: is required",
        ),
        (
            "register_proc_info",
            with(example(), "/spec/identity/user", json!("no such form")),
            "spec.identity.user: must be a user name",
        ),
        (
            "register_proc_info",
            with(example(), "/spec/resource/cpu", json!("much")),
            "spec.resource.cpu: must be a number, not \"much\"",
        ),
        (
            "register_proc_info",
            with(example(), "/spec/resource", Value::Null),
            "spec.resource: is required",
        ),
        (
            "register_proc_info",
            with(example(), "/spec/monitor_policy/auto_type", json!(3)),
            "spec.monitor_policy.auto_type: must be 0 (periodic)",
        ),
        (
            "register_proc_info",
            with(example(), "/spec/monitor_policy/start_interval", json!([])),
            "spec.monitor_policy.start_interval: must be a whole number, not sequence",
        ),
        (
            "sync_proc_status",
            sync(json!(0), json!(0)),
            "page.limit: must be from 1 to 1000",
        ),
        (
            "sync_proc_status",
            sync(json!(1001), json!(0)),
            "page.limit: must be from 1 to 1000",
        ),
        (
            "sync_proc_status",
            sync(json!(10), json!(-1)),
            "page.start: must be 0 or more",
        ),
        (
            "sync_proc_status",
            json!({"meta": {"namespace": "gse"}}),
            "page: is required",
        ),
        (
            "operate_proc",
            operate(json!(5)),
            "op_type: 5 is unknown, must be one of: 0 start",
        ),
        (
            "operate_proc",
            operate(json!("x")),
            "op_type: must be a whole number, not \"x\"",
        ),
        ("operate_proc", target(), "op_type: is required"),
        (
            "operate_proc_multi",
            json!({"proc_operate_req": []}),
            "proc_operate_req: must not be empty",
        ),
        ("get_proc_operate_result", json!({}), "task_id: is required"),
        (
            "get_proc_operate_result",
            json!({"task_id": "nonsense"}),
            "task_id: must be an id",
        ),
        (
            "upgrade_to_agent_id",
            json!({"hosts": []}),
            "hosts: must not be empty",
        ),
        ("set_process_group_info", target(), "spec: is required"),
        (
            "set_process_group_info",
            with(target(), "/spec", json!({"process_group": [{}]})),
            "spec.process_group[0].id: is required",
        ),
    ] {
        let envelope = rig.esb(name, body).await;
        assert_eq!(envelope["code"], 1_000_400, "{name}: {envelope}");
        assert_eq!(envelope["data"], Value::Null);
        let actual = envelope["message"].as_str().unwrap();
        assert!(
            actual.starts_with(message),
            "{name} answered {actual:?}, not {message:?}"
        );
    }
    assert_eq!(rig.control.inspect_fleet().n_processes(), 0);
}

#[tokio::test]
async fn an_unknown_task_has_its_own_code() {
    let rig = Rig::new().await;
    let body = json!({"task_id": "GSETASK:0000000000000001"});
    for name in [
        "get_proc_operate_result",
        "get_proc_operate_result_v2",
        "get_task_state",
    ] {
        let envelope = rig.esb(name, body.clone()).await;
        assert_eq!(envelope["code"], 1_000_404, "{envelope}");
    }
}

#[tokio::test]
async fn an_invalid_request_is_answered_in_the_envelope() {
    let rig = Rig::new().await;
    let path = "/api/c/compapi/v2/gse/get_proc_status/";
    for (body, message) in [
        ("{\"meta\":", "body: is not JSON: "),
        ("hello", "body: is not JSON: "),
        ("{\"a\": 1,}", "body: is not JSON: "),
        ("[]", "body: must be an object"),
        ("\"x\"", "body: must be an object"),
    ] {
        let envelope = rig.bare("POST", path, body).await;
        assert_eq!(envelope["code"], 1_000_400);
        assert!(
            envelope["message"].as_str().unwrap().starts_with(message),
            "{envelope}"
        );
    }
    let deep = format!(
        "{{\"meta\":{}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let envelope = rig.bare("POST", path, &deep).await;
    assert_eq!(envelope["message"], "body: nests deeper than 128 levels");
}

#[tokio::test]
async fn unknown_paths_and_wrong_methods_stay_in_the_envelope() {
    let rig = Rig::new().await;
    for (method, path, code) in [
        ("POST", "/api/c/compapi/v2/gse/nothing/", 1_000_404),
        ("POST", "/v2/gse/", 1_000_404),
        ("GET", "/procapi/v1/proc/nothing", 1_000_404),
        ("POST", "/api/v2/proc/nothing", 1_000_404),
        ("GET", "/api/c/compapi/v2/gse/get_proc_status/", 1_000_400),
        ("PATCH", "/procapi/v1/proc/procinfo", 1_000_400),
        ("GET", "/api/v2/proc/get_proc_status_v2", 1_000_400),
    ] {
        let envelope = rig.bare(method, path, "{}").await;
        assert_eq!(envelope["code"], code, "{method} {path}: {envelope}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_in_the_envelope() {
    let rig = Rig::new().await;
    let body = format!("{{\"x\":\"{}\"}}", "y".repeat(65 * 1024 * 1024));
    let envelope = rig.bare("POST", "/v2/gse/get_proc_status", &body).await;
    assert_eq!(envelope["message"], "body: must be at most 67108864 bytes");
}

#[tokio::test]
async fn content_type_and_trailing_slash_do_not_matter() {
    let rig = Rig::new().await;
    let mut body = target();
    body["bk_app_code"] = json!(APP);
    body["bk_app_secret"] = json!(SECRET);
    body["bk_username"] = json!("alice");
    for path in [
        "/v2/gse/get_proc_status",
        "/v2/gse/get_proc_status/",
        "/api/c/compapi/v2/gse/get_proc_status",
    ] {
        for headers in [
            &[][..],
            &[("content-type", "text/plain")],
            &[("content-type", "nonsense")],
        ] {
            let answer = rig
                .send("POST", path, headers, body.to_string().as_bytes())
                .await;
            assert_eq!(answer.json()["code"], 0, "{path} {headers:?}");
        }
    }
}
