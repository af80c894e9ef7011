//! `muster-agent`: the agent alone, as a small binary.

use std::process::ExitCode;

use clap::Parser;

/// Keeps the processes of this host as the Muster server wants them.
#[derive(Debug, Parser)]
#[command(name = "muster-agent", version, after_help = agent::config::EXAMPLES)]
struct Command {
    #[command(flatten)]
    agent: agent::AgentArgs,
}

fn main() -> ExitCode {
    let Command { agent } = Command::parse();
    match agent::command(agent) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.print(),
    }
}
