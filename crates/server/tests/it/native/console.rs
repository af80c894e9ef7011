//! The web console: its files, their headers, and links that log a browser in.

use serde_json::json;

use crate::rig::Rig;

#[tokio::test]
async fn the_root_leads_to_the_console() {
    let rig = Rig::new().await;
    for path in ["/", "/ui"] {
        let answer = rig.send("GET", path, &[], b"").await;
        assert_eq!(answer.status, 307, "{path}");
        assert_eq!(answer.header("location"), Some("/ui/"));
    }
}

#[tokio::test]
async fn every_address_of_the_console_shows_its_page() {
    if !is_built() {
        return;
    }
    let rig = Rig::new().await;
    let index = console::index().unwrap();
    for path in [
        "/ui/",
        "/ui/processes?state=failed",
        "/ui/p/web/nginx/0:10.0.0.1",
    ] {
        let answer = rig.send("GET", path, &[], b"").await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(
            answer.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        let policy = answer.header("content-security-policy").unwrap();
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(rule), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert!(answer.body == index.plain);
        let known = [("If-None-Match", index.etag)];
        let again = rig.send("GET", path, &known, b"").await;
        assert_eq!((again.status, again.body.len()), (304, 0));
    }
}

#[tokio::test]
async fn scripts_are_compressed_and_kept_and_missing_ones_are_errors() {
    if !is_built() {
        return;
    }
    let rig = Rig::new().await;
    let script = console::files()
        .iter()
        .find(|file| file.path.ends_with(".js"));
    let script = script.unwrap();
    let path = format!("/ui/{}", script.path);
    let answer = rig
        .send("GET", &path, &[("Accept-Encoding", "gzip")], b"")
        .await;
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    assert_eq!(
        answer.header("cache-control"),
        Some("public, max-age=31536000, immutable")
    );
    assert!(answer.body == script.gzip.unwrap());
    let answer = rig.send("GET", &path, &[], b"").await;
    assert_eq!(answer.header("content-encoding"), None);
    assert!(answer.body == script.plain);
    let gone = rig.send("GET", "/ui/assets/gone.js", &[], b"").await;
    assert_eq!(gone.status, 404);
    let post = rig.send("POST", "/ui/", &[], b"").await;
    assert_eq!(post.status, 405);
}

#[tokio::test]
async fn a_link_logs_a_browser_in_once() {
    let rig = Rig::new().await;
    // The user that the app names does not exist.
    let (status, made) = rig.native("POST", "/login/code", json!({})).await;
    assert_eq!(status, 201, "{made}");
    let code = made["code"].as_str().unwrap();
    assert_eq!(made["path"], format!("/ui/login#code={code}"));
    let body = json!({"code": code}).to_string();
    let login = rig
        .send("POST", "/api/v1/login", &[], body.as_bytes())
        .await;
    assert_eq!(login.status, 200);
    let cookie = login
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap();
    let me = rig
        .send("GET", "/api/v1/whoami", &[("Cookie", cookie)], b"")
        .await;
    assert_eq!(me.json()["user"]["name"], made["user"]);
    let again = rig
        .send("POST", "/api/v1/login", &[], body.as_bytes())
        .await;
    assert_eq!(again.status, 401);
    // A page of another origin cannot log its visitor in.
    let (_, made) = rig
        .native("POST", "/login/code", json!({"user": "admin"}))
        .await;
    let body = json!({"code": made["code"]}).to_string();
    let foreign = [("Origin", "http://evil.test")];
    let refused = rig
        .send("POST", "/api/v1/login", &foreign, body.as_bytes())
        .await;
    assert_eq!(refused.status, 403);
    let both = json!({"code": made["code"], "username": "admin"}).to_string();
    let invalid = rig
        .send("POST", "/api/v1/login", &[], both.as_bytes())
        .await;
    assert_eq!(invalid.status, 400);
}

fn is_built() -> bool {
    let missing = "the web console: npm ci && npm run build, in console/";
    testing::precondition::is_met(console::index().is_some(), missing)
}
