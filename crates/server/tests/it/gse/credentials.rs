//! Credentials: where callers put them, and the code for each kind of missing one.

use serde_json::{Value, json};

use crate::rig::{APP, Rig, SECRET, target};

async fn code(rig: &Rig, body: Value) -> i64 {
    let envelope = rig
        .bare("POST", "/v2/gse/get_proc_status/", &body.to_string())
        .await;
    envelope["code"].as_i64().unwrap()
}

fn with(fields: Value) -> Value {
    let mut body = target();
    for (key, value) in fields.as_object().unwrap() {
        body[key] = value.clone();
    }
    body
}

#[tokio::test]
async fn each_missing_credential_has_its_code() {
    let rig = Rig::new().await;
    let (status, created) = rig
        .native(
            "POST",
            "/apps",
            json!({"code": "plain", "namespaces": ["own"]}),
        )
        .await;
    assert_eq!(status, 201, "{created}");
    let plain = created["secret"].as_str().unwrap();
    for (fields, expected) in [
        (json!({}), 1_306_406),
        (json!({"bk_app_code": APP}), 1_306_406),
        (
            json!({"bk_app_code": "nobody", "bk_app_secret": "x", "bk_username": "a"}),
            1_306_403,
        ),
        (
            json!({"bk_app_code": APP, "bk_app_secret": "wrong", "bk_username": "a"}),
            1_306_403,
        ),
        (
            json!({"bk_app_code": APP, "bk_app_secret": SECRET}),
            1_306_401,
        ),
        (
            json!({"bk_app_code": APP, "bk_app_secret": SECRET, "bk_token": "stale"}),
            1_306_401,
        ),
        (
            json!({"bk_app_code": "plain", "bk_app_secret": plain, "bk_username": "a"}),
            1_306_401,
        ),
        (
            json!({"bk_app_code": APP, "bk_app_secret": SECRET, "bk_username": "a"}),
            0,
        ),
    ] {
        assert_eq!(code(&rig, with(fields.clone())).await, expected, "{fields}");
    }
}

#[tokio::test]
async fn an_app_that_may_not_name_users_needs_a_login() {
    let rig = Rig::new().await;
    let (_, created) = rig
        .native(
            "POST",
            "/apps",
            json!({"code": "plain", "namespaces": ["own"]}),
        )
        .await;
    let (status, _) = rig
        .native(
            "POST",
            "/users",
            json!({"name": "bob", "password": "correct horse"}),
        )
        .await;
    assert_eq!(status, 201);
    let (status, login) = rig
        .native(
            "POST",
            "/login",
            json!({"username": "bob", "password": "correct horse"}),
        )
        .await;
    assert_eq!(status, 200, "{login}");
    let own = json!({"bk_app_code": "plain", "bk_app_secret": created["secret"], "bk_token": login["bk_token"],
        "meta": {"namespace": "own", "name": "p"}});
    assert_eq!(code(&rig, with(own.clone())).await, 0);
    // The app may neither read nor write another namespace.
    let mut foreign = with(own);
    foreign["meta"]["namespace"] = json!("gse");
    let envelope = rig
        .bare("POST", "/v2/gse/get_proc_status/", &foreign.to_string())
        .await;
    assert_eq!(
        (&envelope["code"], &envelope["message"]),
        (
            &json!(1_306_403),
            &json!(
                "app \"plain\" may not see namespace \"gse\": that takes the role of viewer there"
            )
        )
    );
    foreign["op_type"] = json!(1);
    for (name, body) in [
        ("operate_proc", foreign.clone()),
        ("unregister_proc_info", foreign.clone()),
        ("get_process_group_info", foreign.clone()),
        ("sync_proc_status", with_page(foreign)),
    ] {
        let envelope = rig
            .bare("POST", &format!("/v2/gse/{name}/"), &body.to_string())
            .await;
        assert_eq!(envelope["code"], 1_306_403, "{name}: {envelope}");
    }
}

fn with_page(mut body: Value) -> Value {
    body["page"] = json!({"start": 0, "limit": 10});
    body
}

#[tokio::test]
async fn credentials_are_read_from_headers_query_and_cookie() {
    let rig = Rig::new().await;
    let body = target().to_string();
    let all =
        format!(r#"{{"bk_app_code":"{APP}","bk_app_secret":"{SECRET}","bk_username":"alice"}}"#);
    let apart = [
        ("X-Bkapi-App-Code", APP),
        ("X-Bkapi-App-Secret", SECRET),
        ("X-Bkapi-User-Name", "alice"),
    ];
    for headers in [&[("X-Bkapi-Authorization", all.as_str())][..], &apart] {
        let answer = rig
            .send("POST", "/v2/gse/get_proc_status/", headers, body.as_bytes())
            .await;
        assert_eq!(answer.json()["code"], 0);
    }
    let path = format!(
        "/procapi/v1/proc/status?bk_app_code={APP}&bk_app_secret={SECRET}&bk_username=alice"
    );
    let answer = rig.send("GET", &path, &[], body.as_bytes()).await;
    assert_eq!(answer.json()["code"], 0, "{:?}", answer.json());

    rig.native(
        "POST",
        "/users",
        json!({"name": "bob", "password": "correct horse"}),
    )
    .await;
    let login = json!({"username": "bob", "password": "correct horse"});
    let (_, login) = rig.native("POST", "/login", login).await;
    let cookie = format!("other=1; bk_token={}", login["bk_token"].as_str().unwrap());
    let headers = [apart[0], apart[1], ("Cookie", cookie.as_str())];
    let answer = rig
        .send(
            "POST",
            "/v2/gse/get_proc_status/",
            &headers,
            body.as_bytes(),
        )
        .await;
    assert_eq!(answer.json()["code"], 0);
}

#[tokio::test]
async fn a_rate_limit_has_its_own_code() {
    let rig = Rig::new().await;
    let app = json!({"code": "slow", "secret": "slow-secret-0123456789", "trusted": true, "rate_limit": 1});
    let (status, answer) = rig.native("POST", "/apps", app).await;
    assert_eq!(status, 201, "{answer}");
    let body = with(
        json!({"bk_app_code": "slow", "bk_app_secret": "slow-secret-0123456789", "bk_username": "a"}),
    );
    let mut codes = Vec::new();
    for _ in 0..5 {
        codes.push(code(&rig, body.clone()).await);
    }
    assert_eq!(codes[0], 0);
    assert!(codes.contains(&1_306_429), "{codes:?}");
    let headers = [
        ("X-Bkapi-App-Code", "slow"),
        ("X-Bkapi-App-Secret", "slow-secret-0123456789"),
        ("X-Bkapi-User-Name", "a"),
    ];
    let answer = rig.send("GET", "/api/v1/processes", &headers, b"").await;
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (429, Some("1"))
    );
}
