//! Benchmarks a large fleet: real servers and a simulated fleet (`testkit`'s binary `sim`) as child processes, with real TLS
//! connections and frames.
//!
//! The [`Deployment`] holds servers and simulator; each step measures one thing and adds its rows. Durations of targets come
//! from the agents.

pub(crate) mod console;
mod load;
pub(crate) mod mixed;
mod operate;
mod overload;
mod restart;
mod up;
pub(crate) mod watch;

use std::time::Duration;

use super::{row, seconds};
use crate::deployment::{Deployment, Fleet};
use crate::interrupt;
use crate::server;
use crate::table::{Table, thousands};

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo xtask bench fleet
  cargo xtask bench fleet --agents 1000            a quick look
  cargo xtask bench fleet --only statuses,restart  enrol, connect, register, and of the rest only these
  cargo xtask bench fleet --relay                  all agents connect through one relay
  cargo xtask bench fleet --overload-secs 300      more statuses than the server can take, for five minutes
  cargo xtask bench fleet --replicas 3             three servers on PostgreSQL and NATS, started from this machine's packages

Each agent needs an open file in the server and one in the simulator: see `ulimit -n`. More agents than
that are simulated by several processes, each with a relay that brings its agents to the servers over a few
connections.";

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
    /// Relays between all agents and the servers.
    #[arg(long)]
    relay: bool,
    /// Connections of each relay to each server; 0: one for each agent.
    #[arg(long)]
    multiplex: Option<usize>,
    /// How long a simulated operation takes.
    #[arg(long, default_value = "5ms..50ms")]
    delay: String,
    /// How long each load is kept up.
    #[arg(long, default_value_t = 10)]
    secs: u64,
    /// How long three times as many statuses are reported as the servers take at most, while operations run.
    #[arg(long, default_value_t = 10)]
    overload_secs: u64,
    /// Operations on all hosts; the table shows the median of them.
    #[arg(long, default_value_t = 5)]
    operations: usize,
    /// What to measure after all agents are connected and their processes registered; without it everything.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Step>,
    /// Takes the binaries as they are beside this one.
    #[arg(long)]
    built: bool,
}

/// A part of the table that needs no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Step {
    /// Nothing but enrolment, the connect storm and the registration.
    Register,
    /// The CPU of an idle fleet.
    Idle,
    /// The CPU at a steady load of statuses.
    Steady,
    /// The most statuses that the servers take.
    Statuses,
    /// More statuses than they take, beside operations; measures the most first.
    Overload,
    /// Operations on all hosts.
    Operate,
    /// Kill and restart of a server.
    Restart,
}

impl Args {
    fn n_processes(&self) -> usize {
        self.agents * self.procs
    }

    fn runs(&self, step: Step) -> bool {
        self.only.is_empty() || self.only.contains(&step)
    }

    fn overload_time(&self) -> Duration {
        Duration::from_secs(self.overload_secs)
    }

    /// A limit for 10,000 agents, for as many as there are.
    fn patience(&self, limit: Duration) -> Duration {
        patience(limit, self.agents)
    }

    fn load_time(&self) -> Duration {
        Duration::from_secs(self.secs)
    }
}

fn patience(limit: Duration, n_agents: usize) -> Duration {
    limit.mul_f64((n_agents as f64 / 10_000.0).max(1.0))
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if !args.built {
        server::build(&server::PROGRAMS)?;
    }
    interrupt::watch()?;
    let mut table = Table::new(["what", "measured", "aim"]);
    let fleet = Fleet {
        replicas: args.replicas,
        delay: args.delay.clone(),
        relay: args.relay,
        multiplex: args.multiplex,
        ..Fleet::new(args.agents)
    };
    let (mut deployment, enrolment) = Deployment::start(&fleet)?;
    up::enrolled(args, enrolment, &mut table);
    up::measure(args, &mut deployment, &mut table)?;
    load::measure(args, &mut deployment, &mut table)?;
    if args.runs(Step::Statuses) || args.runs(Step::Overload) {
        let most = load::most(args, &mut deployment, &mut table)?;
        if args.runs(Step::Overload) {
            overload::measure(args, &mut deployment, most, &mut table)?;
        }
    }
    if args.runs(Step::Operate) {
        operate::measure(args, &mut deployment, &mut table)?;
    }
    if args.runs(Step::Restart) {
        restart::measure(args, &mut deployment, &mut table)?;
    }
    table.print();
    println!();
    let servers = match args.replicas {
        1 => "one server with its embedded store".to_owned(),
        n => format!("{n} servers, PostgreSQL (fsync on) and NATS"),
    };
    let servers = match deployment.relays.len() {
        0 => servers,
        1 => format!("{servers}, one relay"),
        n => format!("{servers}, {n} relays"),
    };
    let simulator = match deployment.simulator.n_processes() {
        1 => "the simulator".to_owned(),
        n => format!("the simulator ({n} processes)"),
    };
    println!(
        "{} agents with {} processes each; {servers} and {simulator} share this machine.",
        thousands(args.agents as f64),
        args.procs
    );
    deployment.end()
}
