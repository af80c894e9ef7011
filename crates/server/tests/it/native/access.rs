//! /api/v1/apps, /users, /tokens, /login, /audit.

use serde_json::{Value, json};

use crate::rig::Rig;

#[tokio::test]
async fn apps_are_created_listed_and_deleted() {
    let rig = Rig::new().await;
    let body = json!({"code": "ci", "namespaces": ["own"], "rate_limit": "5"});
    let (status, created) = rig.native("POST", "/apps", body.clone()).await;
    assert_eq!((status, &created["code"]), (201, &json!("ci")));
    assert!(created["secret"].as_str().unwrap().len() >= 16);
    let (status, twice) = rig.native("POST", "/apps", body).await;
    assert_eq!((status, &twice["error"]["code"]), (409, &json!("conflict")));
    let (_, list) = rig.native("GET", "/apps", Value::Null).await;
    let ci = list["apps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|app| app["code"] == "ci")
        .unwrap();
    assert_eq!(
        (&ci["namespaces"], &ci["trusted"], &ci["rate_limit"]),
        (&json!(["own"]), &json!(false), &json!(5))
    );
    assert!(!list.to_string().contains("secret") && !list.to_string().contains("hash"));
    let (status, _) = rig.native("DELETE", "/apps/ci", Value::Null).await;
    assert_eq!(status, 204);
    let (status, _) = rig.native("DELETE", "/apps/ci", Value::Null).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_login_alone_is_enough_and_ends_with_logout() {
    let rig = Rig::new().await;
    let user = json!({"name": "bob", "password": "correct horse"});
    assert_eq!(rig.native("POST", "/users", user).await.0, 201);
    let login = |password: &str| json!({"username": "bob", "password": password}).to_string();
    let wrong = rig
        .send("POST", "/api/v1/login", &[], login("wrong").as_bytes())
        .await;
    assert_eq!(wrong.status, 401);
    let right = rig
        .send(
            "POST",
            "/api/v1/login",
            &[],
            login("correct horse").as_bytes(),
        )
        .await;
    assert_eq!(right.status, 200);
    let cookie = right.header("set-cookie").unwrap().to_owned();
    assert!(
        cookie.starts_with("muster_session=")
            && cookie.contains("HttpOnly")
            && cookie.contains("SameSite=Lax")
    );
    let token = right.json()["bk_token"].as_str().unwrap().to_owned();
    let bearer = format!("Bearer {token}");
    let cookie = format!("muster_session={token}");
    for headers in [
        [("Authorization", bearer.as_str())],
        [("Cookie", cookie.as_str())],
    ] {
        let answer = rig.send("GET", "/api/v1/processes", &headers, b"").await;
        assert_eq!(answer.status, 200);
        // A user without a role is no administrator.
        let answer = rig.send("GET", "/api/v1/apps", &headers, b"").await;
        assert_eq!(answer.status, 403);
    }
    let headers = [("Authorization", bearer.as_str())];
    assert_eq!(
        rig.send("POST", "/api/v1/logout", &headers, b"")
            .await
            .status,
        204
    );
    let answer = rig.send("GET", "/api/v1/processes", &headers, b"").await;
    assert_eq!(
        (answer.status, answer.header("www-authenticate")),
        (401, Some("Bearer"))
    );
}

#[tokio::test]
async fn an_app_that_is_not_trusted_calls_without_a_user() {
    let rig = Rig::new().await;
    let body = json!({"code": "ops", "namespaces": ["web"]});
    let (status, created) = rig.native("POST", "/apps", body).await;
    assert_eq!(status, 201);
    let secret = created["secret"].as_str().unwrap();
    let app = [("X-Bkapi-App-Code", "ops"), ("X-Bkapi-App-Secret", secret)];
    let call = |method: &'static str, path: &'static str, headers: Vec<(&'static str, String)>| {
        let rig = &rig;
        async move {
            let headers: Vec<(&str, &str)> = headers
                .iter()
                .map(|(key, value)| (*key, value.as_str()))
                .collect();
            let answer = rig.send(method, path, &headers, b"").await;
            (answer.status, answer.json())
        }
    };
    let own: Vec<(&str, String)> = app
        .iter()
        .map(|(key, value)| (*key, (*value).to_owned()))
        .collect();
    let (status, caller) = call("GET", "/api/v1/whoami", own.clone()).await;
    assert_eq!(status, 200);
    let role = json!({"role": "operator", "everything": false, "namespaces": ["web"], "businesses": [], "label": null});
    assert_eq!(
        caller,
        json!({"app": {"code": "ops", "trusted": false, "rate_limit": 0, "grants": [role]}, "user": null})
    );
    assert_eq!(call("GET", "/api/v1/processes", own.clone()).await.0, 200);
    let (status, refused) = call("GET", "/api/v1/processes?namespace=db", own.clone()).await;
    assert_eq!(status, 403);
    assert_eq!(
        refused["error"],
        json!({"code": "forbidden", "message": "app ops lacks role viewer in namespace db",
            "missing_role": {"app": "ops", "user": null, "role": "viewer", "namespace": "db", "business": null}})
    );
    let named = [&own[..], &[("X-Bkapi-User-Name", "alice".to_owned())]].concat();
    let (status, refused) = call("GET", "/api/v1/processes", named).await;
    assert_eq!(status, 401);
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("app ops is not trusted"), "{message}");

    // The GSE dialects still require a user, in the same words.
    let mut body = crate::rig::target();
    body["bk_app_code"] = json!("ops");
    body["bk_app_secret"] = json!(secret);
    let path = "/v2/gse/get_proc_status/";
    for (user, code, message) in [
        (
            Value::Null,
            1_306_401,
            "one of bk_token and bk_username is required",
        ),
        (
            json!("alice"),
            1_306_401,
            "bk_username: app \"ops\" may not name a user; it needs a bk_token",
        ),
    ] {
        body["bk_username"] = user;
        let envelope = rig.bare("POST", path, &body.to_string()).await;
        assert_eq!(
            (&envelope["code"], &envelope["message"]),
            (&json!(code), &json!(message))
        );
    }
}

#[tokio::test]
async fn a_login_is_told_who_it_is_and_what_it_lacks() {
    let rig = Rig::new().await;
    let user = json!({"name": "alice", "password": "correct horse", "grants": []});
    assert_eq!(rig.native("POST", "/users", user).await.0, 201);
    let body = json!({"username": "alice", "password": "correct horse"}).to_string();
    let answer = rig
        .send("POST", "/api/v1/login", &[], body.as_bytes())
        .await;
    let login = answer.json();
    let token = login["bk_token"].as_str().unwrap();
    let (bearer, cookie) = (format!("Bearer {token}"), format!("muster_session={token}"));
    // A user without a role may ask who they are, with a token and with the cookie of a browser.
    for header in [
        ("Authorization", bearer.as_str()),
        ("Cookie", cookie.as_str()),
    ] {
        let answer = rig.send("GET", "/api/v1/whoami", &[header], b"").await;
        let user = json!({"name": "alice", "logged_in": true, "grants": [], "has_password": true, "expires_at": login["expires_at"]});
        assert_eq!(
            (answer.status, answer.json()),
            (200, json!({"app": null, "user": user}))
        );
    }
    let lacks = |method: &'static str, path: &'static str, body: &'static str| {
        let (rig, bearer) = (&rig, bearer.as_str());
        async move {
            let headers = [("Authorization", bearer)];
            let answer = rig.send(method, path, &headers, body.as_bytes()).await;
            assert_eq!(answer.status, 403);
            answer.json()["error"]["message"].clone()
        }
    };
    assert_eq!(
        lacks("GET", "/api/v1/processes", "").await,
        "user alice has no role"
    );
    let grant = json!({"role": "viewer", "namespaces": ["web"]});
    assert_eq!(
        rig.native("POST", "/users/alice/grants", grant).await.0,
        201
    );
    let start = r#"{"op": "start", "hosts": ["10.0.0.1"]}"#;
    assert_eq!(
        lacks("POST", "/api/v1/processes/web/nginx/operate", start).await,
        "user alice lacks role operator in namespace web"
    );
    assert_eq!(
        lacks("GET", "/api/v1/users", "").await,
        "user alice lacks role admin"
    );

    // A trusted app names its user, whose roles do not count.
    let (status, caller) = rig.native("GET", "/whoami", Value::Null).await;
    assert_eq!(status, 200);
    assert_eq!(
        caller["user"],
        json!({"name": "alice", "logged_in": false, "grants": null, "has_password": null, "expires_at": null})
    );
    assert_eq!(caller["app"]["trusted"], true);

    let headers = [("Authorization", bearer.as_str())];
    rig.send("POST", "/api/v1/logout", &headers, b"").await;
    let answer = rig.send("GET", "/api/v1/whoami", &headers, b"").await;
    assert_eq!(
        (answer.status, &answer.json()["error"]["message"]),
        (
            401,
            &json!("the login has expired or was ended: log in again")
        )
    );
}

