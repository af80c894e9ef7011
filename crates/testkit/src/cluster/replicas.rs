//! Several replicas on real PostgreSQL and NATS, with agents that know all of them.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Child;

use engines::{Nats, NatsCluster, Port, Postgres, PostgresOptions};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::server::{self, ServerOptions};
use super::{Agent, Network, Relay, end_all_in, wait_for_agent};
use crate::api::Api;
use crate::wait;

/// Lines of each log that a failed test prints.
const SHOWN_LINES: usize = 120;
/// Makes PostgreSQL reachable from the network namespace of a replica.
const TRUST_ALL: &str = "local all all trust\nhost all all all trust\n";

/// Options of a cluster.
#[derive(Debug)]
pub struct Setup {
    pub n_replicas: usize,
    /// With 0, replicas exchange messages through the store.
    pub n_nats: usize,
    /// Whether PostgreSQL uses fsync.
    pub fsync: bool,
    /// Whether the first app and join token are fixed instead of random.
    pub fixed_keys: bool,
    /// The network namespace of the last replica.
    pub network: Option<Network>,
    /// More arguments of each `muster server`.
    pub arguments: Vec<String>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            n_replicas: 3,
            n_nats: 1,
            fsync: false,
            fixed_keys: true,
            network: None,
            arguments: Vec::new(),
        }
    }
}

/// A cluster, killed when dropped. Agents are separate values.
#[derive(Debug)]
pub struct Replicas {
    /// First, because fields are dropped in this order.
    replicas: Vec<Replica>,
    nats: NatsServers,
    pub postgres: Postgres,
    pub network: Option<Network>,
    dir: TempDir,
}

#[derive(Debug)]
enum NatsServers {
    None,
    One(Box<Nats>),
    Many(NatsCluster),
}

/// One replica. A restart uses the same data and addresses.
#[derive(Debug)]
pub struct Replica {
    options: ServerOptions,
    child: Option<Child>,
    pub api: Api,
    _ports: [Port; 2],
}

impl Replicas {
    /// Starts `n_replicas` with one NATS server, and waits until all are up.
    pub fn start(n_replicas: usize) -> Self {
        let setup = Setup {
            n_replicas,
            ..Setup::default()
        };
        Self::start_with(setup)
    }

    pub fn start_with(setup: Setup) -> Self {
        let mut cluster = Self::prepare(setup);
        cluster.start_all();
        cluster
    }

    /// Starts PostgreSQL and NATS, and no replica.
    pub fn prepare(setup: Setup) -> Self {
        let dir = TempDir::with_prefix("muster-test-").unwrap();
        let (postgres, nats) = engines_for(&setup, dir.path());
        let replicas = (0..setup.n_replicas).map(|n| {
            let network = setup.network.as_ref();
            let network = network.filter(|_| n + 1 == setup.n_replicas);
            let mut replica =
                Replica::new(n, dir.path(), network, setup.fixed_keys, &postgres, &nats);
            replica.options.arguments.extend(setup.arguments.clone());
            replica
        });
        Self {
            replicas: replicas.collect(),
            nats,
            postgres,
            network: setup.network,
            dir,
        }
    }

    /// Starts those that are down, concurrently.
    pub fn start_all(&mut self) {
        let down = (0..self.len()).filter(|n| self.pid(*n) == 0);
        self.start_these(&Vec::from_iter(down));
    }

    /// Starts one on its ports and data.
    pub fn start_one(&mut self, n: usize) {
        self.start_these(&[n]);
    }

