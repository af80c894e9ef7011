//! The engine within one process keeps every promise.

use bus::{Bus, LocalHub, ReplicaId};

use crate::conformance::keeps_every_promise;

fn replicas() -> ((), [Bus; 3]) {
    let hub = LocalHub::new();
    ((), [1, 2, 3].map(|n| Bus::local(&hub, ReplicaId(n))))
}

keeps_every_promise!(in simulated time, replicas());
