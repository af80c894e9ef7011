//! The web console in a real browser, against a real server with a simulated fleet and one real agent.

use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

use super::up;
use crate::bench::row;
use crate::browser::{self, Script};
use crate::deployment::{Deployment, Fleet, RealAgent};
use crate::table::{Table, thousands};
use crate::{interrupt, server};

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo xtask bench console                                        a quarter of an hour: ten minutes of it follow a log
  cargo xtask bench console --agents 1000 --procs 10 --log-secs 20   a quick look

Measured in Debian's chromium, headless, without a GPU. Server, simulator and browser share this machine.";

const PATIENCE: Duration = Duration::from_secs(180);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Simulated agents.
    #[arg(long, default_value_t = 10_000)]
    agents: usize,
    /// Processes on each host.
    #[arg(long, default_value_t = 100)]
    procs: usize,
    /// Changes per second while frames are measured.
    #[arg(long, default_value_t = 1000)]
    changes: u64,
    /// How long a log of 1,000 lines a second is followed.
    #[arg(long, default_value_t = 600)]
    log_secs: u64,
    /// Takes the binaries as they are beside this one.
    #[arg(long)]
    built: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    browser::build()?;
    if !args.built {
        server::build(&server::PROGRAMS)?;
    }
    interrupt::watch()?;
    let (mut deployment, _) = Deployment::start(&Fleet::new(args.agents))?;
    deployment.simulator.tell("connect")?;
    deployment.until_connected(args.agents, PATIENCE)?;
    up::register_all(&deployment, args.agents, args.procs)?;
    let agent = RealAgent::start(deployment.agents(), deployment.http())?;
    browser::add_user(&mut deployment.client()?)?;
    deployment.until_quiet(PATIENCE)?;
    let mut table = Table::new(["what", "measured", "aim"]);
    let script = Script {
        name: "bench.mjs",
        args: &[args.changes.to_string(), args.log_secs.to_string()],
        http: deployment.http(),
        folder: agent.folder(),
        host: RealAgent::HOST,
    };
    script.run(
        |request| deployment.simulator.tell(request),
        |line| {
            let figure: Value = serde_json::from_str(line).context("a figure")?;
            let text = |key: &str| figure[key].as_str().unwrap_or_default().to_owned();
            row(&mut table, text("what"), text("measured"), &text("aim"));
            Ok(())
        },
    )?;
    table.print();
    println!();
    println!(
        "{} processes on {} hosts; server, simulator and a headless browser share this machine.",
        thousands((args.agents * args.procs) as f64),
        thousands(args.agents as f64)
    );
    drop(agent);
    deployment.end()
}
