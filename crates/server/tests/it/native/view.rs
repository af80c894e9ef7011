//! /api/v1/processes/view and /api/v1/expression/explain.

use serde_json::{Value, json};

use crate::gsekit::business::Business;

#[tokio::test]
async fn the_view_has_the_same_filters_under_native_names() {
    let business = Business::new().await;
    for (query, expected) in [
        ("", vec![46, 47, 48, 49, 50]),
        ("&env=formal", vec![46, 47, 48, 49]),
        ("&env=1", vec![50]),
        ("&set=5,6", vec![46, 47, 48, 49]),
        ("&module=22&module=24", vec![47, 48, 50]),
        ("&service=8", vec![50]),
        ("&name=nginx", vec![47, 50]),
        ("&id=46,50", vec![46, 50]),
        ("&expr=*平台.nginx", vec![47, 48]),
        ("&expr=*.*.*.*.[-1:]&env=formal", vec![49]),
        ("&status=running", vec![46, 48]),
        ("&status=stopped,unregistered", vec![47, 49, 50]),
        ("&managed=true", vec![46, 50]),
        ("&ip=10.0.0.2,fd00::2", vec![47, 48]),
        ("&cloud=1", vec![49]),
        ("&search=default&search=.4", vec![50]),
        ("&order=-id", vec![50, 49, 48, 47, 46]),
        ("&order=name,-id", vec![46, 50, 47, 49, 48]),
        ("&status=running&managed=false&set=5", vec![48]),
    ] {
        let path = format!("/processes/view?business=2{query}");
        let path = path.replace('平', "%E5%B9%B3").replace('台', "%E5%8F%B0");
        let (status, answer) = business.rig.native("GET", &path, Value::Null).await;
        assert_eq!(status, 200, "{query}: {answer}");
        let rows = answer["processes"].as_array().unwrap().iter();
        let ids: Vec<u64> = rows.map(|row| row["id"].as_u64().unwrap()).collect();
        assert_eq!(
            (ids, &answer["count"]),
            (expected.clone(), &json!(expected.len())),
            "{query}"
        );
    }
    let (_, page) = business
        .rig
        .native(
            "GET",
            "/processes/view?business=2&start=1&limit=1",
            Value::Null,
        )
        .await;
    assert_eq!((&page["count"], &page["start"]), (&json!(5), &json!(1)));
    let row = &page["processes"][0];
    assert_eq!(row["set"], json!({"id": 5, "name": "管控平台"}));
    assert_eq!(row["service"], json!({"id": 6, "name": "10.0.0.2_nginx"}));
    assert_eq!(
        (&row["host"], &row["agent_id"]),
        (&json!("0:10.0.0.2"), &json!("agent-two"))
    );
    assert_eq!(
        (&row["status"], &row["managed"]),
        (&json!("stopped"), &json!(false))
    );
    let instance = &row["instances"][1];
    assert_eq!(
        (
            &instance["process"],
            &instance["status"],
            &instance["connected"]
        ),
        (
            &json!("GSEKIT_BIZ_2/nginx_2"),
            &json!("stopped"),
            &json!(true)
        )
    );
}

