//! get_agent_status, get_agent_info, list_agent_state, list_agent_info.

use serde_json::json;

use crate::rig::{Rig, example};

#[tokio::test]
async fn agents_are_running_disconnected_or_unknown() {
    let rig = Rig::new().await;
    let _up = rig.agent("0:10.0.0.1").await;
    drop(rig.agent("0:10.0.0.2").await);
    rig.esb_ok("register_proc_info", example()).await;
    let hosts = json!({"hosts": [{"ip": "10.0.0.1", "bk_cloud_id": 0}, {"ip": "10.0.0.2", "bk_cloud_id": 0},
        {"ip": "10.0.0.1", "bk_cloud_id": 1}, {"ip": "10.0.0.9", "bk_cloud_id": 0}]});
    let status = rig.esb_ok("get_agent_status", hosts.clone()).await;
    assert_eq!(
        status,
        json!({"0:10.0.0.1": {"ip": "10.0.0.1", "bk_cloud_id": 0, "bk_agent_alive": 1},
            "0:10.0.0.2": {"ip": "10.0.0.2", "bk_cloud_id": 0, "bk_agent_alive": 0},
            "1:10.0.0.1": {"ip": "10.0.0.1", "bk_cloud_id": 1, "bk_agent_alive": 0},
            "0:10.0.0.9": {"ip": "10.0.0.9", "bk_cloud_id": 0, "bk_agent_alive": 0}})
    );
    let info = rig.esb_ok("get_agent_info", hosts).await;
    assert_eq!(info["0:10.0.0.1"]["version"], "1.2.3");

    let list = json!({"agent_id_list": ["0:10.0.0.1", "0:10.0.0.2", "1:10.0.0.1", "nobody"]});
    let states = rig
        .gse("POST", "/api/v2/cluster/list_agent_state", list.clone())
        .await;
    let codes: Vec<(&str, i64)> = states["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["bk_agent_id"].as_str().unwrap(),
                row["status_code"].as_i64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        codes,
        [
            ("0:10.0.0.1", 2),
            ("0:10.0.0.2", -1),
            ("1:10.0.0.1", -2),
            ("nobody", -2)
        ]
    );
    let row = &states["data"][0];
    assert_eq!(
        (&row["run_mode"], &row["version"], &row["bk_cloud_id"]),
        (&json!(1), &json!("1.2.3"), &json!(0))
    );
    assert!(row["report_time"].as_i64().unwrap() > 1_600_000_000);
    let infos = rig
        .gse("POST", "/api/v2/cluster/list_agent_info/", list)
        .await;
    assert_eq!(infos["data"][0]["hostname"], "box");
}

#[tokio::test]
async fn a_request_without_any_known_agent_has_its_own_code() {
    let rig = Rig::new().await;
    let envelope = rig
        .gse(
            "POST",
            "/api/v2/cluster/list_agent_state",
            json!({"agent_id_list": ["nobody", "0:10.0.0.1"]}),
        )
        .await;
    assert_eq!(envelope["code"], 1_011_003);
    let hosts = json!({"hosts": [{"ip": "10.0.0.1", "bk_cloud_id": 0}]});
    // v1 callers index the map without checking the code.
    let envelope = rig.esb("get_agent_status", hosts).await;
    assert_eq!(
        envelope["data"]["0:10.0.0.1"]["bk_agent_alive"], 0,
        "{envelope}"
    );
}
