//! `muster-agent check`: the binary against scripted servers and prepared folders.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::SinkExt;
use serde_json::Value;
use testing::precondition;
use tokio::task::JoinHandle;
use wire::enrol::{Enrol, Enrolled};

use crate::fake_server::{Ca, FakeServer};

/// One check of the report.
#[derive(Debug)]
struct Line {
    result: String,
    message: String,
    hint: String,
}

#[derive(Debug)]
struct Checked {
    code: Option<i32>,
    report: Value,
}

impl Checked {
    #[track_caller]
    fn line(&self, name: &str) -> Line {
        let checks = self.report["checks"].as_array().unwrap().iter();
        let mut named = checks.filter(|check| check["name"] == name);
        let check = named
            .next()
            .unwrap_or_else(|| panic!("no {name}: {self:?}"));
        let text = |key: &str| check[key].as_str().unwrap().to_owned();
        Line {
            result: text("result"),
            message: text("message"),
            hint: text("hint"),
        }
    }

    /// This check is "no", with a hint, and so the whole.
    #[track_caller]
    fn is_no(&self, name: &str) -> Line {
        let line = self.line(name);
        assert_eq!(line.result, "no", "{line:?}");
        assert!(!line.hint.is_empty(), "{line:?}");
        assert_eq!((self.code, &self.report["result"]), (Some(1), &"no".into()));
        line
    }

    fn left_out(&self) -> String {
        self.report["left_out"].to_string()
    }
}

fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::null());
    command
}

fn agent() -> Command {
    command(env!("CARGO_BIN_EXE_muster-agent"))
}

fn read(output: &Output) -> Checked {
    Checked {
        code: output.status.code(),
        report: serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}")),
    }
}

async fn check(data: &Path, server: &str, token: &str) -> Checked {
    let mut command = agent();
    command
        .args(["check", "-o", "json", "--server", server, "--data"])
        .arg(data)
        .env("MUSTER_JOIN_TOKEN", token);
    let ran = tokio::task::spawn_blocking(move || command.output().unwrap());
    read(&ran.await.unwrap())
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_millis().try_into().unwrap()
}

/// Answers one question for the time, ahead of this clock.
fn tell_time(server: FakeServer, ahead_ms: i64) -> JoinHandle<Enrol> {
    tokio::spawn(async move {
        let (mut frames, asked) = server.accept_enrolment().await;
        let answer = Enrolled {
            refused: "no token".into(),
            server_time_ms: now_ms() + ahead_ms,
            ..Enrolled::default()
        };
        frames.send(answer).await.unwrap();
        asked
    })
}

#[tokio::test]
async fn a_host_with_a_token_is_fit_and_nothing_is_created_or_sent() {
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let address = server.address();
    let telling = tell_time(server, 0);
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let checked = check(&data, &address, &ca.token().to_string()).await;
    assert_ne!(checked.report["result"], "no", "{checked:?}");
    assert_eq!(checked.code, Some(0));
    let certificate = checked.line(&format!("certificate {address}"));
    assert!(
        certificate.message.contains("fingerprint"),
        "{certificate:?}"
    );
    assert_eq!(checked.line("clock").result, "ok");
    assert_eq!(checked.line("identity").result, "ok");
    assert!(!data.exists());
    let asked = telling.await.unwrap();
    assert_eq!((asked.token.as_str(), asked.csr_der.len()), ("", 0));
}

#[tokio::test]
async fn a_clock_that_is_off_is_told_by_how_much() {
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let address = server.address();
    let telling = tell_time(server, 600_500);
    let dir = tempfile::tempdir().unwrap();
    let checked = check(dir.path(), &address, &ca.token().to_string()).await;
    let clock = checked.line("clock");
    assert_eq!(clock.result, "degraded");
    assert!(clock.message.starts_with("600 s behind"), "{clock:?}");
    telling.await.unwrap();
}

#[tokio::test]
async fn a_server_that_does_not_tell_its_time_is_said_to_be_older() {
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let address = server.address();
    let answering = tokio::spawn(async move {
        let (mut frames, _) = server.accept_enrolment().await;
        let answer = Enrolled {
            refused: "the key request is no good".into(),
            ..Enrolled::default()
        };
        frames.send(answer).await.unwrap();
    });
    let dir = tempfile::tempdir().unwrap();
    let checked = check(dir.path(), &address, &ca.token().to_string()).await;
    assert!(checked.left_out().contains("older"), "{checked:?}");
    answering.await.unwrap();
}

#[tokio::test]
async fn a_wrong_ca_a_wrong_port_and_an_unknown_name_are_told_apart() {
    let (ca, other) = (Ca::new(), Ca::new());
    let server = FakeServer::start(&other).await;
    let wrong_ca = server.address();
    let accepting = tokio::spawn(async move { server.accept().await.is_err() });
    // Speaks no TLS: it sends a line and closes.
    let plain = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let no_tls = plain.local_addr().unwrap().to_string();
    let answering = tokio::spawn(async move {
        let (mut stream, _) = plain.accept().await.unwrap();
        let line = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        tokio::io::AsyncWriteExt::write_all(&mut stream, line)
            .await
            .unwrap();
    });
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = gone.local_addr().unwrap().to_string();
    drop(gone);

    let dir = tempfile::tempdir().unwrap();
    let servers = format!("{wrong_ca},{no_tls},{closed},no-such-name.invalid:7101");
    let checked = check(dir.path(), &servers, &ca.token().to_string()).await;
    let line = checked.is_no(&format!("certificate {wrong_ca}"));
    assert!(line.message.contains("fingerprint"), "{line:?}");
    let line = checked.is_no(&format!("certificate {no_tls}"));
    assert!(line.hint.contains("--agents"), "{line:?}");
    checked.is_no(&format!("connect {closed}"));
    let line = checked.is_no("name no-such-name.invalid");
    assert!(line.hint.contains("resolv.conf"), "{line:?}");
    assert!(checked.left_out().contains("clock"), "{checked:?}");
    assert!(accepting.await.unwrap());
    answering.await.unwrap();
}

