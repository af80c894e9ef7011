//! A short soak of several replicas; `cargo xtask soak --replicas 3` is the long one.

use std::time::Duration;

use testkit::soak::{self, Plan};

#[test]
fn random_kills_of_replicas_lose_and_repeat_nothing() {
    let plan = Plan {
        seed: 1,
        duration: Duration::from_secs(15),
        n_agents: 2,
        n_processes: 6,
        n_replicas: 3,
        quiet: Duration::ZERO,
    };
    let summary = soak::run(&plan, |line| println!("{line}"));
    println!("{summary}");
    assert!(summary.n_operations > 0, "some operations were requested");
}
