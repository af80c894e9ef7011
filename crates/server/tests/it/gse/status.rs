//! get_proc_status, _v2, sync_proc_status.

use model::{State, Status, UnixMillis};
use serde_json::{Value, json};

use crate::rig::{Rig, example, target};

fn running() -> Status {
    Status {
        state: State::Running,
        pid: 4437,
        version: "1.2.19".into(),
        started_at: UnixMillis::from_secs(1_441_006_057),
        cpu: 0.1,
        mem: 12.345,
        fd: 7,
        disk: 100,
        net: 9,
        ..Status::default()
    }
}

#[tokio::test]
async fn a_row_has_every_documented_field_with_its_type() {
    let rig = Rig::new().await;
    let agent = rig.agent("1:10.0.0.1").await;
    rig.esb_ok("register_proc_info", example()).await;
    agent.reports("gse/proc-test", running()).await;
    let mut data = rig.esb_ok("get_proc_status", target()).await;
    let row = &mut data["proc_infos"][0];
    // Times of the server's clock, and the id from the enrolment.
    for field in ["register_time", "report_time"] {
        assert!(row[field].take().as_i64().unwrap() > 1_600_000_000);
    }
    assert!(row["bk_agent_id"].take().is_string());
    assert_eq!(
        data,
        json!({"proc_infos": [{
            "meta": {"namespace": "gse", "name": "proc-test", "labels": {"proc_name": "proc-test"}},
            "host": {"ip": "10.0.0.1", "bk_cloud_id": 1, "bk_supplier_id": 2},
            "bk_agent_id": null, "flag": 2, "status": 1, "isauto": false, "message": "", "pid": 4437,
            "version": "1.2.19", "register_time": null, "last_start_time": 1_441_006_057,
            "report_time": null, "cpu_usage": 0.1, "mem_usage": 12.35, "fd": 7, "disk": 100, "net": 9}]})
    );
}

