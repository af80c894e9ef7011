//! Agents that their server upgrades: real ones with real processes, and simulated ones, while operations go on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{Api, Cluster, wait};

use crate::agent_binary::{NEW, OLD, agent_of_version, handed_out, impostor};
use crate::fixture::Fixture;
use crate::sim::Sim;

const N_REAL: usize = 20;
const N_SIMULATED: u64 = 1_000;
const JOB_WITHIN: Duration = Duration::from_secs(150);

/// An agent with a binary of its own, which can be replaced.
struct OwnAgent {
    ip: String,
    folder: PathBuf,
    /// None once another has taken its place.
    child: Option<Child>,
}

impl OwnAgent {
    fn start(cluster: &Cluster, binary: &Path, n: usize) -> Self {
        let ip = format!("10.7.0.{}", n + 1);
        let folder = cluster.path().join(format!("agent-{n}"));
        std::fs::create_dir_all(&folder).unwrap();
        let exe = folder.join("muster-agent");
        std::fs::copy(binary, &exe).unwrap();
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let child = Command::new(&exe)
            .args(["--server", &cluster.agents().to_string(), "--ip", &ip])
            .arg("--data")
            .arg(folder.join("data"))
            .env("MUSTER_JOIN_TOKEN", "test-join-token")
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Self {
            ip,
            folder,
            child: Some(child),
        }
    }

