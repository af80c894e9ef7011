//! The simulated fleet, as a process of its own that is told what to do by lines.

use std::io::{BufRead, BufReader, Lines, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::Fleet;
use crate::bench::hosts;
use crate::server::JOIN_TOKEN;

#[derive(Debug)]
pub(crate) struct Simulator {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Simulator {
    /// Starts it and waits until every agent is enrolled; none is connected yet.
    pub(super) fn start(
        binaries: &Path,
        servers: &[SocketAddr],
        fleet: &Fleet,
    ) -> anyhow::Result<Self> {
        let sim = binaries.join("sim");
        let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
        let mut child = Command::new(&sim)
            .args(["--server", &servers.join(",")])
            .args(["--join", JOIN_TOKEN])
            .args(["--agents", &fleet.agents.to_string()])
            .args(["--first-ip", &hosts::FIRST.to_string()])
            .args(["--delay", &fleet.delay])
            .args(["--fail", &fleet.fail])
            .arg("--hold")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", sim.display()))?;
        let stdin = child.stdin.take().context("stdin is piped")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut simulator = Self {
            child,
            stdin,
            lines: BufReader::new(stdout).lines(),
        };
        simulator.answer("enrolled")?;
        Ok(simulator)
    }

    pub(super) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    pub(crate) fn tell(&mut self, line: &str) -> anyhow::Result<()> {
        writeln!(self.stdin, "{line}").context("the simulator is gone")
    }

    pub(crate) fn stats(&mut self) -> anyhow::Result<Value> {
        self.tell("stats")?;
        self.answer("stats")
    }

    pub(super) fn n_connected(&mut self) -> anyhow::Result<usize> {
        let connected = self.stats()?["connected"].as_u64();
        Ok(connected.context("stats say how many are connected")? as usize)
    }

    /// Ends it and waits.
    pub(super) fn end(mut self) -> anyhow::Result<()> {
        self.tell("quit")?;
        let status = self.child.wait()?;
        ensure!(status.success(), "the simulator ended with {status}");
        Ok(())
    }

    fn answer(&mut self, event: &str) -> anyhow::Result<Value> {
        let line = self.lines.next().context("the simulator ended")??;
        let answer: Value = serde_json::from_str(&line)?;
        ensure!(answer["event"] == event, "the simulator says {line}");
        Ok(answer)
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