#[tokio::test]
async fn requests_without_credentials_are_refused() {
    let rig = Rig::new().await;
    for path in [
        "/processes",
        "/tasks",
        "/hosts",
        "/apps",
        "/watch",
        "/audit",
    ] {
        let answer = rig.send("GET", &format!("/api/v1{path}"), &[], b"").await;
        assert_eq!(answer.status, 401, "{path}");
        assert_eq!(answer.json()["error"]["code"], "unauthenticated");
        let headers = [("X-Bkapi-Authorization", "no json")];
        let answer = rig
            .send("GET", &format!("/api/v1{path}"), &headers, b"")
            .await;
        assert_eq!(answer.status, 401, "{path}");
    }
}

#[tokio::test]
async fn join_tokens_carry_the_fingerprint_of_the_ca() {
    let rig = Rig::new().await;
    let body = json!({"host": "0:10.0.0.1", "expires_in": "24h"});
    let (status, created) = rig.native("POST", "/tokens", body).await;
    assert_eq!(status, 201, "{created}");
    let token = wire::enrol::JoinToken::parse(created["token"].as_str().unwrap()).unwrap();
    assert_eq!(token.ca_sha256, Some([7; 32]));
    assert!(created["expires_at"].as_i64().unwrap() > 1_600_000_000_000);
    let (_, list) = rig.native("GET", "/tokens", Value::Null).await;
    let row = list["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["id"] == created["id"])
        .unwrap();
    assert_eq!(row["host"], "0:10.0.0.1");
    let path = format!("/tokens/{}", created["id"].as_str().unwrap());
    assert_eq!(rig.native("DELETE", &path, Value::Null).await.0, 204);
}

#[tokio::test]
async fn every_change_is_in_the_audit_trail() {
    let rig = Rig::new().await;
    rig.native("POST", "/apps", json!({"code": "ci"})).await;
    let mut body = crate::rig::example();
    body["bk_app_code"] = json!(crate::rig::APP);
    body["bk_app_secret"] = json!(crate::rig::SECRET);
    body["bk_username"] = json!("carol");
    let headers = [("X-Bkapi-Request-Id", "trace-7")];
    let path = "/v2/gse/register_proc_info/";
    rig.send("POST", path, &headers, body.to_string().as_bytes())
        .await;
    let (status, trail) = rig.native("GET", "/audit?user=carol", Value::Null).await;
    assert_eq!(status, 200);
    let line = &trail["audit"][0];
    assert_eq!(
        (&line["user"], &line["request_id"], &line["from"]),
        (&json!("carol"), &json!("trace-7"), &json!("127.0.0.1"))
    );
    assert_eq!(line["action"], "register");
    assert!(!trail.to_string().contains(crate::rig::SECRET));
}
