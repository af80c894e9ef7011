//! Servers and a simulated fleet, and their figures.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tempfile::TempDir;

use super::engines::Engines;
use super::simulator::Simulator;
use super::{Args, row, seconds};
use crate::bench::agent::{interrupt, usage};
use crate::client::Client;
use crate::server::{self, Server, Settings};
use crate::table::{Table, thousands};

const POLL_EVERY: Duration = Duration::from_millis(20);
/// Without a status for this time the fleet is idle.
const QUIET: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Deployment {
    pub(super) simulator: Simulator,
    replicas: Vec<Replica>,
    binaries: PathBuf,
    /// Last, so that they outlive the replicas.
    engines: Option<Engines>,
}

#[derive(Debug)]
struct Replica {
    server: Server,
    data: TempDir,
}

/// CPU time of servers and simulator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cpu {
    at: Instant,
    servers: Duration,
    simulator: Duration,
}

/// Percent of one core.
#[derive(Debug, Clone, Copy)]
pub(super) struct CpuShare {
    pub(super) servers: f64,
    pub(super) simulator: f64,
}

impl Deployment {
    /// Starts servers and simulator: every agent is enrolled, none is connected.
    pub(super) fn start(args: &Args, table: &mut Table) -> anyhow::Result<Self> {
        let binaries = server::binaries()?;
        let engines = match args.replicas {
            1 => None,
            _ => Some(Engines::start()?),
        };
        let mut replicas = Vec::new();
        for _ in 0..args.replicas {
            let settings = Settings {
                more: engines.as_ref().map(Engines::arguments).unwrap_or_default(),
                ..Settings::default()
            };
            let data = tempfile::tempdir()?;
            let (server, _) = Server::start_with(&binaries, data.path(), &settings)?;
            replicas.push(Replica { server, data });
        }
        let addresses: Vec<_> = replicas.iter().map(|one| one.server.agents).collect();
        let started = Instant::now();
        let simulator = Simulator::start(&binaries, &addresses, args)?;
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
            simulator,
            replicas,
            binaries,
            engines,
        })
    }

    /// Where the API of the first replica answers.
    pub(super) fn http(&self) -> std::net::SocketAddr {
        self.replicas[0].server.http
    }

    /// A connection to the API of the first replica.
    pub(super) fn client(&self) -> anyhow::Result<Client> {
        Client::connect(self.replicas[0].server.http)
    }

    /// Resident memory of all servers, in bytes.
    pub(super) fn memory(&self) -> anyhow::Result<u64> {
        let each = self.replicas.iter().map(|replica| replica.server.memory());
        each.sum()
    }

    /// Size of the store in bytes.
    pub(super) fn store_bytes(&self) -> anyhow::Result<u64> {
        if let Some(engines) = &self.engines {
            return engines.store_bytes();
        }
        let mut bytes = 0;
        for entry in std::fs::read_dir(self.replicas[0].data.path())? {
            bytes += entry?.metadata()?.len();
        }
        Ok(bytes)
    }

    pub(super) fn n_servers(&self) -> usize {
        self.replicas.len()
    }

    /// Statuses that all servers have received.
    pub(super) fn statuses(&self) -> anyhow::Result<u64> {
        let each = self.replicas.iter().map(|replica| {
            let mut client = Client::connect(replica.server.http)?;
            metric(&mut client, "muster_statuses_total")
        });
        each.sum()
    }

    /// Waits until every agent is connected.
    pub(super) fn until_connected(
        &mut self,
        n_agents: usize,
        patience: Duration,
    ) -> anyhow::Result<()> {
        wait(patience, || {
            let connected = self.simulator.n_connected()?;
            let what = format!("{connected} of {n_agents} agents are connected");
            Ok((connected == n_agents).then_some(()).ok_or(what))
        })
    }

    /// Waits until more agents than `before` have lost their server.
    pub(super) fn until_lost(&mut self, before: u64, patience: Duration) -> anyhow::Result<()> {
        wait(patience, || {
            let lost = self.simulator.stats()?["lost"].as_u64().unwrap_or(0);
            let what = "no agent has noticed".to_owned();
            Ok((lost > before).then_some(()).ok_or(what))
        })
    }

    /// Waits until the servers have received so many statuses.
    pub(super) fn until_statuses(&self, wanted: u64, patience: Duration) -> anyhow::Result<()> {
        wait(patience, || {
            let taken = self.statuses()?;
            let what = format!("{taken} of {wanted} statuses are taken");
            Ok((taken >= wanted).then_some(()).ok_or(what))
        })
    }

    /// Waits until so many results are acknowledged.
    pub(super) fn until_acknowledged(
        &mut self,
        wanted: u64,
        patience: Duration,
    ) -> anyhow::Result<()> {
        wait(patience, || {
            let stats = self.simulator.stats()?;
            let n = stats["targets"]["n"].as_u64().unwrap_or(0);
            let what = format!("{n} of {wanted} results are acknowledged");
            Ok((n >= wanted).then_some(()).ok_or(what))
        })
    }

    /// Waits until no further status arrives.
    pub(super) fn until_quiet(&self, patience: Duration) -> anyhow::Result<()> {
        let (mut last, mut since) = (self.statuses()?, Instant::now());
        wait(patience, || {
            let taken = self.statuses()?;
            if taken != last {
                (last, since) = (taken, Instant::now());
            }
            let what = "statuses still come".to_owned();
            Ok((since.elapsed() >= QUIET).then_some(()).ok_or(what))
        })
    }

    pub(super) fn cpu(&self) -> Cpu {
        let pids: Vec<i32> = self.replicas.iter().map(|one| one.server.pid()).collect();
        Cpu {
            at: Instant::now(),
            servers: usage::cpu(&pids),
            simulator: usage::cpu(&[self.simulator.pid()]),
        }
    }

    /// Kills the first server.
    pub(super) fn kill_server(&mut self) -> anyhow::Result<()> {
        self.replicas[0].server.kill()
    }

    /// Restarts the first server on its ports and data; returns the time until it is ready.
    pub(super) fn start_server(&mut self) -> anyhow::Result<Duration> {
        let engines = self.engines.as_ref();
        let replica = &mut self.replicas[0];
        let settings = Settings {
            http: replica.server.http,
            agents: replica.server.agents,
            more: engines.map(Engines::arguments).unwrap_or_default(),
        };
        let (server, took) = Server::start_with(&self.binaries, replica.data.path(), &settings)?;
        replica.server = server;
        Ok(took)
    }

    /// Ends everything.
    pub(super) fn end(self) -> anyhow::Result<()> {
        self.simulator.end()?;
        for mut replica in self.replicas {
            replica.server.kill()?;
            replica.data.close()?;
        }
        Ok(())
    }
}

