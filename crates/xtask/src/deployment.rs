//! Real servers and a simulated fleet as child processes, with real TLS connections and frames. Counts come from the server's
//! `/metrics`, memory and CPU from the kernel.

mod agent;
mod engines;
mod relay;
mod simulator;

pub(crate) use agent::RealAgent;
pub(crate) use simulator::Quantiles;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tempfile::TempDir;

use crate::client::Client;
use crate::server::{self, Server, Settings};
use crate::{interrupt, usage};
use engines::Engines;
use relay::Relay;
use simulator::Simulator;

const POLL_EVERY: Duration = Duration::from_millis(20);
/// Open files of a simulator, a relay or a server beside those of agents.
const OTHER_FILES: usize = 1024;
/// Without a status for this time the fleet is idle.
const QUIET: Duration = Duration::from_secs(2);

/// What is deployed.
#[derive(Debug, Clone)]
pub(crate) struct Fleet {
    /// Simulated agents, each with its own identity and connection.
    pub(crate) agents: usize,
    /// Servers. More than one share a PostgreSQL and a NATS that are started for them.
    pub(crate) replicas: u8,
    /// How long a simulated operation takes.
    pub(crate) delay: String,
    /// How many simulated operations fail: 0.1%.
    pub(crate) fail: String,
    /// Whether all agents connect through relays. They do if a server may not open enough files for them.
    pub(crate) relay: bool,
    /// Connections of each relay to each server; 0: one for each agent. By default what a relay does by default.
    pub(crate) multiplex: Option<usize>,
}

impl Fleet {
    /// Of one server.
    pub(crate) fn new(agents: usize) -> Self {
        Self {
            agents,
            replicas: 1,
            delay: "5ms..50ms".to_owned(),
            fail: "0%".to_owned(),
            relay: false,
            multiplex: None,
        }
    }

    /// How many agents each simulator and each relay has.
    fn parts(&self) -> Vec<usize> {
        let most = usage::open_files().saturating_sub(OTHER_FILES).max(1);
        // A relay without shared connections needs two files for each agent.
        let most = if self.multiplex == Some(0) {
            most / 2
        } else {
            most
        };
        let n = self.agents.div_ceil(most).max(1);
        let part = |index| self.agents / n + usize::from(index < self.agents % n);
        (0..n).map(part).collect()
    }

    /// Whether the agents need relays.
    pub(crate) fn has_relays(&self) -> bool {
        self.relay || self.agents > usage::open_files().saturating_sub(OTHER_FILES)
    }
}

#[derive(Debug)]
pub(crate) struct Deployment {
    pub(crate) simulator: Simulator,
    /// Between the simulators and the servers.
    pub(crate) relays: Vec<Relay>,
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
pub(crate) struct Cpu {
    at: Instant,
    servers: Duration,
    simulator: Duration,
    relay: Duration,
}

/// Percent of one core.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuShare {
    pub(crate) servers: f64,
    pub(crate) simulator: f64,
    pub(crate) relay: f64,
}

impl Deployment {
    /// Starts servers and simulator: every agent is enrolled, none is connected. Returns how long the enrolment took.
    pub(crate) fn start(fleet: &Fleet) -> anyhow::Result<(Self, Duration)> {
        let binaries = server::binaries()?;
        let engines = match fleet.replicas {
            1 => None,
            _ => Some(Engines::start()?),
        };
        let mut replicas = Vec::new();
        for _ in 0..fleet.replicas {
            let settings = Settings {
                more: arguments(engines.as_ref(), fleet.has_relays()),
                ..Settings::default()
            };
            let data = tempfile::tempdir()?;
            let (server, _) = Server::start_with(&binaries, data.path(), &settings)?;
            replicas.push(Replica { server, data });
        }
        let addresses: Vec<_> = replicas.iter().map(|one| one.server.agents).collect();
        let (mut relays, mut parts) = (Vec::new(), Vec::new());
        for n_agents in fleet.parts() {
            if fleet.has_relays() {
                let relay = Relay::start(&binaries, &addresses, n_agents, fleet.multiplex)?;
                parts.push((vec![relay.agents], n_agents));
                relays.push(relay);
            } else {
                parts.push((addresses.clone(), n_agents));
            }
        }
        let started = Instant::now();
        let simulator = Simulator::start(&binaries, &parts, fleet)?;
        let took = started.elapsed();
        let deployment = Self {
            simulator,
            relays,
            replicas,
            binaries,
            engines,
        };
        Ok((deployment, took))
    }

    /// Where the API of the first replica answers.
    pub(crate) fn http(&self) -> std::net::SocketAddr {
        self.replicas[0].server.http
    }

    /// Where agents connect to the first replica.
    pub(crate) fn agents(&self) -> std::net::SocketAddr {
        self.replicas[0].server.agents
    }

