//! A soak: real servers, agents and odd processes, with random operations, updates and kills. At the end everything is left
//! alone, and must be as the responses said.
//!
//! The seed determines the actions, the machine their timing. A failure prints the seed and the last actions.

mod busy;
mod check;
mod live_process;
mod process;
mod servers;
mod usage;
mod world;

use std::fmt;
use std::time::{Duration, Instant};

pub use usage::Usage;
use world::World;

const BETWEEN_PROGRESS: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    /// How long actions go on; the checks come on top.
    pub duration: Duration,
    pub n_agents: usize,
    pub n_processes: usize,
    /// 1 is a single server on SQLite; more are replicas on PostgreSQL and NATS.
    pub n_replicas: usize,
    /// How long busy agents are left alone with a quiet server at the end.
    pub quiet: Duration,
}

/// Counters of a soak.
#[derive(Debug, Default, Clone)]
pub struct Summary {
    pub n_actions: u64,
    pub n_operations: u64,
    /// Operations that ended with code 0.
    pub n_successes: u64,
    /// Requests without response, or refused, because the server or its store was killed.
    pub n_unanswered: u64,
    pub n_updates: u64,
    pub n_process_kills: u64,
    /// Kills that must be reported by an event.
    pub n_reported_kills: u64,
    pub n_agent_kills: u64,
    pub n_server_kills: u64,
    pub n_store_kills: u64,
    pub n_bus_kills: u64,
    pub n_executions: u64,
    pub n_events: u64,
    pub server: Usage,
    pub agents: Usage,
}

/// Runs a soak, and panics on the first violated property.
pub fn run(plan: &Plan, mut progress: impl FnMut(&str)) -> Summary {
    let mut world = World::new(plan);
    let started = Instant::now();
    let mut printed_at = started;
    while started.elapsed() < plan.duration {
        world.step();
        if printed_at.elapsed() >= BETWEEN_PROGRESS {
            printed_at = Instant::now();
            progress(&format!(
                "{} s: {}",
                started.elapsed().as_secs(),
                world.summary.line()
            ));
        }
    }
    world.revive_all();
    check::quiet_world(&mut world);
    busy::agents_keep_their_sessions(&mut world, plan.quiet);
    world.end()
}

impl Summary {
    fn line(&self) -> String {
        format!(
            "{} actions, {} operations, {} kills of processes, {} of agents, {} of servers, {} of PostgreSQL, {} of NATS; server {}, agents {}",
            self.n_actions,
            self.n_operations,
            self.n_process_kills,
            self.n_agent_kills,
            self.n_server_kills,
            self.n_store_kills,
            self.n_bus_kills,
            self.server,
            self.agents,
        )
    }
}

/// A table with one line per counter.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [
            ("actions", self.n_actions),
            ("operations asked", self.n_operations),
            ("  ended with success", self.n_successes),
            ("requests unanswered", self.n_unanswered),
            ("specs updated", self.n_updates),
            ("processes killed", self.n_process_kills),
            ("  each with an event", self.n_reported_kills),
            ("agents killed", self.n_agent_kills),
            ("servers killed", self.n_server_kills),
            ("PostgreSQL killed", self.n_store_kills),
            ("NATS killed", self.n_bus_kills),
            ("executions", self.n_executions),
            ("events listed", self.n_events),
        ];
        for (what, n) in rows {
            writeln!(f, "{what:<24}{n:>10}")?;
        }
        writeln!(f, "{:<24}{:>10}", "a server at most", self.server)?;
        write!(f, "{:<24}{:>10}", "an agent at most", self.agents)
    }
}
