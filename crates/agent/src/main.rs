//! `muster-agent`: the agent alone, as a small binary.

use std::io::Write;
use std::process::ExitCode;

use agent::AgentError;
use agent::check::{self, CheckArgs, CheckSubject};
use agent::command_line::{CommandLine, OutputFormat, PROGRAM, Verb};
use agent::relay::{self, RelayArgs, RelayConfig};
use agent::upgrade::{self, UpgradeArgs};
use clap::Parser;

fn main() -> ExitCode {
    let CommandLine { agent, verb } = CommandLine::parse();
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

fn check_host(args: &CheckArgs, output: OutputFormat) -> ExitCode {
    let subject = match CheckSubject::resolve(args, |name| std::env::var(name).ok()) {
        Ok(subject) => subject,
        Err(error) => return agent::AgentError::from(error).print(),
    };
    let report = check::check_host(&subject, ());
    let text = match output {
        OutputFormat::Text => report.to_text(),
        OutputFormat::Json => check::to_json(&report),
    };
    // A closed stdout is no reason to fail.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::from(check::exit_code(&report))
}
