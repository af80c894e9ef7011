//! set_process_group_info and get_process_group_info.

use serde_json::json;

use crate::rig::Rig;

#[tokio::test]
async fn groups_are_stored_per_namespace_and_host() {
    let rig = Rig::new().await;
    let hosts = json!([{"ip": "10.0.0.1", "bk_cloud_id": 1, "bk_supplier_id": 2}]);
    let group = json!({"id": "gse", "resource": {"cpu_pool_limit": 20.0, "mem_pool_limit": 30.0,
        "cpu_pool_weight": 0, "mem_pool_weight": 1}});
    let body = json!({"meta": {"namespace": "gse", "name": "", "labels": {}}, "hosts": hosts,
        "spec": {"process_group": [group]}});
    let set = rig.gse("POST", "/procapi/v1/proc/groupinfo", body).await;
    assert_eq!(
        set["data"],
        json!({"1:2:10.0.0.1:gse": {"error_code": 0, "error_msg": "success", "content": ""}})
    );
    let body = json!({"meta": {"namespace": "gse"}, "hosts": hosts});
    let expected = json!({"process_group_infos": [{
        "meta": {"namespace": "gse", "name": "", "labels": {}},
        "host": {"ip": "10.0.0.1", "bk_cloud_id": 1, "bk_supplier_id": 2},
        "id": "gse", "resource": group["resource"]}]});
    let got = rig
        .gse("GET", "/procapi/v1/proc/groupinfo", body.clone())
        .await;
    assert_eq!(got["data"], expected);
    assert_eq!(rig.esb_ok("get_process_group_info", body).await, expected);
    let other = json!({"meta": {"namespace": "other"}, "hosts": hosts});
    let none = rig.esb_ok("get_process_group_info", other).await;
    assert_eq!(none, json!({"process_group_infos": []}));
}