#[tokio::test]
async fn an_enrolled_host_is_asked_for_beside_its_agent() {
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let address = server.address();
    let dir = tempfile::tempdir().unwrap();
    let data = agent::data::DataDir::open(dir.path()).unwrap();
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
    let at = agent::config::ServerAddress::parse(&address).unwrap();
    let host = "0:10.0.0.7".parse().unwrap();
    let token = ca.token();
    let (identity, _) = tokio::join!(
        agent::enrol::enrol(&at, &token, host, None, &key),
        server.enrol(&ca)
    );
    agent::identity::save(&data, &identity.unwrap(), &key).unwrap();

    let answering = tokio::spawn(async move {
        let stream = server.accept().await.unwrap();
        assert!(stream.get_ref().1.peer_certificates().is_some());
        let codec = wire::Codec::<Enrol, Enrolled>::with_limit(wire::enrol::MAX_FRAME);
        let mut frames = tokio_util::codec::Framed::new(stream, codec);
        let asked = futures_util::StreamExt::next(&mut frames)
            .await
            .unwrap()
            .unwrap();
        let answer = Enrolled {
            refused: "all certificates of this host are revoked".into(),
            server_time_ms: now_ms(),
            ..Enrolled::default()
        };
        frames.send(answer).await.unwrap();
        asked
    });
    // `data` is locked all the time.
    let checked = check(dir.path(), &address, "").await;
    let certificate = checked.line(&format!("certificate {address}"));
    assert!(
        certificate.message.contains("CA of the enrolment"),
        "{certificate:?}"
    );
    let refused = checked.is_no(&format!("accepted by {address}"));
    assert!(refused.message.contains("revoked"), "{refused:?}");
    let identity = checked.line("identity");
    assert!(
        identity
            .message
            .starts_with("0:10.0.0.7, certificate until"),
        "{identity:?}"
    );
    let asked = answering.await.unwrap();
    assert_eq!((asked.token.as_str(), asked.ip.as_str()), ("", "10.0.0.7"));
    drop(data);
}

#[test]
fn before_there_is_a_configuration_the_host_alone_is_checked() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("none");
    let mut command = agent();
    let checked = read(
        &command
            .args(["check", "-o", "json", "--data"])
            .arg(&data)
            .output()
            .unwrap(),
    );
    assert!(
        checked.left_out().contains("no server is configured"),
        "{checked:?}"
    );
    assert_eq!(checked.code, Some(0));
    let text = agent()
        .args(["check", "--data"])
        .arg(&data)
        .output()
        .unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("not checked: the servers"), "{text}");
    assert!(!data.exists());
}

#[test]
fn wrong_settings_are_wrong_usage() {
    for args in [
        ["check", "--server", "no-port"],
        ["check", "--config", "/no/such/file"],
        ["check", "--cgroups", "perhaps"],
        ["check", "-o", "xml"],
    ] {
        let output = agent().args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
        assert!(!output.stderr.is_empty(), "{args:?}");
    }
}

/// Runs the check where `script` has prepared a folder, in a mount namespace of its own. None where that is not permitted.
fn check_mounted(script: &str) -> Option<Checked> {
    let allowed = ["unshare", "--mount", "true"];
    if !precondition::succeeds(&allowed, "root: the test mounts a file system") {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let script = format!("{script} && exec \"$1\" check -o json --data \"$0\"");
    let output = command("unshare")
        .args(["--mount", "sh", "-ec", &script])
        .arg(dir.path())
        .arg(env!("CARGO_BIN_EXE_muster-agent"))
        .output()
        .unwrap();
    Some(read(&output))
}

#[test]
fn a_full_disk_and_one_without_inodes_are_no_place_for_data() {
    let full = "mount -t tmpfs -o size=1m none \"$0\"; head -c 1m /dev/zero > \"$0/full\" || true";
    let few = "mount -t tmpfs -o size=64m,nr_inodes=8 none \"$0\"";
    for script in [full, few] {
        let Some(checked) = check_mounted(script) else {
            return;
        };
        let disk = checked.is_no("disk");
        assert!(disk.message.contains("free"), "{disk:?}");
    }
    let Some(checked) = check_mounted("mount -t tmpfs -o size=64m,ro none \"$0\"") else {
        return;
    };
    let disk = checked.is_no("disk");
    assert!(disk.message.contains("read-only"), "{disk:?}");
    checked.is_no("data");
}

#[test]
fn a_folder_of_another_user_is_refused_before_the_agent_would() {
    if !precondition::is_met(rustix::process::geteuid().is_root(), "root: chown") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(dir.path(), Some(65534), None).unwrap();
    let mut command = agent();
    let checked = read(
        &command
            .args(["check", "-o", "json", "--data"])
            .arg(dir.path())
            .output()
            .unwrap(),
    );
    let data = checked.is_no("data");
    assert!(data.message.contains("65534"), "{data:?}");
}
