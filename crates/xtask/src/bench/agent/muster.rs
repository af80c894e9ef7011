//! The agent with its server, operated through the HTTP API.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;
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
muster: start is one operate_proc_multi request for each 1,000 processes with all specs inline, from sending the first until the API shows every process \
running with the pid that the process itself gave; so is the storm's end. start_check_secs 0, start_interval 0, \
start_retries as high as they go: what an operator who wants speed sets. Memory and CPU are the agent's. The others start \
what their configuration lists, from their own exec until every process has said that it is up.";

/// How many processes one request starts, and one page of the list shows.
const PER_REQUEST: usize = 1000;

const HOST: &str = r#"{"ip":"127.0.0.1","bk_cloud_id":0,"bk_supplier_id":0}"#;

/// What the agent is given that is worse than this machine.
#[derive(Debug, Default)]
pub(super) struct Handicap {
    pub(super) disk: Option<Arc<SlowDisk>>,
    /// One of testkit's restrictions of system calls.
    pub(super) restriction: Option<&'static str>,
}

pub(super) fn peer(handicap: Handicap) -> Peer {
    Peer {
        name: "muster",
        package: Package::Ours,
        start: Box::new(move |sandbox, n| {
            let (running, requested_at) = start(sandbox, n, &handicap)?;
            Ok(Started {
                supervisor: Box::new(running),
                requested_at,
            })
        }),
    }
}

#[derive(Debug)]
pub(super) struct Running {
    agent: Tree,
    /// How the agent was started.
    program: Command,
    client: Client,
    _server: Server,
}

/// Starts server and agent, and asks for `n` sleepers.
pub(super) fn start(
    sandbox: &Sandbox,
    n: usize,
    handicap: &Handicap,
) -> anyhow::Result<(Running, Instant)> {
    let (server, _) = Server::start(sandbox.binaries(), &sandbox.dir().join("server"))?;
    let agent = sandbox.binaries().join("muster-agent");
    let mut program = match handicap.restriction {
        None => Command::new(agent),
        Some(restriction) => {
            let mut program = Command::new(sandbox.binaries().join("restricted"));
            program.arg(restriction).arg(agent);
            program
        }
    };
    let agents = match &handicap.disk {
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
        program,
        client: Client::connect(server.http)?,
        _server: server,
    };
    running.wait_for_agent(true)?;
    let parts = (0..n).step_by(PER_REQUEST);
    let bodies = parts.map(|from| operate(sandbox, from..n.min(from + PER_REQUEST)));
    let bodies = bodies.collect::<anyhow::Result<Vec<String>>>()?;
    let requested_at = Instant::now();
    for body in bodies {
        running.client.gse("operate_proc_multi", body.as_bytes())?;
    }
    Ok((running, requested_at))
}

impl Running {
    /// Kills the agent and starts it again: it adopts its processes.
    pub(super) fn replace_agent(&mut self, sandbox: &Sandbox) -> anyhow::Result<()> {
        self.agent.kill()?;
        self.wait_for_agent(false)?;
        self.agent = process_tree::spawn(sandbox, &self.program, "TERM")?;
        self.wait_for_agent(true)
    }

    fn wait_for_agent(&mut self, connected: bool) -> anyhow::Result<()> {
        let since = Instant::now();
        let body = format!(r#"{{"hosts":[{HOST}]}}"#);
        loop {
            let answer = self.client.gse("get_agent_status", body.as_bytes())?;
            let answer: Value = serde_json::from_slice(&answer)?;
            if answer["data"]["0:127.0.0.1"]["bk_agent_alive"] == i32::from(connected) {
                return Ok(());
            }
            ensure!(
                since.elapsed() < Duration::from_secs(20),
                "the agent did not {} in 20 s",
                if connected { "connect" } else { "disconnect" }
            );
            interrupt::sleep(Duration::from_millis(5))?;
        }
    }

    /// The pids that the API shows as running, by name.
    fn shown(&mut self) -> anyhow::Result<HashMap<String, i64>> {
        let mut pids = HashMap::new();
        for start in (0..).step_by(PER_REQUEST) {
            let body = format!(
                r#"{{"meta":{{"namespace":"bench"}},"page":{{"start":{start},"limit":{PER_REQUEST}}}}}"#
            );
            let answer = self.client.gse("sync_proc_status", body.as_bytes())?;
            let answer: Value = serde_json::from_slice(&answer)?;
            let rows = answer["data"]["proc_infos"].as_array();
            let rows = rows.context("proc_infos is a list")?;
            let running = rows.iter().filter(|row| row["status"] == 1);
            pids.extend(running.filter_map(|row| {
                let name = row["meta"]["name"].as_str()?;
                Some((name.to_owned(), row["pid"].as_i64()?))
            }));
            if rows.len() < PER_REQUEST {
                break;
            }
        }
        Ok(pids)
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

/// One request that starts these processes, with inline specs.
fn operate(sandbox: &Sandbox, indices: Range<usize>) -> anyhow::Result<String> {
    let first = indices.start;
    let dir = sandbox.dir().display();
    let mut text = String::from(r#"{"proc_operate_req":["#);
    for index in indices {
        let comma = if index == first { "" } else { "," };
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
