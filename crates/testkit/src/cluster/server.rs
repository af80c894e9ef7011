//! One server as a child process.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::JOIN_TOKEN;
use crate::api::{APP_CODE, APP_SECRET};
use crate::program;

/// How a server is started.
#[derive(Debug, Clone)]
pub(super) struct ServerOptions {
    pub(super) data: PathBuf,
    pub(super) log: PathBuf,
    pub(super) http: SocketAddr,
    pub(super) agents: SocketAddr,
    /// More arguments of `muster server`.
    pub(super) arguments: Vec<String>,
    /// Whether the first app and join token are fixed instead of random.
    pub(super) fixed_keys: bool,
    /// A program that gets the server's command line.
    pub(super) wrapper: Vec<String>,
}

impl ServerOptions {
    /// A single server in this folder, on random ports.
    pub(super) fn alone(dir: &Path) -> Self {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        Self {
            data: dir.join("server"),
            log: dir.join("server.log"),
            http: any,
            agents: any,
            arguments: Vec::new(),
            fixed_keys: true,
            wrapper: Vec::new(),
        }
    }

    /// Starts it without waiting until it is up.
    pub(super) fn spawn(&self) -> Child {
        let log = File::options().create(true).append(true).open(&self.log);
        let server = program::path("muster");
        let mut command = match self.wrapper.as_slice() {
            [] => Command::new(server),
            [wrapper, words @ ..] => {
                let mut command = Command::new(wrapper);
                command.args(words).arg(server);
                command
            }
        };
        command.arg("server").arg("--data").arg(&self.data);
        command.args(["--http", &self.http.to_string()]);
        command.args(["--agents", &self.agents.to_string()]);
        command.args(&self.arguments).env("MUSTER_LOG", "info");
        if self.fixed_keys {
            command.env("MUSTER_APP_CODE", APP_CODE);
            command.env("MUSTER_APP_SECRET", APP_SECRET);
            command.env("MUSTER_JOIN_TOKEN", JOIN_TOKEN);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(log.unwrap()).spawn().unwrap()
    }
}

/// Waits until it is up: the addresses for the API and for agents. `None` if it exits before.
pub(super) fn await_up(child: &mut Child) -> Option<(SocketAddr, SocketAddr)> {
    let lines = BufReader::new(child.stdout.take()?).lines();
    let mut addresses = lines
        .map_while(Result::ok)
        .flat_map(|line| addresses_in(&line));
    let (http, agents) = (addresses.next()?, addresses.next()?);
    // Keeps reading, so that the server never blocks on a full pipe.
    std::thread::spawn(move || addresses.for_each(drop));
    Some((http, agents))
}

/// The first line that a program prints; `None` if it ends before.
pub(super) fn first_line(child: &mut Child) -> Option<String> {
    let mut lines = BufReader::new(child.stdout.take()?).lines();
    lines.next()?.ok()
}

/// Every word of a line that is an address with a port.
pub(super) fn addresses_in(line: &str) -> Vec<SocketAddr> {
    line.split_whitespace()
        .map(|word| {
            word.trim_start_matches("http://")
                .trim_end_matches(['/', ',', '.'])
        })
        .filter_map(|word| word.parse().ok())
        .collect()
}
