//! The server, or the replicas.

use std::path::Path;

use control::Control;
use model::{Host, UnixMillis};
use store::Store;
use testing::Random;
use tokio::io::DuplexStream;

use crate::clock_hold::ClockHold;
use crate::server_side::{Hub, Listener, ServerRole, ServerSide, write_template};

#[derive(Debug)]
pub(crate) struct Servers(Vec<ServerSide>);

/// The listeners of all servers.
#[derive(Debug, Clone)]
pub(crate) struct Listeners(Vec<Listener>);

impl Listeners {
    /// Connects an agent to one of the running servers; `None` when none runs.
    pub(crate) fn enter(
        &self,
        host: Host,
        stream: DuplexStream,
        random: &mut Random,
    ) -> Option<()> {
        let open: Vec<&Listener> = self
            .0
            .iter()
            .filter(|listener| listener.is_open())
            .collect();
        match open.is_empty() {
            true => None,
            false => open[random.below(open.len())].enter(host, stream),
        }
    }
}

impl Servers {
    /// Servers that have not been started yet, on a store with the enrolled hosts.
    pub(crate) fn new(
        n_servers: usize,
        dir: &Path,
        clock_hold: &ClockHold,
        wall_clock: UnixMillis,
        random: &mut Random,
    ) -> (Self, Listeners) {
        write_template(dir);
        let lost = random.pick(&[0, 0, 50, 250]);
        let hub = Hub::new(random.branch(), lost);
        let (mut servers, mut listeners) = (Vec::new(), Vec::new());
        for number in 0..n_servers {
            let role = match n_servers {
                1 => ServerRole::Alone,
                _ => ServerRole::Replica(hub.clone(), number as u64 + 1),
            };
            let listener = Listener::default();
            let server =
                ServerSide::new(dir, role, listener.clone(), clock_hold.clone(), wall_clock);
            servers.push(server);
            listeners.push(listener);
        }
        (Self(servers), Listeners(listeners))
    }

    pub(crate) async fn start(&mut self) {
        for server in &mut self.0 {
            server.start().await;
        }
    }

    pub(crate) async fn stop(&mut self) {
        for server in &mut self.0 {
            server.stop().await;
        }
    }

    pub(crate) fn kill(&mut self) {
        self.0.iter_mut().for_each(ServerSide::kill);
    }

    /// Moves the clock of all servers: replicas need synchronised clocks.
    pub(crate) fn move_wall_clock(&self, by_ms: i64) {
        self.0
            .iter()
            .for_each(|server| server.move_wall_clock(by_ms));
    }

    /// A random one, running or not.
    pub(crate) fn one(&mut self, random: &mut Random) -> &mut ServerSide {
        let at = random.below(self.0.len());
        &mut self.0[at]
    }

    /// A random one that runs.
    pub(crate) fn running_one(&mut self, random: &mut Random) -> Option<&mut ServerSide> {
        let mut running: Vec<&mut ServerSide> = self.0.iter_mut().collect();
        running.retain(|server| server.control().is_some());
        match running.is_empty() {
            true => None,
            false => Some(running.swap_remove(random.below(running.len()))),
        }
    }

    /// All that run.
    pub(crate) fn controls(&self) -> Vec<Control> {
        self.0.iter().filter_map(ServerSide::control).collect()
    }

    pub(crate) fn store(&self) -> Option<Store> {
        self.0.iter().find_map(ServerSide::store)
    }
}
