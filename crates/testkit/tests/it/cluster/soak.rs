//! A short soak of several replicas; `cargo xtask soak --replicas 3` is the long one.

use std::time::Duration;

use testkit::soak::{self, Plan};

#[test]
fn replicas_whose_every_part_is_killed_at_random_end_as_wanted() {
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
    assert!(summary.n_operations > 0, "some operations were asked");
}
