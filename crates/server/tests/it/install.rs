//! What a new host downloads: the script, checksums and binaries.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::rig::{Rig, TIMEOUT};

const X86: &str = "muster-agent-0.2.0-x86_64";

async fn text(rig: &Rig, path: &str, headers: &[(&str, &str)]) -> String {
    let answer = rig.send("GET", path, headers, b"").await;
    assert_eq!(answer.status, 200, "{path}");
    String::from_utf8(answer.body).unwrap()
}

/// A folder of binaries, which are text here.
fn with_binaries(rig: &Rig) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, content) in [
        (X86, "new"),
        ("muster-agent-0.1.0-x86_64", "old"),
        ("muster-agent-0.2.0-aarch64", "arm"),
        ("notes", "secret"),
    ] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    rig.control
        .agents()
        .binaries()
        .add_folder(folder.path().to_owned());
    folder
}

#[tokio::test]
async fn the_script_names_the_server_as_it_was_reached() {
    let rig = Rig::new().await;
    let url_in = async |headers: &[(&str, &str)]| {
        let script = text(&rig, "/install.sh", headers).await;
        assert!(!script.contains("@URL@") && !script.contains("@UNIT@"));
        assert!(script.contains("KillMode=process"), "it has the unit");
        assert!(script.trim_end().ends_with("\nmain \"$@\""));
        let line = script.lines().find(|line| line.starts_with("  url='"));
        line.unwrap().to_owned()
    };
    assert_eq!(url_in(&[]).await, "  url='http://muster'");
    assert_eq!(
        url_in(&[("host", "[2001:db8::1]:7100")]).await,
        "  url='http://[2001:db8::1]:7100'"
    );
    let proxied = [
        ("host", "muster.example.org"),
        ("x-forwarded-proto", "https"),
    ];
    assert_eq!(url_in(&proxied).await, "  url='https://muster.example.org'");
    // A name that could be more than a name: the host must give the address.
    for hostile in [
        "x';reboot;'",
        "$(reboot)",
        "a`b`",
        "a b",
        "-oProxy",
        "a\\b",
        "user@host",
    ] {
        assert_eq!(url_in(&[("host", hostile)]).await, "  url=''", "{hostile}");
    }
    let answer = rig.send("HEAD", "/install.sh", &[], b"").await;
    assert_eq!((answer.status, answer.body.len()), (200, 0));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(rig.send("POST", "/install.sh", &[], b"").await.status, 405);
}

#[tokio::test]
async fn checksums_are_as_sha256sum_writes_them() {
    let rig = Rig::new().await;
    assert_eq!(text(&rig, "/install/SHA256SUMS", &[]).await, "");
    let folder = with_binaries(&rig);
    let sums = text(&rig, "/install/SHA256SUMS", &[]).await;
    let names: Vec<&str> = sums.lines().map(|line| &line[66..]).collect();
    let expected = [
        "muster-agent-0.2.0-aarch64",
        X86,
        "muster-agent-0.1.0-x86_64",
    ];
    assert_eq!(names, expected, "the newest first, and nothing else");
    std::fs::write(folder.path().join("SHA256SUMS"), sums).unwrap();
    let checked = std::process::Command::new("sha256sum")
        .args(["--check", "--strict", "--status", "SHA256SUMS"])
        .current_dir(folder.path())
        .status();
    assert!(checked.unwrap().success());
}

#[tokio::test]
async fn only_agents_are_handed_out() {
    let rig = Rig::new().await;
    let path = format!("/install/{X86}");
    assert_eq!(rig.send("GET", &path, &[], b"").await.status, 404);
    let folder = with_binaries(&rig);
    let answer = rig.send("GET", &path, &[], b"").await;
    assert_eq!(answer.body, b"new");
    assert_eq!(answer.header("content-length"), Some("3"));
    assert_eq!(
        answer.header("content-type"),
        Some("application/octet-stream")
    );
    let head = rig.send("HEAD", &path, &[], b"").await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    for other in [
        "notes",
        "..%2Fnotes",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "../notes",
        "muster-agent-0.2.0-x86_64%00",
        "muster-agent-0.3.0-x86_64",
        "",
    ] {
        let answer = rig
            .send("GET", &format!("/install/{other}"), &[], b"")
            .await;
        let is_refused = [400, 404].contains(&answer.status);
        assert!(is_refused, "{other:?}: {}", answer.status);
        assert!(!String::from_utf8_lossy(&answer.body).contains("secret"));
    }
    // A binary that is replaced between two requests is handed out as a whole.
    std::fs::write(folder.path().join(X86), "newer").unwrap();
    assert_eq!(text(&rig, &path, &[]).await, "newer");
    std::fs::remove_file(folder.path().join(X86)).unwrap();
    assert_eq!(rig.send("GET", &path, &[], b"").await.status, 404);
}

#[tokio::test]
async fn many_hosts_download_at_the_same_time() {
    const SIZE: usize = 8 << 20;
    let rig = Rig::new().await;
    let folder = TempDir::new().unwrap();
    let content: Vec<u8> = (0..SIZE).map(|n| ((n * 31) >> 7) as u8).collect();
    std::fs::write(folder.path().join(X86), &content).unwrap();
    let binaries = rig.control.agents().binaries();
    binaries.add_folder(folder.path().to_owned());
    let path = format!("/install/{X86}");
    let downloads = (0..20).map(|_| rig.send("GET", &path, &[], b""));
    let all = tokio::time::timeout(TIMEOUT, futures_util::future::join_all(downloads));
    for answer in all.await.unwrap() {
        assert!(answer.status == 200 && answer.body == content);
    }
}

#[tokio::test]
async fn a_new_token_comes_with_the_line_to_run() {
    let rig = Rig::new().await;
    let create = async |body: Value, host: &str| {
        let headers = [&crate::rig::HEADERS[..], &[("host", host)]].concat();
        let body = serde_json::to_vec(&body).unwrap();
        let answer = rig.send("POST", "/api/v1/tokens", &headers, &body).await;
        assert_eq!(answer.status, 201);
        let made = answer.json();
        let token = made["token"].as_str().unwrap();
        assert!(token.ends_with(&"07".repeat(32)), "it names the authority");
        let line = made["install"].as_str();
        line.map(|line| line.replace(token, "TOKEN"))
    };
    let start = "curl -fsS http://m1:7100/install.sh | sh -s -- --token TOKEN";
    let line = create(json!({}), "m1:7100").await;
    assert_eq!(line.as_deref(), Some(start));
    let line = create(json!({"host": "10.0.0.7"}), "m1:7100").await;
    assert_eq!(line, Some(format!("{start} --ip 10.0.0.7")));
    let line = create(json!({"host": "3:10.0.0.7"}), "m1:7100").await;
    assert_eq!(line, Some(format!("{start} --ip 10.0.0.7 --cloud-id 3")));
    assert_eq!(create(json!({}), "a;b").await, None);
}
