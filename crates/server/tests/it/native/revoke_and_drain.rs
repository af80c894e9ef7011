//! /api/v1/hosts/{host}/revoke, /drain, and the uses of join tokens.

use serde_json::{Value, json};

use crate::rig::{JOIN, Rig};

const HOST: &str = "0:10.0.0.1";

#[tokio::test]
async fn a_revoked_host_is_audited_and_not_revoked_again() {
    let rig = Rig::new().await;
    let host = HOST.parse().unwrap();
    let joined = rig.control.enrolment().enrol(JOIN, host, None, None).await;
    joined.unwrap();
    let path = format!("/hosts/{HOST}/revoke");
    let (status, _) = rig.native("POST", &path, Value::Null).await;
    assert_eq!(status, 204);
    let (_, shown) = rig
        .native("GET", &format!("/hosts/{HOST}"), Value::Null)
        .await;
    assert_eq!(shown["enrolled_at"], 0);
    let (status, again) = rig.native("POST", &path, Value::Null).await;
    assert_eq!(
        (status, &again["error"]["code"]),
        (404, &json!("not_found"))
    );
    let (status, _) = rig
        .native("POST", "/hosts/nowhere/revoke", Value::Null)
        .await;
    assert_eq!(status, 400);
    let (_, audit) = rig.native("GET", "/audit", Value::Null).await;
    let last = &audit["audit"][0];
    assert_eq!(
        (&last["action"], &last["object"]),
        (&json!("host.revoke"), &json!(HOST)),
        "{audit}"
    );
}

#[tokio::test]
async fn a_single_server_cannot_be_drained_and_a_draining_one_is_not_ready() {
    let rig = Rig::new().await;
    let (status, refused) = rig.native("POST", "/drain", Value::Null).await;
    assert_eq!(
        (status, &refused["error"]["code"]),
        (409, &json!("conflict"))
    );
    assert_eq!(rig.send("GET", "/readyz", &[], b"").await.status, 200);
    rig.control.replicas().set_draining(true);
    let ready = rig.send("GET", "/readyz", &[], b"").await;
    assert_eq!(ready.status, 503);
    assert!(ready.json()["waiting_for"]["drain"].is_string());
    let (status, answer) = rig.native("DELETE", "/drain", Value::Null).await;
    assert_eq!(
        (status, answer),
        (200, json!({"draining": false, "agents": 0}))
    );
    assert_eq!(rig.send("GET", "/readyz", &[], b"").await.status, 200);
}

#[tokio::test]
async fn a_token_shows_its_remaining_uses() {
    let rig = Rig::new().await;
    let (status, _) = rig.native("POST", "/tokens", json!({"uses": 0})).await;
    assert_eq!(status, 400);
    let (status, created) = rig.native("POST", "/tokens", json!({"uses": 2})).await;
    assert_eq!(status, 201);
    let token = created["token"].as_str().unwrap();
    let secret = token.split('.').next().unwrap();
    let host = HOST.parse().unwrap();
    rig.control
        .enrolment()
        .enrol(secret, host, None, None)
        .await
        .unwrap();
    let (_, list) = rig.native("GET", "/tokens", Value::Null).await;
    let tokens = list["tokens"].as_array().unwrap();
    let ours = tokens.iter().find(|token| token["id"] == created["id"]);
    assert_eq!(ours.unwrap()["uses_left"], 1, "{list}");
}

#[tokio::test]
async fn a_token_shows_whether_it_replaces_agents() {
    let rig = Rig::new().await;
    let body = json!({"host": HOST, "uses": 1, "replace": true});
    let (status, created) = rig.native("POST", "/tokens", body).await;
    assert_eq!(status, 201, "{created}");
    let (_, list) = rig.native("GET", "/tokens", Value::Null).await;
    let tokens = list["tokens"].as_array().unwrap();
    for token in tokens {
        let is_ours = token["id"] == created["id"];
        assert_eq!(token["replace"], json!(is_ours), "{list}");
    }
    let body = json!({"replace": "perhaps"});
    let (status, refused) = rig.native("POST", "/tokens", body).await;
    assert_eq!(status, 400);
    assert!(refused.to_string().contains("replace"), "{refused}");
    let (_, audit) = rig.native("GET", "/audit", Value::Null).await;
    let detail = &audit["audit"][0]["detail"];
    assert_eq!(detail, &json!(format!("for {HOST}, replaces agents")));
}
