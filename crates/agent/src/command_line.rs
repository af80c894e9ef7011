//! The command line of `muster-agent`: its own binary parses it, and `muster generate` writes man pages and completions from it.

use clap::{Parser, Subcommand};

use crate::check::{self, CheckArgs};
use crate::config::{self, AgentArgs};
use crate::relay::{self, RelayArgs};
use crate::upgrade::{self, UpgradeArgs};

/// The name of the binary.
pub const PROGRAM: &str = "muster-agent";

/// Keeps the processes of this host as the Muster server wants them.
#[derive(Debug, Parser)]
#[command(
    name = PROGRAM,
    version,
    after_help = config::EXAMPLES,
    args_conflicts_with_subcommands = true
)]
pub struct CommandLine {
    #[command(flatten)]
    pub agent: AgentArgs,
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
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
        output: OutputFormat,
    },
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum OutputFormat {
    Text,
    Json,
}
