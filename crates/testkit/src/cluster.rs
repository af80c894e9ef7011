//! Servers and agents as child processes that can be killed and restarted.

mod agent;
mod network;
mod relay;
mod replicas;
mod server;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub use agent::Agent;
pub use network::Network;
pub use relay::Relay;
pub use replicas::{Replica, Replicas, Setup};
use server::ServerOptions;

use crate::api::Api;
use crate::wait;

const JOIN_TOKEN: &str = "test-join-token";

/// A single server with its data. Killed when dropped; so are agents.
#[derive(Debug)]
pub struct Cluster {
    dir: TempDir,
    server: Option<Child>,
    options: ServerOptions,
    pub api: Api,
}

impl Cluster {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with more arguments of `muster server`.
    pub fn start_with(arguments: &[&str]) -> Self {
        let dir = TempDir::with_prefix("muster-test-").unwrap();
        let mut options = ServerOptions::alone(dir.path());
        options.arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        let mut server = options.spawn();
        // A restart uses the same ports.
        (options.http, options.agents) =
            server::await_up(&mut server).expect("the server prints its addresses");
        Self {
            api: Api::new(options.http),
            dir,
            server: Some(server),
            options,
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn http(&self) -> SocketAddr {
        self.options.http
    }

    /// Where agents connect.
    pub fn agents(&self) -> SocketAddr {
        self.options.agents
    }

    /// The data directory of the server.
    pub fn data(&self) -> &Path {
        &self.options.data
    }

    /// The database file of the server.
    pub fn store_url(&self) -> String {
        format!("sqlite:{}", self.options.data.join("muster.db").display())
    }

    /// 0 while it is down.
    pub fn server_pid(&self) -> u32 {
        self.server.as_ref().map_or(0, Child::id)
    }

    /// By SIGKILL.
    pub fn kill_server(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }

    /// Starts it again on the same ports and data, with other arguments.
    pub fn restart_server_with(&mut self, arguments: &[&str]) {
        self.options.arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        self.restart_server();
    }

    pub fn server_log(&self) -> String {
        std::fs::read_to_string(&self.options.log).unwrap_or_default()
    }

    /// Starts it again on the same ports and data.
    pub fn restart_server(&mut self) {
        self.kill_server();
        let mut server = self.options.spawn();
        server::await_up(&mut server).expect("the server prints its addresses");
        self.server = Some(server);
    }

    /// Starts an agent for a host and waits until the server shows it as connected.
    pub fn agent(&self, ip: &str) -> Agent {
        self.agent_under(ip, &[])
    }

    /// The same through a wrapper program, which gets the agent's command line.
    pub fn agent_under(&self, ip: &str, wrapper: &[&str]) -> Agent {
        let agent = self.agent_process(ip, vec![self.agents()], wrapper);
        self.wait_for_agent(ip, true);
        agent
    }

    /// The same through relays, which it takes for servers.
    pub fn agent_through(&self, ip: &str, relays: &[&Relay]) -> Agent {
        let agent = self.start_agent_through(ip, relays);
        self.wait_for_agent(ip, true);
        agent
    }

    /// The same without waiting.
    pub fn start_agent_through(&self, ip: &str, relays: &[&Relay]) -> Agent {
        self.agent_process(ip, relays.iter().map(|relay| relay.agents).collect(), &[])
    }

    /// Through relays, and through a wrapper program.
    pub fn agent_through_under(&self, ip: &str, relays: &[&Relay], wrapper: &[&str]) -> Agent {
        let addresses = relays.iter().map(|relay| relay.agents).collect();
        let agent = self.agent_process(ip, addresses, wrapper);
        self.wait_for_agent(ip, true);
        agent
    }

    fn agent_process(&self, ip: &str, addresses: Vec<SocketAddr>, wrapper: &[&str]) -> Agent {
        let data = self.dir.path().join(format!("agent-{ip}"));
        let mut agent = Agent::new(ip, data, addresses);
        agent.wrapper = wrapper.iter().map(|word| (*word).to_owned()).collect();
        agent.restart();
        agent
    }

    pub fn wait_for_agent(&self, ip: &str, up: bool) {
        wait_for_agent(&self.api, ip, up);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill_server();
        end_all_in(self.dir.path());
    }
}

/// Waits until the server shows the agent as connected, or not.
fn wait_for_agent(api: &Api, ip: &str, up: bool) {
    let body = serde_json::json!({"hosts": [{"ip": ip, "bk_cloud_id": 0}]});
    wait::until("the agent to come or go", || {
        let body = crate::api::with_credentials(body.clone());
        let answer = api.try_post("/v2/gse/get_agent_status/", &body).ok()?;
        (answer["data"][format!("0:{ip}")]["bk_agent_alive"] == u8::from(up)).then_some(())
    });
}

/// Kills every process whose working directory is below `dir`: an agent may have restarted one that its test killed.
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
            // It may have exited.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
