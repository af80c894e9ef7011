//! Reboots of a host: everything dies at once, the boot id is another, and the agent alone brings back what it holds.
//!
//! The host is a pid namespace: killing its first process ends every process in it, as a loss of power does. In its mount
//! namespace a file of the test takes the place of the kernel's boot id.

use std::path::{Path, PathBuf};
use std::process::{Child, Command as Program, Stdio};

use futures_util::{SinkExt, StreamExt};
use model::State;
use testing::precondition;
use testing::wait::until_async as until;
use wire::{Ack, Desired, DesiredProcess, UpKind};

use crate::binary::{PATIENCE, user_name};
use crate::fake_server::{Ca, FakeServer, SessionFrames};
use crate::fixture::{desired, spec};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A host that runs an agent.
struct HostUp {
    /// Its death kills the first process of the host, and so all others.
    unshare: Child,
}

/// A host of its own, in which this script runs first.
fn host(script: &str) -> Program {
    let mut unshare = Program::new("unshare");
    unshare.args(["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]);
    unshare.args(["sh", "-c", script, "sh"]);
    unshare
}

impl HostUp {
    /// Boots with this boot id, and starts the agent.
    fn boot(dir: &Path, number: usize, server: &str, ca: &Ca) -> Self {
        let boot_id = dir.join(format!("boot-id-{number}"));
        std::fs::write(&boot_id, format!("boot-{number}\n")).unwrap();
        let unshare = host(&format!(
            "mount --bind \"$1\" {BOOT_ID} && shift && exec \"$@\""
        ))
        .arg(boot_id)
        .arg(env!("CARGO_BIN_EXE_muster-agent"))
        .args(["--server", server, "--ip", "10.0.0.7", "--cloud-id", "3"])
        .args(["--cgroups", "off", "--data"])
        .arg(dir.join("data"))
        .env("MUSTER_JOIN_TOKEN", ca.token().to_string())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
        Self { unshare }
    }

    /// Ends every process of the host at once.
    async fn lose_power(mut self, dir: &Path) {
        self.unshare.kill().unwrap();
        self.unshare.wait().unwrap();
        until("the end of every process of the host", || {
            (!has_processes(dir)).then_some(())
        })
        .await;
    }
}

impl Drop for HostUp {
    fn drop(&mut self) {
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
    }
}

/// Whether a process has this folder in its command line or as its working directory.
fn has_processes(dir: &Path) -> bool {
    let text = dir.to_str().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.any(|path| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        let works_in = std::fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir));
        let number = path
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok());
        number.is_some_and(|number: u32| number != std::process::id())
            && (works_in || String::from_utf8_lossy(&line).contains(text))
    })
}

/// Three processes, each after the next. The last one becomes ready when the file `gate` exists.
fn processes(dir: &Path) -> Vec<DesiredProcess> {
    let one = |name: &str, after: &str, start: &str, ready: &str| {
        let mut spec = spec();
        spec.identity.proc_name = "sleep".into();
        spec.identity.user = user_name();
        spec.identity.setup_path = dir.to_str().unwrap().to_owned();
        let pid_path = dir.join(format!("{name}.pid"));
        spec.identity.pid_path = pid_path.to_str().unwrap().to_owned();
        spec.control.start_cmd = format!("echo {name} >>started; {start} exec sleep 1000");
        spec.monitor_policy.start_check_secs = 0;
        let text = spec.to_json();
        let mut raw: serde_json::Value = serde_json::from_str(&text).unwrap();
        if !after.is_empty() {
            raw["after"] = serde_json::json!([{"process": after}]);
        }
        if !ready.is_empty() {
            raw["probes"] = serde_json::json!({"ready": {"exec": ready, "interval": 1}});
        }
        DesiredProcess {
            spec_json: raw.to_string(),
            flag: 1,
            managed: true,
            ..desired(&format!("gse/{name}"), 1)
        }
    };
    let boot = format!("$(cat {BOOT_ID})");
    let db = format!(
        "until test -e gate; do sleep 0.05; done; echo db-ready >>started; touch up-{boot};"
    );
    let is_ready = format!("echo >>probed-{boot}; test -e up-{boot}");
    vec![
        one("a-web", "gse/b-api", "", ""),
        one("b-api", "gse/c-db", "", ""),
        one("c-db", "", &db, &is_ready),
    ]
}

fn words(path: PathBuf) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Waits until every process of the list runs.
async fn all_run(frames: &mut SessionFrames, n_processes: usize) {
    let mut running = std::collections::BTreeSet::new();
    while running.len() < n_processes {
        let frame = tokio::time::timeout(PATIENCE, frames.next()).await;
        match frame.unwrap().unwrap().unwrap().kind.unwrap() {
            UpKind::Report(report) => {
                for status in report.statuses {
                    let name = status.full_name().unwrap();
                    if status.into_status().state == State::Running {
                        running.insert(name);
                    }
                }
                frames.send(Ack::default().into()).await.unwrap();
            }
            UpKind::Event(event) => {
                let ack = Ack {
                    results: Vec::new(),
                    events_through: event.seq,
                    may_report: 0,
                };
                frames.send(ack.into()).await.unwrap();
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn after_a_reboot_the_agent_alone_starts_its_processes_in_their_order() {
    let is_allowed = host(&format!("mount --bind /dev/null {BOOT_ID}")).output();
    let is_allowed = is_allowed.is_ok_and(|output| output.status.success());
    if !precondition::is_met(is_allowed, "the right to create pid and mount namespaces") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let ca = Ca::new();
    let server = FakeServer::start(&ca).await;
    let address = server.address();
    let up = HostUp::boot(dir, 1, &address, &ca);
    server.enrol(&ca).await;
    let (mut frames, _, hello) = server.welcome().await;
    assert_eq!(hello.held_digest, 0);
    let processes = processes(dir);
    let n_processes = processes.len();
    let list = Desired {
        full: true,
        last: true,
        processes,
        forget: Vec::new(),
        ..Desired::default()
    };
    frames.send(list.into()).await.unwrap();
    std::fs::write(dir.join("gate"), "").unwrap();
    all_run(&mut frames, n_processes).await;
    let in_order = ["c-db", "db-ready", "b-api", "a-web"];
    let started = || words(dir.join("started"));
    assert_eq!(started(), in_order);

    // The server is away from here on.
    drop(frames);
    drop(server);
    up.lose_power(dir).await;
    std::fs::remove_file(dir.join("gate")).unwrap();
    let up = HostUp::boot(dir, 2, &address, &ca);
    // Each probe leaves an empty line.
    let n_probes = |boot: usize| {
        let probed = std::fs::read_to_string(dir.join(format!("probed-boot-{boot}")));
        probed.map_or(0, |text| text.lines().count())
    };
    until("probes that fail", || (n_probes(2) >= 3).then_some(())).await;
    assert_eq!(started()[4..], ["c-db"], "the others wait for it");

    // Once more, in the middle of the starts.
    up.lose_power(dir).await;
    std::fs::write(dir.join("gate"), "").unwrap();
    let up = HostUp::boot(dir, 3, &address, &ca);
    until("all of them", || (started().len() >= 9).then_some(())).await;
    assert_eq!(started()[5..], in_order);

    // The server is back, and has nothing to say.
    let server = FakeServer::start_at(&ca, &address).await;
    let (mut frames, _, hello) = server.welcome().await;
    assert_ne!(hello.held_digest, 0);
    all_run(&mut frames, n_processes).await;
    assert_eq!(started().len(), 9, "nothing is started twice");
    drop(frames);
    up.lose_power(dir).await;
}
