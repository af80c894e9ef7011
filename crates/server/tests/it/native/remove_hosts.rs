//! POST /api/v1/remove-hosts, and what every dialect answers for a removed host.

use serde_json::{Value, json};

use crate::rig::{Rig, spec};

const HOST: &str = "0:10.0.0.1";
const NEVER_SEEN: &str = "0:10.0.0.99";

async fn remove(rig: &Rig, body: Value) -> (u16, Value) {
    rig.native("POST", "/remove-hosts", body).await
}

async fn register(rig: &Rig, hosts: &[&str]) {
    let body = json!({"hosts": hosts, "spec": spec()});
    let (status, body) = rig.native("POST", "/processes/gse/web", body).await;
    assert_eq!(status, 200, "{body}");
}

#[tokio::test]
async fn a_dry_run_lists_and_a_connected_host_needs_force() {
    let rig = Rig::new().await;
    let agent = rig.agent(HOST).await;
    register(&rig, &["10.0.0.1", "10.0.0.2"]).await;
    let hosts = json!(["10.0.0.1", "0:10.0.0.2", {"ip": "10.0.0.1"}]);
    let (status, planned) = remove(&rig, json!({"hosts": hosts, "dry_run": true})).await;
    assert_eq!(status, 200, "{planned}");
    assert_eq!(
        (
            &planned["removed"],
            &planned["count"],
            &planned["connected"],
            &planned["processes"]
        ),
        (&json!(false), &json!(2), &json!(1), &json!(2))
    );
    assert_eq!(planned["hosts"][0]["host"], HOST);
    assert_eq!(planned["hosts"][1]["since"], 0);

    let (status, refused) = remove(&rig, json!({"hosts": hosts})).await;
    assert_eq!(
        (status, &refused["error"]["code"]),
        (409, &json!("conflict"))
    );
    let body = json!({"hosts": hosts, "force": true, "expect_count": 3});
    let (status, refused) = remove(&rig, body).await;
    assert_eq!(
        (status, &refused["error"]["code"]),
        (409, &json!("count_changed"))
    );
    assert_eq!(refused["error"]["count"], 2);
    let (_, shown) = rig.native("GET", "/hosts", Value::Null).await;
    assert_eq!(shown["count"], 2);

    let body = json!({"hosts": hosts, "force": true, "expect_count": 2});
    let (status, removed) = remove(&rig, body).await;
    assert_eq!(
        (status, &removed["removed"]),
        (200, &json!(true)),
        "{removed}"
    );
    let (_, shown) = rig.native("GET", "/hosts", Value::Null).await;
    assert_eq!((&shown["count"], &shown["hosts"]), (&json!(0), &json!([])));
    let (_, left) = rig
        .native("GET", "/processes?namespace=gse", Value::Null)
        .await;
    assert_eq!(left["count"], 0);
    let (_, audit) = rig.native("GET", "/audit", Value::Null).await;
    let lines = audit["audit"].as_array().unwrap();
    let lines = lines.iter().filter(|line| line["action"] == "host.remove");
    let mut objects: Vec<&str> = lines.map(|line| line["object"].as_str().unwrap()).collect();
    objects.sort_unstable();
    assert_eq!(objects, [HOST, "0:10.0.0.2"]);
    drop(agent);
}

#[tokio::test]
async fn wrong_requests_change_nothing() {
    let rig = Rig::new().await;
    register(&rig, &["10.0.0.1"]).await;
    for (body, status, code, field) in [
        (json!({}), 400, "invalid", "hosts"),
        (json!({"hosts": []}), 400, "invalid", "hosts"),
        (json!({"hosts": ["x"]}), 400, "invalid", "hosts"),
        (json!({"gone_for": "soon"}), 400, "invalid", "gone_for"),
        (json!({"hosts": [HOST], "why": 1}), 400, "invalid", "why"),
        (json!({"hosts": [HOST, NEVER_SEEN]}), 404, "not_found", ""),
        (json!({"gone_for": "30d"}), 404, "not_found", ""),
    ] {
        let (answered, refused) = remove(&rig, body.clone()).await;
        let error = &refused["error"];
        assert_eq!(
            (answered, &error["code"]),
            (status, &json!(code)),
            "{body}: {refused}"
        );
        if !field.is_empty() {
            assert_eq!(error["field"], field, "{body}: {refused}");
        }
    }
    let (_, shown) = rig.native("GET", "/hosts", Value::Null).await;
    assert_eq!(shown["count"], 1);
}

/// Addresses differ and so do times; the rest must not.
async fn answers_for(rig: &Rig, ip: &str) -> Vec<String> {
    let hosts = json!({"hosts": [{"ip": ip, "bk_cloud_id": 0, "bk_supplier_id": 0}]});
    let meta = json!({"namespace": "gse", "name": "web"});
    let mut with_meta = hosts.clone();
    with_meta["meta"] = meta.clone();
    let agents = json!({"agent_id_list": [format!("0:{ip}")]});
    let mut answers = Vec::new();
    for (name, body) in [
        ("get_agent_status", hosts.clone()),
        ("get_agent_info", hosts.clone()),
        ("get_proc_status", with_meta.clone()),
        ("unregister_proc_info", with_meta.clone()),
    ] {
        answers.push(rig.esb(name, body).await);
    }
    for path in ["list_agent_state", "list_agent_info"] {
        let path = format!("/api/v2/cluster/{path}");
        answers.push(rig.gse("POST", &path, agents.clone()).await);
    }
    let native = rig
        .native("GET", &format!("/hosts/0:{ip}"), Value::Null)
        .await;
    answers.push(json!([native.0, native.1]));
    let answers = answers.iter().map(ToString::to_string);
    answers.map(|text| text.replace(ip, "IP")).collect()
}

#[tokio::test]
async fn every_dialect_answers_for_a_removed_host_as_for_an_unknown_one() {
    let rig = Rig::new().await;
    let agent = rig.agent(HOST).await;
    register(&rig, &["10.0.0.1"]).await;
    drop(agent);
    let before = answers_for(&rig, "10.0.0.99").await;
    let (status, body) = remove(&rig, json!({"hosts": [HOST]})).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(answers_for(&rig, "10.0.0.1").await, before);
}
