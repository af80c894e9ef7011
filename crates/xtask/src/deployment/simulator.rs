//! The simulated fleet: one process or several, each with a part of the agents, that are told what to do by lines.
//!
//! Each agent is an open file of its process, and a process may not have more than the system allows.

use std::io::{BufRead, BufReader, Lines, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::{Map, Value};

use super::Fleet;
use crate::bench::hosts;
use crate::server::JOIN_TOKEN;
use crate::usage;

#[derive(Debug)]
pub(crate) struct Simulator {
    parts: Vec<Part>,
}

/// One process.
#[derive(Debug)]
struct Part {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    /// Its share of the agents.
    share: f64,
}

/// How long something took, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quantiles {
    pub(crate) n: u64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
}

impl Simulator {
    /// Starts a process for each of these parts, with the servers of its agents and how many they are, and waits until every
    /// agent is enrolled; none is connected yet.
    pub(super) fn start(
        binaries: &Path,
        parts: &[(Vec<SocketAddr>, usize)],
        fleet: &Fleet,
    ) -> anyhow::Result<Self> {
        let mut simulator = Self { parts: Vec::new() };
        let mut first = hosts::FIRST.to_bits();
        for (servers, n_agents) in parts {
            let part = Part::start(binaries, servers, (first.into(), *n_agents), fleet)?;
            simulator.parts.push(part);
            first += u32::try_from(*n_agents)?;
        }
        for part in &mut simulator.parts {
            part.answer("enrolled")?;
        }
        Ok(simulator)
    }

    pub(crate) fn n_processes(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn pids(&self) -> Vec<i32> {
        let pids = self.parts.iter().map(|part| part.child.id());
        pids.map(u32::cast_signed).collect()
    }

    /// PSS of all processes, in bytes.
    pub(crate) fn memory(&self) -> anyhow::Result<u64> {
        usage::memory(&self.pids())
    }

    /// Tells all processes; each gets its share of a rate.
    pub(crate) fn tell(&mut self, line: &str) -> anyhow::Result<()> {
        let rate = line.split_once(' ').and_then(|(verb, number)| {
            let number: f64 = number.parse().ok()?;
            matches!(verb, "rate" | "events").then_some((verb, number))
        });
        for part in &mut self.parts {
            match rate {
                Some((verb, all)) => part.tell(&format!("{verb} {}", all * part.share))?,
                None => part.tell(line)?,
            }
        }
        Ok(())
    }

    /// The counters of all processes together.
    pub(crate) fn stats(&mut self) -> anyhow::Result<Value> {
        let mut all = Map::new();
        for answer in self.ask("stats")? {
            let answer = answer.as_object().context("stats are an object")?;
            for (name, value) in answer {
                let n = value.as_u64().or_else(|| value["n"].as_u64());
                if let Some(n) = n {
                    let before = all.get(name).and_then(Value::as_u64).unwrap_or(0);
                    all.insert(name.clone(), (before + n).into());
                }
            }
        }
        Ok(all.into())
    }

    /// How long `targets` or `heartbeats` took, over all processes.
    pub(crate) fn durations(&mut self, of: &str) -> anyhow::Result<Quantiles> {
        let mut buckets: Vec<(u64, u64)> = Vec::new();
        let mut width_us = 0.0;
        for answer in self.ask("durations")? {
            width_us = answer[of]["width_us"].as_f64().context("a width")?;
            let counts = answer[of]["buckets"].as_array().context("buckets")?;
            let pair = |it: &Value| Some((it[0].as_u64()?, it[1].as_u64()?));
            buckets.extend(counts.iter().filter_map(pair));
        }
        buckets.sort_unstable();
        let n: u64 = buckets.iter().map(|(_, count)| count).sum();
        let at = |part: f64| {
            let rank = ((n as f64 * part).ceil() as u64).max(1);
            let mut seen = 0;
            let found = buckets.iter().find(|(_, count)| {
                seen += count;
                seen >= rank
            });
            found.map_or(0.0, |(bucket, _)| *bucket as f64 * width_us / 1000.0)
        };
        Ok(Quantiles {
            n,
            p50_ms: at(0.5),
            p99_ms: at(0.99),
            max_ms: at(1.0),
        })
    }

    pub(super) fn n_connected(&mut self) -> anyhow::Result<usize> {
        let connected = self.stats()?["connected"].as_u64();
        Ok(connected.context("stats say how many are connected")? as usize)
    }

    /// Ends it and waits.
    pub(super) fn end(mut self) -> anyhow::Result<()> {
        self.tell("quit")?;
        for part in &mut self.parts {
            let status = part.child.wait()?;
            ensure!(status.success(), "the simulator ended with {status}");
        }
        Ok(())
    }

    /// The answers of all processes, which work on them at the same time.
    fn ask(&mut self, event: &str) -> anyhow::Result<Vec<Value>> {
        self.tell(event)?;
        let parts = self.parts.iter_mut();
        parts.map(|part| part.answer(event)).collect()
    }
}

impl Part {
    fn start(
        binaries: &Path,
        servers: &[SocketAddr],
        (first, n_agents): (Ipv4Addr, usize),
        fleet: &Fleet,
    ) -> anyhow::Result<Self> {
        let sim = binaries.join("sim");
        let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
        let mut child = Command::new(&sim)
            .args(["--server", &servers.join(",")])
            .args(["--join", JOIN_TOKEN])
            .args(["--agents", &n_agents.to_string()])
            .args(["--first-ip", &first.to_string()])
            .args(["--delay", &fleet.delay])
            .args(["--fail", &fleet.fail])
            .arg("--hold")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", sim.display()))?;
        let stdin = child.stdin.take().context("stdin is piped")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        Ok(Self {
            child,
            stdin,
            lines: BufReader::new(stdout).lines(),
            share: n_agents as f64 / fleet.agents as f64,
        })
    }

    fn tell(&mut self, line: &str) -> anyhow::Result<()> {
        writeln!(self.stdin, "{line}").context("the simulator is gone")
    }

    fn answer(&mut self, event: &str) -> anyhow::Result<Value> {
        let line = self.lines.next().context("the simulator ended")??;
        let answer: Value = serde_json::from_str(&line)?;
        ensure!(answer["event"] == event, "the simulator says {line}");
        Ok(answer)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
