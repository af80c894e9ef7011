//! A seed is a history; what goes wrong most in it the seed says, too.

use crate::action::Trouble;
use crate::history::{self, Failure};

/// Of each trouble, unless somebody wants more: `MUSTER_SIM_HISTORIES=10000`.
const HISTORIES: u64 = 400;
/// Of several servers, which take longer.
const HISTORIES_OF_REPLICAS: u64 = 120;
/// Of two servers on one store.
const REPLICA_HISTORIES: u64 = 50;
/// Of agents that report all the time.
const BUSY_HISTORIES: u64 = 20;
/// How many that go wrong are told.
const ENOUGH: usize = 3;

#[test]
fn whatever_goes_wrong_a_quiet_world_is_as_promised() {
    histories(Trouble::Everything);
}

#[test]
fn agents_that_are_killed_at_any_step_break_no_promise() {
    histories(Trouble::Agents);
}

#[test]
fn frames_that_are_lost_repeated_late_or_cut_break_no_promise() {
    histories(Trouble::Network);
}

#[test]
fn servers_that_are_killed_in_the_middle_of_commits_break_no_promise() {
    histories(Trouble::Server);
}

#[test]
fn hosts_that_lose_power_and_clocks_that_jump_break_no_promise() {
    histories(Trouble::Hosts);
}

#[test]
fn replicas_that_are_killed_and_miss_each_others_words_break_no_promise() {
    histories(Trouble::Replicas);
}

#[test]
fn with_every_hint_dropped_two_servers_still_converge() {
    for seed in 0..REPLICA_HISTORIES {
        if let Err(failure) = history::run_replicas(seed) {
            panic!("seed {seed}: {}", failure.wrong);
        }
    }
}

#[test]
fn busy_agents_of_quiet_servers_keep_their_sessions() {
    let histories = number("MUSTER_SIM_HISTORIES").unwrap_or(BUSY_HISTORIES);
    for seed in 0..histories {
        if let Err(failure) = history::run_busy(seed) {
            panic!("seed {seed}: {}", failure.wrong);
        }
    }
}

/// All histories with this trouble, or the one that was asked for.
fn histories(trouble: Trouble) {
    let usual = match trouble {
        Trouble::Replicas => HISTORIES_OF_REPLICAS,
        Trouble::Everything
        | Trouble::Agents
        | Trouble::Network
        | Trouble::Server
        | Trouble::Hosts => HISTORIES,
    };
    let all = number("MUSTER_SIM_HISTORIES").unwrap_or(usual);
    let mut seeds: Vec<u64> = (0..)
        .filter(|seed| Trouble::of(*seed) == trouble)
        .take(all as usize)
        .collect();
    if let Some(seed) = number("MUSTER_SIM_SEED") {
        seeds = (seed..=seed)
            .filter(|seed| Trouble::of(*seed) == trouble)
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
    // The shortest is the last that people see.
    failures.sort_by_key(|failure| std::cmp::Reverse(failure.diary.len()));
    for failure in &failures {
        println!("{failure}\n");
    }
    let wrong: Vec<u64> = failures.iter().map(|failure| failure.seed).collect();
    assert!(wrong.is_empty(), "seeds that went wrong: {wrong:?}");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
