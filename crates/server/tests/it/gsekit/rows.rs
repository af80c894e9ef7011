//! process_status: the fields of a row.

use serde_json::json;

use super::business::{Business, PROCESS_STATUS};
use crate::rig::{APP, SECRET};

#[tokio::test]
async fn a_row_has_the_keys_of_the_document_in_its_order() {
    let business = Business::new().await;
    let body = json!({"bk_app_code": APP, "bk_app_secret": SECRET, "bk_username": "alice", "bk_biz_id": 2,
        "scope": {"bk_process_ids": [46]}, "page": 1, "pagesize": 10});
    let answer = business
        .rig
        .send("POST", PROCESS_STATUS, &[], body.to_string().as_bytes())
        .await;
    // The agent got its id when it enrolled.
    let agent_id = &answer.json()["data"]["list"][0]["bk_agent_id"];
    let agent_id = agent_id.as_str().unwrap();
    assert_eq!(agent_id.len(), 32);
    assert_eq!(
        String::from_utf8(answer.body.clone())
            .unwrap()
            .replace(agent_id, "AGENT"),
        concat!(
            r#"{"result":true,"code":0,"message":"","data":{"count":1,"list":[{"id":46,"bk_biz_id":2,"#,
            r#""expression":"管控平台.gse_agent.127.0.0.1_gse_agent.gse_agent.46","bk_host_innerip":"127.0.0.1","#,
            r#""bk_cloud_id":0,"bk_set_env":"3","bk_set_id":5,"bk_module_id":21,"service_template_id":26,"#,
            r#""service_instance_id":5,"bk_process_name":"gse_agent","bk_process_id":46,"process_template_id":26,"#,
            r#""process_status":1,"is_auto":true,"bk_set_name":"管控平台","bk_module_name":"gse_agent","#,
            r#""bk_service_name":"127.0.0.1_gse_agent","bk_cloud_name":"default area","config_templates":[],"#,
            r#""proc_inst_infos":[{"bk_process_id":46,"local_inst_id":1,"inst_id":1,"process_status":1,"is_auto":true}],"#,
            r#""bk_host_innerip_v6":null,"bk_agent_id":"AGENT"}]}}"#,
        )
    );
}

#[tokio::test]
async fn a_process_runs_when_all_its_instances_run() {
    let business = Business::new().await;
    let data = business
        .process_status_ok(json!({"scope": {"bk_process_ids": [47]}}))
        .await;
    let row = &data["list"][0];
    assert_eq!(
        (&row["process_status"], &row["is_auto"]),
        (&json!(2), &json!(false))
    );
    assert_eq!(
        row["proc_inst_infos"],
        json!([
            {"bk_process_id": 47, "local_inst_id": 1, "inst_id": 1, "process_status": 1, "is_auto": false},
            {"bk_process_id": 47, "local_inst_id": 2, "inst_id": 2, "process_status": 2, "is_auto": false},
        ])
    );
    assert_eq!(
        (&row["bk_host_innerip_v6"], &row["bk_agent_id"]),
        (&json!("fd00::2"), &json!("agent-two"))
    );
    let data = business
        .process_status_ok(json!({"scope": {"bk_process_ids": [49]}}))
        .await;
    assert_eq!(data["list"][0]["process_status"], 0);
    assert_eq!(data["list"][0]["bk_cloud_name"], "北京");
}

#[tokio::test]
async fn an_unnamed_cloud_area_has_no_name() {
    let business = Business::new().await;
    let mut other = super::business::document();
    other["bk_biz_id"] = json!(3);
    other["sets"] = json!([{"bk_set_name": "s", "modules": [{"bk_module_name": "m", "hosts": ["7:10.9.9.9"],
        "processes": [{"bk_process_name": "p", "work_path": "/opt", "pid_file": "p", "user": "root"}]}]}]);
    super::business::import(&business.rig, &other).await;
    let data = business
        .process_status_ok(json!({"bk_biz_id": 3, "scope": {}}))
        .await;
    assert_eq!(data["list"][0]["bk_cloud_name"], json!(null));
    assert_eq!(data["list"][0]["bk_service_name"], "10.9.9.9_m");
}

