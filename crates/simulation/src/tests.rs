//! Runs histories; the seed of each also decides which faults are most frequent.

use crate::action::FaultProfile;
use crate::history::{self, Failure};

/// Histories of each fault profile; `MUSTER_SIM_HISTORIES=10000` runs more.
const HISTORIES: u64 = 250;
/// Histories with replicas, which take longer.
const HISTORIES_OF_REPLICAS: u64 = 120;
/// Histories of two replicas without messages.
const REPLICA_HISTORIES: u64 = 50;
/// Histories of busy agents.
const BUSY_HISTORIES: u64 = 20;
/// How many failures are printed.
const ENOUGH: usize = 3;

#[test]
fn all_promises_hold_after_any_faults() {
    histories(FaultProfile::Everything);
}

#[test]
fn all_promises_hold_with_agents_killed_at_any_step() {
    histories(FaultProfile::Agents);
}

#[test]
fn all_promises_hold_with_frames_lost_repeated_late_or_cut() {
    histories(FaultProfile::Network);
}

#[test]
fn all_promises_hold_with_servers_killed_during_commits() {
    histories(FaultProfile::Server);
}

#[test]
fn all_promises_hold_with_power_losses_and_clock_jumps() {
    histories(FaultProfile::Hosts);
}

#[test]
fn all_promises_hold_with_replicas_killed_and_messages_lost() {
    histories(FaultProfile::Replicas);
}

#[test]
fn two_replicas_converge_without_hints() {
    for seed in 0..number("MUSTER_SIM_HISTORIES").unwrap_or(REPLICA_HISTORIES) {
        if let Err(failure) = history::run_replicas(seed) {
            panic!("seed {seed}: {}", failure.wrong);
        }
    }
}

#[test]
fn busy_agents_of_idle_servers_keep_their_sessions() {
    for seed in 0..number("MUSTER_SIM_HISTORIES").unwrap_or(BUSY_HISTORIES) {
        if let Err(failure) = history::run_busy(seed) {
            panic!("seed {seed}: {}", failure.wrong);
        }
    }
}

/// Runs all histories with this profile, or the one of `MUSTER_SIM_SEED`.
fn histories(profile: FaultProfile) {
    let usual = match profile {
        FaultProfile::Replicas => HISTORIES_OF_REPLICAS,
        FaultProfile::Everything
        | FaultProfile::Agents
        | FaultProfile::Network
        | FaultProfile::Server
        | FaultProfile::Hosts => HISTORIES,
    };
    let all = number("MUSTER_SIM_HISTORIES").unwrap_or(usual);
    let mut seeds: Vec<u64> = (0..)
        .filter(|seed| FaultProfile::of(*seed) == profile)
        .take(all as usize)
        .collect();
    if let Some(seed) = number("MUSTER_SIM_SEED") {
        seeds = (seed..=seed)
            .filter(|seed| FaultProfile::of(*seed) == profile)
            .collect();
    }
    let mut failures: Vec<Box<Failure>> = Vec::new();
    let n_seeds = seeds.len();
    for seed in seeds {
        match history::run(seed) {
            Ok(summary) if n_seeds == 1 => println!("{summary:?}"),
            Ok(_) => {}
            Err(failure) => failures.push(failure),
        }
        if failures.len() == ENOUGH {
            break;
        }
    }
    // The shortest is printed last.
    failures.sort_by_key(|failure| std::cmp::Reverse(failure.log.len()));
    for failure in &failures {
        println!("{failure}\n");
    }
    let wrong: Vec<u64> = failures.iter().map(|failure| failure.seed).collect();
    assert!(wrong.is_empty(), "seeds that went wrong: {wrong:?}");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
