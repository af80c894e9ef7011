//! A relay between simulator and servers, as a process of its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context;

use crate::usage;

#[derive(Debug)]
pub(crate) struct Relay {
    child: Child,
    /// Where agents connect.
    pub(super) agents: SocketAddr,
}

impl Relay {
    /// Starts `muster-agent relay` of this folder. All simulated agents have one address, so its limits allow them all.
    pub(super) fn start(
        binaries: &Path,
        servers: &[SocketAddr],
        n_agents: usize,
        multiplex: Option<usize>,
    ) -> anyhow::Result<Self> {
        let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
        // Some of them may connect again before the relay has seen that they went.
        let most = (n_agents + n_agents / 32 + 64).to_string();
        let program = binaries.join("muster-agent");
        let mut child = Command::new(&program)
            .args(["relay", "--listen", "127.0.0.1:0", "--log", "warn"])
            .args(["--server", &servers.join(",")])
            .args(["--max-connections", &most, "--max-per-address", &most])
            .args(multiplex.map(|n| format!("--multiplex={n}")))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.split_whitespace().find_map(|word| word.parse().ok());
        let agents = address.with_context(|| format!("no address in {line:?}"))?;
        Ok(Self { child, agents })
    }

    pub(super) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// PSS in bytes.
    pub(crate) fn memory(&self) -> anyhow::Result<u64> {
        usage::memory(&[self.pid()])
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
