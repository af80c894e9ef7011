//! A real agent beside the simulated ones, for what only real processes have: output, figures, exits.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;

use super::wait;
use crate::client::Client;
use crate::folder::WorkFolder;
use crate::server::{self, JOIN_TOKEN};

const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct RealAgent {
    child: Child,
    /// Last, so that it ends what the agent supervised after the agent.
    folder: WorkFolder,
}

impl RealAgent {
    /// The host that it says it is.
    pub(crate) const HOST: &str = "10.99.0.1";

    /// Starts it and waits until it is connected.
    pub(crate) fn start(agents: SocketAddr, http: SocketAddr) -> anyhow::Result<Self> {
        let folder = WorkFolder::new("muster-agent-")?;
        let agent = server::binaries()?.join("muster-agent");
        let child = Command::new(&agent)
            .args(["--server", &agents.to_string(), "--ip", Self::HOST])
            .arg("--data")
            .arg(folder.path().join("agent"))
            .args(["--log", "warn"])
            .env("MUSTER_JOIN_TOKEN", JOIN_TOKEN)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", agent.display()))?;
        let started = Self { child, folder };
        let connected = format!("/api/v1/hosts?connected=true&q={}", Self::HOST);
        wait(PATIENCE, || {
            let answer = Client::connect(http)?.get(&connected)?;
            let answer: serde_json::Value = serde_json::from_slice(&answer)?;
            let is_up = answer["count"] == 1;
            Ok(is_up
                .then_some(())
                .ok_or("the agent has not joined".to_owned()))
        })?;
        Ok(started)
    }

    /// A folder in which its processes may run.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for RealAgent {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
