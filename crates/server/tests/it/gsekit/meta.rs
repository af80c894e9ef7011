//! Both forms of every path; flush, sync, overview and expression_match.

use serde_json::json;

use super::business::Business;

#[tokio::test]
async fn every_form_of_a_path_is_routed() {
    let business = Business::new().await;
    for path in [
        "/api/c/compapi/v2/gsekit/api/process/process_status/",
        "/api/c/compapi/v2/gsekit/api/process/process_status",
        "/v2/gsekit/api/process/process_status/",
        "/v2/gsekit/api/process/process_status",
        "//v2/gsekit/api/process/process_status/",
        "/api/c/compapi//v2/gsekit/api/process/process_status/",
    ] {
        let body = json!({"bk_biz_id": 2, "scope": {}, "page": 1, "pagesize": 1});
        let envelope = business.rig.gse("POST", path, body).await;
        assert_eq!(envelope["data"]["count"], 4, "{path}: {envelope}");
    }
}

#[tokio::test]
async fn flush_and_sync_answer_as_documented() {
    let business = Business::new().await;
    let ask = async |name: &str| {
        let path = format!("/v2/gsekit/api/process/{name}/");
        business
            .rig
            .gse("POST", &path, json!({"bk_biz_id": 2}))
            .await
    };
    let envelope = ask("flush_process").await;
    assert_eq!(
        (&envelope["code"], &envelope["data"]),
        (&json!(0), &json!(null))
    );
    let envelope = ask("sync_process_status").await;
    let took = envelope["data"]["cost_time"].as_f64().unwrap();
    assert!((0.0..5.0).contains(&took), "{took}");
}

#[tokio::test]
async fn an_overview_counts_one_business_or_all() {
    let business = Business::new().await;
    let path = "/v2/gsekit/api/meta/access_overview/";
    let counts = json!({"process": true, "configfile": false, "is_access": true, "set_count": 3, "module_count": 4,
        "host_count": 4, "process_count": 5, "running_process_count": 2, "config_template_count": 0});
    let one = business
        .rig
        .gse("GET", &format!("{path}?bk_biz_id=2"), json!({}))
        .await;
    assert_eq!(one["data"], counts);
    let none = business.rig.gse("GET", path, json!({"bk_biz_id": 3})).await;
    assert_eq!(
        (&none["data"]["is_access"], &none["data"]["process_count"]),
        (&json!(false), &json!(0))
    );
    let all = business.rig.gse("GET", path, json!({})).await;
    assert_eq!(all["data"]["process_count"], 5);
    assert_eq!(all["data"]["businesses"][0]["bk_biz_name"], "game");
    assert_eq!(all["data"]["businesses"][0]["set_count"], 3);
}

#[tokio::test]
async fn an_expression_matches_the_whole_text() {
    let business = Business::new().await;
    let envelope = business
        .rig
        .gse(
            "POST",
            "/v2/gsekit/api/meta/expression_match/",
            json!({"expression": "string[1-100].[集群1, 集群2].word[a-z]-[1.1, 1.2]*",
                "candidates": ["string1.集群1.worda-1.1.111", "string100.集群2.worda-1.2A", "string101.集群1.worda-1.1",
                    "string1.集群1.worda-1.1.111"]}),
        )
        .await;
    let data = &envelope["data"];
    assert_eq!(
        data["filter_results"],
        json!(["string1.集群1.worda-1.1.111", "string100.集群2.worda-1.2A"])
    );
    let styles = data["exps_with_unix_shell_style"].as_array().unwrap();
    assert_eq!(styles.len(), 12);
    assert!(
        styles.contains(&json!("string[1-9][0-9].集群2.word[a-z]-1.2*")),
        "{styles:?}"
    );
}
