//! A simulated fleet: real identities, real TLS connections and real frames; only the processes are made up.
//!
//! The path of a command: frame ([`session`]) → an operation that takes as long as asked ([`operations`]) → the status
//! that it led to ([`processes`]) → report and result. One task per agent holds all of that; what agents share is in
//! [`shared`]. The binary `sim` is the same by command, and is told on its standard input what to do ([`console`]).

mod agent;
mod console;
mod identities;
mod names;
mod open_files;
mod operations;
mod options;
mod processes;
mod register;
mod session;
mod shared;
mod tally;

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

/// Enrols, connects, and behaves like a fleet until it is told to quit or its time is over.
pub async fn run(options: Options) -> Result<(), SimError> {
    open_files::raise(options.agents)?;
    let identities = identities::settle(&options).await?;
    if options.procs > 0 {
        register::register(&options).await?;
    }
    let duration = options.duration;
    let is_held = options.hold;
    let shared = Arc::new(Shared::new(options));
    console::say("enrolled", &shared);
    let agents = Agent::all(identities, &shared)?;
    let mut console = Console::new(shared.clone());
    if is_held && console.until_connect().await.is_quit() {
        return Ok(());
    }
    for agent in agents {
        tokio::spawn(agent.run());
    }
    console.until_quit(duration.unwrap_or(Duration::MAX)).await;
    console::say("end", &shared);
    Ok(())
}
