//! `muster-agent`: the agent alone, as a small binary.

use std::io::Write;
use std::process::ExitCode;

use agent::AgentError;
use agent::check::{self, CheckArgs, CheckSubject};
use agent::relay::{self, RelayArgs, RelayConfig};
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
    /// Forward the connections of agents that cannot reach the servers
    #[command(after_help = relay::EXAMPLES)]
    Relay(Box<RelayArgs>),
    /// Tell whether this host is fit for an agent; changes nothing
    #[command(after_help = check::EXAMPLES)]
    Check {
        #[command(flatten)]
        check: CheckArgs,
        /// How to print the result
        #[arg(short, long, value_name = "FORMAT", default_value = "text")]
        output: Output,
    },
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Output {
    Text,
    Json,
}

fn main() -> ExitCode {
    let Command { agent, verb } = Command::parse();
    match verb {
        Some(Verb::Upgrade(args)) => return upgrade(&args),
        Some(Verb::Relay(args)) => return relay(&args),
        Some(Verb::Check { check, output }) => return check_host(&check, output),
        None => {}
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

fn relay(args: &RelayArgs) -> ExitCode {
    // A closed stdout is no reason to fail.
    let print = |text: String| drop(writeln!(std::io::stdout(), "{}", text.trim_end()));
    let config = match RelayConfig::resolve(args, |name| std::env::var(name).ok()) {
        Ok(config) => config,
        Err(error) => return AgentError::from(error).print(),
    };
    if args.print_config {
        print(config.to_table().to_string());
        return ExitCode::SUCCESS;
    }
    match relay::run(&config, |addresses| print(addresses.to_string())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            agent::error::print(&error);
            ExitCode::FAILURE
        }
    }
}

fn check_host(args: &CheckArgs, output: Output) -> ExitCode {
    let subject = match CheckSubject::resolve(args, |name| std::env::var(name).ok()) {
        Ok(subject) => subject,
        Err(error) => return agent::AgentError::from(error).print(),
    };
    let report = check::check_host(&subject, ());
    let text = match output {
        Output::Text => report.to_text(),
        Output::Json => check::to_json(&report),
    };
    // A closed stdout is no reason to fail.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::from(check::exit_code(&report))
}