#[tokio::test]
async fn the_view_is_filtered_by_the_states_of_instances() {
    let business = Business::new().await;
    let (_, all) = business
        .rig
        .native("GET", "/processes/view?business=2", Value::Null)
        .await;
    let ids = |wanted: &dyn Fn(&Value) -> bool| -> Vec<u64> {
        let rows = all["processes"].as_array().unwrap().iter();
        let rows = rows.filter(|row| wanted(row));
        rows.map(|row| row["id"].as_u64().unwrap()).collect()
    };
    let has = |row: &Value, state: &str| {
        let instances = row["instances"].as_array().unwrap();
        instances.iter().any(|one| one["state"] == state)
    };
    let cases: [(&str, Vec<u64>); 5] = [
        ("running", ids(&|row| has(row, "running"))),
        ("unknown", ids(&|row| has(row, "unknown"))),
        ("unregistered", ids(&|row| row["status"] == "unregistered")),
        (
            "running,unregistered",
            ids(&|row| has(row, "running") || row["status"] == "unregistered"),
        ),
        ("failed", vec![]),
    ];
    assert!(
        cases.iter().filter(|(_, ids)| !ids.is_empty()).count() >= 3,
        "{all}"
    );
    for (state, expected) in cases {
        let path = format!("/processes/view?business=2&state={state}");
        let (status, answer) = business.rig.native("GET", &path, Value::Null).await;
        assert_eq!(status, 200, "{answer}");
        let rows = answer["processes"].as_array().unwrap().iter();
        let found: Vec<u64> = rows.map(|row| row["id"].as_u64().unwrap()).collect();
        assert_eq!(found, expected, "{state}");
    }
    for (query, expected) in [("restart_needed=true", 0), ("restart_needed=false", 5)] {
        let path = format!("/processes/view?business=2&{query}");
        let (_, answer) = business.rig.native("GET", &path, Value::Null).await;
        assert_eq!(answer["count"], expected, "{query}");
    }
    let (status, answer) = business
        .rig
        .native("GET", "/processes/view?business=2&state=odd", Value::Null)
        .await;
    assert_eq!(status, 400);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("state") && message.contains("unregistered"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_bad_query_names_its_parameter() {
    let business = Business::new().await;
    for (query, field, character) in [
        ("", "business", json!(null)),
        ("business=x", "business", json!(null)),
        ("business=2&set=x", "set", json!(null)),
        ("business=2&env=9", "env", json!(null)),
        ("business=2&status=up", "status", json!(null)),
        ("business=2&ip=x", "ip", json!(null)),
        ("business=2&order=x", "order", json!(null)),
        ("business=2&limit=0", "limit", json!(null)),
        ("business=2&expr=a&id=4", "expr", json!(null)),
        ("business=2&expr=a.b%5Bc", "expr", json!(4)),
    ] {
        let path = format!("/processes/view?{query}");
        let (status, answer) = business.rig.native("GET", &path, Value::Null).await;
        let error = &answer["error"];
        assert_eq!(
            (status, &error["field"], &error["character"]),
            (400, &json!(field), &character),
            "{query}"
        );
    }
}

#[tokio::test]
async fn an_expression_is_explained_by_part() {
    let business = Business::new().await;
    let body = json!({"business": 2, "expression": "*平台.nginx.*.[nginx, redis].[0:1]"});
    let (status, answer) = business
        .rig
        .native("POST", "/expression/explain", body)
        .await;
    assert_eq!(status, 200, "{answer}");
    let parts: Vec<(&str, &str, u64)> = answer["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| {
            let text = |key: &str| part[key].as_str().unwrap();
            (text("part"), text("words"), part["count"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(
        parts,
        [
            ("set", "ends with \"平台\"", 4),
            ("module", "exactly \"nginx\"", 2),
            ("service", "any", 2),
            ("process", "one of \"nginx\" or \"redis\"", 2),
            ("id", "the first process by id", 1),
        ]
    );
    assert_eq!(answer["parts"][4]["text"], "[0:1]");
    let text = |text: &str| json!({"code": "text", "params": {"text": text}, "items": []});
    assert_eq!(
        answer["parts"][3]["meaning"],
        json!({"code": "one_of", "params": {}, "items": [text("nginx"), text("redis")]})
    );
    assert_eq!(
        answer["parts"][4]["meaning"],
        json!({"code": "first", "params": {"count": "1"}, "items": []})
    );
    assert_eq!(answer["count"], 1);
    assert_eq!(
        answer["matches"],
        json!([{"id": 47, "expression": "管控平台.nginx.10\\.0\\.0\\.2_nginx.nginx.47"}])
    );
    let body = json!({"business": "2", "env": "test", "expression": {"process": "nginx"}});
    let (_, answer) = business
        .rig
        .native("POST", "/expression/explain", body)
        .await;
    assert_eq!(
        (&answer["count"], &answer["matches"][0]["id"]),
        (&json!(1), &json!(50))
    );
    let none = json!(null);
    let unclosed = json!({"code": "unclosed_bracket", "params": {}});
    let reversed = json!({"code": "reversed_range", "params": {"from": "3", "to": "1"}});
    for (body, field, character, reason) in [
        (json!({"expression": "*"}), "business", json!(null), &none),
        (json!({"business": 2}), "expression", json!(null), &none),
        (
            json!({"business": 2, "expression": 5}),
            "expression",
            json!(null),
            &none,
        ),
        (
            json!({"business": 2, "expression": "a.[b"}),
            "expression",
            json!(3),
            &unclosed,
        ),
        (
            json!({"business": 2, "expression": {"module": "x[3-1]"}}),
            "expression.module",
            json!(3),
            &reversed,
        ),
    ] {
        let (status, answer) = business
            .rig
            .native("POST", "/expression/explain", body.clone())
            .await;
        let error = &answer["error"];
        assert_eq!(
            (status, &error["field"], &error["character"]),
            (400, &json!(field), &character),
            "{body}: {answer}"
        );
        assert_eq!(&error["reason"], reason, "{body}: {answer}");
    }
}
