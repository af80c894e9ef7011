//! `muster-agent`: the agent alone, as a small binary.

use std::io::Write;
use std::process::ExitCode;

use agent::upgrade::{self, UpgradeArgs};
use clap::{Parser, Subcommand};

const PROGRAM: &str = "muster-agent";

/// Keeps the processes of this host as the Muster server wants them.
#[derive(Debug, Parser)]
#[command(
    name = PROGRAM,
    version,
    after_help = agent::config::EXAMPLES,
    args_conflicts_with_subcommands = true
)]
struct Command {
    #[command(flatten)]
    agent: agent::AgentArgs,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Replace the binary of a running agent, in place
    #[command(after_help = upgrade::EXAMPLES)]
    Upgrade(UpgradeArgs),
}

fn main() -> ExitCode {
    let Command { agent, verb } = Command::parse();
    if let Some(Verb::Upgrade(args)) = verb {
        return upgrade(&args);
    }
    match agent::command(PROGRAM, agent) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.print(),
    }
}

fn upgrade(args: &UpgradeArgs) -> ExitCode {
    match upgrade::upgrade(args, |name| std::env::var(name).ok()) {
        Ok(done) => {
            // A closed stdout is no reason to fail.
            let _ = writeln!(std::io::stdout(), "{done}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            agent::error::print(&error);
            ExitCode::from(error.code())
        }
    }
}
