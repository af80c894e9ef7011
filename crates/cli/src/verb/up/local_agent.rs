//! The agent of `muster up`: the same binary again, as a child.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use agent::log::{LogFormat, LogLevel};
use model::Host;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use crate::failure::{Failure, Kind};

/// Settings of the agent, which it inherits.
const FOR_AGENTS: [&str; 7] = [
    "MUSTER_CGROUPS",
    "MUSTER_RELEASE",
    "MUSTER_RELEASE_PATHS",
    "MUSTER_AGENT_MEMORY_MAX",
    "MUSTER_AGENT_CPU_MAX",
    "MUSTER_OUTPUT_RUNS",
    "MUSTER_OUTPUT_MAX",
];
/// How long the agent may take to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct LocalAgent {
    pub(super) server: SocketAddr,
    pub(super) data: PathBuf,
    pub(super) host: Host,
    pub(super) join_token: Option<String>,
    pub(super) log: LogLevel,
    pub(super) log_format: LogFormat,
}

pub(super) struct RunningAgent {
    child: Child,
    started: Instant,
}

impl LocalAgent {
    /// The token is passed in the environment, where other users cannot read it.
    pub(super) fn start(&self) -> Result<RunningAgent, Failure> {
        let failed = |e: std::io::Error| {
            Failure::new(
                Kind::Failed,
                format!("the local agent cannot be started: {e}"),
            )
        };
        let mut command = Command::new(own_program());
        command
            .arg("agent")
            .args(["--server", &self.server.to_string()])
            .arg("--data")
            .arg(&self.data)
            .args(["--ip", &self.host.ip.to_string()])
            .args(["--cloud-id", &self.host.cloud.to_string()])
            .args(["--exit-with-parent", &std::process::id().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            // A process group of its own: Ctrl-C reaches only this process, which then stops the agent.
            .process_group(0);
        // Settings of the server are not settings of the agent.
        for (name, _) in std::env::vars_os() {
            let is_ours = name.as_encoded_bytes().starts_with(b"MUSTER_");
            if is_ours && !FOR_AGENTS.iter().any(|known| name == *known) {
                command.env_remove(name);
            }
        }
        if let Some(token) = &self.join_token {
            command.env("MUSTER_JOIN_TOKEN", token);
        }
        command
            .env("MUSTER_LOG", self.log.as_str())
            .env("MUSTER_LOG_FORMAT", self.log_format.as_str());
        Ok(RunningAgent {
            child: command.spawn().map_err(failed)?,
            started: Instant::now(),
        })
    }
}

/// The running program, even when its file was replaced since.
fn own_program() -> PathBuf {
    std::env::current_exe()
        .ok()
        .filter(|path| path.exists())
        .unwrap_or_else(|| "/proc/self/exe".into())
}

impl RunningAgent {
    /// How it ended, and how long it had run.
    pub(super) async fn ended(&mut self) -> (String, Duration) {
        let how = match self.child.wait().await {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        (how, self.started.elapsed())
    }

    /// Stops the agent; its processes go on.
    pub(super) async fn stop(mut self) {
        let pid = self.child.id().and_then(|pid| i32::try_from(pid).ok());
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            // It fails only where the agent has ended already.
            kill_process(pid, Signal::TERM).ok();
        }
        if tokio::time::timeout(STOP_TIMEOUT, self.child.wait())
            .await
            .is_err()
        {
            tracing::warn!("the local agent did not stop in time");
            self.child.kill().await.ok();
        }
    }
}