#[tokio::test]
async fn every_requested_host_has_a_row_in_order() {
    let rig = Rig::new().await;
    rig.esb_ok("register_proc_info", example()).await;
    let body = json!({"meta": {"namespace": "gse", "name": "proc-test"}, "hosts": [
        {"ip": "10.0.0.9", "bk_cloud_id": 0}, {"ip": "10.0.0.1", "bk_cloud_id": 1},
        {"ip": "nonsense", "bk_cloud_id": 0}, {"ip": "10.0.0.1", "bk_cloud_id": "1"},
        {"ip": "nonsense", "bk_cloud_id": 0}, {"ip": "10.0.0.9", "bk_cloud_id": 0}]});
    let data = rig.esb_ok("get_proc_status_v2", body).await;
    let rows = data["proc_infos"].as_array().unwrap();
    let seen: Vec<(&str, i64, i64)> = rows
        .iter()
        .map(|row| {
            (
                row["host"]["ip"].as_str().unwrap(),
                row["flag"].as_i64().unwrap(),
                row["pid"].as_i64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("10.0.0.9", 0, -1),
            ("10.0.0.1", 2, -1),
            ("nonsense", 0, -1)
        ]
    );
    assert_eq!(rows[0]["message"], "process is not registered");
    assert_eq!(
        (
            &rows[0]["status"],
            &rows[0]["isauto"],
            &rows[0]["bk_agent_id"]
        ),
        (&json!(0), &json!(false), &json!(""))
    );
    assert_eq!(
        rows[0]["meta"],
        json!({"namespace": "gse", "name": "proc-test", "labels": {}})
    );
    assert_eq!(
        rows[1]["message"],
        "no agent has connected from this host yet"
    );
    assert!(
        rows[2]["message"]
            .as_str()
            .unwrap()
            .starts_with("ip: must be")
    );
    assert_eq!(rows[0]["host"], json!({"ip": "10.0.0.9", "bk_cloud_id": 0}));
}

#[tokio::test]
async fn agents_are_found_by_their_id_and_echoed_as_requested() {
    let rig = Rig::new().await;
    rig.esb_ok("register_proc_info", example()).await;
    let upgraded = rig
        .gse(
            "POST",
            "/api/v2/proc/upgrade_to_agent_id",
            json!({"hosts": [
            {"ip": "10.0.0.1", "bk_cloud_id": 1, "bk_agent_id": "0200000a"},
            {"ip": "bad", "bk_cloud_id": 1, "bk_agent_id": "0200000b"},
            {"ip": "10.0.0.3", "bk_cloud_id": 1, "bk_agent_id": "a:b"}]}),
        )
        .await;
    assert_eq!(
        upgraded["data"],
        json!({"success": ["1:10.0.0.1"], "failed": ["1:bad", "1:10.0.0.3"]})
    );
    let ask = |agents: Value| {
        let body =
            json!({"meta": {"namespace": "gse", "name": "proc-test"}, "agent_id_list": agents});
        rig.gse("POST", "/api/v2/proc/get_proc_status_v2", body)
    };
    let by_id = ask(json!(["0200000a", "unknown"])).await;
    let rows = &by_id["data"]["proc_infos"];
    assert_eq!(rows[0]["bk_agent_id"], "0200000a");
    assert_eq!(rows[0]["host"], json!({"ip": "10.0.0.1", "bk_cloud_id": 1}));
    assert_eq!(rows[0]["flag"], 2);
    assert_eq!(
        (&rows[1]["bk_agent_id"], &rows[1]["flag"]),
        (&json!("unknown"), &json!(0))
    );
    assert_eq!(rows[1]["message"], "no agent is known by the id unknown");
    let by_address = ask(json!(["1:10.0.0.1"])).await;
    assert_eq!(
        by_address["data"]["proc_infos"][0]["bk_agent_id"],
        "1:10.0.0.1"
    );
    // A request by host shows the id.
    let by_host = rig.esb_ok("get_proc_status", target()).await;
    assert_eq!(by_host["proc_infos"][0]["bk_agent_id"], "0200000a");
}

#[tokio::test]
async fn a_namespace_is_synced_by_pages_with_the_exact_count() {
    let rig = Rig::new().await;
    let mut body = example();
    body["hosts"] = (1..=250)
        .map(|n| json!({"ip": format!("10.0.1.{n}"), "bk_cloud_id": 0, "bk_supplier_id": 0}))
        .collect();
    rig.esb_ok("register_proc_info", body.clone()).await;
    body["meta"]["namespace"] = json!("other");
    rig.esb_ok("register_proc_info", body).await;
    let page = |start: i64, limit: i64| {
        let body = json!({"meta": {"namespace": "gse"}, "page": {"start": start, "limit": limit}});
        rig.gse("GET", "/procapi/v1/proc/syncstatus", body)
    };
    let mut seen = std::collections::BTreeSet::new();
    for start in [0, 100, 200] {
        let data = &page(start, 100).await["data"];
        assert_eq!(data["count"], 250);
        for row in data["proc_infos"].as_array().unwrap() {
            assert_eq!(row["meta"]["namespace"], "gse");
            assert_eq!(row["host"]["bk_supplier_id"], 0);
            seen.insert(row["host"]["ip"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(seen.len(), 250);
    let beyond = &page(1_000_000, 1000).await["data"];
    assert_eq!(
        (&beyond["count"], &beyond["proc_infos"]),
        (&json!(250), &json!([]))
    );
    let body = json!({"meta": {"namespace": "empty"}, "page": {"start": "0", "limit": "1000"}});
    let nothing = rig.gse("POST", "/api/v2/proc/sync_proc_status", body).await;
    assert_eq!(nothing["data"], json!({"count": 0, "proc_infos": []}));
}

#[tokio::test]
async fn an_unreported_process_has_status_0_in_every_dialect() {
    let rig = Rig::new().await;
    rig.esb_ok("register_proc_info", example()).await;
    let page = json!({"meta": {"namespace": "gse"}, "page": {"start": 0, "limit": 10}});
    for (name, body) in [
        ("get_proc_status", target()),
        ("get_proc_status_v2", target()),
        ("sync_proc_status", page),
    ] {
        let data = rig.esb_ok(name, body).await;
        let row = &data["proc_infos"][0];
        assert_eq!(
            (&row["flag"], &row["status"]),
            (&json!(2), &json!(0)),
            "{name}"
        );
    }
    let pms = rig.gse("GET", "/procapi/v1/proc/status", target()).await;
    assert_eq!(pms["data"]["proc_infos"][0]["status"], 0);
    let agent = rig.agent("1:10.0.0.1").await;
    let stopped = Status {
        state: State::Stopped,
        ..Status::default()
    };
    agent.reports("gse/proc-test", stopped).await;
    let data = rig.esb_ok("get_proc_status", target()).await;
    assert_eq!(data["proc_infos"][0]["status"], 2);
}

#[tokio::test]
async fn sync_echoes_the_registered_supplier() {
    let rig = Rig::new().await;
    let supplier_of = async |rig: &Rig| {
        let page = json!({"meta": {"namespace": "gse"}, "page": {"start": 0, "limit": 10}});
        let data = rig.esb_ok("sync_proc_status", page).await;
        assert_eq!(data["count"], 1);
        data["proc_infos"][0]["host"]["bk_supplier_id"].clone()
    };
    rig.esb_ok("register_proc_info", example()).await;
    assert_eq!(supplier_of(&rig).await, 2);
    // Enrolment, and callers without one, do not change it.
    let _agent = rig.agent("1:10.0.0.1").await;
    let mut without = example();
    without["hosts"] = json!([{"ip": "10.0.0.1", "bk_cloud_id": 1}]);
    rig.esb_ok("register_proc_info", without).await;
    assert_eq!(supplier_of(&rig).await, 2);
    let mut other = example();
    other["hosts"][0]["bk_supplier_id"] = json!("7");
    rig.esb_ok("register_proc_info", other.clone()).await;
    assert_eq!(supplier_of(&rig).await, 7);
    // A refused request changes nothing.
    other["hosts"][0]["bk_supplier_id"] = json!(8);
    other["spec"]["identity"]["setup_path"] = json!("/elsewhere");
    let data = rig.esb_ok("register_proc_info", other).await;
    assert_eq!(data["1:8:10.0.0.1:gse:proc-test"]["error_code"], 850);
    assert_eq!(supplier_of(&rig).await, 7);
}