    fn run_file(&self) -> Value {
        let text = std::fs::read_to_string(self.folder.join("data/agent.run")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn pid(&self) -> i64 {
        self.run_file()["pid"].as_i64().unwrap()
    }
}

impl Drop for OwnAgent {
    fn drop(&mut self) {
        // It may be a process that the upgrade started in its place.
        let text = std::fs::read_to_string(self.folder.join("data/agent.run"));
        let file: Value = serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default();
        let pid = file["pid"].as_i64().filter(|pid| *pid > 1);
        if let Some(pid) = pid.and_then(|pid| Pid::from_raw(pid as i32)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn native(api: &Api, method: &str, path: &str, body: Option<Value>) -> Value {
    let (status, answer) = api.native(method, path, body);
    assert!((200..300).contains(&status), "{path}: {status} {answer}");
    answer
}

/// Begins an upgrade, and waits for its end.
pub(crate) fn upgrade(api: &Api, body: Value) -> Value {
    let begun = native(api, "POST", "/api/v1/agents/upgrade", Some(body));
    ended(api, begun["job"].as_u64().unwrap())
}

/// A busy machine takes its time for a thousand agents.
fn ended(api: &Api, job: u64) -> Value {
    let begun = Instant::now();
    loop {
        let path = format!("/api/v1/jobs/{job}?wait=10s&limit=1000");
        let view = native(api, "GET", &path, None);
        if view["ended_at"] != 0 {
            return view;
        }
        assert!(begun.elapsed() < JOB_WITHIN, "{}", view["counts"]);
    }
}

/// Why the first tasks failed.
fn failures(api: &Api, view: &Value) -> String {
    let path = format!("/api/v1/jobs/{}?status=failed&limit=3", view["id"]);
    let failed = native(api, "GET", &path, None);
    let texts = failed["tasks"].as_array().unwrap().iter().map(|task| {
        let times = (&task["started_at"], &task["ended_at"]);
        format!(
            "{} {} {} {times:?}",
            task["ordinal"], task["host"], task["reason"]
        )
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// How many connected hosts have which version.
fn versions(api: &Api) -> BTreeMap<String, u64> {
    let mut versions = BTreeMap::new();
    let mut start = 0;
    loop {
        let path = format!("/api/v1/hosts?connected=true&limit=1000&start={start}");
        let page = native(api, "GET", &path, None);
        let rows = page["hosts"].as_array().unwrap();
        for row in rows {
            let version = row["version"].as_str().unwrap().to_owned();
            *versions.entry(version).or_default() += 1;
        }
        start += rows.len();
        if rows.is_empty() || start as u64 >= page["count"].as_u64().unwrap() {
            return versions;
        }
    }
}

fn of_versions<const N: usize>(expected: [(&str, u64); N]) -> BTreeMap<String, u64> {
    let pairs = expected.into_iter();
    pairs.map(|(version, n)| (version.to_owned(), n)).collect()
}

#[test]
fn a_fleet_is_upgraded_while_operations_go_on() {
    let cluster = Cluster::start();
    let api = &cluster.api;
    let old = cluster.path().join("old");
    agent_of_version(OLD, &old);
    agent_of_version(NEW, &handed_out(&cluster, NEW, std::env::consts::ARCH));
    impostor(NEW, "exit 1", &handed_out(&cluster, NEW, "simulated"));
    let mut sim = Sim::start(&cluster, N_SIMULATED, &["--status-rate", "200"]);
    let agents: Vec<OwnAgent> = (0..N_REAL)
        .map(|n| OwnAgent::start(&cluster, &old, n))
        .collect();
    sim.until_connected();
    for agent in &agents {
        cluster.wait_for_agent(&agent.ip, true);
    }
    let kept: Vec<Fixture> = agents
        .iter()
        .map(|agent| {
            let fixture = Fixture::daemon(cluster.path(), &agent.ip, "kept");
            let cmd = fixture.daemon_cmd();
            fixture.registered(api, &cmd)
        })
        .collect();
    for fixture in &kept {
        assert_eq!(fixture.operate(api, 0).0, 0);
    }
    let pids: Vec<_> = kept.iter().map(Fixture::pid).collect();
    let before: Vec<i64> = agents.iter().map(OwnAgent::pid).collect();

    // One process of each of the first agents is operated all the time.
    let is_over = AtomicBool::new(false);
    let (view, n_operations) = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|n| {
                let fixture = Fixture::daemon(cluster.path(), &agents[n].ip, "busy");
                let cmd = fixture.daemon_cmd();
                let fixture = fixture.registered(api, &cmd);
                let is_over = &is_over;
                scope.spawn(move || {
                    let mut n_operations = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        for op in [0, 1] {
                            // An agent that is not connected for a moment takes nothing.
                            let (code, message) = wait::until("the agent to be connected", || {
                                Some(fixture.operate(api, op)).filter(|(code, _)| *code != 117)
                            });
                            assert_eq!(code, 0, "{op}: {message}");
                            n_operations += 1;
                        }
                    }
                    n_operations
                })
            })
            .collect();
        let plan = json!({"all": true, "dry_run": true});
        let plan = native(api, "POST", "/api/v1/agents/upgrade", Some(plan));
        assert_eq!(plan["version"], NEW);
        assert_eq!(plan["count"], N_REAL as u64 + N_SIMULATED);
        let options = json!({"batch_size": "20%"});
        let view = upgrade(
            api,
            json!({"all": true, "version": NEW, "options": options}),
        );
        is_over.store(true, Ordering::Relaxed);
        let done: u32 = workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .sum();
        (view, done)
    });

    assert_eq!(view["status"], "succeeded", "{}", failures(api, &view));
    assert!(n_operations > 0);
    let all = N_REAL as u64 + N_SIMULATED;
    wait::until("every agent to be connected again", || {
        (versions(api) == of_versions([(NEW, all)])).then_some(())
    });
    for ((agent, fixture), (pid, before)) in agents.iter().zip(&kept).zip(pids.iter().zip(before)) {
        assert_eq!(fixture.pid(), *pid, "its process was not restarted");
        assert_eq!(fixture.executions(), 1);
        assert!(fixture.is_alive());
        let file = agent.run_file();
        assert_eq!(
            (&file["pid"], &file["version"]),
            (&before.into(), &NEW.into())
        );
        fixture.wait_for_status(api, 1);
    }
    let page = api.native_text("GET", "/metrics", None).1;
    let metric = format!("muster_agents_by_version{{version=\"{NEW}\"}} {all}");
    assert!(page.lines().any(|line| line == metric), "{metric}");
    let summary = sim.quit();
    assert_eq!(summary["lost"], 0, "{summary}");
}

#[test]
fn a_broken_binary_halts_the_upgrade_and_is_taken_back() {
    let cluster = Cluster::start();
    let api = &cluster.api;
    let old = cluster.path().join("old");
    agent_of_version(OLD, &old);
    let arch = std::env::consts::ARCH;
    impostor("9.9.1", "exit 3", &handed_out(&cluster, "9.9.1", arch));
    let wrong = handed_out(&cluster, "9.9.2", arch);
    impostor("7.7.7", "exit 3", &wrong);
    let torn = std::fs::read(&old).unwrap();
    let half = handed_out(&cluster, "9.9.3", arch);
    std::fs::write(half, &torn[..torn.len() / 2]).unwrap();
    let agents: Vec<OwnAgent> = (0..3).map(|n| OwnAgent::start(&cluster, &old, n)).collect();
    for agent in &agents {
        cluster.wait_for_agent(&agent.ip, true);
    }
    let kept = Fixture::daemon(cluster.path(), &agents[0].ip, "kept");
    let cmd = kept.daemon_cmd();
    let kept = kept.registered(api, &cmd);
    assert_eq!(kept.operate(api, 0).0, 0);
    let pid = kept.pid();

    let begin = |version: &str, expected: [&str; 3]| {
        let options = json!({"batch_size": 1});
        let view = upgrade(
            api,
            json!({"all": true, "version": version, "options": options}),
        );
        assert_eq!(view["status"], "failed", "{view}");
        let tasks = view["tasks"].as_array().unwrap();
        for (task, expected) in tasks.iter().zip(expected) {
            let reason = task["reason"].as_str().unwrap();
            assert!(reason.contains(expected), "{version}: {reason}");
        }
        for agent in &agents {
            cluster.wait_for_agent(&agent.ip, true);
            assert_eq!(agent.run_file()["version"], OLD, "{}", agent.ip);
        }
        assert_eq!((kept.pid(), kept.executions()), (pid, 1));
        assert!(kept.is_alive());
    };
    let blocked = "not begun, because an earlier task failed";
    begin(
        "9.9.1",
        ["the agent ended as the new binary; ", blocked, blocked],
    );
    begin(
        "9.9.2",
        [
            "it is of version 7.7.7, not 9.9.2; nothing was changed",
            blocked,
            blocked,
        ],
    );
    begin("9.9.3", ["nothing was changed", blocked, blocked]);
    // The process is supervised as before.
    kept.wait_for_status(api, 1);
    assert_eq!(kept.operate(api, 1).0, 0);
}

#[test]
fn an_upgrade_goes_on_when_the_server_is_killed() {
    let mut cluster = Cluster::start();
    let old = cluster.path().join("old");
    agent_of_version(OLD, &old);
    agent_of_version(NEW, &handed_out(&cluster, NEW, std::env::consts::ARCH));
    let agents: Vec<OwnAgent> = (0..3).map(|n| OwnAgent::start(&cluster, &old, n)).collect();
    for agent in &agents {
        cluster.wait_for_agent(&agent.ip, true);
    }
    let options = json!({"batch_size": 1, "pause_secs": 1});
    let body = json!({"all": true, "version": NEW, "options": options});
    let begun = native(&cluster.api, "POST", "/api/v1/agents/upgrade", Some(body));
    let job = begun["job"].as_u64().unwrap();
    wait::until("the first upgrade", || {
        (versions(&cluster.api).contains_key(NEW)).then_some(())
    });
    cluster.kill_server();
    cluster.restart_server();
    let view = ended(&cluster.api, job);
    let why = failures(&cluster.api, &view);
    assert_eq!(view["status"], "succeeded", "{why}");
    wait::until("every agent to be connected again", || {
        (versions(&cluster.api) == of_versions([(NEW, 3)])).then_some(())
    });
    // A second one finds nothing to do.
    let (status, answer) =
        cluster
            .api
            .native("POST", "/api/v1/agents/upgrade", Some(json!({"all": true})));
    assert_eq!(status, 400, "{answer}");
    let text = answer.to_string();
    assert!(text.contains("already_so: 3"), "{text}");
}
