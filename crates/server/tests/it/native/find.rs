//! Filters of /api/v1/hosts, and /api/v1/search.

use model::{ProcessState, State, Status};
use serde_json::{Value, json};

use crate::gsekit::business::Business;
use crate::rig::{Rig, spec};

async fn get(rig: &Rig, path: &str) -> Value {
    let (status, answer) = rig.native("GET", path, Value::Null).await;
    assert_eq!(status, 200, "{path}: {answer}");
    answer
}

fn hosts(answer: &Value) -> Vec<&str> {
    let rows = answer["hosts"].as_array().unwrap().iter();
    rows.map(|row| row["host"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn hosts_are_filtered_sorted_and_count_their_processes_by_state() {
    let rig = Rig::new().await;
    let agent = rig.agent("0:10.0.0.9").await;
    for (name, on) in [
        ("a/x", json!(["10.0.0.9", "7:10.0.0.2"])),
        ("b/x", json!(["10.0.0.9"])),
    ] {
        let path = format!("/processes/{name}");
        let body = json!({"hosts": on, "spec": spec()});
        assert_eq!(rig.native("POST", &path, body).await.0, 200);
    }
    let running = Status {
        state: State::Running,
        process_state: ProcessState::Running,
        ..Status::default()
    };
    agent.reports("a/x", running).await;
    for (query, expected) in [
        ("", vec!["0:10.0.0.9", "7:10.0.0.2"]),
        ("q=10.0.0.2", vec!["7:10.0.0.2"]),
        ("q=10.0+0.9", vec!["0:10.0.0.9"]),
        ("cloud=7", vec!["7:10.0.0.2"]),
        ("cloud=7&connected=true", vec![]),
        ("version=none", vec![]),
        ("order=-host", vec!["7:10.0.0.2", "0:10.0.0.9"]),
        ("order=processes", vec!["7:10.0.0.2", "0:10.0.0.9"]),
        ("order=-processes,host&limit=1", vec!["0:10.0.0.9"]),
    ] {
        let answer = get(&rig, &format!("/hosts?{query}")).await;
        assert_eq!(hosts(&answer), expected, "{query}");
    }
    let shown = get(&rig, "/hosts/0:10.0.0.9").await;
    assert_eq!(shown["states"], json!({"running": 1, "unknown": 1}));
    for (query, field) in [
        ("order=size", "order"),
        ("cloud=x", "cloud"),
        ("connected=2", "connected"),
    ] {
        let (status, answer) = rig
            .native("GET", &format!("/hosts?{query}"), Value::Null)
            .await;
        assert_eq!(
            (status, &answer["error"]["field"]),
            (400, &json!(field)),
            "{query}"
        );
    }
    // States of what the caller may not see are not told.
    let app = json!({"code": "limited", "secret": "secret-0123456789", "grants": [
        {"role": "viewer", "namespaces": ["b"]}]});
    assert_eq!(rig.native("POST", "/apps", app).await.0, 201);
    let headers = [
        ("X-Bkapi-App-Code", "limited"),
        ("X-Bkapi-App-Secret", "secret-0123456789"),
    ];
    let shown = rig
        .send("GET", "/api/v1/hosts/0:10.0.0.9", &headers, b"")
        .await
        .json();
    assert_eq!(shown["states"], json!({"unknown": 1}));
    let found = rig
        .send("GET", "/api/v1/search?q=x", &headers, b"")
        .await
        .json();
    assert_eq!(found["processes"], json!(["b/x"]));
}

#[tokio::test]
async fn a_search_finds_every_kind() {
    let business = Business::new().await;
    let rig = &business.rig;
    let body = json!({"hosts": ["10.0.0.1"], "spec": spec()});
    for name in ["web/nginx", "nginx-old/proxy"] {
        let path = format!("/processes/{name}");
        assert_eq!(rig.native("POST", &path, body.clone()).await.0, 200);
    }
    let template =
        json!({"template_name": "Nginx main", "file_name": "n.conf", "abs_path": "/etc"});
    let (status, made) = rig
        .native("POST", "/businesses/2/templates", template)
        .await;
    assert_eq!(status, 201, "{made}");
    let found = get(rig, "/search?q=NGINX").await;
    let names: Vec<&str> = found["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"web/nginx") && names.contains(&"nginx-old/proxy"),
        "{names:?}"
    );
    assert_eq!(found["namespaces"], json!(["nginx-old"]));
    assert_eq!(
        found["templates"],
        json!([{"business": 2, "id": made["id"], "name": "Nginx main"}])
    );
    let one = get(rig, "/search?q=nginx&limit=1").await;
    assert_eq!(one["processes"].as_array().unwrap().len(), 1);
    let both = get(rig, "/search?q=web+nginx").await;
    assert_eq!(both["processes"], json!(["web/nginx"]));
    let by_address = get(rig, "/search?q=10.0.0.1").await;
    assert!(
        by_address["hosts"]
            .as_array()
            .unwrap()
            .iter()
            .any(|host| host["host"] == "0:10.0.0.1")
    );
    let list = get(rig, "/businesses").await;
    let name = list["businesses"][0]["name"].as_str().unwrap();
    let encoded: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let by_name = get(rig, &format!("/search?q={encoded}")).await;
    assert_eq!(by_name["businesses"], json!([{"id": 2, "name": name}]));
    let (status, answer) = rig.native("GET", "/search", Value::Null).await;
    assert_eq!((status, &answer["error"]["field"]), (400, &json!("q")));
}
