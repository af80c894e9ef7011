//! /api/v1/me: the own password and the own logins.

use serde_json::{Value, json};

use crate::rig::{HEADERS, Rig};

async fn send(rig: &Rig, token: &str, method: &str, path: &str, body: Value) -> (u16, Value) {
    let bearer = format!("Bearer {token}");
    let headers = [
        ("Authorization", &*bearer),
        ("Content-Type", "application/json"),
    ];
    let body = match body {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    let path = format!("/api/v1{path}");
    let answer = rig.send(method, &path, &headers, &body).await;
    let json = match answer.body.is_empty() {
        true => Value::Null,
        false => answer.json(),
    };
    (answer.status, json)
}

async fn log_in(rig: &Rig, password: &str) -> Option<String> {
    let body = json!({"username": "ada", "password": password});
    let (status, answer) = rig.native("POST", "/login", body).await;
    (status == 200).then(|| answer["bk_token"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_user_without_a_role_changes_the_password_and_ends_logins() {
    let rig = Rig::new().await;
    let user = json!({"name": "ada", "password": "correct horse", "grants": []});
    assert_eq!(rig.native("POST", "/users", user).await.0, 201);
    let first = log_in(&rig, "correct horse").await.unwrap();
    let second = log_in(&rig, "correct horse").await.unwrap();
    let (status, list) = send(&rig, &first, "GET", "/me/logins", Value::Null).await;
    assert_eq!(status, 200, "{list}");
    let logins = list["logins"].as_array().unwrap();
    assert_eq!(logins.len(), 2);
    assert!(!list.to_string().contains(&first), "no token is shown");
    assert_eq!(logins[0]["from"], "127.0.0.1", "{list}");
    assert_eq!(logins[0]["user_agent"], "");
    let other = logins
        .iter()
        .find(|login| login["current"] == false)
        .unwrap();
    let path = format!("/me/logins/{}", other["id"].as_str().unwrap());
    assert_eq!(
        send(&rig, &first, "DELETE", &path, Value::Null).await.0,
        204
    );
    assert_eq!(
        send(&rig, &second, "GET", "/me/logins", Value::Null)
            .await
            .0,
        401
    );
    let (status, answer) = send(&rig, &first, "DELETE", &path, Value::Null).await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (404, &json!("not_found"))
    );

    for (body, field) in [
        (json!({"new": "battery staple"}), "old"),
        (json!({"old": "correct horse"}), "new"),
        (json!({"old": "wrong", "new": "battery staple"}), "old"),
        (json!({"old": "correct horse", "new": "short"}), "new"),
        (
            json!({"old": "correct horse", "new": "battery staple", "user": "bob"}),
            "user",
        ),
    ] {
        let (status, answer) = send(&rig, &first, "POST", "/me/password", body).await;
        assert_eq!(
            (status, &answer["error"]["field"]),
            (400, &json!(field)),
            "{answer}"
        );
    }
    let body = json!({"old": "correct horse", "new": "battery staple"});
    let (status, answer) = send(&rig, &first, "POST", "/me/password", body.clone()).await;
    assert_eq!(status, 204, "{answer}");
    assert_eq!(log_in(&rig, "correct horse").await, None);
    assert!(log_in(&rig, "battery staple").await.is_some());
    // Refusals are written a little later.
    for action in ["user.password", "login.end", "password.failed"] {
        let path = format!("/audit?user=ada&action={action}");
        while rig.native("GET", &path, Value::Null).await.1["audit"] == json!([]) {
            tokio::task::yield_now().await;
        }
    }
    // An app has no password, even if it names a user.
    let text = body.to_string();
    let answer = rig
        .send("POST", "/api/v1/me/password", &HEADERS, text.as_bytes())
        .await;
    assert_eq!(answer.status, 401);
}
