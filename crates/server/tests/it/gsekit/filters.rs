//! process_status: every filter alone, and together.

use serde_json::{Value, json};

use super::business::Business;

/// A filter with all environments, unless it names one.
fn all(extra: Value) -> Value {
    let mut body = json!({"scope": {"bk_set_env": "0"}});
    for (key, value) in extra.as_object().unwrap() {
        body[key] = value.clone();
    }
    body
}

fn scope(extra: Value) -> Value {
    let mut scope = json!({"bk_set_env": 0});
    for (key, value) in extra.as_object().unwrap() {
        scope[key] = value.clone();
    }
    json!({"scope": scope})
}

fn expression(extra: Value) -> Value {
    let mut parts = json!({"bk_set_env": 0});
    for (key, value) in extra.as_object().unwrap() {
        parts[key] = value.clone();
    }
    json!({"expression_scope": parts})
}

#[tokio::test]
async fn every_filter_alone() {
    let business = Business::new().await;
    for (body, expected) in [
        // The environment: formal by default.
        (json!({"scope": {}}), vec![46, 47, 48, 49]),
        (json!({"scope": {"bk_set_env": null}}), vec![46, 47, 48, 49]),
        (json!({"scope": {"bk_set_env": "3"}}), vec![46, 47, 48, 49]),
        (json!({"scope": {"bk_set_env": 1}}), vec![50]),
        (json!({"scope": {"bk_set_env": 2}}), vec![]),
        (scope(json!({})), vec![46, 47, 48, 49, 50]),
        // Ids and names; an empty list restricts nothing, an unknown id matches nothing.
        (scope(json!({"bk_set_ids": [5]})), vec![46, 47, 48]),
        (scope(json!({"bk_set_ids": ["6", 7]})), vec![49, 50]),
        (scope(json!({"bk_set_ids": []})), vec![46, 47, 48, 49, 50]),
        (scope(json!({"bk_set_ids": [99]})), vec![]),
        (scope(json!({"bk_set_ids": [-1]})), vec![]),
        (scope(json!({"bk_module_ids": [22, 24]})), vec![47, 48, 50]),
        (scope(json!({"bk_service_ids": [5, "6"]})), vec![46, 47, 48]),
        (scope(json!({"bk_process_names": ["nginx"]})), vec![47, 50]),
        (scope(json!({"bk_process_names": ["ngin*"]})), vec![]),
        (
            scope(json!({"bk_process_ids": ["48", 50, 4]})),
            vec![48, 50],
        ),
        // Expressions.
        (expression(json!({})), vec![46, 47, 48, 49, 50]),
        (
            expression(json!({"bk_set_name": "[管控平台, PaaS平台]"})),
            vec![46, 47, 48, 49],
        ),
        (
            expression(json!({"bk_set_name": "*平台"})),
            vec![46, 47, 48, 49],
        ),
        (
            expression(json!({"bk_module_name": "nginx"})),
            vec![47, 48, 50],
        ),
        (
            expression(json!({"service_instance_name": "10.0.0.?_nginx"})),
            vec![47, 48, 50],
        ),
        (
            expression(json!({"bk_process_name": "[!g]*"})),
            vec![47, 48, 49, 50],
        ),
        (
            expression(json!({"bk_process_id": "4[6, 8, 9]"})),
            vec![46, 48, 49],
        ),
        (expression(json!({"bk_process_id": 47})), vec![47]),
        (expression(json!({"bk_process_id": "[-2:]"})), vec![49, 50]),
        (
            expression(json!({"bk_process_name": "nginx", "bk_process_id": "[0:1]"})),
            vec![47],
        ),
        // Status and management; 0 and false are filters like the others.
        (all(json!({"process_status": 1})), vec![46, 48]),
        (all(json!({"process_status": "2"})), vec![47, 50]),
        (all(json!({"process_status": 0})), vec![49]),
        (all(json!({"process_status": 7})), vec![]),
        (
            all(json!({"process_status": null})),
            vec![46, 47, 48, 49, 50],
        ),
        (
            all(json!({"process_status_list": [0, 2]})),
            vec![47, 49, 50],
        ),
        (
            all(json!({"process_status_list": []})),
            vec![46, 47, 48, 49, 50],
        ),
        (all(json!({"is_auto": true})), vec![46, 50]),
        (all(json!({"is_auto": "false"})), vec![47, 48, 49]),
        (
            all(json!({"is_auto_list": [true, false]})),
            vec![46, 47, 48, 49, 50],
        ),
        (all(json!({"is_auto_list": [true]})), vec![46, 50]),
        // Hosts.
        (all(json!({"bk_cloud_ids": [1]})), vec![49]),
        (
            all(json!({"bk_cloud_ids": ["0", 1]})),
            vec![46, 47, 48, 49, 50],
        ),
        (all(json!({"bk_cloud_ids": [9]})), vec![]),
        (all(json!({"bk_host_innerips": ["10.0.0.2"]})), vec![47, 48]),
        (
            all(json!({"bk_host_innerips": ["fd00::2", "10.0.0.3"]})),
            vec![47, 48, 49],
        ),
        (
            all(json!({"bk_host_innerips": ["192.168.7.2"]})),
            vec![47, 48],
        ),
        (all(json!({"bk_host_innerips": ["10.0.0."]})), vec![]),
        (
            all(json!({"bk_host_innerips": []})),
            vec![46, 47, 48, 49, 50],
        ),
        // Searches: every term must be found, in the address or in the area's name.
        (all(json!({"searches": ["10.0"]})), vec![47, 48, 49, 50]),
        (all(json!({"searches": ["北"]})), vec![49]),
        (all(json!({"searches": ["default", "10.0.0.4"]})), vec![50]),
        (all(json!({"searches": ["北京", "10.0.0.4"]})), vec![]),
        (all(json!({"searches": ["fd00"]})), vec![47, 48]),
        (
            all(json!({"searches": ["192.168.7", "10.0.0.2"]})),
            vec![47, 48],
        ),
        (all(json!({"searches": [" "]})), vec![46, 47, 48, 49, 50]),
        // Unknown fields are ignored.
        (
            all(json!({"no_request": true, "x": {"y": []}})),
            vec![46, 47, 48, 49, 50],
        ),
    ] {
        assert_eq!(business.ids(body.clone()).await, expected, "{body}");
    }
}

