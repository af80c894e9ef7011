//! A server and agents, each a process of its own that can be killed and started again.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::api::{APP_CODE, APP_SECRET, Api};
use crate::{program, wait};

const JOIN_TOKEN: &str = "test-join-token";

/// A server with its data. Ends its process when dropped; so do agents.
#[derive(Debug)]
pub struct Cluster {
    dir: TempDir,
    server: Option<Child>,
    http: SocketAddr,
    agents: SocketAddr,
    pub api: Api,
}

impl Cluster {
    pub fn start() -> Self {
        let dir = TempDir::with_prefix("muster-test-").unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (server, http, agents) = start_server(dir.path(), any, any);
        Self {
            api: Api::new(http),
            dir,
            server: Some(server),
            http,
            agents,
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn http(&self) -> SocketAddr {
        self.http
    }

    /// Where agents connect.
    pub fn agents(&self) -> SocketAddr {
        self.agents
    }

    /// 0 while it is down.
    pub fn server_pid(&self) -> u32 {
        self.server.as_ref().map_or(0, Child::id)
    }

    /// As if the power had gone.
    pub fn kill_server(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    /// Starts it again where it was, on the same data.
    pub fn restart_server(&mut self) {
        self.kill_server();
        let (server, ..) = start_server(self.dir.path(), self.http, self.agents);
        self.server = Some(server);
    }

    /// Starts an agent for a host and waits until the server knows it is there.
    pub fn agent(&self, ip: &str) -> Agent {
        self.agent_under(ip, &[])
    }

    /// The same by way of another program, which is given the agent's command line.
    pub fn agent_under(&self, ip: &str, wrapper: &[&str]) -> Agent {
        let mut agent = Agent {
            ip: ip.to_owned(),
            data: self.dir.path().join(format!("agent-{ip}")),
            server: self.agents,
            wrapper: wrapper.iter().map(|word| (*word).to_owned()).collect(),
            child: None,
        };
        agent.restart();
        self.wait_for_agent(ip, true);
        agent
    }

    pub fn wait_for_agent(&self, ip: &str, up: bool) {
        let body = serde_json::json!({"hosts": [{"ip": ip, "bk_cloud_id": 0}]});
        wait::until("the agent to come or go", || {
            let body = crate::api::with_credentials(body.clone());
            let answer = self.api.try_post("/v2/gse/get_agent_status/", &body).ok()?;
            (answer["data"][format!("0:{ip}")]["bk_agent_alive"] == u8::from(up)).then_some(())
        });
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill_server();
        end_all_in(self.dir.path());
    }
}

/// Ends whatever still runs in a folder of ours: an agent may have restarted a process that its test had just killed.
fn end_all_in(dir: &Path) {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in entries {
        let is_ours =
            std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir));
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| Pid::from_raw(name.parse().ok()?));
        if let (true, Some(pid)) = (is_ours, pid) {
            // Gone already is fine.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// One agent; its data stays when it is killed.
#[derive(Debug)]
pub struct Agent {
    pub ip: String,
    data: PathBuf,
    server: SocketAddr,
    wrapper: Vec<String>,
    child: Option<Child>,
}

impl Agent {
    /// That of its wrapper, if it has one.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub fn restart(&mut self) {
        self.kill();
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.data.with_extension("log"))
            .unwrap();
        let agent = program::path("muster-agent");
        let mut command = match self.wrapper.as_slice() {
            [] => Command::new(agent),
            [wrapper, words @ ..] => {
                let mut command = Command::new(wrapper);
                command.args(words).arg(agent);
                command
            }
        };
        let child = command
            .arg("--server")
            .arg(self.server.to_string())
            .arg("--data")
            .arg(&self.data)
            .args(["--ip", &self.ip, "--log", "info"])
            .env("MUSTER_JOIN_TOKEN", JOIN_TOKEN)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    /// Waits until it has ended by itself; whether it ended well.
    pub fn wait(&mut self) -> bool {
        let child = self.child.as_mut().expect("an agent that runs");
        let ended = wait::until("the agent to end", || child.try_wait().unwrap());
        self.child = None;
        ended.success()
    }

    /// What it has logged so far, for a test that fails.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.data.with_extension("log")).unwrap_or_default()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            println!("log of agent {}:\n{}", self.ip, self.log());
        }
    }
}

fn start_server(
    dir: &Path,
    http: SocketAddr,
    agents: SocketAddr,
) -> (Child, SocketAddr, SocketAddr) {
    let log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(dir.join("server.log"))
        .unwrap();
    let mut child = Command::new(program::path("muster"))
        .arg("server")
        .arg("--data")
        .arg(dir.join("server"))
        .args(["--http", &http.to_string(), "--agents", &agents.to_string()])
        .env("MUSTER_APP_CODE", APP_CODE)
        .env("MUSTER_APP_SECRET", APP_SECRET)
        .env("MUSTER_JOIN_TOKEN", JOIN_TOKEN)
        .env("MUSTER_LOG", "info")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut addresses = lines
        .map_while(Result::ok)
        .flat_map(|line| addresses_in(&line));
    let http = addresses.next().expect("the server says where the API is");
    let agents = addresses
        .next()
        .expect("the server says where agents connect");
    // The pipe is read on, so that the server never has to wait for us.
    std::thread::spawn(move || addresses.for_each(drop));
    (child, http, agents)
}

/// Every word of a line that is an address with a port.
fn addresses_in(line: &str) -> Vec<SocketAddr> {
    line.split_whitespace()
        .map(|word| {
            word.trim_start_matches("http://")
                .trim_end_matches(['/', ',', '.'])
        })
        .filter_map(|word| word.parse().ok())
        .collect()
}
