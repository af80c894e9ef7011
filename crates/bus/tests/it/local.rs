//! The conformance tests within one process.

use bus::{Bus, LocalHub, ReplicaId};

use crate::conformance::conformance_tests;

fn replicas() -> ((), [Bus; 3]) {
    let hub = LocalHub::new();
    ((), [1, 2, 3].map(|n| Bus::local(&hub, ReplicaId(n))))
}

conformance_tests!(in simulated time, replicas());
