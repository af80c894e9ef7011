//! The agent with its server, operated through the HTTP API.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::install::Package;
use super::process_tree::{self, Tree};
use super::sandbox::Sandbox;
use super::slow_disk::SlowDisk;
use super::{Peer, Started, Supervisor};
use crate::client::Client;
use crate::interrupt;
use crate::server::{JOIN_TOKEN, Server};

pub(super) const CAPTION: &str = "\
muster: start is one operate_proc_multi request with all specs inline, from sending it until the API shows every process \
running with the pid that the process itself gave; so is the storm's end. start_check_secs 0, start_interval 0, \
start_retries as high as they go: what an operator who wants speed sets. Memory and CPU are the agent's. The others start \
what their configuration lists, from their own exec until every process has said that it is up.";

const HOST: &str = r#"{"ip":"127.0.0.1","bk_cloud_id":0,"bk_supplier_id":0}"#;

/// The agent, perhaps on a disk that is slower than that of this machine.
pub(super) fn peer(disk: Option<Arc<SlowDisk>>) -> Peer {
    Peer {
        name: "muster",
        package: Package::Ours,
        start: Box::new(move |sandbox, n| start(sandbox, n, disk.as_deref())),
    }
}

#[derive(Debug)]
struct Running {
    agent: Tree,
    client: Client,
    _server: Server,
}

fn start(sandbox: &Sandbox, n: usize, disk: Option<&SlowDisk>) -> anyhow::Result<Started> {
    let (server, _) = Server::start(sandbox.binaries(), &sandbox.dir().join("server"))?;
    let mut program = Command::new(sandbox.binaries().join("muster-agent"));
    let agents = match disk {
        Some(disk) => disk.attach(&mut program, server.agents)?,
        None => server.agents,
    };
    program
        .arg("--server")
        .arg(agents.to_string())
        .arg("--data")
        .arg(sandbox.dir().join("agent"))
        .args(["--ip", "127.0.0.1", "--log", "warn"])
        .env("MUSTER_JOIN_TOKEN", JOIN_TOKEN);
    let agent = process_tree::spawn(sandbox, &program, "TERM")?;
    let mut running = Running {
        agent,
        client: Client::connect(server.http)?,
        _server: server,
    };
    running.wait_for_agent()?;
    let body = operate(sandbox, n)?;
    let requested_at = Instant::now();
    if n > 0 {
        running.client.gse("operate_proc_multi", body.as_bytes())?;
    }
    Ok(Started {
        supervisor: Box::new(running),
        requested_at,
    })
}

impl Running {
    fn wait_for_agent(&mut self) -> anyhow::Result<()> {
        let since = Instant::now();
        let body = format!(r#"{{"hosts":[{HOST}]}}"#);
        loop {
            let answer = self.client.gse("get_agent_status", body.as_bytes())?;
            let answer: Value = serde_json::from_slice(&answer)?;
            if answer["data"]["0:127.0.0.1"]["bk_agent_alive"] == 1 {
                return Ok(());
            }
            ensure!(
                since.elapsed() < Duration::from_secs(20),
                "the agent did not join in 20 s"
            );
            interrupt::sleep(Duration::from_millis(5))?;
        }
    }

    /// The pids that the API shows as running, by name.
    fn shown(&mut self) -> anyhow::Result<HashMap<String, i64>> {
        let body = r#"{"meta":{"namespace":"bench"},"page":{"start":0,"limit":1000}}"#;
        let answer = self.client.gse("sync_proc_status", body.as_bytes())?;
        let answer: Value = serde_json::from_slice(&answer)?;
        let rows = answer["data"]["proc_infos"].as_array();
        let rows = rows.context("proc_infos is a list")?;
        let running = rows.iter().filter(|row| row["status"] == 1);
        let pids = running.filter_map(|row| {
            let name = row["meta"]["name"].as_str()?;
            Some((name.to_owned(), row["pid"].as_i64()?))
        });
        Ok(pids.collect())
    }
}

impl Supervisor for Running {
    fn failure(&mut self) -> anyhow::Result<()> {
        self.agent.failure()
    }

    fn pids(&self) -> anyhow::Result<Vec<i32>> {
        Ok(vec![self.agent.pid()])
    }

    fn reports(&mut self, sleepers: &[i32]) -> anyhow::Result<Option<bool>> {
        let shown = self.shown()?;
        let is_shown = |(index, pid): (usize, &i32)| {
            let shown = shown.get(&format!("p{index}"));
            shown == Some(&i64::from(*pid))
        };
        Ok(Some(sleepers.iter().enumerate().all(is_shown)))
    }
}

/// One request that starts all processes, with inline specs.
fn operate(sandbox: &Sandbox, n: usize) -> anyhow::Result<String> {
    let dir = sandbox.dir().display();
    let mut text = String::from(r#"{"proc_operate_req":["#);
    for index in 0..n {
        let comma = if index == 0 { "" } else { "," };
        let command = sandbox.command(index);
        write!(
            text,
            r#"{comma}{{"meta":{{"namespace":"bench","name":"p{index}"}},"op_type":0,"hosts":[{HOST}],"spec":{{
            "identity":{{"proc_name":"sleeper","setup_path":"{dir}","pid_path":"{dir}/p{index}.pid","user":"root"}},
            "control":{{"start_cmd":"exec {command}"}},"resource":{{}},
            "monitor_policy":{{"auto_type":1,"start_check_secs":0,"start_interval":0,"start_retries":86400}}}}}}"#
        )?;
    }
    text.push_str("]}");
    Ok(text)
}
