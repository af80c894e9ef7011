//! A server and a simulated fleet, and what can be read off them.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tempfile::TempDir;

use super::simulator::Simulator;
use super::{Args, row, seconds};
use crate::bench::agent::usage;
use crate::client::Client;
use crate::server::{self, Server, Settings};
use crate::table::{Table, thousands};

const LOOK_AGAIN: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Stage {
    pub(super) server: Server,
    pub(super) simulator: Simulator,
    binaries: PathBuf,
    data: TempDir,
}

/// Time on a core, of server and simulator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cpu {
    at: Instant,
    server: Duration,
    simulator: Duration,
}

/// Percent of one core.
#[derive(Debug, Clone, Copy)]
pub(super) struct CpuShare {
    pub(super) server: f64,
    pub(super) simulator: f64,
}

impl Stage {
    /// Everything is up, every agent is enrolled, none is connected.
    pub(super) fn set(args: &Args, table: &mut Table) -> anyhow::Result<Self> {
        let binaries = server::binaries()?;
        let data = tempfile::tempdir()?;
        let (server, _) = Server::start(&binaries, data.path())?;
        let started = Instant::now();
        let simulator = Simulator::start(&binaries, &[server.agents], args)?;
        let took = started.elapsed();
        let rate = args.agents as f64 / took.as_secs_f64();
        row(
            table,
            format!(
                "enrol {} agents: keys, certificates, durable",
                thousands(args.agents as f64)
            ),
            format!("{} ({}/s)", seconds(took), thousands(rate)),
            "",
        );
        Ok(Self {
            server,
            simulator,
            binaries,
            data,
        })
    }

    pub(super) fn client(&self) -> anyhow::Result<Client> {
        Client::connect(self.server.http)
    }

    /// One figure of `/metrics`.
    pub(super) fn metric(&self, client: &mut Client, name: &str) -> anyhow::Result<u64> {
        let text = String::from_utf8(client.get("/metrics")?)?;
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
            .with_context(|| format!("the server has no metric {name}"))?;
        Ok(value.parse()?)
    }

    /// Waits until every agent is connected.
    pub(super) fn until_connected(
        &mut self,
        n_agents: usize,
        patience: Duration,
    ) -> anyhow::Result<()> {
        let started = Instant::now();
        loop {
            let connected = self.simulator.n_connected()?;
            if connected == n_agents {
                return Ok(());
            }
            ensure!(
                started.elapsed() < patience,
                "after {patience:?} {connected} of {n_agents} agents are connected"
            );
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Waits until the server has taken so many statuses.
    pub(super) fn until_statuses(&self, wanted: u64, patience: Duration) -> anyhow::Result<()> {
        let mut client = self.client()?;
        let started = Instant::now();
        loop {
            let taken = self.metric(&mut client, "muster_statuses_total")?;
            if taken >= wanted {
                return Ok(());
            }
            ensure!(
                started.elapsed() < patience,
                "after {patience:?} the server has {taken} of {wanted} statuses"
            );
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    pub(super) fn cpu(&self) -> Cpu {
        Cpu {
            at: Instant::now(),
            server: usage::cpu(&[self.server.pid()]),
            simulator: usage::cpu(&[self.simulator.pid()]),
        }
    }

    /// As if the power had gone, and come back at once; answers how long the server took to be ready.
    pub(super) fn restart_server(&mut self) -> anyhow::Result<Duration> {
        let settings = Settings {
            http: self.server.http,
            agents: self.server.agents,
            more: Vec::new(),
        };
        self.server.kill()?;
        let (server, took) = Server::start_with(&self.binaries, self.data.path(), &settings)?;
        self.server = server;
        Ok(took)
    }

    /// Ends everything and leaves nothing behind.
    pub(super) fn strike(mut self) -> anyhow::Result<()> {
        self.simulator.end()?;
        self.server.kill()?;
        self.data.close()?;
        Ok(())
    }
}

impl Cpu {
    /// What was used between two looks.
    pub(super) fn since(self, earlier: Self) -> CpuShare {
        let time = self.at.duration_since(earlier.at).as_secs_f64();
        let share =
            |now: Duration, then: Duration| 100.0 * now.saturating_sub(then).as_secs_f64() / time;
        CpuShare {
            server: share(self.server, earlier.server),
            simulator: share(self.simulator, earlier.simulator),
        }
    }
}
