//! Requests with as many targets as real clients send.

use serde_json::{Value, json};

use crate::rig::{Rig, example};

fn hosts(n: u32) -> Value {
    let host = |n: u32| json!({"ip": format!("10.{}.{}.{}", n >> 16, n >> 8 & 255, n & 255), "bk_cloud_id": 0, "bk_supplier_id": 0});
    (0..n).map(host).collect()
}

#[tokio::test]
async fn thirty_thousand_targets_fit_in_one_request() {
    let rig = Rig::new().await;
    let mut body = example();
    body["hosts"] = hosts(30_000);
    let registered = rig.esb_ok("register_proc_info", body.clone()).await;
    assert_eq!(registered.as_object().unwrap().len(), 30_000);
    assert!(
        registered
            .as_object()
            .unwrap()
            .values()
            .all(|entry| entry["error_code"] == 0)
    );

    body.as_object_mut().unwrap().remove("spec");
    let status = rig.esb_ok("get_proc_status", body.clone()).await;
    assert_eq!(status["proc_infos"].as_array().unwrap().len(), 30_000);

    body["op_type"] = json!(0);
    let task = rig.esb_ok("operate_proc", body).await;
    let results = rig.esb_ok("get_proc_operate_result", task).await;
    assert_eq!(results.as_object().unwrap().len(), 30_000);
    assert!(
        results
            .as_object()
            .unwrap()
            .values()
            .all(|entry| entry["error_code"] == 117)
    );
}
