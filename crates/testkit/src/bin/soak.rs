//! Runs a soak: `soak --minutes 60 --seed 7 --agents 4 --processes 20 --replicas 3`. See `testkit::soak`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal: the table on one stream, progress on the other"
)]

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use testkit::soak::{self, Plan};

/// More than the silence that ends a session.
const QUIET: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let plan = match plan(std::env::args().skip(1)) {
        Ok(plan) => plan,
        Err(error) => {
            eprintln!("soak: {error}");
            eprintln!(
                "usage: soak [--minutes N] [--seed N] [--agents N] [--processes N] [--replicas N]"
            );
            return ExitCode::from(2);
        }
    };
    println!(
        "soak with seed {}, {} server(s), {} agents and {} processes for {} min",
        plan.seed,
        plan.n_replicas,
        plan.n_agents,
        plan.n_processes,
        plan.duration.as_secs() / 60
    );
    let summary = soak::run(&plan, |line| eprintln!("{line}"));
    println!("{summary}");
    ExitCode::SUCCESS
}

fn plan(mut arguments: impl Iterator<Item = String>) -> Result<Plan, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut plan = Plan {
        seed: now.map_or(0, |since| since.as_secs()),
        duration: Duration::from_secs(60),
        n_agents: 4,
        n_processes: 20,
        n_replicas: 1,
        quiet: QUIET,
    };
    while let Some(option) = arguments.next() {
        let value = arguments
            .next()
            .ok_or_else(|| format!("{option} wants a value"))?;
        let number: u64 = value
            .parse()
            .map_err(|_| format!("{option}: must be a number, not {value:?}"))?;
        match option.as_str() {
            "--minutes" => plan.duration = Duration::from_secs(number * 60),
            "--seed" => plan.seed = number,
            "--agents" => plan.n_agents = number as usize,
            "--processes" => plan.n_processes = number as usize,
            "--replicas" => plan.n_replicas = number as usize,
            _ => return Err(format!("no such option: {option}")),
        }
    }
    if plan.n_agents == 0 || plan.n_processes == 0 {
        return Err("at least one agent and one process are needed".to_owned());
    }
    Ok(plan)
}
