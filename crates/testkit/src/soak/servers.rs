//! The servers of a soak: a single one, or replicas with PostgreSQL and NATS. All can be killed and restarted.

use std::cell::Cell;
use std::path::Path;
use std::time::Instant;

use crate::{Agent, Api, Cluster, Replicas, Setup};

#[derive(Debug)]
pub(super) struct Servers {
    kind: Kind,
    /// When each part is restarted; `None` while it runs.
    servers_down: Vec<Option<Instant>>,
    store_down: Option<Instant>,
    bus_down: Option<Instant>,
    /// Round robin over the servers.
    turn: Cell<usize>,
}

#[derive(Debug)]
enum Kind {
    Alone(Box<Cluster>),
    Several(Box<Replicas>),
}

impl Servers {
    pub(super) fn start(n_replicas: usize) -> Self {
        let kind = match n_replicas {
            0 | 1 => Kind::Alone(Box::new(Cluster::start())),
            n => Kind::Several(Box::new(Replicas::start_with(Setup {
                n_replicas: n,
                ..Setup::default()
            }))),
        };
        Self {
            kind,
            servers_down: vec![None; n_replicas.max(1)],
            store_down: None,
            bus_down: None,
            turn: Cell::new(0),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match &self.kind {
            Kind::Alone(cluster) => cluster.path(),
            Kind::Several(replicas) => replicas.path(),
        }
    }

    /// Starts an agent and waits until it is connected.
    pub(super) fn agent(&self, ip: &str) -> Agent {
        match &self.kind {
            Kind::Alone(cluster) => cluster.agent(ip),
            Kind::Several(replicas) => replicas.start_agents(&[ip]).remove(0),
        }
    }

    /// Waits until all servers show it as connected.
    pub(super) fn wait_for_agent(&self, agent: &Agent) {
        match &self.kind {
            Kind::Alone(cluster) => cluster.wait_for_agent(&agent.ip, true),
            Kind::Several(replicas) => replicas.wait_for_agents(std::slice::from_ref(agent)),
        }
    }

    pub(super) fn api_of(&self, n: usize) -> &Api {
        match &self.kind {
            Kind::Alone(cluster) => &cluster.api,
            Kind::Several(replicas) => replicas.api(n),
        }
    }

    /// The running servers.
    pub(super) fn apis(&self) -> Vec<&Api> {
        let up = (0..self.servers_down.len()).filter(|n| self.servers_down[*n].is_none());
        up.map(|n| self.api_of(n)).collect()
    }

    /// The running servers, round robin.
    pub(super) fn api(&self) -> Option<&Api> {
        let apis = self.apis();
        self.turn.set(self.turn.get().wrapping_add(1));
        let n_up = apis.len().max(1);
        apis.get(self.turn.get() % n_up).copied()
    }

    /// Whether the store runs, so that writes must succeed.
    pub(super) fn has_store(&self) -> bool {
        self.store_down.is_none()
    }

    pub(super) fn is_down(&self, n: usize) -> bool {
        self.servers_down[n].is_some()
    }

    pub(super) fn len(&self) -> usize {
        self.servers_down.len()
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        match &self.kind {
            Kind::Alone(cluster) => vec![cluster.server_pid()],
            Kind::Several(replicas) => (0..replicas.len()).map(|n| replicas.pid(n)).collect(),
        }
    }

    pub(super) fn kill(&mut self, n: usize, until: Instant) {
        self.servers_down[n] = Some(until);
        match &mut self.kind {
            Kind::Alone(cluster) => cluster.kill_server(),
            Kind::Several(replicas) => replicas.kill(n),
        }
    }

    /// False if the store is SQLite, or down already.
    pub(super) fn kill_store(&mut self, until: Instant) -> bool {
        match &mut self.kind {
            Kind::Several(replicas) if self.store_down.is_none() => {
                replicas.postgres.kill().unwrap();
                self.store_down = Some(until);
                true
            }
            Kind::Several(_) | Kind::Alone(_) => false,
        }
    }

    /// False if there is none, or it is down already.
    pub(super) fn kill_bus(&mut self, until: Instant) -> bool {
        match &mut self.kind {
            Kind::Several(replicas) if self.bus_down.is_none() => {
                replicas.nats(0).kill().unwrap();
                self.bus_down = Some(until);
                true
            }
            Kind::Several(_) | Kind::Alone(_) => false,
        }
    }

    /// Restarts what is due; returns what it was.
    pub(super) fn revive(&mut self, now: Instant) -> Vec<String> {
        let mut revived = Vec::new();
        let is_due = |down: &mut Option<Instant>| down.take_if(|until| *until <= now).is_some();
        if let Kind::Several(replicas) = &mut self.kind {
            if is_due(&mut self.store_down) {
                replicas.postgres.start_again().unwrap();
                revived.push("PostgreSQL started".to_owned());
            }
            if is_due(&mut self.bus_down) {
                replicas.nats(0).start_again().unwrap();
                revived.push("NATS started".to_owned());
            }
        }
        // A server that starts needs its store.
        if self.store_down.is_some() {
            return revived;
        }
        for (n, down) in self.servers_down.iter_mut().enumerate() {
            if is_due(down) {
                match &mut self.kind {
                    Kind::Alone(cluster) => {
                        cluster.restart_server();
                        // Drops connections to the killed server.
                        cluster.api = Api::new(cluster.http());
                    }
                    Kind::Several(replicas) => replicas.start_one(n),
                }
                revived.push(format!("server {n} started"));
            }
        }
        revived
    }

    pub(super) fn end(&mut self) {
        match &mut self.kind {
            Kind::Alone(cluster) => cluster.kill_server(),
            Kind::Several(replicas) => (0..replicas.len()).for_each(|n| replicas.kill(n)),
        }
    }
}
