//! The distribution of agents over replicas.

use testkit::{Replicas, wait};

const N_AGENTS: usize = 30;

#[test]
fn a_restarted_replica_gets_agents_again() {
    let mut cluster = Replicas::start(2);
    let ips: Vec<String> = (1..=N_AGENTS).map(|n| format!("10.27.0.{n}")).collect();
    let ips: Vec<&str> = ips.iter().map(String::as_str).collect();
    let agents = cluster.start_agents(&ips);
    let n_held = cluster.n_held(&agents);
    assert!(n_held.iter().all(|n| *n > 0), "they spread: {n_held:?}");
    cluster.kill(1);
    wait::until("all agents at the other replica", || {
        cluster.n_held(&agents)[0] == N_AGENTS
    });
    cluster.start_one(1);
    wait::until("some to move there", || cluster.n_held(&agents)[1] >= 3);
    cluster.wait_for_agents(&agents);
}