/// One figure of `/metrics`.
fn metric(client: &mut Client, name: &str) -> anyhow::Result<u64> {
    let text = String::from_utf8(client.get("/metrics")?)?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
        .with_context(|| format!("the server has no metric {name}"))?;
    Ok(value.parse()?)
}

/// Polls until `check` succeeds; its last failure is the error.
fn wait(
    patience: Duration,
    mut check: impl FnMut() -> anyhow::Result<Result<(), String>>,
) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        let Err(what) = check()? else {
            return Ok(());
        };
        ensure!(started.elapsed() < patience, "after {patience:?} {what}");
        interrupt::sleep(POLL_EVERY)?;
    }
}

impl Cpu {
    /// CPU time of servers and simulator since an earlier measurement.
    pub(super) fn used_since(self, earlier: Self) -> (Duration, Duration) {
        (
            self.servers.saturating_sub(earlier.servers),
            self.simulator.saturating_sub(earlier.simulator),
        )
    }

    /// CPU share since an earlier measurement.
    pub(super) fn since(self, earlier: Self) -> CpuShare {
        let time = self.at.duration_since(earlier.at).as_secs_f64();
        let share =
            |now: Duration, then: Duration| 100.0 * now.saturating_sub(then).as_secs_f64() / time;
        CpuShare {
            servers: share(self.servers, earlier.servers),
            simulator: share(self.simulator, earlier.simulator),
        }
    }
}
