//! What a big fleet costs: a real server in a process of its own, a simulated fleet in another (`testkit`'s binary `sim`),
//! with real TLS connections and frames.
//!
//! The path of a figure: the [`Stage`] holds servers and simulator; each step does one thing to them and writes its rows.
//! What was taken is counted by the server's `/metrics`, what was there by the kernel, how long targets took by the agents.

mod engines;
mod hosts;
mod load;
mod operate;
mod restart;
mod simulator;
mod stage;
mod up;

use std::time::Duration;

use super::agent::interrupt;
use crate::server;
use crate::table::{Table, thousands};
use stage::Stage;

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo xtask bench fleet
  cargo xtask bench fleet --agents 1000            a quick look
  cargo xtask bench fleet --replicas 3             three servers on PostgreSQL and NATS, started from this machine's packages

Each agent needs an open file in the server and one in the simulator: see `ulimit -n`.";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Simulated agents, each with its own identity and connection.
    #[arg(long, default_value_t = 10_000)]
    agents: usize,
    /// Processes on each host.
    #[arg(long, default_value_t = 100)]
    procs: usize,
    /// Servers. More than one share a PostgreSQL and a NATS that are started for them.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=9))]
    replicas: u8,
    /// How long a simulated operation takes.
    #[arg(long, default_value = "5ms..50ms")]
    delay: String,
    /// How long each load is kept up.
    #[arg(long, default_value_t = 10)]
    secs: u64,
    /// Operations on all hosts; the table shows the median of them.
    #[arg(long, default_value_t = 5)]
    operations: usize,
    /// Takes the binaries as they are beside this one.
    #[arg(long)]
    built: bool,
}

impl Args {
    fn n_processes(&self) -> usize {
        self.agents * self.procs
    }

    fn load_time(&self) -> Duration {
        Duration::from_secs(self.secs)
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if !args.built {
        server::build(&["cli", "testkit"])?;
    }
    interrupt::watch()?;
    let mut table = Table::new(["what", "measured", "aim"]);
    let mut stage = Stage::set(args, &mut table)?;
    up::measure(args, &mut stage, &mut table)?;
    load::measure(args, &mut stage, &mut table)?;
    operate::measure(args, &mut stage, &mut table)?;
    restart::measure(args, &mut stage, &mut table)?;
    table.print();
    println!();
    let servers = match args.replicas {
        1 => "one server with its embedded store".to_owned(),
        n => format!("{n} servers, PostgreSQL (fsync on) and NATS"),
    };
    println!(
        "{} agents with {} processes each; {servers} and the simulator share this machine.",
        thousands(args.agents as f64),
        args.procs
    );
    stage.strike()
}

fn row(table: &mut Table, what: impl Into<String>, measured: impl Into<String>, aim: &str) {
    let (what, measured) = (what.into(), measured.into());
    eprintln!("{what}: {measured}");
    table.row([what, measured, aim.to_owned()]);
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