    fn start_these(&mut self, down: &[usize]) {
        for n in down {
            self.replicas[*n].spawn();
        }
        for &n in down {
            let child = self.replicas[n].child.as_mut().expect("just started");
            if server::await_up(child).is_none() {
                panic!("replica {n} did not come up:\n{}", self.log(n));
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn len(&self) -> usize {
        self.replicas.len()
    }

    pub fn is_empty(&self) -> bool {
        self.replicas.is_empty()
    }

    pub fn api(&self, n: usize) -> &Api {
        &self.replicas[n].api
    }

    pub fn http(&self, n: usize) -> SocketAddr {
        self.replicas[n].options.http
    }

    /// The data directory of this replica.
    pub fn data(&self, n: usize) -> &Path {
        &self.replicas[n].options.data
    }

    /// 0 while it is down.
    pub fn pid(&self, n: usize) -> u32 {
        self.replicas[n].child.as_ref().map_or(0, Child::id)
    }

    /// The running replicas.
    pub fn running(&self) -> Vec<usize> {
        (0..self.len()).filter(|n| self.pid(*n) != 0).collect()
    }

    /// By SIGKILL.
    pub fn kill(&mut self, n: usize) {
        self.replicas[n].kill();
    }

    /// By SIGTERM, as a service manager does.
    pub fn terminate(&self, n: usize) {
        if let Some(pid) = Pid::from_raw(self.pid(n) as i32) {
            kill_process(pid, Signal::TERM).unwrap();
        }
    }

    /// Waits until it has exited; whether it succeeded.
    pub fn has_exited(&mut self, n: usize) -> bool {
        let child = self.replicas[n].child.as_mut().expect("one that runs");
        let ended = wait::until("the replica to exit", || child.try_wait().unwrap());
        self.replicas[n].child = None;
        ended.success()
    }

    /// One of the NATS servers.
    pub fn nats(&mut self, n: usize) -> &mut Nats {
        match &mut self.nats {
            NatsServers::One(nats) if n == 0 => nats,
            NatsServers::Many(cluster) => cluster.node(n),
            NatsServers::One(_) | NatsServers::None => panic!("there is no NATS server {n}"),
        }
    }

    /// Where agents connect, at each replica.
    pub fn agents(&self) -> Vec<SocketAddr> {
        let replicas = self.replicas.iter();
        replicas.map(|replica| replica.options.agents).collect()
    }

    /// Starts agents for some hosts, which know all replicas, and waits until all replicas know all of them.
    pub fn start_agents(&self, ips: &[&str]) -> Vec<Agent> {
        let agents = ips.iter().map(|ip| {
            let mut agent = self.agent_of(ip);
            agent.restart();
            agent
        });
        let agents = Vec::from_iter(agents);
        self.wait_for_agents(&agents);
        agents
    }

    /// The same, with all agents connected to one replica: the others start afterwards.
    pub fn start_agents_at(&mut self, n: usize, ips: &[&str]) -> Vec<Agent> {
        for other in self.running().into_iter().filter(|other| *other != n) {
            self.kill(other);
        }
        let agents = self.start_agents(ips);
        self.start_all();
        self.wait_for_agents(&agents);
        agents
    }

    /// Starts an agent that connects through these relays, and waits until all replicas know it.
    pub fn start_agent_through(&self, ip: &str, relays: &[&Relay]) -> Agent {
        let mut agent = self.agent_of(ip);
        agent.restart_with(relays.iter().map(|relay| relay.agents).collect());
        let agents = [agent];
        self.wait_for_agents(&agents);
        let [agent] = agents;
        agent
    }

    /// An agent that is not started yet.
    fn agent_of(&self, ip: &str) -> Agent {
        let data = self.dir.path().join(format!("agent-{ip}"));
        Agent::new(ip, data, self.agents())
    }

    /// Starts an agent that knows only this replica, with this join token.
    pub fn start_agent_at(&self, n: usize, ip: &str, join_token: &str) -> Agent {
        let mut agent = self.agent_of(ip);
        agent.join_token = join_token.to_owned();
        agent.restart_with(vec![self.agents()[n]]);
        agent
    }

    /// Waits until every running replica shows each agent as connected.
    pub fn wait_for_agents(&self, agents: &[Agent]) {
        for n in self.running() {
            for agent in agents {
                wait_for_agent(self.api(n), &agent.ip, true);
            }
        }
    }

    /// The replica that an agent is connected to; `None` while it is not connected, or moves.
    pub fn holder(&self, agent: &Agent) -> Option<usize> {
        let connected = agent.connected_to();
        let [address] = connected[..] else {
            return None;
        };
        self.agents().iter().position(|known| *known == address)
    }

    /// How many of these agents each replica holds.
    pub fn n_held(&self, agents: &[Agent]) -> Vec<usize> {
        let mut n_held = vec![0; self.len()];
        for holder in agents.iter().filter_map(|agent| self.holder(agent)) {
            n_held[holder] += 1;
        }
        n_held
    }

    /// The replica that holds the lease for background work.
    #[track_caller]
    pub fn leader(&self) -> usize {
        wait::until("a replica that leads", || {
            let mut running = self.running().into_iter();
            running.find(|n| self.replicas[*n].leads())
        })
    }

    pub fn log(&self, n: usize) -> String {
        self.replicas[n].log()
    }
}

impl Drop for Replicas {
    fn drop(&mut self) {
        for replica in &mut self.replicas {
            replica.kill();
        }
        end_all_in(self.dir.path());
        if std::thread::panicking() {
            for n in 0..self.len() {
                println!("log of replica {n}:\n{}", shortened(&self.log(n)));
            }
        }
    }
}

impl Replica {
    fn new(
        n: usize,
        dir: &Path,
        network: Option<&Network>,
        fixed_keys: bool,
        postgres: &Postgres,
        nats: &NatsServers,
    ) -> Self {
        let ports = [Port::take().unwrap(), Port::take().unwrap()];
        let ip = network.map_or(Ipv4Addr::LOCALHOST, Network::front);
        let [http, agents] = ports.each_ref().map(|port| (ip, port.number()).into());
        // A network namespace has its own loopback.
        let from_there = |url: String| match network {
            Some(network) => url.replace("127.0.0.1", &network.back().to_string()),
            None => url,
        };
        let mut arguments = vec!["--store".to_owned(), from_there(postgres.url())];
        let bus = nats.urls().join(",");
        if !bus.is_empty() {
            arguments.extend(["--bus".to_owned(), from_there(bus)]);
        }
        let options = ServerOptions {
            data: dir.join(format!("replica-{n}")),
            log: dir.join(format!("replica-{n}.log")),
            http,
            agents,
            arguments,
            fixed_keys,
            wrapper: network.map(Network::wrapper).unwrap_or_default(),
        };
        Self {
            options,
            child: None,
            api: Api::new(http),
            _ports: ports,
        }
    }

    fn spawn(&mut self) {
        self.child = Some(self.options.spawn());
        // Drops connections to the killed server.
        self.api = Api::new(self.options.http);
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.options.log).unwrap_or_default()
    }

    fn leads(&self) -> bool {
        let (_, list) = self.api.native("GET", "/api/v1/replicas", None);
        list["replicas"][0]["leads"] == true
    }
}

impl NatsServers {
    fn urls(&self) -> Vec<String> {
        match self {
            Self::None => Vec::new(),
            Self::One(nats) => vec![nats.url()],
            Self::Many(cluster) => cluster.urls(),
        }
    }
}

fn engines_for(setup: &Setup, dir: &Path) -> (Postgres, NatsServers) {
    let mut options = PostgresOptions {
        fsync: setup.fsync,
        ..PostgresOptions::default()
    };
    let mut reachable: &[&str] = &[];
    if setup.network.is_some() {
        let rules = dir.join("pg_hba.conf");
        std::fs::write(&rules, TRUST_ALL).unwrap();
        // PostgreSQL runs as another user.
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(dir, readable).unwrap();
        let settings = [
            ("listen_addresses", "0.0.0.0".to_owned()),
            ("hba_file", rules.display().to_string()),
        ];
        options.settings = settings
            .map(|(name, value)| (name.to_owned(), value))
            .into();
        reachable = &["-a", "0.0.0.0"];
    }
    let nats = match setup.n_nats {
        0 => NatsServers::None,
        1 => NatsServers::One(Box::new(Nats::start_with(reachable).unwrap())),
        n => NatsServers::Many(NatsCluster::start(n).unwrap()),
    };
    (Postgres::start_with(options).unwrap(), nats)
}

/// The end of a log, without access log lines.
fn shortened(log: &str) -> String {
    let lines: Vec<&str> = log
        .lines()
        .filter(|line| !line.contains(" answered request_id"))
        .collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}
