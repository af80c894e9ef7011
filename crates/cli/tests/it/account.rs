//! Where the client finds its server and its credentials.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::command::muster;
use crate::fake_server::FakeServer;

fn empty_list() -> FakeServer {
    FakeServer::answering(200, json!({"count": 0, "processes": []}))
}

#[test]
fn flag_beats_environment_beats_file() {
    let (by_flag, by_env, by_file) = (empty_list(), empty_list(), empty_list());
    let saved = format!(
        "url = \"{}\"\napp_code = \"filed\"\napp_secret = \"s\"\n",
        by_file.url
    );
    let ran = muster(&["ps", "--url", &by_flag.url])
        .to(&by_env.url)
        .file("cli.toml", &saved)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = muster(&["ps"])
        .to(&by_env.url)
        .file("cli.toml", &saved)
        .run();
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = muster(&["ps"]).file("cli.toml", &saved).run();
    assert_eq!(ran.code, 0, "{ran:?}");
    for (server, app) in [(&by_flag, "test"), (&by_env, "test"), (&by_file, "filed")] {
        let asked = server.asked();
        assert_eq!(asked.len(), 1);
        assert!(
            asked[0]
                .headers
                .contains(&format!("x-bkapi-app-code: {app}")),
            "{asked:?}"
        );
        assert!(
            asked[0]
                .headers
                .contains(&"x-bkapi-user-name: tester".to_owned()),
            "{asked:?}"
        );
    }
}

#[test]
fn the_secret_of_the_file_is_not_sent_to_another_server() {
    let foreign = FakeServer::answering(
        401,
        json!({"error": {"code": "unauthenticated", "message": "no"}}),
    );
    let command = muster(&["ps", "--url", &foreign.url]);
    // The data directory is found by default, not named. Root's default is /var/lib/muster, which the test must not write.
    let data = command.home().join(".local/share/muster");
    std::fs::create_dir_all(&data).unwrap();
    let saved = "url = \"http://127.0.0.1:7100\"\napp_code = \"a\"\napp_secret = \"s\"\n";
    std::fs::write(data.join("cli.toml"), saved).unwrap();
    let ran = command.env("MUSTER_DATA", "").by_ordinary_user().run();
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr
            .contains("are for another server and were not sent"),
        "{ran:?}"
    );
    assert!(
        !foreign.asked()[0]
            .headers
            .iter()
            .any(|h| h.contains("app-secret"))
    );
}

#[test]
fn a_file_that_others_can_read_is_warned_about() {
    let server = empty_list();
    let saved = format!(
        "url = \"{}\"\napp_code = \"a\"\napp_secret = \"s\"\n",
        server.url
    );
    let command = muster(&["ps"]).file("cli.toml", &saved);
    let file = command.home().join("cli.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let ran = command.run();
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("warning: others can read"), "{ran:?}");

    let command = muster(&["ps"]).file("cli.toml", &saved);
    let file = command.home().join("cli.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(!command.run().stderr.contains("warning"));
}

#[test]
fn half_a_pair_of_credentials_is_refused() {
    let ran = muster(&["ps"]).env("MUSTER_APP_CODE", "a").run();
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("MUSTER_APP_SECRET is not"), "{ran:?}");
}

#[test]
fn a_broken_file_is_named_without_its_secret() {
    let ran = muster(&["ps"])
        .file("cli.toml", "app_secret = \"hush")
        .run();
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("cli.toml"), "{ran:?}");
    assert!(!ran.stderr.contains("hush"), "{ran:?}");
}

#[test]
fn what_is_no_url_is_refused() {
    for url in [
        "ftp://x",
        "localhost:7100",
        "http://",
        "https://",
        "http://a@b",
        "https://a@b",
    ] {
        let ran = muster(&["ps", "--url", url]).run();
        assert_eq!(ran.code, 2, "{url}: {ran:?}");
    }
}
