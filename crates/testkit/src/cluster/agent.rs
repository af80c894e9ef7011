//! One agent as a child process.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::JOIN_TOKEN;
use crate::{program, wait};

/// One agent; a restart uses the same data.
#[derive(Debug)]
pub struct Agent {
    pub ip: String,
    pub(super) data: PathBuf,
    /// The servers it may connect to.
    pub(super) servers: Vec<SocketAddr>,
    pub(super) wrapper: Vec<String>,
    pub(super) join_token: String,
    pub(super) child: Option<Child>,
}

impl Agent {
    /// An agent that is not started yet.
    pub(super) fn new(ip: &str, data: PathBuf, servers: Vec<SocketAddr>) -> Self {
        Self {
            ip: ip.to_owned(),
            data,
            servers,
            wrapper: Vec::new(),
            join_token: JOIN_TOKEN.to_owned(),
            child: None,
        }
    }

    /// The pid of its wrapper, if it has one.
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
        let log = fs::File::options()
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
        let servers: Vec<String> = self.servers.iter().map(ToString::to_string).collect();
        let child = command
            .args(["--server", &servers.join(",")])
            .arg("--data")
            .arg(&self.data)
            .args(["--ip", &self.ip, "--log", "info"])
            .env("MUSTER_JOIN_TOKEN", &self.join_token)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    /// Restarts it with a token that no server knows.
    pub fn restart_without_token(&mut self) {
        let token = std::mem::replace(&mut self.join_token, "no-such-token".to_owned());
        self.restart();
        self.join_token = token;
    }

    /// Restarts it with other servers.
    pub fn restart_with(&mut self, servers: Vec<SocketAddr>) {
        self.servers = servers;
        self.restart();
    }

    /// Waits until it has exited; whether it succeeded.
    pub fn wait(&mut self) -> bool {
        let child = self.child.as_mut().expect("an agent that runs");
        let ended = wait::until("the agent to end", || child.try_wait().unwrap());
        self.child = None;
        ended.success()
    }

    /// The servers that it is connected to, by `/proc`: one, or two while it moves.
    pub fn connected_to(&self) -> Vec<SocketAddr> {
        let (pid, mut found) = (self.pid(), Vec::new());
        let sockets: Vec<String> = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| Some(fs::read_link(entry.path()).ok()?.display().to_string()))
            .collect();
        let table = fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, _, remote, "01", ..] = fields[..] else {
                continue;
            };
            let is_ours = fields
                .get(9)
                .is_some_and(|inode| sockets.contains(&format!("socket:[{inode}]")));
            if let (true, Some(remote)) = (is_ours, address(remote)) {
                found.push(remote);
            }
        }
        found.retain(|remote| self.servers.contains(remote));
        found
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.data.with_extension("log")).unwrap_or_default()
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

/// Parses an address of `/proc/net/tcp`: IP in native byte order, colon, port, in hexadecimal.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let ip = u32::from_str_radix(ip, 16).ok()?.to_ne_bytes();
    Some(SocketAddr::from((ip, u16::from_str_radix(port, 16).ok()?)))
}
