//! Checks of hosts: by the agent's binary on a restricted kernel, and live through the server.

use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::api::{APP_CODE, APP_SECRET};
use testkit::restricted::Restriction;
use testkit::{Cluster, precondition, program, wait};

#[track_caller]
fn result_of<'a>(report: &'a Value, name: &str) -> (&'a str, &'a str) {
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name);
    let check = check.unwrap_or_else(|| panic!("no {name}: {report}"));
    (
        check["result"].as_str().unwrap(),
        check["hint"].as_str().unwrap(),
    )
}

#[test]
fn a_kernel_without_newer_calls_is_degraded_and_says_what_that_means() {
    let is_root = rustix::process::geteuid().is_root();
    if !precondition::is_met(is_root, "root: a filter of system calls") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for (restriction, kernel, meant) in [
        (Restriction::OldKernel, "degraded", "close_range"),
        (Restriction::PidfdRefused, "ok", ""),
    ] {
        let output = Command::new(program::path("restricted"))
            .arg(restriction.name())
            .arg(program::path("muster-agent"))
            .args(["check", "-o", "json", "--data"])
            .arg(dir.path().join("data"))
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{report}");
        assert_eq!(report["result"], "degraded", "{report}");
        let found = result_of(&report, "kernel");
        assert_eq!(found.0, kernel, "{report}");
        assert!(found.1.contains(meant), "{report}");
        let found = result_of(&report, "pidfd");
        assert_eq!(found.0, "degraded", "{report}");
        assert!(found.1.contains("once a second"), "{report}");
    }
}

fn muster(cluster: &Cluster, args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(program::path("muster"))
        .args(args)
        .env_clear()
        .env("HOME", cluster.path())
        .env("MUSTER_URL", format!("http://{}", cluster.http()))
        .env("MUSTER_APP_CODE", APP_CODE)
        .env("MUSTER_APP_SECRET", APP_SECRET)
        .env("MUSTER_USER", "tester")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text + &told)
}

#[test]
fn a_connected_agent_checks_its_host_for_the_server() {
    let cluster = Cluster::start();
    let mut agent = cluster.agent("10.1.1.1");
    let (code, text) = muster(&cluster, &["hosts", "10.1.1.1", "--check", "-o", "json"]);
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!(code, Some(0), "{report}");
    let server = cluster.agents();
    for name in [
        "clock".to_owned(),
        format!("connect {server}"),
        format!("certificate {server}"),
        format!("accepted by {server}"),
        "identity".to_owned(),
        "open files".to_owned(),
    ] {
        assert_eq!(result_of(&report, &name).0, "ok", "{report}");
    }
    let (code, text) = muster(&cluster, &["hosts", "10.1.1.1", "--check"]);
    assert_eq!(code, Some(0), "{text}");
    let line = text.lines().find(|line| line.contains("  clock  "));
    assert!(line.is_some_and(|line| line.starts_with("ok ")), "{text}");

    // The agent goes on as before.
    let (code, text) = muster(&cluster, &["hosts", "10.1.1.1", "-o", "json"]);
    assert_eq!(code, Some(0));
    let row: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(row["connected"], true);

    agent.kill();
    cluster.wait_for_agent("10.1.1.1", false);
    let (code, text) = wait::until("an answer", || {
        Some(muster(&cluster, &["hosts", "10.1.1.1", "--check"]))
    });
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("is not connected"), "{text}");
}

#[test]
fn a_revoked_certificate_is_found_beside_the_agent() {
    let cluster = Cluster::start();
    let mut agent = cluster.agent("10.1.1.1");
    agent.kill();
    cluster.wait_for_agent("10.1.1.1", false);
    let path = "/api/v1/hosts/0:10.1.1.1/revoke";
    assert_eq!(cluster.api.native("POST", path, None).0, 204);
    let server = cluster.agents().to_string();
    let output = Command::new(program::path("muster-agent"))
        .args(["check", "-o", "json", "--server", &server, "--data"])
        .arg(cluster.path().join("agent-10.1.1.1"))
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{report}");
    let found = result_of(&report, &format!("accepted by {server}"));
    assert_eq!(found.0, "no", "{report}");
    assert!(found.1.contains("join token"), "{report}");
}
