//! One relay as a child process.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::server::{self, addresses_in};
use crate::{program, wait};

/// One relay. A restart uses the same ports.
#[derive(Debug)]
pub struct Relay {
    /// Where agents connect.
    pub agents: SocketAddr,
    /// Where clients of the API connect.
    pub http: Option<SocketAddr>,
    arguments: Vec<String>,
    log: PathBuf,
    child: Option<Child>,
}

impl Relay {
    /// Starts a relay to these servers on a random port of loopback, with more arguments of `muster-agent relay`.
    pub fn start(folder: &Path, name: &str, servers: &[SocketAddr], arguments: &[&str]) -> Self {
        let any = "127.0.0.1:0".parse().unwrap();
        Self::start_at(any, folder, name, servers, arguments)
    }

    /// The same on this address.
    pub fn start_at(
        listen: SocketAddr,
        folder: &Path,
        name: &str,
        servers: &[SocketAddr],
        arguments: &[&str],
    ) -> Self {
        let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
        let mut all = vec!["--server".to_owned(), servers.join(",")];
        all.extend(arguments.iter().map(|word| (*word).to_owned()));
        let mut relay = Self {
            agents: listen,
            http: None,
            arguments: all,
            log: folder.join(format!("{name}.log")),
            child: None,
        };
        relay.restart();
        relay
    }

    /// Starts it again on the same port.
    pub fn restart(&mut self) {
        self.kill();
        let log = File::options().create(true).append(true).open(&self.log);
        let mut child = Command::new(program::path("muster-agent"))
            .args(["relay", "--listen", &self.agents.to_string()])
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.unwrap())
            .spawn()
            .unwrap();
        let line = server::first_line(&mut child).expect("the relay prints its addresses");
        let addresses = addresses_in(&line);
        (self.agents, self.http) = (addresses[0], addresses.get(1).copied());
        self.child = Some(child);
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// By SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// By SIGTERM; whether it succeeded.
    pub fn terminate(&mut self) -> bool {
        let mut child = self.child.take().expect("a relay that runs");
        let pid = Pid::from_raw(child.id() as i32).expect("a child has a pid");
        kill_process(pid, Signal::TERM).unwrap();
        let ended = wait::until("the relay to end", || child.try_wait().unwrap());
        ended.success()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            println!("log of the relay on {}:\n{}", self.agents, self.log());
        }
    }
}
