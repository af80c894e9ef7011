//! Cross-site request forgery: pages of other origins cannot change anything.

use serde_json::{Value, json};
use server::{HttpListenerSettings, Origin};

use crate::rig::{APP, Answer, Rig, SECRET, example, target};

const USER: &str = r#"{"name":"mallory","password":"correct horse","grants":[{"role":"admin"}]}"#;

/// Creates an admin and logs in; returns the cookie.
async fn admin(rig: &Rig) -> String {
    let user = json!({"name": "root", "password": "correct horse", "grants": [{"role": "admin"}]});
    let (status, answer) = rig.native("POST", "/users", user).await;
    assert_eq!(status, 201, "{answer}");
    let login = json!({"username": "root", "password": "correct horse"}).to_string();
    let answer = rig
        .send("POST", "/api/v1/login", &[], login.as_bytes())
        .await;
    assert_eq!(answer.status, 200);
    let cookie = answer.header("set-cookie").unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

async fn post(rig: &Rig, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    rig.send("POST", path, headers, body.as_bytes()).await
}

async fn users(rig: &Rig) -> Value {
    rig.native("GET", "/users", Value::Null).await.1
}

#[tokio::test]
async fn a_foreign_page_cannot_act_with_a_cookie() {
    let rig = Rig::new().await;
    let cookie = admin(&rig).await;
    let before = users(&rig).await;
    // The rig's `Host` header is `muster`.
    for header in [
        ("Origin", "http://muster:8080"),
        ("Origin", "http://evil.muster"),
        ("Origin", "https://muster"),
        ("Origin", "null"),
        ("Referer", "http://muster.evil/"),
    ] {
        let headers = [("Cookie", cookie.as_str()), header];
        for (method, path, body) in [
            ("POST", "/api/v1/users", USER),
            ("POST", "/api/v1/tokens", "{}"),
            ("POST", "/api/v1/logout", ""),
            ("DELETE", "/api/v1/users/root", ""),
        ] {
            let answer = rig.send(method, path, &headers, body.as_bytes()).await;
            assert_eq!(answer.status, 403, "{header:?} {path}");
            let error = answer.json()["error"].clone();
            assert_eq!(error["code"], "forbidden");
            let message = error["message"].as_str().unwrap();
            assert!(message.starts_with("origin: "), "{message}");
        }
    }
    // A foreign page cannot log in either.
    let login = json!({"username": "root", "password": "correct horse"}).to_string();
    let foreign = [("Origin", "http://evil.test")];
    assert_eq!(
        post(&rig, "/api/v1/login", &foreign, &login).await.status,
        403
    );
    assert_eq!(users(&rig).await, before);
    assert_eq!(
        rig.native("GET", "/tokens", Value::Null).await.1["tokens"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn a_cookie_alone_needs_an_origin_to_change_something() {
    let rig = Rig::new().await;
    let cookie = admin(&rig).await;
    let cookie = ("Cookie", cookie.as_str());
    let answer = post(&rig, "/api/v1/users", &[cookie], USER).await;
    assert_eq!(answer.status, 403);
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("Authorization: Bearer"), "{message}");
    // Reading changes nothing, and a page of another origin cannot see the response.
    let answer = rig.send("GET", "/api/v1/users", &[cookie], b"").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), None);
    for header in [
        ("Origin", "http://muster"),
        ("Referer", "http://muster/docs"),
    ] {
        let token = post(&rig, "/api/v1/tokens", &[cookie, header], "{}").await;
        assert_eq!(token.status, 201, "{header:?}");
    }
}

#[tokio::test]
async fn other_credentials_need_no_origin() {
    let rig = Rig::new().await;
    let cookie = admin(&rig).await;
    let bearer = format!("Bearer {}", cookie.split_once('=').unwrap().1);
    let foreign = ("Origin", "http://elsewhere.test");
    let headers = [("Authorization", bearer.as_str()), foreign];
    // No browser adds this header by itself.
    assert_eq!(
        post(&rig, "/api/v1/tokens", &headers, "{}").await.status,
        201
    );
}

#[tokio::test]
async fn a_configured_origin_is_allowed() {
    let settings = HttpListenerSettings {
        origins: vec![Origin::parse("https://muster.example.com").unwrap()],
        ..HttpListenerSettings::default()
    };
    let rig = Rig::with(settings, |state| state).await;
    admin(&rig).await;
    let header = ("Origin", "https://muster.example.com");
    let login = json!({"username": "root", "password": "correct horse"}).to_string();
    let answer = post(&rig, "/api/v1/login", &[header], &login).await;
    assert_eq!(answer.status, 200);
    // The proxy terminates TLS, so the cookie is for TLS only.
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-muster_session="), "{cookie}");
    assert!(
        cookie.contains("; Path=/;") && cookie.ends_with("; Secure"),
        "{cookie}"
    );
    let cookie = ("Cookie", cookie.split(';').next().unwrap());
    let answer = post(&rig, "/api/v1/tokens", &[cookie, header], "{}").await;
    assert_eq!(answer.status, 201);
    let answer = post(&rig, "/api/v1/logout", &[cookie, header], "").await;
    assert_eq!(answer.status, 204);
}

#[tokio::test]
async fn a_body_that_is_not_json_is_refused() {
    let rig = Rig::new().await;
    admin(&rig).await;
    let app = [("X-Bkapi-App-Code", APP), ("X-Bkapi-App-Secret", SECRET)];
    let user = ("X-Bkapi-User-Name", "alice");
    for bad in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/merge-patch+json",
        "application/jsonp",
        "",
    ] {
        let headers = [app[0], app[1], user, ("Content-Type", bad)];
        let answer = post(&rig, "/api/v1/users", &headers, USER).await;
        assert_eq!(answer.status, 415, "{bad}");
        assert_eq!(answer.json()["error"]["code"], "not_json");
        let login = json!({"username": "root", "password": "correct horse"}).to_string();
        let answer = post(&rig, "/api/v1/login", &[("Content-Type", bad)], &login).await;
        assert_eq!(answer.status, 415, "{bad}");
    }
    let good = "Application/JSON; charset=utf-8";
    let headers = [app[0], app[1], user, ("Content-Type", good)];
    assert_eq!(
        post(&rig, "/api/v1/users", &headers, USER).await.status,
        201
    );
    // Without a body the content type does not matter.
    let headers = [app[0], app[1], user, ("Content-Type", "text/plain")];
    let answer = rig.send("GET", "/api/v1/users", &headers, b"").await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_foreign_page_cannot_use_a_cookie_in_the_dialects_of_gse() {
    let rig = Rig::new().await;
    let cookie = admin(&rig).await;
    let token = cookie.split_once('=').unwrap().1;
    let cookie = format!("bk_token={token}");
    let mut body = example();
    body["bk_app_code"] = json!(APP);
    body["bk_app_secret"] = json!(SECRET);
    let body = body.to_string();
    let path = "/v2/gse/register_proc_info/";
    let foreign = [("Cookie", cookie.as_str()), ("Origin", "http://evil.test")];
    let answer = post(&rig, path, &foreign, &body).await;
    assert_eq!(answer.json()["code"], 1_306_402, "{}", answer.json());
    let kit = "/v2/gsekit/api/job/create_job/";
    let answer = post(&rig, kit, &foreign, &body).await;
    assert_eq!(answer.json()["code"], 1_306_402, "{}", answer.json());
    let (_, processes) = rig.native("GET", "/processes", Value::Null).await;
    assert_eq!(processes["count"], 0);
    // A cookie alone names no app; the cookie of the native API does not count here.
    let bare = target().to_string();
    let own = [("Cookie", cookie.as_str()), ("Origin", "http://muster")];
    let answer = post(&rig, path, &own, &bare).await;
    assert_eq!(answer.json()["code"], 1_306_406);
    // An SDK passes on its user's cookie without an origin.
    let answer = post(&rig, path, &own[..1], &body).await;
    assert_eq!(answer.json()["code"], 0, "{}", answer.json());
}
