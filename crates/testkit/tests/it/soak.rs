//! A short soak; `cargo xtask soak` is the long one.

use std::time::Duration;

use testkit::soak::{self, Plan};

const SEEDS: [u64; 3] = [1, 2, 3];

fn plan(seed: u64) -> Plan {
    Plan {
        seed,
        duration: Duration::from_secs(12),
        n_agents: 2,
        n_processes: 6,
        n_replicas: 1,
        quiet: Duration::ZERO,
    }
}

/// The seeds run concurrently: a soak waits most of the time.
#[test]
fn random_kills_lose_and_repeat_nothing() {
    let n_reported_kills: u64 = std::thread::scope(|scope| {
        let soaks = SEEDS.map(|seed| {
            scope.spawn(move || {
                let summary = soak::run(&plan(seed), |line| println!("{line}"));
                println!("seed {seed}\n{summary}");
                summary.n_reported_kills
            })
        });
        soaks.map(|soak| soak.join().unwrap()).iter().sum()
    });
    assert!(n_reported_kills > 0, "some kills had to be reported");
}

#[test]
fn busy_agents_of_a_quiet_server_keep_their_sessions() {
    let plan = Plan {
        duration: Duration::ZERO,
        // Longer than the silence that ends a session.
        quiet: Duration::from_secs(45),
        ..plan(1)
    };
    soak::run(&plan, |line| println!("{line}"));
}
