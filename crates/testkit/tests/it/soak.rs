//! A short soak; `cargo xtask soak` is the long one.

use std::time::Duration;

use testkit::soak::{self, Plan};

const SEEDS: [u64; 3] = [1, 2, 3];

#[test]
fn a_world_in_which_everything_is_killed_at_random_ends_as_wanted() {
    let mut n_told_kills = 0;
    for seed in SEEDS {
        let plan = Plan {
            seed,
            duration: Duration::from_secs(12),
            n_agents: 2,
            n_processes: 6,
            n_replicas: 1,
            // Once is enough, and longer than the silence after which either side takes the other for dead.
            quiet: match seed {
                1 => Duration::from_secs(45),
                _ => Duration::ZERO,
            },
        };
        let summary = soak::run(&plan, |line| println!("{line}"));
        println!("seed {seed}\n{summary}");
        n_told_kills += summary.n_told_kills;
    }
    assert!(n_told_kills > 0, "some deaths had to be told");
}
