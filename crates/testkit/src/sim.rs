//! A simulated fleet: real identities, TLS connections and frames; only the processes are simulated.
//!
//! A command takes this path: frame ([`session`]) → an operation with a configured duration ([`operations`]) → the status
//! that it leads to ([`processes`]) → report and result. Each agent is one task; [`shared`] is what they share. The binary
//! `sim` runs it, controlled by its standard input ([`console`]).

mod agent;
mod console;
mod counters;
mod durations;
mod identities;
mod names;
mod open_files;
mod operations;
mod options;
mod processes;
mod register;
mod session;
mod shared;
mod upgrade;

use std::sync::Arc;
use std::time::Duration;

pub use options::{Chance, Options, Span};

use agent::Agent;
use console::Console;
use shared::Shared;

#[derive(Debug, thiserror::Error)]
pub enum SimError {
    #[error("{0}")]
    Options(String),
    #[error("the identities in {path} cannot be used: {what}")]
    Identities { path: String, what: String },
    #[error("{n_failed} of {n_agents} agents could not be enrolled; the last one: {last}")]
    Enrol {
        n_failed: usize,
        n_agents: usize,
        last: String,
    },
    #[error(
        "{n_agents} agents need {needed} open files, and this process may have {allowed}: raise `ulimit -n`, or simulate fewer"
    )]
    OpenFiles {
        n_agents: usize,
        needed: u64,
        allowed: u64,
    },
    #[error("cannot register processes: {0}")]
    Register(String),
}

/// Enrols, connects, and simulates a fleet until `quit` or the end of the time.
pub async fn run(options: Options) -> Result<(), SimError> {
    open_files::raise(options.agents)?;
    let identities = identities::load_or_enrol(&options).await?;
    if options.procs > 0 {
        register::register(&options).await?;
    }
    let duration = options.duration;
    let is_held = options.hold;
    let shared = Arc::new(Shared::new(options));
    console::print_counters("enrolled", &shared);
    let agents = Agent::all(identities, &shared)?;
    let mut console = Console::new(shared.clone());
    if is_held && console.until_connect().await.is_quit() {
        return Ok(());
    }
    for agent in agents {
        tokio::spawn(agent.run());
    }
    console.until_quit(duration.unwrap_or(Duration::MAX)).await;
    console::print_counters("end", &shared);
    Ok(())
}
