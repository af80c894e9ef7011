//! The long soak: runs testkit's binary `soak`, whose short form is a test.

use std::process::Command;

use anyhow::{Context, ensure};

use crate::server;

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask soak                             # ten minutes of one server
  cargo xtask soak --minutes 60 --replicas 3   # three, with kills of PostgreSQL and NATS
  cargo xtask soak --seed 7                    # the actions of an earlier run

Prints a line each minute and a table at the end. Fails at the first violated property, with the seed and the last actions.
Kills only what it started.";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long actions go on; the checks come on top.
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// 1: a single server on SQLite; more: replicas on PostgreSQL and NATS.
    #[arg(long, default_value_t = 1)]
    replicas: usize,
    #[arg(long, default_value_t = 4)]
    agents: usize,
    #[arg(long, default_value_t = 20)]
    processes: usize,
    /// Determines the actions; by default from the clock.
    #[arg(long)]
    seed: Option<u64>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    server::build(&server::PROGRAMS)?;
    let soak = server::binaries()?.join("soak");
    let mut command = Command::new(&soak);
    let numbers = [
        ("--minutes", args.minutes),
        ("--replicas", args.replicas as u64),
        ("--agents", args.agents as u64),
        ("--processes", args.processes as u64),
    ];
    for (option, number) in numbers {
        command.args([option, &number.to_string()]);
    }
    if let Some(seed) = args.seed {
        command.args(["--seed", &seed.to_string()]);
    }
    let status = command.status();
    let status = status.with_context(|| format!("cannot run {}", soak.display()))?;
    ensure!(status.success(), "the soak failed: {status}");
    Ok(())
}
