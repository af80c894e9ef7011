//! The web console in a real browser, against a real server and real agents: one test for each flow in `console/tests`.
//!
//! A flow is a Node program. It reads the address and the users from its environment, and asks for what only this side can do
//! by a line `@request` on its standard output; the answer is a line on its standard input. It succeeds if it exits with 0.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testing::precondition;
use testkit::{Agent, Cluster, wait};

const PASSWORD: &str = "correct horse";
const HOSTS: [&str; 2] = ["10.5.0.1", "10.5.0.2"];

/// A server with two agents, processes in every state that matters, and a user for every role.
struct World {
    cluster: Cluster,
    agents: Vec<Agent>,
}

impl World {
    fn start() -> Self {
        let cluster = Cluster::start();
        let agents = HOSTS.iter().map(|ip| cluster.agent(ip)).collect();
        let world = Self { cluster, agents };
        for (name, grant) in [
            ("admin", json!({"role": "admin"})),
            (
                "operator",
                json!({"role": "operator", "namespaces": ["web"]}),
            ),
            ("viewer", json!({"role": "viewer"})),
        ] {
            let user = json!({"name": name, "password": PASSWORD, "grants": [grant]});
            world.ask("POST", "/api/v1/users", user);
        }
        world.register("web/clock", "while true; do date; sleep 1; done", "sh");
        // Its name for people and its output try to become markup.
        world.register(
            "web/markup",
            "echo '<img src=x onerror=document.title=1>'; exec sleep 600",
            "sleep",
        );
        world.register("web/broken", "echo 'no such table: users' >&2; exit 3", "sh");
        world.register("db/store", "exec sleep 600", "sleep");
        for name in ["web/clock", "web/markup", "web/broken", "db/store"] {
            let body = json!({"op": "start", "all": true});
            let path = format!("/api/v1/processes/{name}/operate");
            let task = world.ask("POST", &path, body)["task_id"].clone();
            let path = format!("/api/v1/tasks/{}?wait=60s", task.as_str().unwrap());
            let ended = world.ask("GET", &path, Value::Null);
            assert_eq!(ended["state"], "finished", "{ended}");
        }
        world
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: Value) -> Value {
        let body = Some(body).filter(|body| !body.is_null());
        let (status, answer) = self.cluster.api.native(method, path, body);
        assert!(status < 300, "{method} {path}: {status} {answer}");
        answer
    }

    fn register(&self, name: &str, start: &str, proc_name: &str) {
        let folder = self.cluster.path().join(name.replace('/', "-"));
        std::fs::create_dir_all(&folder).unwrap();
        let spec = json!({
            "identity": {"proc_name": proc_name, "setup_path": folder},
            "control": {"start_cmd": start},
            "monitor_policy": {"auto_type": 1, "start_check_secs": 1, "op_timeout": 20},
        });
        let labels = json!({"note": "<b>bold</b>", "tier": name.split('/').next()});
        let body = json!({"hosts": HOSTS, "labels": labels, "spec": spec});
        let path = format!("/api/v1/processes/{name}");
        self.ask("PUT", &path, body);
    }

    /// Does what a flow asks for.
    fn obey(&mut self, request: &str) {
        let words: Vec<&str> = request.split_whitespace().collect();
        match words.as_slice() {
            ["restart-server"] => self.cluster.restart_server(),
            ["kill-server"] => self.cluster.kill_server(),
            ["kill-agent", ip] => {
                self.agent(ip).kill();
                self.cluster.wait_for_agent(ip, false);
            }
            ["restart-agent", ip] => {
                self.agent(ip).restart();
                self.cluster.wait_for_agent(ip, true);
            }
            ["end-logins", user] => {
                let path = format!("/api/v1/users/{user}");
                self.ask("DELETE", &path, Value::Null);
                let user = json!({"name": user, "password": PASSWORD, "grants": [{"role": "admin"}]});
                self.ask("POST", "/api/v1/users", user);
            }
            other => panic!("a flow asks for {other:?}, which is not known here"),
        }
    }

    fn agent(&mut self, ip: &str) -> &mut Agent {
        let at = HOSTS.iter().position(|host| *host == ip).unwrap();
        &mut self.agents[at]
    }
}

fn console() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console")
}

/// Runs a flow; nothing of it is left behind.
#[track_caller]
fn run(flow: &str) {
    let is_there = console().join("node_modules/playwright-core").exists();
    if !precondition::is_met(is_there, "the packages of the web console: scripts/console")
        || !precondition::succeeds(&["/usr/bin/chromium", "--version"], "chromium")
    {
        return;
    }
    let mut world = World::start();
    let mut child = Command::new("node")
        .arg(console().join("tests").join(format!("{flow}.mjs")))
        .env("MUSTER_URL", format!("http://{}", world.cluster.http()))
        .env("MUSTER_USER", "admin")
        .env("MUSTER_PASSWORD", PASSWORD)
        .env("MUSTER_SHOTS", world.cluster.path().join("shots"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        match line.strip_prefix('@') {
            Some(request) => {
                world.obey(request);
                writeln!(stdin, "done").unwrap();
            }
            None => eprintln!("{line}"),
        }
    }
    let status = wait::until("the flow to end", || child.try_wait().unwrap());
    assert!(status.success(), "{flow}: {status}; its messages are above");
}