#[tokio::test]
async fn filters_together() {
    let business = Business::new().await;
    for (body, expected) in [
        (
            json!({"scope": {"bk_set_env": 0, "bk_set_ids": [5, 7], "bk_process_names": ["nginx"]},
                "process_status": 2, "is_auto": true, "bk_cloud_ids": [0], "searches": ["10."]}),
            vec![50],
        ),
        (
            json!({"scope": {"bk_set_ids": [5], "bk_module_ids": [24]}}),
            vec![],
        ),
        (
            all(json!({"process_status": 1, "process_status_list": [1, 2]})),
            vec![46, 48],
        ),
        (
            all(json!({"process_status": 0, "process_status_list": [1, 2]})),
            vec![],
        ),
        (
            json!({"expression_scope": {"bk_set_env": "3", "bk_set_name": "管控*", "bk_process_id": "[46-48]"},
                "process_status": 1, "bk_host_innerips": ["10.0.0.2"]}),
            vec![48],
        ),
        // The scope wins, even when it is empty and the expression is wrong.
        (
            json!({"scope": {}, "expression_scope": {"bk_set_env": "3", "bk_set_name": "[unclosed"}}),
            vec![46, 47, 48, 49],
        ),
    ] {
        assert_eq!(business.ids(body.clone()).await, expected, "{body}");
    }
}

#[tokio::test]
async fn a_business_shows_its_own_processes_only() {
    let business = Business::new().await;
    let data = business
        .process_status_ok(json!({"bk_biz_id": "3", "scope": {}}))
        .await;
    assert_eq!(data, json!({"count": 0, "list": []}));
}
