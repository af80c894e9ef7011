//! A cluster of NATS servers.

use std::time::{Duration, Instant};

use super::Nats;
use crate::EngineError;
use crate::port::Port;

/// Longer than connecting all routes takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// NATS servers with routes to each other. They end when this is dropped.
#[derive(Debug)]
pub struct NatsCluster {
    nodes: Vec<Nats>,
    _route_ports: Vec<Port>,
}

impl NatsCluster {
    /// Returns when every node has a route to every other.
    pub fn start(n_nodes: usize) -> Result<Self, EngineError> {
        let ports = (0..n_nodes).map(|_| Port::take());
        let route_ports = ports.collect::<Result<Vec<_>, _>>()?;
        let addresses = route_ports
            .iter()
            .map(|port| format!("nats://127.0.0.1:{}", port.number()));
        let addresses = Vec::from_iter(addresses);
        let routes = addresses.join(",");
        let nodes = addresses.iter().enumerate().map(|(n, address)| {
            let name = format!("node-{n}");
            let arguments = [
                ("--name", &*name),
                ("--cluster_name", "muster-test"),
                ("--cluster", address),
                ("--routes", &routes),
            ];
            let arguments = arguments
                .into_iter()
                .flat_map(|(flag, value)| [flag, value]);
            Nats::prepare(arguments.map(str::to_owned).collect())
        });
        let mut cluster = Self {
            nodes: nodes.collect::<Result<_, _>>()?,
            _route_ports: route_ports,
        };
        for node in &mut cluster.nodes {
            node.start_again()?;
        }
        for n in 0..n_nodes {
            cluster.await_routes(n)?;
        }
        Ok(cluster)
    }

    /// The address of each node, whether it runs or not.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(Nats::url).collect()
    }

    /// A node, to stop, kill or pause it.
    pub fn node(&mut self, n: usize) -> &mut Nats {
        &mut self.nodes[n]
    }

    /// Returns when the node has a route to every other running one.
    pub fn start_again(&mut self, n: usize) -> Result<(), EngineError> {
        self.nodes[n].start_again()?;
        self.await_routes(n)
    }

    fn await_routes(&self, n: usize) -> Result<(), EngineError> {
        let running = self.nodes.iter().filter(|node| node.running.is_some());
        let n_others = running.count() - 1;
        let begun = Instant::now();
        while self.nodes[n].routes().len() < n_others {
            if begun.elapsed() > PATIENCE {
                return Err(EngineError::Late {
                    program: format!("node {n} of the NATS cluster"),
                    state: "routed to the others",
                    after: PATIENCE,
                });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}
