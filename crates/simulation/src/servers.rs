//! The server, or the replicas that are one.

use std::path::Path;

use control::Control;
use model::{Host, UnixMillis};
use store::Store;
use testing::Random;
use tokio::io::DuplexStream;

use crate::brake::Brake;
use crate::server_side::{Company, Door, Hub, ServerSide, write_template};

#[derive(Debug)]
pub(crate) struct Servers(Vec<ServerSide>);

/// Where agents may knock.
#[derive(Debug, Clone)]
pub(crate) struct Doors(Vec<Door>);

impl Doors {
    /// Lets an agent in at one of the doors where somebody is; none when nobody is anywhere.
    pub(crate) fn enter(
        &self,
        host: Host,
        stream: DuplexStream,
        random: &mut Random,
    ) -> Option<()> {
        let open: Vec<&Door> = self.0.iter().filter(|door| door.is_open()).collect();
        match open.is_empty() {
            true => None,
            false => open[random.below(open.len())].enter(host, stream),
        }
    }
}

impl Servers {
    /// As many as asked for, none of which ever ran, with a store that knows the hosts.
    pub(crate) fn new(
        n_servers: usize,
        dir: &Path,
        brake: &Brake,
        wall_clock: UnixMillis,
        random: &mut Random,
    ) -> (Self, Doors) {
        write_template(dir);
        let lost = random.pick(&[0, 0, 50, 250]);
        let hub = Hub::new(random.branch(), lost);
        let (mut servers, mut doors) = (Vec::new(), Vec::new());
        for number in 0..n_servers {
            let company = match n_servers {
                1 => Company::Alone,
                _ => Company::Replica(hub.clone(), number as u64 + 1),
            };
            let door = Door::default();
            let server = ServerSide::new(dir, company, door.clone(), brake.clone(), wall_clock);
            servers.push(server);
            doors.push(door);
        }
        (Self(servers), Doors(doors))
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

    /// Of all: replicas need clocks that agree, and somebody keeps them so.
    pub(crate) fn move_wall_clock(&self, by_ms: i64) {
        self.0
            .iter()
            .for_each(|server| server.move_wall_clock(by_ms));
    }

    /// One of them, whether it runs or not.
    pub(crate) fn one(&mut self, random: &mut Random) -> &mut ServerSide {
        let at = random.below(self.0.len());
        &mut self.0[at]
    }

    /// One that runs.
    pub(crate) fn one_that_runs(&mut self, random: &mut Random) -> Option<&mut ServerSide> {
        let mut running: Vec<&mut ServerSide> = self.0.iter_mut().collect();
        running.retain(|server| server.control().is_some());
        match running.is_empty() {
            true => None,
            false => Some(running.swap_remove(random.below(running.len()))),
        }
    }

    /// Every one that runs.
    pub(crate) fn controls(&self) -> Vec<Control> {
        self.0.iter().filter_map(ServerSide::control).collect()
    }

    pub(crate) fn store(&self) -> Option<Store> {
        self.0.iter().find_map(ServerSide::store)
    }
}