#[tokio::test]
async fn fields_select_the_keys_of_rows() {
    let business = Business::new().await;
    let ask = |fields: serde_json::Value| {
        business.process_status_ok(json!({"scope": {"bk_process_ids": [46]}, "fields": fields}))
    };
    assert_eq!(
        ask(json!(["process_status", "bk_process_id", "nothing"])).await["list"],
        json!([{"bk_process_id": 46, "process_status": 1}])
    );
    assert_eq!(ask(json!(["nothing"])).await["list"], json!([{}]));
    let whole = ask(json!([])).await;
    assert_eq!(whole["list"][0].as_object().unwrap().len(), 23);
}

#[tokio::test]
async fn templates_show_where_they_are_bound() {
    let business = Business::new().await;
    let file = |name: &str| {
        json!({"template_name": name, "file_name": format!("{name}.conf"), "abs_path": "/etc", "owner": "root",
            "group": "root", "filemode": "0644"})
    };
    for (name, binding) in [
        ("of-the-template", json!({"process_templates": [27]})),
        ("of-the-process", json!({"processes": [47]})),
        ("of-nobody", json!({})),
    ] {
        let (status, made) = business
            .rig
            .native("POST", "/businesses/2/templates", file(name))
            .await;
        assert_eq!(status, 201, "{made}");
        let path = format!("/businesses/2/templates/{}/bindings", made["id"]);
        let (status, answer) = business.rig.native("PUT", &path, binding).await;
        assert_eq!(status, 200, "{answer}");
    }
    let data = business
        .process_status_ok(
            json!({"scope": {"bk_module_ids": [22]}, "fields": ["config_templates"]}),
        )
        .await;
    assert_eq!(
        data["list"],
        json!([
            {"config_templates": [
                {"config_template_id": 1, "template_name": "of-the-template", "file_name": "of-the-template.conf"},
                {"config_template_id": 2, "template_name": "of-the-process", "file_name": "of-the-process.conf"},
            ]},
            {"config_templates": []},
        ])
    );
    let list = |query: &str| {
        let path = format!("/v2/gsekit/api/config_template/config_template_list/?{query}");
        let business = &business;
        async move { business.rig.gse("GET", &path, json!({})).await["data"].clone() }
    };
    let data = list("bk_biz_id=2").await;
    assert_eq!(data["count"], 3);
    assert_eq!(
        data["list"][0]["template_name"], "of-nobody",
        "the newest first"
    );
    let second = &data["list"][1];
    assert_eq!(
        (
            &second["filemode"],
            &second["line_separator"],
            &second["has_version"]
        ),
        (&json!("0644"), &json!("LF"), &json!(false))
    );
    assert_eq!(
        second["relation_count"],
        json!({"TEMPLATE": 0, "INSTANCE": 1})
    );
    assert_eq!(
        (&second["is_bound"], &data["list"][0]["is_bound"]),
        (&json!(true), &json!(false))
    );
    let data = list("bk_biz_id=2&search=process&page=1&pagesize=5").await;
    assert_eq!(
        (&data["count"], data["list"].as_array().unwrap().len()),
        (&json!(1), 1)
    );
    let data = list("bk_biz_id=2&page=2&pagesize=2").await;
    assert_eq!(
        (&data["count"], data["list"].as_array().unwrap().len()),
        (&json!(3), 1)
    );
    let overview = business
        .rig
        .gse(
            "GET",
            "/v2/gsekit/api/meta/access_overview",
            json!({"bk_biz_id": 2}),
        )
        .await;
    assert_eq!(overview["data"]["config_template_count"], 3);
    assert_eq!(overview["data"]["configfile"], true);
}