    /// A connection to the API of the first replica.
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        Client::connect(self.replicas[0].server.http)
    }

    /// Resident memory of all servers, in bytes.
    pub(crate) fn memory(&self) -> anyhow::Result<u64> {
        let each = self.replicas.iter().map(|replica| replica.server.memory());
        each.sum()
    }

    /// PSS of all relays, in bytes; None without relays.
    pub(crate) fn relay_memory(&self) -> anyhow::Result<Option<u64>> {
        let each = self.relays.iter().map(Relay::memory);
        let all: u64 = each.sum::<anyhow::Result<u64>>()?;
        Ok((!self.relays.is_empty()).then_some(all))
    }

    /// Size of the store in bytes.
    pub(crate) fn store_bytes(&self) -> anyhow::Result<u64> {
        if let Some(engines) = &self.engines {
            return engines.store_bytes();
        }
        let mut bytes = 0;
        for entry in std::fs::read_dir(self.replicas[0].data.path())? {
            bytes += entry?.metadata()?.len();
        }
        Ok(bytes)
    }

    pub(crate) fn n_servers(&self) -> usize {
        self.replicas.len()
    }

    /// Statuses that all servers have received.
    pub(crate) fn statuses(&self) -> anyhow::Result<u64> {
        let each = self.replicas.iter().map(|replica| {
            let mut client = Client::connect(replica.server.http)?;
            metric(&mut client, "muster_statuses_total")
        });
        each.sum()
    }

    /// Waits until every agent is connected.
    pub(crate) fn until_connected(
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
    pub(crate) fn until_lost(&mut self, before: u64, patience: Duration) -> anyhow::Result<()> {
        wait(patience, || {
            let lost = self.simulator.stats()?["lost"].as_u64().unwrap_or(0);
            let what = "no agent has noticed".to_owned();
            Ok((lost > before).then_some(()).ok_or(what))
        })
    }

    /// Waits until the servers have received so many statuses.
    pub(crate) fn until_statuses(&self, wanted: u64, patience: Duration) -> anyhow::Result<()> {
        wait(patience, || {
            let taken = self.statuses()?;
            let what = format!("{taken} of {wanted} statuses are taken");
            Ok((taken >= wanted).then_some(()).ok_or(what))
        })
    }

    /// Waits until so many results are acknowledged.
    pub(crate) fn until_acknowledged(
        &mut self,
        wanted: u64,
        patience: Duration,
    ) -> anyhow::Result<()> {
        wait(patience, || {
            let stats = self.simulator.stats()?;
            let n = stats["targets"].as_u64().unwrap_or(0);
            let what = format!("{n} of {wanted} results are acknowledged");
            Ok((n >= wanted).then_some(()).ok_or(what))
        })
    }

    /// Waits until no further status arrives.
    pub(crate) fn until_quiet(&self, patience: Duration) -> anyhow::Result<()> {
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

    pub(crate) fn cpu(&self) -> Cpu {
        let pids: Vec<i32> = self.replicas.iter().map(|one| one.server.pid()).collect();
        Cpu {
            at: Instant::now(),
            servers: usage::cpu(&pids),
            simulator: usage::cpu(&self.simulator.pids()),
            relay: usage::cpu(&Vec::from_iter(self.relays.iter().map(Relay::pid))),
        }
    }

    /// Kills the first server.
    pub(crate) fn kill_server(&mut self) -> anyhow::Result<()> {
        self.replicas[0].server.kill()
    }

    /// Restarts the first server on its ports and data; returns the time until it is ready.
    pub(crate) fn start_server(&mut self) -> anyhow::Result<Duration> {
        let engines = self.engines.as_ref();
        let replica = &mut self.replicas[0];
        let settings = Settings {
            http: replica.server.http,
            agents: replica.server.agents,
            more: arguments(engines, !self.relays.is_empty()),
        };
        let (server, took) = Server::start_with(&self.binaries, replica.data.path(), &settings)?;
        replica.server = server;
        Ok(took)
    }

    /// Ends everything.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        self.simulator.end()?;
        for mut replica in self.replicas {
            replica.server.kill()?;
            replica.data.close()?;
        }
        Ok(())
    }
}

/// Further arguments of a server.
fn arguments(engines: Option<&Engines>, has_relay: bool) -> Vec<String> {
    let mut arguments = engines.map(Engines::arguments).unwrap_or_default();
    // All simulated agents enrol from one address.
    arguments.extend(["--agent-rate".to_owned(), "1000000".to_owned()]);
    if has_relay {
        arguments.extend(["--relays".to_owned(), "127.0.0.1".to_owned()]);
    }
    arguments
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
    pub(crate) fn used_since(self, earlier: Self) -> (Duration, Duration) {
        (
            self.servers.saturating_sub(earlier.servers),
            self.simulator.saturating_sub(earlier.simulator),
        )
    }

    /// CPU share since an earlier measurement.
    pub(crate) fn since(self, earlier: Self) -> CpuShare {
        let time = self.at.duration_since(earlier.at).as_secs_f64();
        let share =
            |now: Duration, then: Duration| 100.0 * now.saturating_sub(then).as_secs_f64() / time;
        CpuShare {
            servers: share(self.servers, earlier.servers),
            simulator: share(self.simulator, earlier.simulator),
            relay: share(self.relay, earlier.relay),
        }
    }
}
